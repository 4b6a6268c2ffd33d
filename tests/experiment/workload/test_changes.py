"""Each change where it helps, in the program's words, and not where it does not; and as the model's own advice says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment.workload.networks import attention, gpt2, linear, tensor
from gemmlab import Gemm, explain
from gemmlab.chips import get
from gemmlab.experiment.workload import answer_of
from gemmlab.experiment.workload.changes.digits import rounding
from gemmlab.experiment.workload.forecast import Forecaster
from gemmlab.problem import Convolution
from gemmlab.workload import Call, Other, Tensor, Workload

HEAVY = 100  # times, so that what is not multiplied does not matter


def answer(*calls, others=(), kind="model", chip="h100-sxm", settings=(), **options):
    return answer_of(Workload("x", kind, calls, others, settings=settings), chip, **options)


def changes(*calls, **more):
    return answer(*calls, **more).changes


def lines(*calls, **more):
    return [change.line for change in changes(*calls, **more)]


@st.composite
def long_problems(draw):
    """Multiplications that take many times their launch: of short ones a stream's launches change the shares."""
    sides = [draw(st.sampled_from((2048, 3001, 4096, 5003))) for _ in range(3)]
    format, layout = draw(st.sampled_from(("float32", "bfloat16"))), draw(st.sampled_from(("nn", "nt", "tn")))
    problem = Gemm(*sides, format, layout=layout)
    return problem.replace(ldb=problem.ldb + draw(st.sampled_from((0, 0, 3))))


@settings(max_examples=40)
@given(long_problems(), st.sampled_from(("h100-sxm", "a100-sxm-80gb")))
def test_agrees_with_the_models_own_advice(problem, chip):
    """Padding, copying and tf32 gain here what `explain` says there."""
    record = explain(problem, chip)
    (row,) = answer(Call(problem), chip=chip).rows
    kinds = {("alignment", "pad"), ("contiguous", "copy"), ("precision", "allow tf32")}
    for cause, words in kinds:
        advice = [each for each in record.advice if each.cause == cause and each.change.startswith(words)]
        mine = [each for each in row.record.call.changes if each.cause == cause and "autocast" not in each.line]
        assert len(mine) <= 1
        if advice and advice[0].predicted_speedup > 1.08:
            said_s = record.prediction.time_s * (1 - 1 / advice[0].predicted_speedup)
            forecaster = Forecaster(get(chip))  # a program pads its operands, where `explain` takes them as stored
            pads_s = forecaster.copying_s(2.1 * (problem.a_bytes + problem.b_bytes), 2) if cause == "alignment" else 0.0
            if mine or said_s > 2 * pads_s:
                assert 0.9 * said_s - pads_s <= mine[0].gain_s <= 1.1 * said_s
        elif not advice:
            assert not mine or mine[0].predicted_speedup < 1.05


def test_padding_gains_what_the_model_says():
    problem = Gemm(8192, 50257, 768, "bfloat16", layout="nt")
    (row,) = answer(Call(problem)).rows
    (change,) = row.record.call.changes
    said = max(each.predicted_speedup for each in explain(problem).advice if each.change.startswith("pad"))
    assert change.predicted_speedup == pytest.approx(said, rel=0.1)


def test_all_three_products_of_a_layer_ask_for_one_change():
    calls = linear("mlp.up", 8192, 2048, 5461)
    (change,) = changes(*calls)
    assert change.line == "nn.Linear(2048, 5504)  # mlp.up: 5461 outputs before; use y[..., :5461]"
    rows = answer(*calls).rows
    assert change.gain_s == pytest.approx(sum(row.record.call.gain_s for row in rows))
    assert all(row.record.call.changes[0].line == change.line for row in rows)


def test_inputs_are_padded_with_zeros_and_that_is_exact():
    (change,) = changes(*linear("mlp.down", 8192, 5461, 2048))
    assert change.line == (
        "nn.Linear(5504, 2048)  # mlp.down: 5461 inputs before; x gets zeros after its own\nx = F.pad(x, (0, 43))"
    )
    assert "exactly zero" in change.digits


def test_no_name_becomes_code_in_a_line_to_paste():
    problem = Gemm(4096, 4096, 4096, "bfloat16", ldb=4099)
    hostile = "blocks\n__import__('os').abort()\x1b[31m.weight"
    operands = (tensor(4096, 4096), tensor(4096, 4096, parameter=hostile))
    layer = linear(hostile.removesuffix(".weight"), 8192, 768, 3001)[0]
    for call in (Call(problem, "aten::mm", operands=operands), layer):
        (line,) = lines(call)
        assert len(line.split("\n")) == 1
        assert line.isprintable()
        compile(line, "advice", "exec")


