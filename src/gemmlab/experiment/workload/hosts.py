"""The host's part: launches that keep a device waiting, and what to say of it."""

from __future__ import annotations

from gemmlab.experiment.workload.answer import Rest
from gemmlab.experiment.workload.device import Device
from gemmlab.experiment.workload.look import Look
from gemmlab.record import ChangeSection
from gemmlab.units import seconds_text
from gemmlab.workload import Call, Workload

#: of one operator on the host, eager: an addition on a server with an H200, PyTorch 2.11 (benchmarks/networks_parts.py)
HOST_S = 10e-6
#: of recording one operator and its launch with shapes, there: a step's trace beside the step alone where the device
#: waits was longer by 12 to 36 us an operator (benchmarks/networks.py)
PROFILER_S = 20e-6
OVERLAPPING = 1.02  # times as long as some kernel runs: kernels of several streams, or of predicted times
IDLE = 0.1  # of the time: a device that waits longer is worth a word
RECURRENT = ("aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu")
COMPILED = "compiled"  # the setting that names compiled modules
LINE = 'model = torch.compile(model, mode="reduce-overhead")  # CUDA graphs: one launch for a whole step'
DIGITS = "graphs alone: none; torch.compile also fuses what lies between: float32 rounding, 2^-24 a step, other casts"


def operators(looks: list[Look], rest: tuple[Rest, ...]) -> int:
    """Operators that launch something, one that multiplies several times counted once."""
    multiplying = sum(look.call.count / products_of(look.call) for look in looks)
    return round(multiplying) + sum(each.other.count for each in rest if each.time_s > 0)


def products_of(call: Call) -> float:
    """Multiplications of one call of its operator: a fused attention's, both gradients of a convolution.

    Of a recurrent layer they are as many as steps, and the library launches them by itself: its operators are too few
    to count.
    """
    if "_rnn" in call.operator or call.operator in RECURRENT:
        return float("inf")
    if call.fused:
        return 5 if call.phase == "backward" else 2
    return 2 if call.operator.endswith("convolution_backward") else 1


def host_s(workload: Workload, device: Device, looks: list[Look], rest: tuple[Rest, ...]) -> float:
    """Predicted seconds that an eager host takes for all operators, a GPU waiting or not.

    Only a model's operators, and those of a processor's trace, are told one by one; 0 for other sources, compiled
    modules and other devices.
    """
    told = workload.kind == "model" or device.processor
    if not told or COMPILED in dict(workload.settings) or device.chip.kind != "gpu":
        return 0.0
    return operators(looks, rest) * HOST_S


def host_notes(
    workload: Workload, looks: list[Look], rest: tuple[Rest, ...], eager_s: float, *, foreign: bool
) -> tuple[str, ...]:
    """What is to be said of the host, whose `eager_s` are host_s, and of times that are not known alike."""
    notes = []
    waiting = eager_s - sum(look.time_s for look in looks) - sum(each.time_s for each in rest)
    if waiting > 0:
        notes.append(
            f"launch-bound: {operators(looks, rest)} operators cost an eager host about {HOST_S * 1e6:.0f} us each, "
            f"{seconds_text(waiting)} more than the device works; until launches are fewer, what the device saves "
            "shortens no step"
        )
    unknown = sum(look.call.count for look in looks if look.measured_s is None)
    if workload.span_s is not None and unknown and not foreign:
        notes.append(f"{unknown} multiplications have no kernel in the trace: their times are predicted")
    working = sum(look.time_s for look in looks) + sum(each.time_s for each in rest)
    if workload.busy_s is not None and not foreign and working > OVERLAPPING * workload.busy_s:
        notes.append(
            f"kernels overlap: theirs are {seconds_text(working)} and one or more run {seconds_text(workload.busy_s)}; "
            "shares and gains add up to more than the time"
        )
    lows = sum(look.call.count for look in looks if look.forecast.confidence == "low" and look.measured_s is None)
    if lows:
        notes.append(
            f"times of {lows} multiplications rest on few readings: convolutions in narrow groups, float32 attention"
        )
    return tuple(notes)


def graph_change(
    looks: list[Look], rest: tuple[Rest, ...], total_s: float, idle_s: float, *, predicted: bool
) -> tuple[ChangeSection, ...]:
    """CUDA graphs where the device waits, `idle_s` of `total_s`: what it waits is the most that they gain.

    A trace's wait has the profiler's own in it, which is no gain; a predicted one has not.
    """
    profiled = 0.0 if predicted else operators(looks, rest) * PROFILER_S
    waited = max(0.0, idle_s - profiled)
    if total_s <= 0 or waited < IDLE * total_s or waited >= total_s:
        return ()
    return (
        ChangeSection(
            cause="launch",
            line=LINE,
            digits=DIGITS,
            cost="fixed shapes and addresses; warm-up, and memory that the graph keeps",
            confidence="low",
            gain_s=waited,
            predicted_speedup=total_s / (total_s - waited),
        ),
    )
