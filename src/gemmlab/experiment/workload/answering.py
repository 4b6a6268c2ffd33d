"""Answer a workload: every multiplication once, with its time, its limit, its changes, and what they gain in all."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from gemmlab.chips import Chip
from gemmlab.experiment.workload.amdahl import advised_s
from gemmlab.experiment.workload.answer import Answer, Rest, Row
from gemmlab.experiment.workload.beside import saved_beside
from gemmlab.experiment.workload.causes import cause_of
from gemmlab.experiment.workload.changes import candidates
from gemmlab.experiment.workload.device import device_of
from gemmlab.experiment.workload.distinct import distinct
from gemmlab.experiment.workload.forecast import Forecaster
from gemmlab.experiment.workload.hosts import graph_change, host_notes
from gemmlab.experiment.workload.look import Candidate, Look, Program
from gemmlab.experiment.workload.rest import rest_of
from gemmlab.model.advice.situation import WORTH
from gemmlab.record import CallSection, ChangeSection, require_type
from gemmlab.workload import Workload

WORTH_OF_STEP = 1e-3  # of the workload's time: less is not worth a line
SURE = {"high": 0, "medium": 1, "low": 2}


class Whole(NamedTuple):
    """Where the workload's time goes, seconds."""

    time_s: float
    known: str
    multiplying_s: float
    rest_s: float
    idle_s: float
    unread_s: float


def answer_of(workload: Workload, chip: Chip | str | None = None, *, float8: bool = False) -> Answer:
    """What bounds every multiplication of a workload on a chip, and what to change; no hardware is used.

    `chip` is a chip or its name or file; left out, the one that a trace names, else h100-sxm. `float8` advises formats
    of eight bits, too, which change digits more than anyone wants unasked. Times that the source measured on another
    chip are left out. Raises GemmlabError for a chip that is unknown or cannot compute in a multiplication's format.
    """
    require_type("workload", workload, Workload, "what gemmlab.workload reads from a trace, a model or a table")
    device = device_of(workload, chip)
    forecaster = Forecaster(device.chip)
    rest = () if device.processor else rest_of(workload, forecaster, device.traced)
    other_s: dict[str, float] = {}
    for each in rest:
        other_s[each.other.name] = other_s.get(each.other.name, 0.0) + each.time_s
    program = Program(workload, forecaster, other_s)
    looks = [Look(each, program, foreign=device.foreign) for each in distinct(workload.calls)]
    whole = whole_of(workload, looks, rest, foreign=device.foreign)
    asked = [(look, gains(look, float8=float8)) for look in looks]
    flop = workload.flop + sum(other.flop or 0 for other in workload.others)
    rows = [row_of(look, found, whole.time_s, flop, workload) for look, found in asked]
    rows.sort(key=lambda row: (-gain_of(row), -time_of(row)))
    told = [(look, counted(look, found, whole.time_s)) for look, found in asked]
    lines = {change.line for row in rows for change in (row.record.call.changes if row.record.call else ())}
    settings = {each.line: each for _, found in told for each, _ in found if each.wide and each.line in lines}
    beside = saved_beside(workload, rest, set(settings), autocast=program.autocast)
    priced = [*(found for _, found in told), *([(settings[line], gain)] for line, gain in beside.items())]
    changes = together(rows, asked, beside, whole.time_s)
    changes += graph_change(workload, looks, rest, whole.time_s, whole.idle_s)
    total = whole.time_s or 1.0
    return Answer(
        workload=workload,
        chip=device.chip.name,
        rows=tuple(rows),
        rest=rest,
        **whole._asdict(),
        perfect_gain=min(1.0, sum(perfect_s(look, row) for look, row in told) / total),
        advised_gain=min(1.0, advised_s(priced) / total),
        changes=tuple(sorted(changes, key=lambda change: (-change.gain_s, change.line))),
        notes=(*workload.notes, *device.notes, *host_notes(workload, looks, rest, foreign=device.foreign)),
    )


def whole_of(workload: Workload, looks: list[Look], rest: tuple[Rest, ...], *, foreign: bool) -> Whole:
    """The whole time and its parts: a measured span, else all multiplications and the rest together."""
    multiplying = sum(look.time_s for look in looks)
    other = sum(each.time_s for each in rest)
    unread = 0.0 if foreign else sum(each.time_s or 0.0 for each in workload.unread)
    total = multiplying + other + unread
    if workload.span_s is None or foreign:
        known = {look.measured_s is not None for look in looks} | {each.known == "measured" for each in rest}
        return Whole(total, "measured" if known == {True} else "predicted", multiplying, other, 0.0, unread)
    busy = min(workload.busy_s if workload.busy_s is not None else total, workload.span_s)
    return Whole(workload.span_s, "measured", multiplying, other, workload.span_s - busy, unread)


