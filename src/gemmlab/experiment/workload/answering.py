"""Answer a workload: every multiplication once, with its time, its limit, its changes, and what they gain in all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from gemmlab.chips import Chip
from gemmlab.experiment.workload.accuracy import accuracy_of
from gemmlab.experiment.workload.amdahl import Asked, best_plan
from gemmlab.experiment.workload.answer import Answer, Row
from gemmlab.experiment.workload.beside import saved_beside
from gemmlab.experiment.workload.causes import cause_of
from gemmlab.experiment.workload.changes import candidates
from gemmlab.experiment.workload.device import device_of
from gemmlab.experiment.workload.distinct import distinct
from gemmlab.experiment.workload.forecast import Forecaster
from gemmlab.experiment.workload.hosts import graph_change, host_notes, host_s
from gemmlab.experiment.workload.look import Candidate, Look, Program
from gemmlab.experiment.workload.recorded import recorded
from gemmlab.experiment.workload.rest import rest_notes, rest_of
from gemmlab.experiment.workload.stating import stated
from gemmlab.experiment.workload.whole import Whole, whole_of
from gemmlab.model.advice.situation import WORTH
from gemmlab.record import CallSection, ChangeSection, require_type
from gemmlab.workload import Workload

WORTH_OF_STEP = 1e-3  # of the workload's time: less is in no list of changes
SURE = {"high": 0, "medium": 1, "low": 2}


def answer_of(workload: Workload, chip: Chip | str | None = None, *, float8: bool = False) -> Answer:
    """What bounds every multiplication of a workload on a chip, and what to change; no hardware is used.

    `chip` is a chip or its name or file; left out, the one that a trace names, else h100-sxm; of a trace that a
    processor ran nothing is predicted then. `float8` advises formats of eight bits, too, which change digits more than
    anyone wants unasked. Times that the source measured on another chip are left out. Raises GemmlabError for a chip
    that is unknown or cannot compute in a multiplication's format.
    """
    require_type("workload", workload, Workload, "what gemmlab.workload reads from a trace, a model or a table")
    device = device_of(workload, chip)
    if device.processor and chip is None:
        return recorded(workload)
    forecaster = Forecaster(device.chip)
    rest = rest_of(workload, forecaster, device)
    other_s: dict[str, float] = {}
    for each in rest:
        other_s[each.other.name] = other_s.get(each.other.name, 0.0) + each.time_s
    program = Program(workload, forecaster, other_s)
    looks = [Look(each, program, foreign=device.foreign) for each in distinct(workload.calls)]
    host = host_s(workload, device, looks, rest)
    whole = whole_of(workload, looks, rest, host, foreign=device.foreign)
    asked = [Asked(look, gains(look, float8=float8)) for look in looks]
    flop = workload.flop + sum(other.flop or 0 for other in workload.others)
    rows = [row_of(look, found, whole, flop, workload) for look, found in asked]
    plan_beside = partial(saved_beside, workload, rest, autocast=program.autocast)
    found = together(rows, asked, plan_beside, whole)
    changes = tuple(change for change in found if change.gain_s > WORTH_OF_STEP * whole.time_s)
    unlisted = [change.gain_s for change in found if change not in changes]
    plan = best_plan(asked, {change.line for change in changes}, plan_beside)
    perfect = sum(perfect_s(each.look, each.found, limit) for each, limit in zip(asked, plan.limits_s, strict=True))
    changes += graph_change(looks, rest, whole.time_s, whole.idle_s, predicted=host > 0)
    return Answer(
        workload=workload,
        chip=device.chip.name,
        rows=tuple(sorted(rows, key=lambda row: (-gain_of(row), -time_of(row)))),
        rest=rest,
        **whole._asdict(),
        perfect_gain=whole.shortened(perfect, host),
        advised_gain=whole.shortened(plan.saved_s, host),
        changes=tuple(sorted(changes, key=lambda change: (-change.gain_s, change.line))),
        advised=tuple(change.line for change in changes if change.line in plan.lines),
        advised_rest_s=plan.rest_s,
        host_s=host,
        least_s=WORTH_OF_STEP * whole.time_s,
        unlisted=len(unlisted),
        unlisted_s=max(unlisted, default=0.0),
        at_peak_s=sum(look.peak_s for look in looks),
        accuracy=accuracy_of(device.chip.name),
        notes=(
            *(*workload.notes, *device.notes, *rest_notes(workload, device)),
            *host_notes(workload, looks, rest, host, foreign=device.foreign),
        ),
    )


def gains(look: Look, *, float8: bool) -> list[tuple[Candidate, float]]:
    """Each candidate with the seconds that it saves of all."""
    return [(candidate, look.gain_s(candidate)) for candidate in candidates(look, float8=float8)]


def worth(look: Look, gain_s: float) -> bool:
    """Whether a gain is worth a word: beyond what two kernels of one library differ by."""
    return gain_s > 0 and gain_s >= look.time_s * (1 - 1 / WORTH)


def perfect_s(look: Look, found: list[tuple[Candidate, float]], planned_s: float) -> float:
    """Seconds saved at the limit, in the best of the formats that its advice allows; `planned_s` is the best plan's."""
    limits = [look.limit_s, planned_s, *(each.limit_s * look.call.count for each, gain in found if gain > 0)]
    return max(0.0, look.time_s - min(limits))


