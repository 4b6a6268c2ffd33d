"""What holds of any answer, and that a plain loop over every call says the same."""

import math
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment.workload.drawn import workloads
from experiment.workload.networks import gpt2
from gemmlab import Gemm, Record, explain
from gemmlab.chips import load
from gemmlab.experiment.workload import answer_of
from gemmlab.experiment.workload.answering import gains
from gemmlab.experiment.workload.distinct import Distinct, distinct
from gemmlab.experiment.workload.forecast import IN_STREAM, Forecaster
from gemmlab.experiment.workload.hosts import HOST_S
from gemmlab.experiment.workload.look import Look, Program
from gemmlab.model.constants import constants_of
from gemmlab.record import GemmlabError
from gemmlab.workload import Call, Other, Workload

TENTHS = 1e-9


@settings(max_examples=60)
@given(workloads())
def test_shares_gains_and_order(workload):
    answer = answer_of(workload, "h200-sxm")
    rows = [row.record.call for row in answer.rows]
    whole = answer.multiplying_s + answer.rest_s + answer.idle_s + answer.unread_s
    assert whole == pytest.approx(answer.time_s)
    assert math.fsum(row.time_s for row in rows) == pytest.approx(answer.multiplying_s)
    assert math.fsum(rest.time_s for rest in answer.rest) == pytest.approx(answer.rest_s)
    if answer.time_s:
        shares = math.fsum(row.time_share for row in rows)
        other_s = answer.rest_s + answer.unread_s + answer.idle_s
        assert shares + other_s / answer.time_s == pytest.approx(1)
    if answer.flop:
        rest = sum(other.flop or 0 for other in workload.others)
        assert math.fsum(row.flop_share for row in rows) + rest / answer.flop == pytest.approx(1)
    beside = answer.rest_s / answer.time_s if answer.time_s else 0.0  # settings save there, too
    assert 0 <= answer.advised_gain <= answer.perfect_gain + beside + TENTHS <= 1 + 2 * TENTHS
    assert [row.gain_s for row in rows] == sorted((row.gain_s for row in rows), reverse=True)
    assert sum(call.count for call in workload.calls) == sum(row.count for row in rows)
    for row in rows:
        check_row(row)
    for row in answer.rows:
        assert Record.from_json(row.record.to_json()) == row.record


def check_row(row):
    assert 0 <= row.gain_s <= row.time_s
    assert row.time_s > 0
    assert row.predicted_time_s >= row.limit_s * (1 - 1e-9) > 0
    assert row.cause
    gains = [change.gain_s for change in row.changes]
    assert gains == sorted(gains, reverse=True)
    assert row.gain_s == (gains[0] if gains else 0)
    assert len({change.line for change in row.changes}) == len(gains)
    for change in row.changes:
        assert change.gain_s > 0.01 * row.time_s
        assert change.predicted_speedup == pytest.approx(row.time_s / (row.time_s - change.gain_s))
        assert all((change.line, change.digits, change.cost))
        assert change.confidence in ("high", "medium", "low")


@settings(max_examples=25)
@given(workloads())
def test_a_plain_loop_over_every_call_says_the_same(workload):
    """No grouping, and nothing cached from one call to the next."""
    chip, others = load("h200-sxm"), {"aten::_softmax": 1e-3}
    again = (msgspec.structs.replace(call, count=call.count + 1) for call in workload.calls)
    calls = tuple(evenly(call) for call in (*workload.calls, *again))
    workload = msgspec.structs.replace(workload, calls=calls)
    together = program_of(workload, chip, others)
    for each in distinct(workload.calls):
        look = Look(each, together, foreign=False)
        apart = [
            Look(Distinct(call, (call,)), program_of(workload, chip, others), foreign=False) for call in each.members
        ]
        for name in ("time_s", "predicted_s", "limit_s"):
            assert math.fsum(getattr(one, name) for one in apart) == pytest.approx(getattr(look, name))
        if len({call.places for call in each.members}) == 1:  # else names of several layers' weights are one
            summed: dict[str, float] = {}
            for candidate, gain in (pair for one in apart for pair in gains(one, float8=True)):
                summed[candidate.line] = summed.get(candidate.line, 0.0) + gain
            found = {candidate.line: gain for candidate, gain in gains(look, float8=True)}
            assert found == pytest.approx(summed)


