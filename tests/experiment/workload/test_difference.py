"""What came, went and changed between two answers."""

import msgspec
import pytest
from hypothesis import given, settings

from experiment.workload.drawn import workloads
from experiment.workload.networks import gpt2, linear
from gemmlab import Gemm
from gemmlab.experiment.workload import answer_of, difference
from gemmlab.workload import Call, Other, Workload

CHIP = "h200-sxm"


def answer(*calls, others=(), **about):
    return answer_of(Workload("x", "trace", calls, others, **about), CHIP)


@settings(max_examples=25)
@given(workloads())
def test_nothing_differs_from_itself(workload):
    found = difference(answer_of(workload, CHIP), answer_of(workload, CHIP))
    assert found.rows == ()
    assert found.same == len(found.before.rows)
    assert (found.time_s, found.multiplying_s, found.rest_s, found.idle_s, found.gain_s) == (0, 0, 0, 0, 0)


@settings(max_examples=25)
@given(workloads(), workloads())
def test_every_row_is_there_once_and_the_times_add_up(first, second):
    before, after = answer_of(first, CHIP), answer_of(second, CHIP)
    there, back = difference(before, after), difference(after, before)
    for found, one, other in ((there, before, after), (back, after, before)):
        assert sum(each.before is not None for each in found.rows) + found.same == len(one.rows)
        assert sum(each.after is not None for each in found.rows) + found.same == len(other.rows)
        sizes = [abs(each.time_s) for each in found.rows]
        assert sizes == sorted(sizes, reverse=True)
        for each in found.rows:
            assert each.before is not None or each.after is not None
            assert (each.what == ("came",)) == (each.before is None)
            assert (each.what == ("went",)) == (each.after is None)
    steps = after.multiplying_s / second.steps - before.multiplying_s / first.steps
    assert there.multiplying_s == pytest.approx(steps)
    assert back.time_s == pytest.approx(-there.time_s)


def test_a_padded_vocabulary_changes_the_shape_of_three_rows():
    found = difference(answer_of(gpt2(50257), CHIP), answer_of(gpt2(50304), CHIP))
    shaped = [each for each in found.rows if "shape" in each.what]
    assert len(shaped) == 3
    assert all(each.before.call.places == each.after.call.places == ("lm_head",) for each in shaped)
    assert all(each.what == ("shape", "time") for each in shaped)
    assert found.rows[:3] == tuple(shaped)
    assert sum(each.time_s for each in shaped) == pytest.approx(found.multiplying_s)
    assert found.multiplying_s < -0.008
    assert found.gain_s < 0  # it has been taken


def test_both_gradients_of_a_layer_keep_to_themselves_when_its_width_changes():
    """Sorted by time they change places: 2731 makes other products slow than 2736 does."""
    layers = [("blocks.0.w1", 1024, 0), ("blocks.0.w3", 1024, 0), ("blocks.0.w2", 0, 1024)]

    def network(width):
        calls = [call for name, ins, outs in layers for call in linear(name, 16384, ins or width, outs or width)]
        return answer_of(Workload("odd", "model", tuple(calls)), CHIP)

    found = difference(network(2731), network(2736))
    shaped = [each for each in found.rows if "shape" in each.what]
    assert len(shaped) == 6
    for each in shaped:
        one, other = each.before.call, each.after.call
        assert (one.operator, one.phase, one.places, one.problem.layout) == (
            *(other.operator, other.phase, other.places, other.problem.layout),
        )
        sides = [(getattr(one.problem, side), getattr(other.problem, side)) for side in "mnk"]
        assert [pair for pair in sides if pair[0] != pair[1]] == [(2731, 2736)]


def test_a_gradient_of_a_weight_is_no_gradient_of_an_input():
    of_input, of_weight = linear("up", 4096, 768, 3001)[1:]
    found = difference(answer(of_input), answer(of_weight))
    assert {each.what for each in found.rows} == {("came",), ("went",)}


PROBLEM = Gemm(4096, 4096, 1024, "bfloat16", layout="nt")
CALL = Call(PROBLEM, "aten::mm", 4, ("up",), "forward", kernels=("one",), time_s=4e-4)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"problem": Gemm(4096, 4096, 2048, "bfloat16", layout="nt")}, ("shape",)),
        ({"problem": PROBLEM.replace(lda=1027)}, ("stride",)),
        ({"problem": PROBLEM.in_format("float16")}, ("format",)),
        ({"kernels": ("another",)}, ("kernel",)),
        ({"time_s": 8e-4}, ("time",)),
        ({"count": 8}, ("count",)),
        ({"time_s": 4.01e-4}, ()),
        ({"operator": "aten::addmm"}, ()),
        ({"places": ("elsewhere",)}, ()),
    ],
)
def test_what_changed_in_a_row(changes, what):
    found = difference(answer(CALL), answer(msgspec.structs.replace(CALL, **changes)))
    assert [each.what for each in found.rows] == ([what] if what else [])


def test_steps_and_the_rest():
    one = answer(CALL, others=(Other("aten::add", time_s=1e-3),))
    two = answer(
        msgspec.structs.replace(CALL, count=8, time_s=8e-4), others=(Other("aten::add", time_s=4e-3),), steps=2
    )
    found = difference(one, two)
    assert found.rows == ()
    assert found.rest_s == pytest.approx(1e-3)
    assert found.time_s == pytest.approx(1e-3)


def test_a_model_beside_its_trace():
    """Predicted beside measured: other operators, no places in the trace, the same multiplications."""
    model = Workload(
        "model", "model", (msgspec.structs.replace(CALL, operator="aten::linear", time_s=None, kernels=()),)
    )
    trace = Workload("trace", "trace", (msgspec.structs.replace(CALL, places=(), phase="", time_s=1.0),), span_s=1.0)
    (row,) = difference(answer_of(model, CHIP), answer_of(trace, CHIP)).rows
    assert row.what == ("time",)
    assert row.time_s == pytest.approx(1.0, rel=1e-3)
