"""The host's part: launches that keep a device waiting, and what to say of it."""

from __future__ import annotations

from gemmlab.experiment.workload.answer import Rest
from gemmlab.experiment.workload.look import Look
from gemmlab.record import ChangeSection
from gemmlab.units import seconds_text
from gemmlab.workload import Workload

#: of one operator on the host, eager: an addition on a server with an H200, PyTorch 2.11 (benchmarks/networks_parts.py)
HOST_S = 10e-6
#: of recording one operator and its launch with shapes, there: a step's trace beside the step alone where the device
#: waits was longer by 12 to 36 us an operator (benchmarks/networks.py)
PROFILER_S = 20e-6
OVERLAPPING = 1.02  # times as long as some kernel runs: kernels of several streams, or of predicted times
IDLE = 0.1  # of the time: a device that waits longer is worth a word
COMPILED = "compiled"  # the setting that names compiled modules
LINE = 'model = torch.compile(model, mode="reduce-overhead")  # CUDA graphs: one launch for a whole step'
DIGITS = "graphs alone: none; torch.compile also fuses what lies between: float32 rounding, 2^-24 a step, other casts"


def operators(looks: list[Look], rest: tuple[Rest, ...]) -> int:
    """Operators that launch something."""
    return sum(look.call.count for look in looks) + sum(each.other.count for each in rest if each.time_s > 0)


def waiting_s(workload: Workload, looks: list[Look], rest: tuple[Rest, ...]) -> float:
    """Predicted seconds that a device waits for an eager host: only a traced model's operators are told one by one."""
    if workload.kind != "model" or COMPILED in dict(workload.settings):
        return 0.0
    working = sum(look.time_s for look in looks) + sum(each.time_s for each in rest)
    return max(0.0, operators(looks, rest) * HOST_S - working)


def host_notes(workload: Workload, looks: list[Look], rest: tuple[Rest, ...], *, foreign: bool) -> tuple[str, ...]:
    """What is to be said of the host, and of times that are not known alike."""
    notes = []
    waiting = waiting_s(workload, looks, rest)
    if waiting > 0:
        notes.append(
            f"launch-bound: {operators(looks, rest)} operators cost an eager host about {HOST_S * 1e6:.0f} us each, "
            f"{seconds_text(waiting)} more than the device works; the times here are the device's"
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
    workload: Workload, looks: list[Look], rest: tuple[Rest, ...], total_s: float, idle_s: float
) -> tuple[ChangeSection, ...]:
    """CUDA graphs where the device waits: what it waits is the most that they gain.

    A trace's wait has the profiler's own in it, which is no gain.
    """
    waited = waiting_s(workload, looks, rest)
    if idle_s:
        waited = max(0.0, idle_s - operators(looks, rest) * PROFILER_S)
    whole = total_s if idle_s else total_s + waited
    if whole <= 0 or waited < IDLE * whole or waited >= whole:
        return ()
    return (
        ChangeSection(
            cause="launch",
            line=LINE,
            digits=DIGITS,
            cost="fixed shapes and addresses; warm-up, and memory that the graph keeps",
            confidence="low",
            gain_s=waited,
            predicted_speedup=whole / (whole - waited),
        ),
    )
