"""The answer to a workload on a terminal: the conclusion first, every figure with its kind, nothing left out."""

import re

import msgspec
import pytest

from gemmlab.problem import Convolution, Gemm
from gemmlab.report.canvas import cells
from gemmlab.report.workload import workload_text
from gemmlab.report.workload_rows import own_name, part_of, pattern, rows_text
from gemmlab.report.workload_story import Story
from gemmlab.workload import Call
from report.answers import ALL, PAD, TF32, answer, gpt2, huge, traced


def shown(made, **more):
    return workload_text(made, width=80, color=False, unicode=False, **more)


def squeezed(text):
    return " ".join(text.split())


def test_the_conclusion_is_said_first():
    text = squeezed(shown(gpt2()).partition("everything else")[0])
    assert (
        "If every multiplication were at its limit, all else as it is, a step is predicted to take 43.1% less time: "
        "10.2 ms to 5.80 ms" in text
    )
    assert "The changes to them below are predicted to gain 19.8% together: 10.2 ms to 8.18 ms" in text


def test_the_row_with_most_to_gain_is_first_with_its_cause_and_change():
    lines = shown(gpt2()).split("\n")
    row = next(index for index, line in enumerate(lines) if "50257" in line)
    assert squeezed(lines[row]) == "1 8192 x 50257 x 768 1 31% 41% 4.20 ms 2.00 ms alignment"
    assert squeezed(" ".join(lines[row + 1 : row + 3])) == (
        "alignment (change 1); bfloat16; nt; forward of lm_head; 151 TFLOP/s, 15% of peak"
    )
    assert lines[row + 3].startswith(" 2 8192 x 768 x 768 ")


def test_nothing_to_gain_is_said():
    text = shown(gpt2(50304))
    assert "What to change" not in text
    assert "No change to them is found" in squeezed(text)


def test_changes_are_lines_to_paste_with_digits_gain_and_cost():
    text = shown(gpt2())
    assert "\n     config.vocab_size = 50304  # 47 rows that are never used\n" in text
    assert "  1. alignment, row 1 " in text
    for said in ("gains 2.00 ms, 20% of the time, row 3.20x as fast", "digits: none: the loss", "confidence: high"):
        assert said in squeezed(text)


def test_the_same_change_of_several_rows_is_said_once_with_their_sum():
    calls = [Call(Gemm(512, 512, size), "aten::mm", 1, (f"l{size}",)) for size in (64, 128, 256)]
    made = answer([(call, 3e-3, 1e-3, "precision", (TF32,)) for call in calls])
    told = Story(made)
    (change,) = told.changes()
    assert change.rows == (1, 2, 3)
    assert change.gain_s == pytest.approx(3e-3)
    assert shown(made).count(TF32.line) == 1


def test_figures_are_of_one_step_and_say_how_they_are_known():
    text = shown(traced())
    assert "trace, 3 steps" in text
    assert "recorded on NVIDIA H200" in text
    assert "a step 13.7 ms measured" in squeezed(text)
    assert "time measured, gain predicted; of one step" in squeezed(text)
    for said in ("no kernel runs 3.00 ms, 22% measured", "not read, see below 700 us, 5% measured"):
        assert said in squeezed(text)
    row = next(line for line in text.split("\n") if "4096 x 4096" in line)
    assert row.split()[6:9] == ["2", ">99%", "58%"]


def test_what_could_not_be_read_is_named():
    text = squeezed(shown(traced()))
    assert "mylib::fused_mlp, once, 700 us: a custom operator: its arguments do not say which is k" in text
    lost = answer([], unread=traced().workload.unread)
    assert "No multiplication could be read" in shown(lost)
    assert "It multiplies no matrices" in shown(ALL["nothing"]())


def test_rows_that_are_not_shown_are_summed_up():
    made = huge(40)
    text, whole = squeezed(shown(made, top=4)), shown(made, top=None)
    assert "36 more:" in text
    assert "--top 40 shows all" in text
    assert "more:" not in whole
    told = Story(made)
    rest = [row.record.call for row in made.rows[4:]]
    assert f"{told.seconds(sum(call.time_s for call in rest))}, {told.share(sum(c.time_s for c in rest))}" in text
    assert f"{told.seconds(sum(call.gain_s for call in rest))} to gain" in text
    assert len(re.findall(r"^ ?\d+ \d+ x ", whole, re.MULTILINE)) == 40


@pytest.mark.parametrize("width", [40, 57, 68, 80, 100])
@pytest.mark.parametrize("name", ALL)
def test_no_line_is_wider_than_the_terminal(name, width):
    for top in (3, None):
        for line in workload_text(ALL[name](), top=top, width=width, color=False).split("\n"):
            assert cells(line) <= width


