"""A multiplication on a systolic array as the article of a page."""

from __future__ import annotations

from collections.abc import Sequence

from gemmlab.experiment import Still
from gemmlab.record import Record, SystolicSection
from gemmlab.report import systolic_story as told
from gemmlab.report.page import advice_card, card, checked_card, document, fact_table, numbers_card, pair, tag, text
from gemmlab.report.page import article as other_article
from gemmlab.report.systolic import compat_title, kind_of
from gemmlab.report.systolic_picture import PHONE, WIDE, panels


def systolic_html(records: Sequence[Record], still: Still | None = None) -> str:
    """A page about a systolic Record, its pictures where there is a `still`, then other chips' for the same product."""
    first, *others = records
    if first.systolic is None:
        raise ValueError("the first record has no systolic array")
    body = f'<article id="r1">\n{simulated(first, first.systolic, 1, still, others)}\n</article>\n'
    more = "".join(other_article(record, number) for number, record in enumerate(others, 2))
    return document(told.title(first, first.systolic), body + more, list(records))


def simulated(
    record: Record, section: SystolicSection, number: int, still: Still | None = None, others: Sequence[Record] = ()
) -> str:
    """The article's content."""
    kind = kind_of(section)
    figures = drawn(record, still, number) if still is not None else {}
    source = "".join(f'<p class="quiet">{text(said)}</p>' for said in told.energy_source(section))
    notes = "".join(f"<li>{text(note)}</li>" for note in section.notes)
    values = told.overflow(section)
    parts = [
        opening(record, section, number),
        card(f"The array at work {tag(kind)}", figures.get("array", "")),
        pair(
            card(f"How the cycles are spent {tag(kind)}", figures.get("split", ""), split(section)),
            card(f"How busy it is {tag(kind)}", figures.get("time", ""))
            + card("How it is cut", fact_table(told.tiles(section))),
        ),
        pair(
            card("What it moves", fact_table(told.moves(section, kind))),
            card("What it costs", fact_table(told.energy(section)), source),
        ),
        *(compared(record, other) for other in others),
        card(text(compat_title(section)), fact_table(told.compat(section))) if section.compat else "",
        checked_card(record),
        card("Range of the sums", f"<p>{text(values)}</p>" if values else ""),
        advice_card(record),
        card("Notes", f"<ul>{notes}</ul>" if notes else ""),
        numbers_card(record, lambda path: told.remark(section, path)),
    ]
    return "\n".join(part for part in parts if part)


def opening(record: Record, section: SystolicSection, number: int) -> str:
    """The array and what surrounds it, then the answer."""
    level = "h1" if number == 1 else "h2"
    lead = "".join(f'<p class="lead">{text(said)}</p>' for said in told.setting(record, section))
    return (
        f"<header><{level}>{text(told.title(record, section))}</{level}>{lead}"
        f'<p class="verdict">{text(told.verdict(section))}</p></header>'
    )


def split(section: SystolicSection) -> str:
    """Each class of cycles, and what it is made of."""
    rows = "".join(
        f"<tr{'' if row.part else ' class=bounds'}><td>{text(row.name)}"
        f'<span class="why">{text(row.why)}</span></td><td class="n whole">{row.cycles:,.0f}</td>'
        f'<td class="n whole">{told.tenths(row.share)}</td></tr>'
        for row in told.shares(section)
    )
    return f"<table><tbody>{rows}</tbody></table>"


def drawn(record: Record, still: Still, number: int) -> dict[str, str]:
    """Each picture in two widths: the style sheet shows the one that suits the screen."""
    found = {}
    both = {kind: panels(record, still, width) for kind, width in (("wide", WIDE), ("phone", PHONE))}
    for name in both["wide"]:
        inner = "".join(
            f'<div class="{kind}">{each[name].svg(f"systolic-{name}-{number}-{kind}", inline=True)}</div>'
            for kind, each in both.items()
        )
        found[name] = f"<figure>{inner}</figure>"
    return found


def compared(record: Record, other: Record) -> str:
    """The array's figures beside another chip's."""
    rows = told.beside(record, other)
    if not rows or other.chip is None:
        return ""
    mine = record.chip.name if record.chip else "this array"
    head = f"<thead><tr><th></th><th>{text(mine)}</th><th>{text(other.chip.name)}</th></tr></thead>"
    body = "".join(
        f"<tr><td>{text(row.label)}</td><td>{text(row.array)}</td><td>{text(row.other)}</td></tr>" for row in rows
    )
    said = "".join(f'<p class="quiet">{text(note)}</p>' for note in told.beside_notes(record, other))
    table = f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'
    return card(f"Beside {text(other.chip.name)} {tag('predicted')}", table, said)
