"""A processor's trace as it is: measured times, and nothing predicted, where nobody said for which chip."""

from __future__ import annotations

from gemmlab.experiment.workload.answer import Answer, Rest, Row
from gemmlab.experiment.workload.distinct import distinct
from gemmlab.experiment.workload.stating import stated
from gemmlab.record import CallSection, Record
from gemmlab.workload import Call, Workload

NOTE = "recorded on a processor: nothing is predicted, no gain and no change, unless --chip says for which chip"


def recorded(workload: Workload) -> Answer:
    """Rows of measured time, the longest first: no limits, no causes, no gains."""
    flop = workload.flop + sum(other.flop or 0 for other in workload.others)
    calls = [each.call for each in distinct(workload.calls)]
    rest = tuple(Rest(each, each.time_s or 0.0, "measured") for each in workload.others)
    multiplying = sum(call.time_s or 0.0 for call in calls)
    other, unread = sum(each.time_s for each in rest), sum(each.time_s or 0.0 for each in workload.unread)
    total = multiplying + other + unread
    span = total if workload.span_s is None else workload.span_s
    busy = min(total if workload.busy_s is None else workload.busy_s, span)
    untimed = sum(call.count for call in calls if call.time_s is None)
    lost = (f"{untimed} multiplications have no time in the trace",) if untimed else ()
    return Answer(
        workload=workload,
        chip="",
        rows=tuple(sorted((row_of(call, span, flop, workload) for call in calls), key=seconds)),
        rest=tuple(sorted(rest, key=lambda each: (-each.time_s, each.other.name, each.other.phase))),
        time_s=span,
        known="measured",
        multiplying_s=multiplying,
        rest_s=other,
        idle_s=span - busy,
        unread_s=unread,
        perfect_gain=0.0,
        advised_gain=0.0,
        notes=(*workload.notes, NOTE, *lost),
    )


def row_of(call: Call, span_s: float, flop: int, workload: Workload) -> Row:
    """One multiplication with what the trace says of it."""
    time_s = call.time_s or 0.0
    section = CallSection(
        **stated(call, workload),
        time_s=time_s,
        known="measured",
        predicted_time_s=None,
        limit_s=None,
        flop_share=call.flop / flop if flop else 0.0,
        time_share=time_s / span_s if span_s else 0.0,
        cause="",
        gain_s=0.0,
        changes=(),
    )
    return Row(call, Record(problem=call.problem.section(), call=section))


def seconds(row: Row) -> float:
    """What rows are sorted by, the longest first."""
    return -row.record.call.time_s if row.record.call else 0.0