def test_names_from_a_file_do_not_move_the_screen():
    text = workload_text(ALL["hostile"](), width=80, color=False)
    assert not re.search(r"[^\n\x20-\x7e]", text)


def test_mixed_ways_of_knowing_are_said_in_the_row():
    made = gpt2()
    first = made.rows[0]
    call = msgspec.structs.replace(first.record.call, known="measured")
    measured = msgspec.structs.replace(first, record=msgspec.structs.replace(first.record, call=call))
    text = squeezed(shown(msgspec.structs.replace(made, rows=(measured, *made.rows[1:]))))
    assert re.search(r"forward of lm_head; [^;]* of peak; time measured", text)
    assert re.search(r"attn.c_proj; [^;]* of peak; time predicted", text)


def test_strides_bases_and_convolutions_are_told():
    layer = Convolution(32, 64, 56, 56, 64, kernel=3, stride=2, padding=1, format="float16")
    rows = [
        Call(Gemm(64, 48, 32, "float16", ldb=50, a_offset_bytes=2), "aten::mm"),
        Call(layer.gemm(), "aten::convolution", convolution=layer, convolution_pass="forward"),
        Call(Gemm(8, 8, 8, batch=4), "aten::bmm", fused="flash attention", causal=True),
        Call(Gemm.grouped([(8, 16, 32), (4, 16, 32)], "bfloat16"), "aten::_grouped_mm"),
    ]
    text = squeezed(shown(answer([(call, 1e-3, 0.0, "none", ()) for call in rows])))
    for said in ("nn, ldb 50, A 2 B past its line; aten::mm", "forward of a 3x3 convolution of 32x64x56x56 stride 2x2",
                 "in flash attention, half masked", "2 of 4-8 x 16 x 32"):  # fmt: skip
        assert said in text


def test_places_are_told_as_one():
    assert pattern(("h.0.mlp.up", "h.1.mlp.up")) == "h.*.mlp.up"
    assert pattern(("h.0.attn.q", "h.0.attn.k", "h.1.attn.q", "h.1.attn.k")) == "h.*.attn.{q,k}"
    assert pattern(("a.b", "c.d", "e.f")) == "a.b and 2 more"
    assert pattern(("train.py(3): f", "train.py(4): g")) == "train.py(3): f and 1 more"
    assert pattern(()) == ""
    assert pattern(("Net_0.Block_1.Linear_4", "Net_0.Block_2.Linear_8")) == "Net_*.Block_*.Linear_*"
    assert pattern(("Net_0.Linear_4",)) == "Net_0.Linear_4"
    assert part_of(Call(Gemm(1, 1, 1), places=("h.0.mlp.up", "h.0.mlp.gate"))) == "h.*.mlp"
    assert part_of(Call(Gemm(1, 1, 1), places=("h.0.mlp.up", "h.0.attn.q"))) == "h.*"
    assert part_of(Call(Gemm(1, 1, 1), places=("lm_head",))) == "lm_head"
    assert part_of(Call(Gemm(1, 1, 1), "aten::mm", phase="backward")) == "backward"
    assert own_name(Call(Gemm(1, 1, 1), places=("h.0.mlp.up",))) == "up"
    assert rows_text([3]) == "row 3"
    assert rows_text([4, 1, 2, 3, 7]) == "rows 1-4, 7"
    assert rows_text(range(1, 100, 2)) == "rows 1, 3, 5, 7, 9 and 45 more"


def test_several_changes_do_not_add_up_and_it_is_said():
    call = Call(Gemm(512, 512, 512), "aten::mm")
    text = shown(answer([(call, 3e-3, 1e-3, "precision", (TF32, PAD))]))
    assert "gains of several changes to one multiplication do not add up" in squeezed(text)


def test_no_gain_is_more_than_the_whole():
    from gemmlab.experiment.workload import answer_of
    from gemmlab.workload import Workload

    calls = tuple(Call(Gemm(256, 256, 256, "bfloat16"), "aten::mm", 40, (f"l{each}",)) for each in range(9))
    made = answer_of(Workload("x", "model", calls))
    (change,) = (change for change in Story(made).changes() if not change.rows)
    assert change.gain_s < made.time_s
    assert change.share == pytest.approx(change.gain_s / made.time_s)
    assert "no kernel runs" in shown(made)