def gains(look: Look, *, float8: bool) -> list[tuple[Candidate, float]]:
    """Each candidate with the seconds that it saves of all."""
    return [(candidate, look.gain_s(candidate)) for candidate in candidates(look, float8=float8)]


def counted(look: Look, found: list[tuple[Candidate, float]], total_s: float) -> list[tuple[Candidate, float]]:
    """What Amdahl's line looks at: changes worth a line, and settings of the whole program whatever they do here."""
    return [(candidate, gain) for candidate, gain in found if candidate.wide or worth(look, gain, total_s)]


def worth(look: Look, gain_s: float, total_s: float) -> bool:
    """Whether a gain is worth a line: beyond what two kernels differ by, and more than a thousandth of the whole."""
    return gain_s >= look.time_s * (1 - 1 / WORTH) and gain_s > WORTH_OF_STEP * total_s


def perfect_s(look: Look, found: list[tuple[Candidate, float]]) -> float:
    """Seconds saved at the limit, in the best of the formats that its advice allows."""
    limits = [look.limit_s, *(each.limit_s * look.call.count for each, gain in found if gain > 0)]
    return max(0.0, look.time_s - min(limits))


def row_of(look: Look, found: list[tuple[Candidate, float]], total_s: float, flop: int, workload: Workload) -> Row:
    """One row of the answer."""
    call, forecast = look.call, look.forecast
    changes = changes_of(look, found, total_s)
    section = CallSection(
        source=workload.source,
        steps=workload.steps,
        operator=call.operator,
        count=call.count,
        places=call.places,
        phase=call.phase,
        shapes=tuple(each.shape for each in call.operands),
        strides=tuple(each.strides for each in call.operands),
        formats=tuple(each.format for each in call.operands),
        fused=call.fused,
        kernels=call.kernels,
        time_s=look.time_s,
        known="predicted" if look.measured_s is None else "measured",
        predicted_time_s=look.predicted_s,
        limit_s=look.limit_s,
        flop_share=call.flop / flop if flop else 0.0,
        time_share=look.time_s / total_s if total_s else 0.0,
        cause=cause_of(look, changes[0].cause if changes else ""),
        gain_s=changes[0].gain_s if changes else 0.0,
        changes=changes,
    )
    return Row(call, msgspec.structs.replace(forecast.record, call=section))


def changes_of(look: Look, found: list[tuple[Candidate, float]], total_s: float) -> tuple[ChangeSection, ...]:
    """What is worth a line, each line once, the largest gain first."""
    kept: dict[str, ChangeSection] = {}
    for candidate, gain in sorted(found, key=lambda pair: -pair[1]):
        if worth(look, gain, total_s) and candidate.line not in kept:
            kept[candidate.line] = ChangeSection(
                cause=candidate.cause,
                line=candidate.line,
                digits=candidate.digits,
                cost=candidate.cost,
                confidence=max(candidate.confidence, look.forecast.confidence, key=lambda word: SURE[word]),
                gain_s=gain,
                predicted_speedup=look.time_s / (look.time_s - gain) if gain < look.time_s else float("inf"),
            )
    return tuple(kept.values())


Asked = list[tuple[Look, list[tuple[Candidate, float]]]]  #: each row with its candidates and what each gains


def together(rows: list[Row], asked: Asked, beside: dict[str, float], total_s: float) -> tuple[ChangeSection, ...]:
    """Each change once, over all the rows that have it; a setting of the whole program over all that it touches.

    `beside` are seconds that a setting's line saves of what is no multiplication.
    """
    found: dict[str, list[tuple[ChangeSection, float]]] = {}
    for row in rows:
        for change in row.record.call.changes if row.record.call else ():
            found.setdefault(change.line, []).append((change, time_of(row)))
    touched: dict[str, list[tuple[float, float]]] = {}
    for look, pairs in asked:
        for candidate, gain in pairs:
            if candidate.wide:
                touched.setdefault(candidate.line, []).append((gain, look.time_s))
    summed = [summed_change(pairs, touched.get(line), beside.get(line, 0.0)) for line, pairs in found.items()]
    return tuple(change for change in summed if change.gain_s > WORTH_OF_STEP * total_s)


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
