"""Two networks as a page: both steps as treemaps on one scale, then what differs."""

from __future__ import annotations

from gemmlab.experiment.workload.differing import Difference
from gemmlab.report.page import card, document, tag, text
from gemmlab.report.words import KINDS, clean
from gemmlab.report.workload_difference import Line, Sides
from gemmlab.report.workload_page import MOST_RECORDS, STYLE, TOLD, WORDS
from gemmlab.report.workload_picture import PHONE, treemap
from gemmlab.report.workload_pieces import VIEWS, looks_of, parts_of

HALF = (540.0, 560.0)
BOTH = """
.two td.part{padding-left:1.4em}
.both{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:12px}
@media screen and (max-width:820px){.both{grid-template-columns:minmax(0,1fr)}}
@media screen and (max-width:560px){.two thead{display:none}.two tr{display:flex;flex-wrap:wrap;gap:0 14px}
.two tr{border-bottom:1px solid var(--grid);padding:6px 0}.two td{border:0;padding:0;text-align:left}
.two td:first-child,.two td:last-child:not(.n){flex-basis:100%}
.two td[data-head]::before{content:attr(data-head) ": ";color:var(--quiet)}}
"""


def difference_html(found: Difference, top: int | None = None) -> str:
    """A page without scripts or outside resources."""
    sides, shown = Sides.of(found), TOLD if top is None else top
    records = [row.record for changed in found.rows for row in (changed.before, changed.after) if row][:MOST_RECORDS]
    parts = [
        opening(sides),
        card("Where the time goes", lines_table(sides.lines())),
        maps_card(sides),
        rows_card(sides, shown),
        card("What is not multiplication and changes by 1% of a step", lines_table(sides.others()[:shown])),
        unread_card(sides),
    ]
    names = " and ".join(clean(each.workload.source) for each in (found.before, found.after))
    return document(f"{names}: what differs", "\n".join(part for part in parts if part), records, STYLE + BOTH)


def opening(sides: Sides) -> str:
    """Which two, and which is faster."""
    leads = "".join(
        f'<p class="lead"><b>{name}</b> {text("; ".join(told.setting()))}</p>'
        for name, told in (("A", sides.a), ("B", sides.b))
    )
    verdicts = "".join(f'<p class="verdict">{text(line)}</p>' for line in sides.verdicts())
    return f"<header><h1>Two networks</h1>{leads}{verdicts}</header>"


def maps_card(sides: Sides) -> str:
    """Both steps; a second, or a FLOP, has the same area in both."""
    looks = looks_of([sides.a, sides.b])
    buttons, views = "", ""
    for view in VIEWS:
        totals = [sum(part.value for part in parts_of(told, view)) / told.steps for told in (sides.a, sides.b)]
        most = max(*totals, 1e-300)
        used = {piece.look for told in (sides.a, sides.b) for part in parts_of(told, view) for piece in part.pieces}
        drawn = ""
        for name, told, total in (("A", sides.a, totals[0]), ("B", sides.b, totals[1])):
            ident = f"{view}-{name}"
            pictures = "".join(
                f'<div class="{kind}">'
                + treemap(told, view, size, looks, f"{ident}-{kind}", scale=total / most, legends=used).svg(
                    f"{ident}-{kind}", inline=True
                )
                + "</div>"
                for kind, size in (("wide", HALF), ("phone", PHONE))
            )
            drawn += (
                f"<figure><figcaption><b>{name}</b> {text(told.answer.workload.source)}</figcaption>{pictures}</figure>"
            )
        checked = " checked" if view == "time" else ""
        buttons += (
            f'<input type="radio" name="view" id="view-{view}"{checked}><label for="view-{view}">{WORDS[view]}</label>'
        )
        views += f'<div class="view {view}"><div class="both">{drawn}</div></div>'
    said = '<p class="quiet">Areas of both are on one scale.</p>'
    return card(
        "Both at a glance", f'<fieldset class="map"><legend>Areas are</legend>{buttons}{views}</fieldset>{said}'
    )


def rows_card(sides: Sides, shown: int) -> str:
    """The multiplications that differ."""
    rows = sides.rows()
    lines = [
        f'<td class="name"><b>{text(line.name)}</b><span class="why">{text(detail)}</span></td>{cells(line)}'
        for line, detail in rows[:shown]
    ]
    more = f'<p class="quiet">{len(rows) - shown} more.</p>' if len(rows) > shown else ""
    same = f'<p class="quiet">{text(sides.same())}.</p>' if sides.same() else ""
    kind = tag(sides.kind) if sides.kind in KINDS else text(sides.kind)
    title = f"Multiplications that differ, largest change of time first {kind}"
    return card(title, table("<th>multiplication</th>", lines, ""), more, same)


def lines_table(lines: list[Line]) -> str:
    """Figures of both with their difference."""
    rows = [
        f'<td class="name{" part" if line.name.startswith(" ") else ""}">{text(line.name)}</td>{cells(line)}'
        f"<td>{kind_of(line)}</td>"
        for line in lines
    ]
    return table("<th></th>", rows, "<th></th>")


def table(first: str, rows: list[str], last: str) -> str:
    """Rows under A, B and their difference; nothing where there are none."""
    heads = f'{first}<th class="n">A</th><th class="n">B</th><th class="n">B less A</th>{last}'
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    whole = f'<table class="two"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll">{whole}</div>' if body else ""


def kind_of(line: Line) -> str:
    """How a line's figures are known."""
    return tag(line.kind) if line.kind in KINDS else text(line.kind)


def cells(line: Line) -> str:
    """Both figures and their difference."""
    values = zip(("A", "B", "B less A"), (line.a, line.b, line.change), strict=True)
    return "".join(f'<td class="n whole" data-head="{head}">{text(value)}</td>' for head, value in values)


def unread_card(sides: Sides) -> str:
    """What could not be read in either."""
    items = "".join(f"<li>{text(row)}</li>" for row in sides.unread())
    return card("Multiplications that could not be read: in no row above", f"<ul>{items}</ul>") if items else ""