def evenly(call):
    """Each of its multiplications as long as the others: what is below its limit alone may not be together."""
    return call if call.time_s is None else msgspec.structs.replace(call, time_s=call.count * 1e-4)


def program_of(workload, chip, others):
    return Program(workload, Forecaster(chip), others)


def test_a_multiplication_is_what_explain_says_with_the_launches_of_a_stream():
    problem = Gemm(4096, 4096, 1024, "bfloat16", layout="nt")
    (row,) = answer_of(Workload("x", "table", (Call(problem, count=3),)), "h200-sxm").rows
    alone = explain(problem, "h200-sxm", advice=False)
    launch = constants_of(load("h200-sxm")).launch_s
    expected = alone.prediction.time_s - (1 - IN_STREAM) * launch
    assert row.record.call.predicted_time_s == pytest.approx(3 * expected)
    assert row.record.count == alone.count
    assert row.record.kernel == alone.kernel


def test_equal_calls_are_one_row_with_all_their_places():
    problem = Gemm(64, 64, 64)
    calls = [Call(problem, "aten::mm", 2, (f"h.{layer}",), time_s=1e-3, kernels=("k",)) for layer in range(3)]
    other = Call(problem, "aten::mm", 1, ("h.0",), "backward")
    found = distinct([*calls, other])
    assert [each.call.count for each in found] == [6, 1]
    assert found[0].call.places == ("h.0", "h.1", "h.2")
    assert found[0].call.time_s == pytest.approx(3e-3)
    assert found[0].call.kernels == ("k",)


def only_row(call):
    return answer_of(Workload("x", "trace", (call,)), "h200-sxm").rows[0].record.call


def test_measured_times_shrink_by_the_predicted_ratio_and_never_below_the_limit():
    problem = Gemm(4096, 1001, 1024, "bfloat16", layout="nt")
    predicted = only_row(Call(problem))
    slow = (
        answer_of(Workload("x", "trace", (Call(problem, time_s=4 * predicted.time_s),)), "h200-sxm").rows[0].record.call
    )
    assert slow.known == "measured"
    assert slow.gain_s == pytest.approx(4 * predicted.gain_s)
    fast = answer_of(Workload("x", "trace", (Call(problem, time_s=predicted.limit_s),)), "h200-sxm").rows[0].record.call
    assert fast.changes == ()


def test_a_measured_span_has_idle_time_and_graphs_to_close_it():
    problem = Gemm(512, 512, 512, "bfloat16")
    calls, others = (Call(problem, time_s=2e-3, count=100),), (Other("aten::add", time_s=1e-3),)
    answer = answer_of(Workload("x", "trace", calls, others, span_s=10e-3, busy_s=3e-3), "h200-sxm")
    assert (answer.time_s, answer.known) == (10e-3, "measured")
    assert answer.idle_s == pytest.approx(7e-3)
    graphs = answer.changes[0]
    assert graphs.cause == "launch"
    assert 0.5 * answer.idle_s < graphs.gain_s < answer.idle_s  # what the profiler itself cost is no gain
    assert answer.advised_gain < 0.3


def test_a_models_small_operators_are_told_to_be_launch_bound():
    calls = (Call(Gemm(8, 8, 8, "bfloat16"), count=1000),)
    answer = answer_of(Workload("x", "model", calls), "h200-sxm")
    assert any("launch-bound" in note for note in answer.notes)
    assert answer.changes[0].cause == "launch"
    compiled = answer_of(Workload("x", "model", calls, settings=(("compiled", "Model"),)), "h200-sxm")
    assert not any("launch-bound" in note for note in compiled.notes)
    large = answer_of(Workload("x", "model", (Call(Gemm(8192, 8192, 8192, "bfloat16"), count=9),)), "h200-sxm")
    assert not any("launch-bound" in note for note in large.notes)