def test_of_many_layers_one_name_stands_for_all():
    calls = [call for layer in range(4) for call in linear(f"h.{layer}.up", 8192, 768, 3001)]
    assert lines(*calls) == ["nn.Linear(768, 3008)  # h.*.up: 3001 outputs before; use y[..., :3001]"]


def test_the_datas_own_side_is_padded_in_the_data():
    scores = Call(Gemm(197, 197, 64, "bfloat16", batch=1152), "aten::bmm", HEAVY)
    (change,) = changes(scores)
    assert change.line == "x = F.pad(x, (0, 0, 0, 3))  # batch or sequence: 197 -> 200, the added rows masked"
    assert change.confidence == "medium"


def test_a_view_of_a_wider_array_is_copied_where_that_pays():
    problem = Gemm(4096, 4096, 4096, "bfloat16", lda=4099)
    operands = (Tensor((4096, 4096), "bfloat16", (4099, 1)), Tensor((4096, 4096), "bfloat16", (4096, 1)))
    (change,) = changes(Call(problem, "aten::mm", operands=operands))
    assert change.cause == "contiguous"
    assert change.line == "x = x.contiguous()  # operand A of aten::mm, strides (4099, 1)"
    assert change.digits.startswith("none")
    thin = Gemm(16, 4096, 4096, "bfloat16", layout="nt", ldb=4099)
    assert [each for each in changes(Call(thin, "aten::mm")) if each.cause == "contiguous"] == []


def test_an_operand_that_no_blas_takes_is_copied_once_instead_of_at_every_call():
    problem = Gemm(4096, 4096, 64, "bfloat16")
    operands = (Tensor((4096, 64), "bfloat16", (128, 2)), Tensor((64, 4096), "bfloat16", (4096, 1)))
    measured = Call(problem, "aten::mm", 4, operands=operands, time_s=4e-4)
    assert lines(measured, kind="trace") == [
        "x = x.contiguous()  # where it is made; operand A of aten::mm, strides (128, 2)"
    ]
    assert lines(Call(problem, "aten::mm", 4, operands=operands)) == []  # a prediction has no copies to save


def test_precision_is_a_setting_of_the_whole_program():
    found = answer_of(gpt2(50304, 4, format="float32", fused=""), "h100-sxm")
    told = [change.line for change in found.changes]
    assert told[0] == 'with torch.autocast("cuda", dtype=torch.bfloat16):'
    assert 'torch.set_float32_matmul_precision("high")' in told
    alone = [change.gain_s for change in found.changes]
    assert found.advised_gain == pytest.approx(max(alone) / found.time_s)


def test_what_runs_in_tf32_already_is_not_told_to():
    assert 'torch.set_float32_matmul_precision("high")' not in lines(Call(Gemm(4096, 4096, 4096, "tfloat32")))
    assert lines(Call(Gemm(4096, 4096, 4096, "bfloat16"))) == []


def test_a_chip_without_bfloat16_casts_to_float16():
    told = lines(Call(Gemm(4096, 4096, 4096)), chip="v100-sxm2-32gb")
    assert told == ['with torch.autocast("cuda", dtype=torch.float16):']
    (change,) = changes(Call(Gemm(4096, 4096, 4096, "bfloat16")), chip="v100-sxm2-32gb")
    assert (change.cause, change.line) == ("format", 'with torch.autocast("cuda", dtype=torch.float16):')


def test_what_autocast_leaves_alone_is_cast_by_hand():
    call = Call(Gemm(4096, 4096, 4096), "aten::_grouped_mm", HEAVY)
    told = lines(call, settings=(("autocast", "bfloat16"),))
    assert "x, w = x.to(torch.bfloat16), w.to(torch.bfloat16)  # autocast leaves aten::_grouped_mm alone" in told


def test_what_a_program_of_16_bits_keeps_in_float32_is_not_blamed_on_autocast():
    router, rest = Call(Gemm(4096, 256, 7168), "aten::mm", HEAVY), Call(Gemm(4096, 4096, 4096, "bfloat16"), "aten::mm")
    told = lines(router, rest)
    assert "x, w = x.to(torch.bfloat16), w.to(torch.bfloat16)  # float32 in a program of 16 bits" in told
    assert not any("autocast" in line for line in told)


def test_float64_is_most_often_an_accident():
    assert any("model.float()" in line for line in lines(Call(Gemm(4096, 4096, 4096, "float64")), chip="rtx-4090"))


