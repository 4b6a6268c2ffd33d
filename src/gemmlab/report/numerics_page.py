"""What was asked of a matrix unit as the article of a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gemmlab.record import NumericsSection, Record, TraceSection
from gemmlab.report import numerics as told
from gemmlab.report.canvas import Canvas
from gemmlab.report.numerics_picture import picture, traced
from gemmlab.report.numerics_trace import outcome, trace_lines
from gemmlab.report.page import card, fact_table, numbers_card, pair, tag, text

PLAIN = Canvas(width=80, color=False, unicode=True)


def asked(record: Record, numerics: NumericsSection, number: int) -> str:
    """The article's content."""
    error, kind = numerics.error, tag(numerics.kind or "emulated")
    trace = traced(numerics)
    drawn = picture(record).svg(f"numerics-{number}", inline=True) if trace or numerics.sweep else ""
    figure = f'<figure><div class="scroll">{drawn}</div></figure>' if drawn else ""
    parts = [
        opening(record, numerics, number),
        pair(
            card("Beside float64", fact_table(told.error_facts(error)) if error else ""),
            card("Predicted", fact_table(told.predicted_facts(numerics))),
        ),
        card("Compared", fact_table(told.compared_facts(numerics)), mismatch(numerics)),
        card("Machine code", fact_table(told.opcode_facts(numerics))),
        card(f"Low bits cleared {kind}", figure) if numerics.sweep and trace is None else "",
        card(f"The unit found {kind}", listed(told.rules(numerics, PLAIN))),
        card("Left open", listed(told.open_rules(numerics))),
        card(f"Probes {kind}", evidence(numerics)),
        card(f"One output term by term {kind}", f"<p>{text(outcome(trace))}</p>", figure, steps(trace))
        if trace
        else "",
        card("Notes", listed(numerics.notes)),
        card("Time", fact_table(told.time_facts(error)) if error else ""),
        numbers_card(record),
    ]
    return "\n".join(part for part in parts if part)


def opening(record: Record, numerics: NumericsSection, number: int) -> str:
    """The unit and how it is used, then the answer."""
    level = "h1" if number == 1 else "h2"
    lead = "".join(f'<p class="lead">{text(said)}</p>' for said in told.setting(numerics))
    answer = told.verdict(numerics)
    said = f'<p class="verdict">{text(answer)}</p>' if answer else ""
    return f"<header><{level}>{text(told.title(record, numerics))}</{level}>{lead}{said}</header>"


def mismatch(numerics: NumericsSection) -> str:
    """The first that differs."""
    lines = told.mismatch(numerics, PLAIN)
    return "".join(f"<p>{text(line)}</p>" for line in lines)


def evidence(numerics: NumericsSection) -> str:
    """Each probe, what it says, and below what went in and out."""
    items = "".join(
        f'<li><b>{text(f"{each.probe}: {each.says}")}</b><span class="why">'
        f"{text('; '.join(said for said in (each.asked, each.answer) if said))}</span></li>"
        for each in numerics.evidence
    )
    return f'<ol class="advice">{items}</ol>' if items else ""


def steps(trace: TraceSection) -> str:
    """The same lines as in the terminal: columns are their point."""
    lines = [line for block in trace_lines(trace, PLAIN) for line in [*block, ""]]
    return f'<div class="scroll"><pre>{escape(chr(10).join(lines).rstrip())}</pre></div>'


def listed(said: Sequence[str]) -> str:
    """Texts as a list; nothing where there are none."""
    return f"<ul>{''.join(f'<li>{text(each)}</li>' for each in said)}</ul>" if said else ""