def test_the_traces_own_chip_and_another_ones_times():
    call = Call(Gemm(4096, 4096, 4096, "bfloat16"), time_s=1.0)
    trace = Workload("x", "trace", (call,), (Other("aten::add", time_s=1.0, bytes=10**9),), span_s=2.0, busy_s=2.0)
    traced = msgspec.structs.replace(trace, chip="NVIDIA H200")
    assert answer_of(traced).chip == "h200-sxm"
    foreign = answer_of(traced, "a100-sxm-80gb")
    assert foreign.known == "predicted"
    assert foreign.time_s < 0.01
    assert any("a100-sxm-80gb is predicted" in note for note in foreign.notes)
    ran = msgspec.structs.replace(trace, chip="CPU")  # as a trace without a GPU says
    elsewhere = answer_of(ran, "h200-sxm")
    assert elsewhere.known == "predicted"
    assert elsewhere.time_s == pytest.approx(elsewhere.multiplying_s + elsewhere.rest_s)
    assert 0 < elsewhere.multiplying_s < 0.01
    assert 1e9 / 4.8e12 < elsewhere.rest_s < 0.01  # of its bytes; what took a second here tells nothing there
    assert any("of a processor" in note for note in elsewhere.notes)
    views = (*trace.others, Other("aten::view", time_s=1.0))
    lost = answer_of(msgspec.structs.replace(ran, others=views), "h200-sxm")
    assert lost.time_s == pytest.approx(elsewhere.time_s)
    assert any("50% of what else the processor did" in note for note in lost.notes)
    assert answer_of(ran, "epyc-9654-96c").time_s == 2.0
    unknown = answer_of(msgspec.structs.replace(trace, chip="Some Other GPU"))
    assert unknown.chip == "h100-sxm"
    assert any("Some Other GPU" in note for note in unknown.notes)


def test_a_processors_trace_predicts_nothing_unless_a_chip_is_asked_for():
    calls = (Call(Gemm(64, 64, 64), "aten::mm", time_s=1e-3), Call(Gemm(1000, 1001, 1001), "aten::mm", time_s=4e-3))
    trace = Workload("x", "trace", calls, (Other("aten::add", time_s=2e-3),), span_s=9e-3, busy_s=7e-3, chip="CPU")
    answer = answer_of(trace)
    assert (answer.chip, answer.known, answer.time_s) == ("", "measured", 9e-3)
    assert (answer.multiplying_s, answer.rest_s) == (pytest.approx(5e-3), pytest.approx(2e-3))
    assert answer.idle_s == pytest.approx(2e-3)
    assert (answer.perfect_gain, answer.advised_gain, answer.changes, answer.at_peak_s) == (0, 0, (), 0)
    assert [row.record.call.time_s for row in answer.rows] == [4e-3, 1e-3]
    for row in answer.rows:
        assert row.record.prediction is None
        assert (row.record.call.limit_s, row.record.call.predicted_time_s, row.record.call.gain_s) == (None, None, 0)
        assert Record.from_json(row.record.to_json()) == row.record
    assert any("--chip" in note for note in answer.notes)


def test_no_gain_is_more_than_all_the_time():
    """A model that waits for its host, and a trace whose kernels overlap."""
    small = Workload("x", "model", (Call(Gemm(64, 256, 256, "bfloat16"), count=40),))
    waiting = answer_of(small, "h100-sxm")
    assert waiting.time_s == pytest.approx(waiting.host_s)
    assert waiting.changes[0].cause == "launch"
    assert waiting.changes[0].gain_s == pytest.approx(waiting.idle_s)
    assert waiting.perfect_gain == waiting.advised_gain == 0  # what the device saves, it waits
    odd = Call(Gemm(4096, 1001, 1001, "bfloat16", layout="nt"), time_s=3e-3)
    overlap = answer_of(Workload("x", "trace", (odd,), span_s=1e-3, busy_s=1e-3), "h100-sxm")
    assert overlap.rows[0].record.call.gain_s == pytest.approx(1e-3)
    for answer in (waiting, overlap):
        assert all(change.gain_s <= answer.time_s for change in answer.changes)


