"""What is of a whole network and of none of its rows, as one JSON object; seconds and counts are of one step."""

from __future__ import annotations

import msgspec

from gemmlab.experiment.workload.answer import Answer
from gemmlab.report.workload_rows import fed
from gemmlab.report.workload_story import Change, Story


class SummaryOther(msgspec.Struct, frozen=True, kw_only=True):
    """One operator that multiplies nothing."""

    name: str  #: of the operator, or of a kernel that no operator explains
    count: float  #: in a step
    time_s: float  #: of all of them in a step
    known: str  #: measured or predicted: how time_s is known


class SummaryUnread(msgspec.Struct, frozen=True, kw_only=True):
    """Multiplications whose sizes the source does not say."""

    operator: str  #: its name
    why: str  #: what is missing
    count: float  #: in a step
    time_s: float | None  #: measured: of all of them in a step


class SummaryChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change, with the rows that it touches."""

    cause: str  #: what it removes
    line: str  #: PyTorch, to paste
    rows: tuple[int, ...]  #: numbers of the rows, 1 the first of --json; empty where it is of the whole program
    together: bool  #: whether advised_gain has it in
    gain_s: float  #: predicted: of a step
    gain_share: float  #: predicted: of the step's time
    predicted_speedup: float | None  #: of what it touches: time now over time then; null where nothing is left of it
    digits: str  #: what it may change in the results
    cost: str  #: what it takes
    confidence: str  #: high, medium or low


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One network, or list of multiplications, on one chip."""

    source: str  #: the trace, model or table
    kind: str  #: trace, model, topology or table
    steps: int  #: how many the source holds
    marked: bool  #: whether the source says where steps begin; else all of it is taken as one
    recorded_on: str  #: the trace's device, in its own words
    settings: dict[str, str]  #: what was respected, such as autocast
    chip: str  #: predicted for; empty where nothing is, and what would be is null
    known: str  #: measured or predicted: how time_s is known
    time_s: float  #: of a step
    multiplying_s: float  #: of it, the multiplications
    rest_s: float  #: of it, everything else that ran
    idle_s: float  #: of it, when no kernel ran
    unread_s: float  #: measured: of multiplications whose sizes the source does not say
    limit_s: float | None  #: predicted: a step with every multiplication at its limit, all else as it is
    perfect_gain: float | None  #: predicted: share of the step that this saves
    host_s: float  #: predicted: what an eager host takes for a step's operators; 0 where that is not told
    together_s: float | None  #: predicted: a step with the changes that go together
    advised_gain: float | None  #: predicted: share of the step that this saves
    flop: float  #: counted: of a step's multiplications
    flop_share: float  #: counted: of all work that is counted
    flop_per_s: float | None  #: flop over time_s
    peak_share: float | None  #: predicted: what the multiplications take at the peak of their formats, over time_s
    items: int | None  #: tokens, images or samples that a step takes in; null where the inputs do not tell
    item: str  #: which of these
    items_per_s: float | None  #: items over time_s
    rows: int  #: distinct multiplications, a Record each with --json
    changes: tuple[SummaryChange, ...]  #: predicted: the largest gain first
    others: tuple[SummaryOther, ...]  #: what is not multiplication, the longest first
    unread: tuple[SummaryUnread, ...]  #: what could not be read
    notes: tuple[str, ...]  #: what else is to be said


def summary_of(answer: Answer) -> Summary:
    """The figures of a whole answer, seconds and counts of one step."""
    told, work = Story(answer), answer.workload
    steps, step_s, numbers = told.steps, told.step_s, told.changes()
    inputs = fed(dict(work.settings).get("inputs", ""))
    return Summary(
        source=work.source,
        kind=work.kind,
        steps=work.steps,
        marked=work.marked,
        recorded_on=work.chip,
        settings=dict(work.settings),
        chip=answer.chip,
        known=answer.known,
        time_s=step_s,
        multiplying_s=answer.multiplying_s / steps,
        rest_s=answer.rest_s / steps,
        idle_s=answer.idle_s / steps,
        unread_s=answer.unread_s / steps,
        limit_s=step_s * (1 - answer.perfect_gain) if answer.chip else None,
        perfect_gain=answer.perfect_gain if answer.chip else None,
        host_s=answer.host_s / steps,
        together_s=step_s * (1 - answer.advised_gain) if answer.chip else None,
        advised_gain=answer.advised_gain if answer.chip else None,
        flop=work.flop / steps,
        flop_share=answer.flop_share,
        flop_per_s=work.flop / answer.time_s if answer.time_s > 0 else None,
        peak_share=answer.at_peak_s / answer.time_s if answer.at_peak_s > 0 and answer.time_s > 0 else None,
        items=inputs[0] if inputs else None,
        item=inputs[1] if inputs else "",
        items_per_s=inputs[0] / step_s if inputs and step_s > 0 else None,
        rows=len(answer.rows),
        changes=tuple(change_of(each, together=each.section.line in answer.advised) for each in numbers),
        others=tuple(
            SummaryOther(name=each.name, count=each.number / steps, time_s=each.time_s / steps, known=each.known)
            for each in told.rest()
        ),
        unread=tuple(
            SummaryUnread(
                operator=each.operator,
                why=each.why,
                count=each.count / steps,
                time_s=None if each.time_s is None else each.time_s / steps,
            )
            for each in work.unread
        ),
        notes=tuple(told.notes()),
    )


def change_of(change: Change, *, together: bool) -> SummaryChange:
    """One change of a step."""
    section = change.section
    return SummaryChange(
        cause=section.cause,
        line=section.line,
        rows=change.rows,
        together=together,
        gain_s=change.gain_s,
        gain_share=change.share,
        predicted_speedup=section.predicted_speedup if section.predicted_speedup < float("inf") else None,
        digits=section.digits,
        cost=section.cost,
        confidence=section.confidence,
    )


def summary_json(answer: Answer) -> str:
    """The same as one line of JSON with every key."""
    return msgspec.json.encode(summary_of(answer)).decode()