@pytest.mark.parametrize(
    ("name", "bits", "unit"), [("tfloat32", 11, "2^-11"), ("bfloat16", 8, "2^-8"), ("float16", 11, "2^-11")]
)
def test_digits_are_told_as_unit_roundoffs(name, bits, unit):
    """Half a unit in the last place of 1: bfloat16 keeps 8 significant bits, so 2^-8 = 3.9e-3."""
    import ml_dtypes

    text = rounding(name, stored=True)
    assert f"{bits} significant bits" in text
    assert unit in text
    if name == "bfloat16":
        assert float(ml_dtypes.finfo("bfloat16").eps) / 2 == 2.0**-8


def test_float8_is_advised_to_those_who_ask():
    calls = linear("up", 8192, 8192, 8192)
    assert lines(*calls) == []
    (change,) = changes(*calls, float8=True)
    assert "float8" in change.line
    assert change.confidence == "low"
    assert lines(*calls, float8=True, chip="a100-sxm-80gb") == []


def test_channels_last_where_matrix_units_compute():
    conv = Convolution(64, 64, 56, 56, 64, 3, 1, 1, order="nchw", format="bfloat16")
    call = Call(conv.gemm(), "aten::convolution", HEAVY, convolution=conv, convolution_pass="forward")
    (change,) = changes(call)
    assert "memory_format=torch.channels_last" in change.line
    last = Convolution(64, 64, 56, 56, 64, 3, 1, 1, order="nhwc", format="bfloat16")
    assert lines(Call(last.gemm(), "aten::convolution", HEAVY, convolution=last, convolution_pass="forward")) == []


def test_a_convolutions_tf32_has_a_switch_of_its_own():
    conv = Convolution(64, 256, 56, 56, 256, 3, 1, 1, order="nchw", format="float32")
    told = lines(Call(conv.gemm(), "aten::convolution", HEAVY, convolution=conv, convolution_pass="forward"))
    assert "torch.backends.cudnn.allow_tf32 = True" in told
    assert 'torch.set_float32_matmul_precision("high")' not in told


def test_few_channels_are_padded_to_whole_loads():
    conv = Convolution(256, 3, 224, 224, 64, 7, 2, 3, order="nhwc", format="bfloat16")
    (change,) = changes(Call(conv.gemm(), "aten::convolution", 9, convolution=conv, convolution_pass="forward"))
    assert change.line == (
        "nn.Conv2d(8, 64, (7, 7), stride=(2, 2), padding=(3, 3))  # 3 channels, 64 filters before\n"
        "x = F.pad(x, (0, 0, 0, 0, 0, 5))  # channels of zeros"
    )
    assert change.confidence == "low"


def test_a_batch_that_shares_its_b_is_folded():
    operands = (Tensor((64, 100, 512), "bfloat16", (51200, 512, 1)), Tensor((64, 512, 512), "bfloat16", (0, 512, 1)))
    problem = Gemm(100, 512, 512, "bfloat16", batch=64)
    (change,) = changes(Call(problem, "aten::bmm", HEAVY, operands=operands))
    assert change.cause == "batch"
    assert "x.flatten(0, 1) @ w" in change.line
    own = (operands[0], Tensor((64, 512, 512), "bfloat16", (512 * 512, 512, 1)))
    assert lines(Call(problem, "aten::bmm", HEAVY, operands=own)) == []


def test_query_key_and_value_are_one_layer():
    names = ("query", "key", "value")
    calls = [call for name in names for call in linear(f"layer.0.self.{name}", 512, 1024, 1024)]
    (change,) = changes(*calls, kind="table")
    assert change.line == "nn.Linear(1024, 3072)(x).split([1024, 1024, 1024], dim=-1)  # in place of query, key, value"
    bare = [call for name in names for call in linear(name, 512, 1024, 1024)]
    assert lines(*bare, kind="table") == [change.line]  # the model itself is what they belong to
    assert lines(*calls[:3], kind="table") == []  # a query alone has nobody to go with
    crossed = [*linear("a.self.query", 512, 1024, 1024), *linear("a.self.key", 64, 1024, 1024)]
    crossed += linear("a.self.value", 64, 1024, 1024)
    assert lines(*crossed, kind="table") == []  # cross-attention: another input


def test_a_decoder_that_looks_at_an_encoder_stacks_no_queries_on_its_keys():
    for place in ("decoder.layers.0.encoder_attn", "block.0.EncDecAttention", "h.0.crossattention.self"):
        calls = [call for name in "qkv" for call in linear(f"{place}.{name}", 512, 1024, 1024)]
        assert lines(*calls, kind="table") == []


