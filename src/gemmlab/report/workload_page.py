"""The answer to a workload as a page that needs nothing else: the step as a treemap, the table, what to change."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gemmlab.experiment.workload.answer import Answer
from gemmlab.report.page import card, code, document, tag, text
from gemmlab.report.words import clean, percent, several
from gemmlab.report.workload_picture import PHONE, WIDE, treemap
from gemmlab.report.workload_pieces import VIEWS, looks_of
from gemmlab.report.workload_rows import rows_text
from gemmlab.report.workload_story import SHOWN, Change, Story, Told, gain_text

TOLD = 100  #: multiplications in the table, and changes; all are in the embedded records
MOST_RECORDS = 500  #: embedded; each takes about 5 kB
OTHERS = 40
WORDS = {"time": "time", "work": "work (FLOP)", "gain": "time to gain"}
HEADS = ("", "multiplication", "times", "FLOP", "of time", "time", "to gain", "bound", "cause")

STYLE = """
.map figure{margin:10px 0 0}.map figure svg{max-width:none}
.map{border:0;margin:0;padding:0;min-width:0}.map legend{padding:0;margin:0 0 8px}
.map input{position:absolute;opacity:0;pointer-events:none}
.map label{display:inline-block;border:1px solid var(--quiet);padding:4px 14px;margin:0 -1px 0 0;cursor:pointer}
.map label:first-of-type{border-radius:8px 0 0 8px}.map label:last-of-type{border-radius:0 8px 8px 0}
.map input:checked+label{background:var(--ink);color:var(--paper);border-color:var(--ink);font-weight:600}
.map input:focus-visible+label{outline:3px solid var(--sky);outline-offset:2px;position:relative}
.map .view{display:none}.map .view.gain{font-weight:400;color:inherit;white-space:normal}
.map svg a:focus-visible{outline:2px solid var(--ink)}
#view-time:checked~.view.time,#view-work:checked~.view.work,#view-gain:checked~.view.gain{display:block}
.rows td{vertical-align:top}.rows .sub td{border-bottom:1px solid var(--grid);padding-top:0}
.rows tr.main td{border-bottom:0;white-space:nowrap}.rows tr:target td{background:var(--sand)}
.lines pre{margin:6px 0;padding:8px 10px;background:var(--desk);border-radius:6px}
.lines pre{white-space:pre-wrap;overflow-wrap:anywhere}
.lines .gain{white-space:normal}
.words{margin:0;display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 14px}
.words dt{font-weight:600}.words dd{margin:0}.part td:first-child{padding-left:1.4em}
@media screen and (max-width:560px){.words{display:block}.words dd{margin:0 0 5px}}
@media screen and (max-width:560px){.rows thead{display:none}.rows tr,.rows td{display:block}
.rows tr.main{padding-top:7px}.rows .sub td:first-child{display:none}
.rows tr.main td{border:0;padding:0;text-align:left;display:inline}.rows tr.main td:first-child::after{content:" "}
.rows tr.main td:nth-child(2)::after{content:"\\a";white-space:pre}
.rows td[data-head]::before{content:attr(data-head) " ";color:var(--quiet)}
.rows td[data-head]:not(:last-child)::after{content:"; "}
.rows tr.main td{white-space:normal}.rows tr.main td:empty{display:none}.rows .sub td{padding:0 0 7px}}
@media print{.map,.map .view,.map .wide{display:block}.map input,.map label,.map legend,.map .phone{display:none}
.map .view{break-inside:avoid}.map figure{break-inside:avoid;margin:8px 0}.map figure svg{max-width:100%}}
"""


def workload_html(answer: Answer, top: int | None = None) -> str:
    """A page without scripts or outside resources; the first `top` multiplications are told in its tables."""
    told = Story(answer)
    shown = TOLD if top is None else top
    records = [row.record for row in answer.rows][:MOST_RECORDS]
    parts = [
        opening(told),
        card(f"Where the time of {told.whole} goes", parts_table(told)),
        map_card(told, shown),
        changes_card(told, shown),
        table_card(told, shown),
        rest_card(told),
        unread_card(told),
        words_card(told, shown),
        notes_card(told, len(answer.rows)),
    ]
    heading = f"{clean(answer.workload.source)}: its multiplications, and what to change"
    return document(heading, "\n".join(part for part in parts if part), records, STYLE)


def parts_table(told: Story) -> str:
    """The facts, parts of the one above them set in."""
    rows = "".join(
        f"<tr{' class=part' if fact.label.startswith(' ') else ''}><td>{text(fact.label)}</td>"
        f'<td class="n">{text(fact.value)}</td><td class="n">{tag(fact.kind)}</td></tr>'
        for fact in told.facts()
    )
    return f'<table class="facts"><tbody>{rows}</tbody></table>' if rows else ""


def opening(told: Story) -> str:
    """What was read, and what can be gained."""
    first, *rest = told.setting()
    title, _, more = first.partition("; ")
    leads = "".join(f'<p class="lead">{text(line)}</p>' for line in (more, *rest) if line)
    verdicts = "".join(f'<p class="verdict">{text(line)}</p>' for line in told.verdicts())
    return f"<header><h1>{text(title)}</h1>{leads}{verdicts}</header>"


def map_card(told: Story, links: int) -> str:
    """The treemap, its areas to be chosen without a script: three radio buttons before three pictures."""
    if not told.answer.rows and not told.answer.rest:
        return ""
    looks = looks_of([told])
    buttons, views = "", ""
    for name in VIEWS:
        checked = " checked" if name == "time" else ""
        buttons += f'<input type="radio" name="view" id="view-{name}"{checked}>'
        buttons += f'<label for="view-{name}">{WORDS[name]}</label>'
        drawn = "".join(
            f'<div class="{kind}">'
            + treemap(told, name, size, looks, f"{name}-{kind}", links=links).svg(f"{name}-{kind}", inline=True)
            + "</div>"
            for kind, size in (("wide", WIDE), ("phone", PHONE))
        )
        views += f'<div class="view {name}"><figure>{drawn}</figure></div>'
    said = '<p class="quiet">A rectangle tells more under the pointer, and leads to its row.</p>'
    return card(
        "The step at a glance" if told.whole == "a step" else "At a glance",
        f'<fieldset class="map"><legend>Areas are</legend>{buttons}{views}</fieldset>{said}',
    )


def table_card(told: Story, shown: int) -> str:
    """The multiplications, those with most time to gain first."""
    rows = told.rows(shown)
    if not rows:
        return ""
    heads = ("", "multiplication", "times", "FLOP", "of time", "time", "to gain", "bound", "cause")
    right = {"times", "FLOP", "of time", "time", "to gain"}
    cells = "".join(f"<th{' class=n' if head in right else ''}>{head}</th>" for head in heads)
    mixed = len({row.known for row in rows}) > 1
    most = max(shown, SHOWN)
    body = "".join(row_lines(row, [number for number in row.changes if number <= most], mixed) for row in rows)
    left = told.left(shown)
    more = f'<p class="quiet">{text(left)}.</p>' if left else ""
    table = (
        f'<div class="scroll"><table class="rows"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'
    )
    predicted = {"predicted"} if told.answer.chip else set()
    kinds = " ".join(tag(kind) for kind in ("counted", *sorted({row.known for row in rows} | predicted)))
    known = "as each row says" if mixed else rows[0].known
    said = f"<p>Times and FLOP are counted, the time is {known}{', the gain predicted' if predicted else ''}."
    said += f" A dash: {told.cut_off}.</p>" if any(row.gain == "-" for row in rows) else "</p>"
    return card(f"Multiplications, {told.order} {kinds}", said, table, more)


def row_lines(row: Told, changes: Sequence[int], mixed: bool) -> str:
    """One multiplication: its figures, and below what it is, with links to changes that are told."""
    figures = zip(HEADS[2:7], (row.times, row.flop, row.share, row.time, row.gain), strict=True)
    cells = "".join(f'<td class="n" data-head="{head}">{text(cell)}</td>' for head, cell in figures)
    why = zip(HEADS[7:], (row.bound, row.cause), strict=True)
    cells += "".join(f'<td data-head="{head}">{text(cell)}</td>' for head, cell in why)
    main = f"<td>{row.number}</td><td><b>{text(row.name)}</b></td>{cells}"
    links = ", ".join(f'<a href="#change-{number}">change {number}</a>' for number in changes[:6])
    detail = "; ".join(filter(None, (links, text(row.detail), f"time {row.known}" if mixed else "")))
    return (
        f'<tr class="main" id="row-{row.number}">{main}</tr>'
        f'<tr class="sub"><td></td><td colspan="8"><span class="why">{detail}</span></td></tr>'
    )


def changes_card(told: Story, shown: int) -> str:
    """What to change, as lines to paste."""
    found, most = told.changes(), max(shown, SHOWN)
    items = "".join(change_item(number, change, shown) for number, change in enumerate(found[:most], 1))
    left = found[most:]
    more = f'<p class="quiet">{several(len(left), "more change")}, each of less gain.</p>' if left else ""
    more += f'<p class="quiet">{text(told.unlisted())}.</p>' if told.unlisted() else ""
    return card(f"What to change {tag('predicted')}", f'<ol class="advice lines">{items}</ol>', more) if items else ""


def change_item(number: int, change: Change, shown: int) -> str:
    """One change."""
    section = change.section
    rows = text(rows_text(change.rows))
    if change.rows and change.rows[0] <= shown:
        rows = f'<a href="#row-{change.rows[0]}">{rows}</a>'
    lines = "\n".join(code_line(line) for line in section.line.split("\n"))
    said = (("digits", section.digits), ("cost", section.cost), ("confidence", section.confidence))
    costs = "; ".join(f"{name}: {text(value)}" for name, value in said if value)
    return (
        f'<li id="change-{number}"><b>{text(section.cause)}</b>, {rows}: '
        f'<span class="gain">gains {text(gain_text(change))}</span>'
        f'<pre>{lines}</pre><span class="why">{costs}</span></li>'
    )


def code_line(line: str) -> str:
    """A line of a program with its own blanks, made safe."""
    blanks = len(line) - len(line.lstrip(" \t"))
    return " " * min(blanks, 16) + code(line)


def rest_card(told: Story) -> str:
    """What is not multiplication."""
    rows = told.rest()
    kinds = sorted({row.known for row in rows})
    mixed = len(kinds) > 1
    body = "".join(
        f'<tr><td class="name">{breakable(row.name)}</td><td class="n">{text(told.times(row.number))}</td>'
        f'<td class="n whole">{text(told.seconds(row.time_s))}</td><td class="n">{text(told.share(row.time_s))}</td>'
        + (f'<td class="n">{tag(row.known)}</td></tr>' if mixed else "</tr>")
        for row in rows[:OTHERS]
    )
    if not body:
        return ""
    left = sum(row.time_s for row in rows[OTHERS:])
    count = len(rows) - OTHERS
    more = (
        f'<p class="quiet">{count} more: {told.seconds(left)}, {text(told.share(left))} of the time.</p>'
        if count > 0
        else ""
    )
    heads = (
        '<th>operator</th><th class="n">times</th><th class="n">time</th><th class="n">of time</th>'
        + "<th></th>" * mixed
    )
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    title = f"What is not multiplication {' '.join(map(tag, kinds))}"
    return card(title, f'<div class="scroll">{table}</div>', more)


def breakable(name: str) -> str:
    """An operator's name, to be broken between its words alone."""
    return re.sub(r"(::|_|\.)", r"\1<wbr>", text(name))


def unread_card(told: Story) -> str:
    """What multiplies and could not be read."""
    items = "".join(f"<li>{text(row)}</li>" for row in told.unread())
    return card("Multiplications that could not be read: in no row above", f"<ul>{items}</ul>") if items else ""


def words_card(told: Story, shown: int) -> str:
    """What causes and bounds mean."""
    rows = "".join(f"<dt>{text(word)}</dt><dd>{text(means)}</dd>" for word, means in told.meanings(shown))
    return card("Words", f'<dl class="words">{rows}</dl>') if rows else ""


def notes_card(told: Story, rows: int) -> str:
    """What else is to be said."""
    notes = told.notes()
    if rows > MOST_RECORDS:
        notes.append(
            f"the first {MOST_RECORDS} of {rows} records, {percent(MOST_RECORDS / rows)}, are embedded; --json has all"
        )
    items = "".join(f"<li>{text(note)}</li>" for note in notes)
    return card("Notes", f"<ul>{items}</ul>") if items else ""