def test_a_change_saves_no_more_than_the_device_works_longer_than_its_host():
    calls = (Call(Gemm(4096, 4096, 4096, "float32"), count=4),)
    alone = answer_of(Workload("x", "table", calls), "h100-sxm")
    busy = alone.time_s - alone.advised_gain * alone.time_s / 2
    eager = Workload("x", "model", calls, (Other("aten::add", round(busy / HOST_S), bytes=1),))
    answer = answer_of(eager, "h100-sxm")
    assert 0 < answer.host_s < answer.time_s
    assert answer.advised_gain * answer.time_s == pytest.approx(answer.time_s - answer.host_s)


def test_small_gains_are_in_their_row_and_in_no_list():
    odd = Call(Gemm(512, 1001, 256, "bfloat16", layout="nt"))
    large = Call(Gemm(8192, 8192, 8192, "bfloat16"), count=100)
    alone = answer_of(Workload("x", "table", (odd,)), "h200-sxm")
    beside = answer_of(Workload("x", "table", (odd, large)), "h200-sxm")
    gain = alone.rows[0].record.call.gain_s
    assert beside.rows[0].record.call.gain_s == pytest.approx(gain)
    assert 0 < gain < beside.least_s == pytest.approx(1e-3 * beside.time_s)
    assert (beside.changes, beside.unlisted, beside.unlisted_s) == ((), 1, pytest.approx(gain))
    assert beside.advised_gain == 0
    assert (len(alone.changes), alone.unlisted) == (1, 0)


def test_what_a_step_reaches_of_the_peak():
    calls = (Call(Gemm(4096, 4096, 4096, "bfloat16"), count=2), Call(Gemm(4096, 4096, 4096, "float32")))
    answer = answer_of(Workload("x", "table", calls, (Other("aten::add", bytes=10**10),)), "h200-sxm")
    peaks = load("h200-sxm").peaks
    work = 2 * 4096**3
    at_peak = 2 * work / float(peaks["bfloat16"].flop_per_s) + work / float(peaks["float32"].flop_per_s)
    assert answer.at_peak_s == pytest.approx(at_peak)
    assert answer.utilisation == pytest.approx(at_peak / answer.time_s)
    assert answer.utilisation < answer.multiplying_utilisation < 1
    assert answer.flop_per_s == pytest.approx(3 * work / answer.time_s)
    assert answer.multiplying_flop_per_s == pytest.approx(3 * work / answer.multiplying_s)
    for row in answer.rows:
        assert row.flop_per_s == pytest.approx(row.call.flop / row.record.call.time_s)


def test_another_chips_time_of_what_moves_nobody_knows_how_much_goes_by_bandwidth():
    trace = Workload("x", "trace", (), (Other("aten::odd", time_s=1e-3),), span_s=1e-3, chip="NVIDIA H200")
    slow, fast = load("a100-sxm-80gb"), load("h200-sxm")
    (rest,) = answer_of(trace, "a100-sxm-80gb").rest
    ratio = Forecaster(fast).streaming_bytes_per_s / Forecaster(slow).streaming_bytes_per_s
    assert ratio > 2
    assert rest.time_s == pytest.approx(1e-3 * ratio)


def test_kernels_that_overlap_are_told():
    call = Call(Gemm(64, 64, 64), time_s=1e-3)
    others = (Other("aten::add", time_s=1e-3),)
    answer = answer_of(Workload("x", "trace", (call,), others, span_s=1e-3, busy_s=1e-3), "h200-sxm")
    assert any(note.startswith("kernels overlap") for note in answer.notes)
    assert answer.perfect_gain <= 1
    apart = answer_of(Workload("x", "trace", (call,), others, span_s=2e-3, busy_s=2e-3), "h200-sxm")
    assert not any(note.startswith("kernels overlap") for note in apart.notes)