def test_recurrent_layers_are_padded_by_their_state_and_not_by_their_gates():
    def product(n, k, name):
        operands = (tensor(2048, k), tensor(n, k, parameter=name))
        problem = Gemm(2048, n, k, "bfloat16", layout="nt")
        return Call(problem, "aten::_cudnn_rnn", HEAVY, ("LSTM",), "forward", operands)

    found = lines(product(3 * 509, 1021, "weight_ih_l0"), product(3 * 509, 509, "weight_hh_l0"))
    state = "hidden_size = 512  # of nn.LSTM, nn.GRU or nn.RNN; before: 509; use y[..., :509]"
    assert sorted(found) == [state, f"{state}\ninput_size = 1024  # before: 1021\nx = F.pad(x, (0, 3))"]
    assert lines(product(1021, 1021, "weight_hh_l0")) == [
        "hidden_size = 1024  # of nn.LSTM, nn.GRU or nn.RNN; before: 1021; use y[..., :1021]"
    ]


def test_a_layer_that_grows_both_ways_is_told_once():
    (forward, *_) = linear("head", 8192, 765, 3001)
    assert lines(forward) == [
        "nn.Linear(768, 3008)  # head: 3001 outputs before; use y[..., :3001]\n"
        "x = F.pad(x, (0, 3))  # 765 inputs before, zeros"
    ]


def test_columns_of_a_second_operand_are_no_batch():
    operands = (tensor(1, 8192, 1024), tensor(1, 1024, 3001))
    (line,) = lines(Call(Gemm(8192, 3001, 1024, "bfloat16"), "aten::bmm", HEAVY, ("ein",), "forward", operands))
    assert line == "w = F.pad(w, (0, 7))  # second operand, 3001 -> 3008 columns; use y[..., :3001]"


def test_siblings_of_other_sizes_go_together_too():
    sizes = (("q_proj", 1024), ("k_proj", 256), ("v_proj", 256))
    calls = [linear(f"l.0.{name}", 512, 1024, outs, train=False)[0] for name, outs in sizes]
    assert any(".split([1024, 256, 256], dim=-1)" in line for line in lines(*calls))


def test_experts_in_a_loop_are_one_batch():
    calls = [linear(f"moe.experts.{expert}.up", 256, 512, 512, train=False)[0] for expert in range(8)]
    (change,) = [each for each in changes(*calls) if "torch.bmm" in each.line]
    assert "a layer's 8 experts at once" in change.line
    assert "torch._grouped_mm" in change.line


def test_attention_by_hand_is_fused():
    calls = [call for _ in range(12) for call in attention("attn", 8, 2048, fused="", format="bfloat16")]
    softmax = (Other("aten::_softmax", 12, "forward", bytes=12 * 8 * 12 * 2048**2 * 4),)
    told = lines(*calls, others=softmax)
    assert any("F.scaled_dot_product_attention(q, k, v" in line for line in told)
    assert not any("scaled_dot_product" in line for line in lines(*calls))  # no softmax, no attention
    fused = attention("attn", 8, 2048)
    assert not any("scaled_dot_product" in line for line in lines(*fused, others=softmax))


def test_products_beside_a_softmax_of_something_else_are_no_attention():
    def product(m, n, k, count=HEAVY):
        return Call(Gemm(m, n, k, "bfloat16", batch=64), "aten::bmm", count, ("a",), "forward")

    def softmax(elements):
        return (Other("aten::_softmax", 2 * HEAVY, "forward", bytes=2 * HEAVY * elements * 4),)

    linear_attention = (product(256, 256, 1024), product(1024, 256, 256))  # k^T v, then q times it
    assert not any("scaled_dot" in line for line in lines(*linear_attention, others=softmax(64 * 1024 * 256)))
    scores, values = product(1024, 1024, 128), product(1024, 128, 1024)
    assert any("scaled_dot" in line for line in lines(scores, values, others=softmax(64 * 1024 * 1024)))
    few = (Other("aten::_softmax", 1, "forward", bytes=64 * 1000 * 4),)  # of a classifier
    assert not any("scaled_dot" in line for line in lines(scores, values, others=few))


def test_nothing_is_said_where_nothing_is_to_gain():
    found = answer(Call(Gemm(8192, 8192, 8192, "bfloat16")), Call(Gemm(64, 64, 64, "bfloat16"), "aten::mm"))
    assert found.changes == ()
    assert [row.record.call.cause for row in found.rows] == ["fine", "launch"]


def test_a_library_that_is_slow_is_named():
    slow = Call(Gemm(4096, 4096, 4096, "bfloat16"), time_s=3e-3)
    assert answer(slow, kind="trace").rows[0].record.call.cause == "library"


def test_the_operand_of_a_weight_is_named():
    problem = Gemm(4096, 4096, 4096, "bfloat16", ldb=4099)
    operands = (tensor(4096, 4096), tensor(4096, 4096, parameter="blocks.0.weight"))
    (change,) = changes(Call(problem, "aten::mm", operands=operands))
    assert change.line == "w = w.contiguous()  # blocks.0.weight, operand B of aten::mm"
