"""What a traced step says of a model: places, passes, names, settings."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from gemmlab.record import GemmlabError  # noqa: E402
from gemmlab.workload.models import trace_model  # noqa: E402
from workload.models.networks import GPT, ResNet  # noqa: E402


def rows(workload):
    """Each call by what it is."""
    return [
        (call.phase, call.problem.m, call.problem.n, call.problem.k, call.problem.a_format, call.count, call.places)
        for call in workload.calls
    ]


def test_a_linear_layer():
    workload = trace_model(nn.Linear(16, 8), torch.randn(4, 16, requires_grad=True))
    assert rows(workload) == [
        ("forward", 4, 8, 16, "float32", 1, ("Linear",)),
        ("backward", 4, 16, 8, "float32", 1, ("Linear",)),
        ("backward", 8, 16, 4, "float32", 1, ("Linear",)),
    ]
    assert workload.calls[0].operands[1].parameter == "weight"
    assert workload.calls[0].operands[1].strides == (1, 16)  # stored (out, in)
    assert workload.kind == "model"
    assert workload.source == "Linear"


def test_layers_that_are_alike_are_one_row_with_all_their_places():
    workload = trace_model(GPT(), (torch.zeros(2, 12, dtype=torch.int64),), {"labels": torch.zeros(2, 12).long()})
    [wide] = [call for call in workload.calls if call.phase == "forward" and call.problem.n == 128]
    assert wide.count == 2
    assert wide.places == ("blocks.0.mlp.0", "blocks.1.mlp.0")
    assert wide.operands[1].parameter == "blocks.*.mlp.0.weight"
    assert dict(workload.settings)["loss"] == "the output's `loss`"


def test_a_tied_weight_goes_by_both_its_names():
    workload = trace_model(GPT(), (torch.zeros(2, 12, dtype=torch.int64),))
    [head] = [call for call in workload.calls if call.phase == "forward" and call.problem.n == 101]
    assert head.operands[1].parameter == "embedding.weight = head.weight"
    assert head.places == ("head",)


def test_what_is_not_trained_has_no_gradient():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model[0].requires_grad_(False)
    assert [row[0] for row in rows(trace_model(model, torch.randn(4, 8)))].count("backward") == 1


def test_inference_is_forward_alone():
    workload = trace_model(nn.Linear(8, 8), torch.randn(4, 8), training=False)
    assert [row[0] for row in rows(workload)] == ["forward"]
    assert dict(workload.settings)["step"] == "forward"


def test_a_module_called_twice_counts_twice():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            return self.layer(self.layer(x))

    forward = [row for row in rows(trace_model(Twice(), torch.randn(4, 8))) if row[0] == "forward"]
    assert [(row[5], row[6]) for row in forward] == [(2, ("layer",))]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_run_again_in_the_backward_pass(reentrant):
    class Checked(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))

        def forward(self, x):
            return checkpoint(self.inner, x, use_reentrant=reentrant)

    workload = trace_model(Checked(), torch.randn(4, 8, requires_grad=True))
    again = [call for call in workload.calls if call.phase == "backward" and call.operator == "aten::addmm"]
    assert again[0].places == ("inner.0",)
    assert {place for call in workload.calls for place in call.places} == {"inner.0", "inner.2"}


def test_the_backward_of_a_function_of_ones_own_is_where_its_forward_was():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return x @ weight

        @staticmethod
        def backward(ctx, gradient):
            x, weight = ctx.saved_tensors
            return gradient @ weight.t(), x.t() @ gradient

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 4))

        def forward(self, x):
            return Product.apply(x, self.weight)

    model = nn.Sequential(nn.Linear(8, 8), Own())
    places = [call.places for call in trace_model(model, torch.randn(5, 8)).calls if call.phase == "backward"]
    assert places == [("1",), ("1",), ("0",)]


def test_autocast_casts_products_and_keeps_the_rest_in_float32():
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 4), nn.Softmax(-1))
    workload = trace_model(model, torch.randn(4, 8), autocast="bfloat16")
    assert {call.problem.a_format for call in workload.calls} == {"bfloat16"}
    assert dict(workload.settings)["autocast"] == "bfloat16"
    [casts] = [other for other in workload.others if (other.name, other.phase) == ("aten::_to_copy", "forward")]
    # the input, both weights and both biases, and what the norm and the softmax are given or give
    assert casts.count >= 6


def test_autocast_entered_in_the_model_is_told_too():
    class Inside(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            with torch.autocast("cuda", dtype=torch.float16):
                x = self.layer(self.layer(x))
            with torch.autocast(x.device.type, enabled=False):
                return self.layer(x.float())

    workload = trace_model(Inside(), torch.randn(4, 8))
    forward = [row for row in rows(workload) if row[0] == "forward"]
    assert [(row[4], row[5]) for row in forward] == [("float16", 2), ("float32", 1)]
    assert dict(workload.settings)["autocast"] == "float16"
    weights = [other for other in workload.others if other.name == "aten::_to_copy" and other.phase == "forward"]
    assert weights[0].count == 4  # the input, the weight and the bias once, and the result back


def test_a_cast_weight_keeps_its_name():
    workload = trace_model(nn.Linear(8, 8), torch.randn(4, 8), autocast="bfloat16")
    assert workload.calls[0].operands[1].parameter == "weight"


def test_float32_precision_is_respected():
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        workload = trace_model(nn.Linear(8, 8), torch.randn(4, 8))
    finally:
        torch.set_float32_matmul_precision(before)
    assert {call.problem.a_format for call in workload.calls} == {"tfloat32"}
    assert dict(workload.settings)["float32 multiplications"] == "tfloat32"
    assert {call.problem.a_format for call in trace_model(nn.Linear(8, 8), torch.randn(4, 8)).calls} == {"float32"}


def test_cudnn_allows_tensorfloat32_by_default_and_not_where_it_is_told_so():
    model, image = nn.Conv2d(3, 8, 3), torch.randn(2, 3, 8, 8)
    assert {call.problem.a_format for call in trace_model(model, image).calls} == {"tfloat32"}
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        assert {call.problem.a_format for call in trace_model(model, image).calls} == {"float32"}


def test_channels_last_is_told_and_its_convolutions_are_nhwc():
    model = ResNet().to(memory_format=torch.channels_last)
    workload = trace_model(model, torch.randn(2, 3, 32, 32).to(memory_format=torch.channels_last))
    assert dict(workload.settings)["memory format"] == "channels-last"
    inner = [call for call in workload.calls if call.convolution and call.convolution.channels == 16]
    assert {call.convolution.order for call in inner} == {"nhwc"}
    first = trace_model(ResNet(), torch.randn(2, 3, 32, 32))
    assert dict(first.settings)["memory format"] == "contiguous"


def test_half_precision_weights():
    workload = trace_model(nn.Linear(8, 8).half(), torch.randn(4, 8).half())
    assert {call.problem.a_format for call in workload.calls} == {"float16"}


def test_a_loss_function_and_its_word():
    workload = trace_model(nn.Linear(8, 8), torch.randn(4, 8), loss=lambda output: output.pow(2).mean())
    assert dict(workload.settings)["loss"] == "the given function"


def test_dropout_is_one_kernel_each_way():
    workload = trace_model(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1)), torch.randn(4, 8))
    names = {other.name for other in workload.others}
    assert {"aten::native_dropout", "aten::native_dropout_backward"} <= names
    assert "aten::bernoulli_" not in names


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_run_as_cudnn_runs_them(kind):
    model = getattr(nn, kind)(8, 16, batch_first=True)
    workload = trace_model(model, torch.randn(2, 5, 8))
    gates = {"LSTM": 64, "GRU": 48, "RNN": 16}[kind]
    forward = [(call.problem.m, call.problem.n, call.problem.k, call.count) for call in workload.calls[:2]]
    assert forward == [(10, gates, 8, 1), (2, gates, 16, 5)]  # all steps' inputs at once, the state step by step
    with torch.backends.cudnn.flags(enabled=False, allow_tf32=True):
        apart = trace_model(model, torch.randn(2, 5, 8))
    assert "aten::_cudnn_rnn" not in {call.operator for call in apart.calls}


def test_packed_sequences():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(8, 16)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
            return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0])[0]

    workload = trace_model(Packed(), (torch.randn(5, 2, 8), torch.tensor([5, 3])))
    assert workload.calls[0].problem.m == 8


def test_an_optimizer_passes_over_every_trained_parameter():
    model = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 4, bias=False))
    model[1].requires_grad_(False)
    [step] = [
        each for each in trace_model(model, torch.randn(4, 8), optimizer="adamw").others if each.phase == "optimizer"
    ]
    assert step.bytes == 7 * 64 * 4


def test_what_is_known_decides_as_in_a_real_run():
    class Deciding(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)
            self.register_buffer("steps", torch.tensor([1, 1, 0]))

        def forward(self, x, kept):
            mask = torch.arange(8, device=x.device) < 5
            if not mask.any() or torch.rand([]) > 2 or self.steps.sum().item() != 2:
                return x
            return self.layer(x)[kept > 0][:, mask]

    workload = trace_model(Deciding(), (torch.randn(4, 8), torch.tensor([1, 0, 1, 1])))
    assert [row[:4] for row in rows(workload)] == [("forward", 4, 8, 8), ("backward", 8, 8, 4)]


def test_devices_of_the_program_do_not_matter():
    class Moving(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            assert x.is_cuda
            assert x.device.type == "cuda"
            y = self.layer(x.to("cuda:0", non_blocking=True)) + torch.ones(8, device=x.device).cuda()
            return y.to(torch.zeros(1, device="cuda").device).cpu()

    assert len(trace_model(Moving(), torch.randn(4, 8)).calls) == 2


def test_gradients_inside_the_forward_pass():
    class Penalty(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            x = x.requires_grad_()
            [gradient] = torch.autograd.grad(self.layer(x).tanh().sum(), x, create_graph=True)
            return gradient.pow(2).sum()

    workload = trace_model(Penalty(), torch.randn(4, 8))
    assert workload.calls[0].phase == "forward"
    assert {call.phase for call in workload.calls[1:]} == {"backward"}


def test_dataparallel_is_left_out():
    workload = trace_model(nn.DataParallel(nn.Linear(8, 8)), torch.randn(4, 8))
    assert "DataParallel is left out" in workload.notes[0]


@pytest.mark.parametrize(
    ("shape", "dtype", "extra", "kernel"),
    [
        ((2, 4, 16, 64), torch.bfloat16, {}, "flash attention"),
        ((2, 4, 16, 36), torch.float16, {"is_causal": True}, "flash attention"),
        ((2, 4, 16, 64), torch.float16, {"attn_mask": True}, "memory-efficient attention"),
        ((2, 4, 16, 64), torch.float32, {}, "memory-efficient attention"),
        ((2, 4, 16, 288), torch.bfloat16, {}, "memory-efficient attention"),
        ((2, 4, 16, 34), torch.float32, {}, "unfused attention"),
        ((2, 4, 16, 64), torch.float64, {}, "unfused attention"),
        ((4, 16, 64), torch.bfloat16, {}, "unfused attention"),
    ],
)
def test_the_kernel_that_a_gpu_chooses_for_attention(shape, dtype, extra, kernel):
    class Attend(nn.Module):
        def forward(self, query, mask=None):
            words = {**extra, **({"attn_mask": mask} if mask is not None else {})}
            return nn.functional.scaled_dot_product_attention(query, query, query, **words)

    mask = torch.ones(16, 16, dtype=torch.bool) if "attn_mask" in extra else None
    workload = trace_model(Attend(), (torch.randn(shape, dtype=dtype, requires_grad=True), mask))
    assert dict(workload.settings)["attention"] == kernel
    assert all(bool(call.fused) == (kernel != "unfused attention") for call in workload.calls)


def test_a_kernel_that_is_switched_off_is_not_chosen():
    class Attend(nn.Module):
        def forward(self, query):
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                return nn.functional.scaled_dot_product_attention(query, query, query)

    import torch.nn.attention

    workload = trace_model(Attend(), torch.randn(2, 4, 16, 64, dtype=torch.bfloat16, requires_grad=True))
    assert dict(workload.settings)["attention"] == "unfused attention"


def test_flex_attention_and_its_gradient():
    flexible = pytest.importorskip("torch.nn.attention.flex_attention", reason="PyTorch before 2.5 has none")
    if not hasattr(torch.utils._python_dispatch.TorchDispatchMode, "supports_higher_order_operators"):
        pytest.skip("this PyTorch hands no operator with functions among its arguments on")

    class Flex(nn.Module):
        def forward(self, query):
            return flexible.flex_attention(query, query, query, score_mod=lambda score, b, h, q, k: score * 2 + q)

    workload = trace_model(Flex(), torch.randn(2, 4, 128, 64, requires_grad=True))
    once = 2 * 2 * 4 * 128 * 128 * 64
    assert sum(call.flop for call in workload.calls if call.phase == "forward") == 2 * once
    assert {call.operator for call in workload.calls} == {"flex_attention", "flex_attention_backward"}
    assert "every block of the scores is counted" in workload.notes[0]
    masks = [other.bytes for other in workload.others if other.phase == "forward"]
    assert sum(masks) < 1024  # of blocks; the function on scores is inside the kernel


def test_what_is_written_over_is_known_no_longer():
    class Writing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x, way):
            known = torch.zeros(4, dtype=torch.bool)
            view = known[1:]
            if way == "in place":
                view.copy_(x[1:, 0] > 0)
            elif way == "out":
                torch.gt(x[:, 0], 0, out=known)
            elif way == "indexed":
                known[2] = x[2, 0] > 0
            return self.layer(x)[known]

    assert len(trace_model(Writing(), (torch.randn(4, 8), "not")).calls) == 2
    for way in ("in place", "out", "indexed"):
        with pytest.raises(GemmlabError, match="aten::index needs the elements"):
            trace_model(Writing(), (torch.randn(4, 8), way))


def test_float8_products():
    class Narrow(nn.Module):
        def forward(self, x, weight):
            scale = torch.ones((), device=x.device)
            narrow, filters = x.to(torch.float8_e4m3fn), weight.to(torch.float8_e4m3fn)
            return torch._scaled_mm(narrow, filters.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)

    workload = trace_model(Narrow(), (torch.randn(32, 64), torch.randn(16, 64)), training=False)
    [call] = workload.calls
    assert (call.problem.a_format, call.problem.d_format) == ("float8_e4m3fn", "bfloat16")
    assert (call.problem.m, call.problem.n, call.problem.k) == (32, 16, 64)


def test_a_mask_that_is_filled_with_lone_numbers_is_known():
    class Body(nn.Module):
        def __init__(self):
            super().__init__()
            self.few, self.many = nn.Linear(8, 8), nn.Linear(8, 16)

        def forward(self, x):
            seen = torch.ones(4, 4, dtype=torch.bool, device=x.device).tril()
            mask = torch.where(seen, torch.zeros((), device=x.device), torch.finfo(x.dtype).min)
            total = torch.zeros((), device=x.device)
            total += x.sum()  # whose elements nobody knows
            return (self.few if (mask < 0).any().item() else self.many)(x) + total

    (call,) = trace_model(Body(), torch.randn(4, 8), training=False).calls
    assert call.places == ("few",)


def test_unknown_elements_are_finite():
    class Body(nn.Linear):
        def forward(self, x):
            y = super().forward(x)
            if torch.isinf(y).any() or torch.isnan(y).any() or not y.isfinite().all():  # as DETR's layers ask
                y = super().forward(y)
            return y

    assert [call.count for call in trace_model(Body(8, 8), torch.randn(4, 8)).calls] == [1, 1]