def row_of(look: Look, found: list[tuple[Candidate, float]], whole: Whole, flop: int, workload: Workload) -> Row:
    """One row of the answer."""
    call, forecast = look.call, look.forecast
    changes = changes_of(look, found, whole.working_s)
    section = CallSection(
        **stated(call, workload),
        time_s=look.time_s,
        known="predicted" if look.measured_s is None else "measured",
        predicted_time_s=look.predicted_s,
        limit_s=look.limit_s,
        flop_share=call.flop / flop if flop else 0.0,
        time_share=look.time_s / whole.time_s if whole.time_s else 0.0,
        cause=cause_of(look, changes[0].cause if changes else ""),
        gain_s=changes[0].gain_s if changes else 0.0,
        changes=changes,
    )
    return Row(call, msgspec.structs.replace(forecast.record, call=section))


def changes_of(look: Look, found: list[tuple[Candidate, float]], most_s: float) -> tuple[ChangeSection, ...]:
    """What is worth a word, each line once, the largest gain first; none gains more than the device works."""
    kept: dict[str, ChangeSection] = {}
    for candidate, gain in sorted(found, key=lambda pair: -pair[1]):
        if worth(look, gain) and candidate.line not in kept:
            kept[candidate.line] = ChangeSection(
                cause=candidate.cause,
                line=candidate.line,
                digits=candidate.digits,
                cost=candidate.cost,
                confidence=max(candidate.confidence, look.forecast.confidence, key=lambda word: SURE[word]),
                gain_s=min(gain, most_s),
                predicted_speedup=look.time_s / (look.time_s - gain) if gain < look.time_s else float("inf"),
            )
    return tuple(kept.values())


def together(
    rows: list[Row], asked: list[Asked], beside: Callable[[set[str]], float], whole: Whole
) -> tuple[ChangeSection, ...]:
    """Each change once, over all the rows that have it; a setting of the whole program over all that it touches.

    `beside` says what settings save of what is no multiplication.
    """
    found: dict[str, list[tuple[ChangeSection, float]]] = {}
    for row in rows:
        for change in row.record.call.changes if row.record.call else ():
            found.setdefault(change.line, []).append((change, time_of(row)))
    touched: dict[str, list[tuple[float, float]]] = {}
    for look, pairs in asked:
        for candidate, gain in pairs:
            if candidate.wide or candidate.shared:
                touched.setdefault(candidate.line, []).append((gain, look.time_s))
    summed = [summed_change(pairs, touched.get(line), beside({line})) for line, pairs in found.items()]
    return tuple(
        msgspec.structs.replace(change, gain_s=min(change.gain_s, whole.working_s))
        for change in summed
        if change.gain_s > 0
    )


def summed_change(
    pairs: list[tuple[ChangeSection, float]], touched: list[tuple[float, float]] | None, beside_s: float
) -> ChangeSection:
    """One change of several rows; `touched` are gain and time of all rows of a setting, those that it slows, too."""
    largest = max((change for change, _ in pairs), key=lambda change: change.gain_s)
    gains_s = touched or [(change.gain_s, time) for change, time in pairs]
    gain, time = sum(gain for gain, _ in gains_s), sum(time for _, time in gains_s)
    worst = max((change.confidence for change, _ in pairs), key=lambda word: SURE[word])
    speedup = time / (time - gain)  # of the multiplications
    return msgspec.structs.replace(largest, confidence=worst, gain_s=gain + beside_s, predicted_speedup=speedup)


def gain_of(row: Row) -> float:
    """Seconds that its best change gains."""
    return row.record.call.gain_s if row.record.call else 0.0


def time_of(row: Row) -> float:
    """Seconds of all of them."""
    return row.record.call.time_s if row.record.call else 0.0