def test_what_cannot_be_answered():
    with pytest.raises(GemmlabError, match="unknown chip `h300`"):
        answer_of(gpt2(train=False), "h300")
    with pytest.raises(GemmlabError, match="workload is 3"):
        answer_of(3)
    with pytest.raises(GemmlabError, match="unknown format on tpu-v4 `float64`"):
        answer_of(Workload("x", "table", (Call(Gemm(8, 8, 8, "float64")),)), "tpu-v4")


def test_an_empty_workload_has_an_answer():
    answer = answer_of(Workload("x", "table"))
    assert (answer.rows, answer.time_s, answer.perfect_gain, answer.advised_gain) == ((), 0, 0, 0)


@pytest.mark.parametrize("chip", ["v100-sxm2-32gb", "a100-sxm-80gb", "b200-sxm", "mi300x", "tpu-v5e", "m1", "rtx-4090"])
def test_other_chips_answer(chip):
    for format in ("float32", "bfloat16"):
        answer = answer_of(gpt2(batch=1, format=format, fused="" if format == "float32" else "flash attention"), chip)
        assert 0 <= answer.advised_gain <= answer.perfect_gain <= 1


def test_hundreds_of_shapes_take_seconds():
    """Two seconds of processor time; the limit leaves room for a slow machine."""
    calls = tuple(Call(Gemm(1000 + i, 1024 + 3 * i, 512 + i, "bfloat16", layout="nt")) for i in range(300))
    answer_of(Workload("warm", "table", calls[:1]))
    begin = time.process_time()
    assert len(answer_of(Workload("x", "table", calls)).rows) == 300
    assert time.process_time() - begin < 20


def test_an_operator_that_multiplies_several_times_is_launched_once():
    def told(call):
        notes = answer_of(Workload("x", "model", (call,)), "h200-sxm").notes
        (note,) = [each for each in notes if "launch-bound" in each]
        return int(note.split()[1].replace(",", ""))

    problem = Gemm(8, 8, 8, "bfloat16")
    assert told(Call(problem, "aten::mm", 1000)) == 1000
    assert told(Call(problem, "aten::flash", 1000, phase="forward", fused="flash attention")) == 500
    assert told(Call(problem, "aten::flash", 1000, phase="backward", fused="flash attention")) == 200
    assert told(Call(problem, "aten::convolution_backward", 1000, phase="backward")) == 500
    lstm = Call(problem, "aten::_cudnn_rnn", 1000)
    assert not any("launch-bound" in note for note in answer_of(Workload("x", "model", (lstm,)), "h200-sxm").notes)


@settings(max_examples=60)
@given(
    workloads(),
    st.floats(1e-6, 1e-1),
    st.floats(0.01, 1.0),
    st.sampled_from(("", "NVIDIA H200", "NVIDIA A100-SXM4-80GB", "CPU")),
)
def test_no_gain_of_any_source_is_more_than_its_time(workload, span_s, busy, device):
    timed = workload.kind == "trace"
    spans = {"span_s": span_s, "busy_s": span_s * busy, "chip": device} if timed else {}
    answer = answer_of(msgspec.structs.replace(workload, **spans), None if device == "CPU" else "h200-sxm")
    most = answer.time_s * (1 + TENTHS)
    for change in (*answer.changes, *(each for row in answer.rows for each in row.record.call.changes)):
        assert 0 < change.gain_s <= most
    assert max((row.record.call.gain_s for row in answer.rows), default=0) <= most
    assert answer.unlisted_s <= answer.least_s
    for share in (answer.perfect_gain, answer.advised_gain):
        assert 0 <= share <= 1
    assert 0 <= answer.idle_s <= most