def test_changes_that_go_together_are_named_and_what_they_save_beside():
    calls = [Call(Gemm(512, 512, size), "aten::mm", 1, (f"l{size}",)) for size in (64, 128)]
    made = answer([(calls[0], 3e-3, 1e-3, "precision", (TF32,)), (calls[1], 3e-3, 1e-3, "alignment", (PAD,))])
    both = msgspec.structs.replace(made, advised=(TF32.line, PAD.line), advised_rest_s=1e-3, advised_gain=0.5)
    assert "Changes 1 and 2 below are predicted to gain 50.0% together" in squeezed(shown(both))
    assert "1.00 ms of it beside the multiplications" in squeezed(shown(both))
    one = msgspec.structs.replace(made, advised=(PAD.line,), unlisted=3, unlisted_s=2e-6)
    assert re.search(r"Change [12] below is predicted to gain", squeezed(shown(one)))
    assert "3 smaller changes of at most 2.00 us each: --json has them" in squeezed(shown(one))


def test_few_rows_hide_no_change_that_is_counted():
    calls = [Call(Gemm(512, 512, size), "aten::mm", 1, (f"l{size}",)) for size in (64, 128, 256)]
    changes = [(TF32,), (PAD,), (msgspec.structs.replace(PAD, line="other(3)"),)]
    made = answer([(call, 3e-3, 1e-3, "precision", change) for call, change in zip(calls, changes, strict=True)])
    text = shown(made, top=1)
    assert all(change.line.split("\n")[0] in text for (change,) in changes)


def test_words_that_are_used_are_explained():
    text = squeezed(shown(gpt2()))
    assert "alignment: its sizes, strides or addresses are no multiple" in text
    assert "waves: " not in text
    named = {word for made in ALL.values() for word, _ in Story(made()).meanings()}
    assert named >= {"alignment", "precision", "launch"}


def test_every_cause_of_the_model_has_a_meaning():
    from gemmlab.experiment.workload.causes import FINE, WORDS
    from gemmlab.report.workload_words import CAUSES

    assert {*WORDS.values(), FINE, "library", "batch", "contiguous", "format", "precision"} - {"kernel"} <= {*CAUSES}


def test_only_settings_that_play_a_part_are_told():
    settings = (("float32 multiplications", "float32"), ("float32 convolutions", "tfloat32"), ("autocast", "bfloat16"))
    half = Call(Gemm(64, 64, 64, "bfloat16"), "aten::mm")
    image = Convolution(32, 64, 56, 56, 64, kernel=3, format="float32")
    layer = Call(image.gemm(), "aten::convolution", convolution=image, convolution_pass="forward")
    for calls, told, left in (
        ([half], ("autocast",), ("float32 multiplications", "float32 convolutions")),
        ([half, layer], ("float32 convolutions tfloat32",), ("float32 multiplications",)),
        ([Call(Gemm(64, 64, 64), "aten::mm")], ("float32 multiplications float32",), ("float32 convolutions",)),
    ):
        text = squeezed(shown(answer([(call, 1e-3, 0.0, "none", ()) for call in calls], settings=settings)))
        assert all(word in text for word in told)
        assert not any(word in text for word in left)
    assert "topology; bfloat16" in squeezed(shown(answer([(half, 1e-3, 0.0, "none", ())], kind="topology")))


def test_what_a_second_takes_is_told_where_the_inputs_tell_it():
    def rate(inputs):
        call = Call(Gemm(64, 64, 64), "aten::mm")
        text = shown(answer([(call, 1e-3, 0.0, "none", ())], settings=(("inputs", inputs),)))
        return re.findall(r"(\w+) a second +([\d,.]+) ", text)

    assert ("tokens", "8,190,000") in rate("8x1024:int64")
    assert ("tokens", "8,190,000") in rate("mask=8x1024:bool input_ids=8x1024:int64")
    assert ("images", "256,000") in rate("256x3x224x224:float32")
    assert ("samples", "64,000") in rate("x=64x256:bfloat16 y=64:int64")
    assert not [name for name, _ in rate("64:int64") if name != "work"]


def test_a_recording_without_marks_is_no_step():
    made = traced()
    whole = msgspec.structs.replace(made.workload, steps=1, marked=False)
    text = squeezed(shown(msgspec.structs.replace(made, workload=whole)))
    assert "trace, no step marks: the whole recording" in text
    assert "the recording is predicted to take" in text
    assert "1 step" not in text
    assert "a step" not in text


def test_a_processor_s_recording_has_no_kernels_and_no_gains():
    made = traced()
    made = msgspec.structs.replace(made, chip="", workload=msgspec.structs.replace(made.workload, chip="CPU"))
    text = squeezed(shown(made))
    assert "no operator runs 3.00 ms" in text
    assert "no kernel runs" not in text
    assert "Multiplications, the longest first times and FLOP counted, time measured; of one step" in text
    assert "Measured alone: what a step may gain is predicted for a chip" in text
    assert "limit" not in text.partition("Words")[0]
