"""One self-contained HTML page that tells the story of one Record, or of several."""

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import msgspec

from gemmlab.problem import Shape
from gemmlab.record import Record
from gemmlab.report import correctness, story
from gemmlab.report.page_style import page_style
from gemmlab.report.plots import FIGURES
from gemmlab.report.provenance import entries
from gemmlab.report.sweep_story import COLUMNS, NOTE, Sweep, heading
from gemmlab.report.words import KINDS, amount, clean, plain, several, speedup

WIDE, PHONE = 560.0, 340.0
MOVES = "what it moves and what bounds it"
TOLD = 24  # records of a sweep that are told in full; each takes about 40 kB

#: the space between a number and its unit
UNIT = re.compile(r"(?<=\d) (?=[PTGMkmunp]?(?:B|FLOP|s|Hz)\b)")

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def html(records: Record | Iterable[Record], shapes: Sequence[Shape] = ()) -> str:
    """A page without scripts or outside resources: question, answers, pictures, advice, every number, and the JSON.

    Several records begin with a table of all; the first 24 are told in full, all are in the embedded JSON. `shapes`
    are what the records are of, in the same order, where they have names or occur several times.
    """
    told = [records] if isinstance(records, Record) else list(records)
    heading = subject(told[0]) if len(told) == 1 else f"{several(len(told), 'multiplication')}: {MOVES}"
    body = "".join(article(record, index) for index, record in enumerate(told[:TOLD], 1))
    index = index_table(Sweep(told, shapes)) if len(told) != 1 else ""
    return document(heading, index + body, told)


def document(heading: str, body: str, records: list[Record], style: str = "") -> str:
    """A whole page around its articles, the records at its end; `style` is what its own parts need."""
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{text(heading)}</title>\n<style>{page_style()}{style}</style>\n</head>\n"
    )
    return f"{head}<body>\n<main>\n{body}{kinds()}</main>\n{data(records)}</body>\n</html>\n"


def subject(record: Record) -> str:
    """What the page of one Record is about."""
    if record.emulation:
        return f"{record.emulation.kernel} run access by access"
    if record.numerics:
        return f"{record.numerics.unit}, bit for bit"
    if record.systolic:
        from gemmlab.report.systolic_story import title

        return title(record, record.systolic)
    return f"{story.title(record)}: {MOVES}"


def text(value: object) -> str:
    """Text made safe for HTML, with true multiplication signs, and units that stay with their numbers."""
    return UNIT.sub("\N{NO-BREAK SPACE}", escape(clean(value)).replace(" x ", " × "))


def code(value: object) -> str:
    """A line of a program made safe for HTML, letter by letter: an x in it is a name."""
    return escape(clean(value))


def tag(kind: str) -> str:
    """What kind of number it is, in a word."""
    return f'<span class="tag {kind}">{kind}</span>'


def article(record: Record, number: int) -> str:
    """One Record's story."""
    if record.emulation:
        from gemmlab.report.emulation_page import emulated

        return f'<article id="r{number}">\n{emulated(record, record.emulation, number)}\n</article>\n'
    if record.numerics:
        from gemmlab.report.numerics_page import asked

        return f'<article id="r{number}">\n{asked(record, record.numerics, number)}\n</article>\n'
    if record.systolic:
        from gemmlab.report.systolic_page import simulated

        return f'<article id="r{number}">\n{simulated(record, record.systolic, number)}\n</article>\n'
    moves = card("What it moves", fact_table(story.moves(record)), figure(record, "ladder", number))
    beside = (
        card("One program's work", figure(record, "tile", number))
        + bounds_card(record)
        + measured_card(record)
        + checked_card(record)
    )
    parts = [
        opening(record, number),
        answers(record),
        pair(moves, limits_card(record, number)),
        pair(time_card(record, number), beside),
        advice_card(record),
        notes_card(record),
        numbers_card(record),
    ]
    return f'<article id="r{number}">\n' + "\n".join(part for part in parts if part) + "\n</article>\n"


def opening(record: Record, number: int) -> str:
    """The question and the verdict."""
    setting = [story.formats(record), story.details(record)]
    if record.chip:
        setting.append(f"on {record.chip.name} ({story.chip_status(record)})")
    if record.kernel:
        setting.append(f"kernel {story.kernel_line(record)}")
    level, lead = ("h1" if number == 1 else "h2"), ", ".join(filter(None, setting))
    said = f'<header><{level}>{text(story.title(record))}</{level}><p class="lead">{text(lead)}</p>'
    if published := story.published(record):
        said += f'<p class="lead">{text(published)} {tag("datasheet")}</p>'
    return f'{said}<p class="verdict">{text(story.verdict(record))}</p></header>'


def answers(record: Record) -> str:
    """The questions that this Record answers, each in a line; then what it does not know."""
    count, prediction = record.count, record.prediction
    moved = "Not counted in this record."
    if count:
        raw, floor = amount(count.raw_bytes, "B"), amount(count.compulsory_bytes, "B")
        moved = f"{text(raw)} asked for, {text(floor)} at the least {tag('counted')}"
        if prediction:
            moved += f"; {text(amount(prediction.dram_bytes, 'B'))} of DRAM traffic {tag('predicted')}"
    bound = text(story.verdict(record)) + (f" {tag('predicted')}" if prediction else "")
    rows = [("What does it move?", moved), ("What bounds it?", bound)]
    for first in (record.advice or ())[:1]:
        gain = f'<span class="gain">{speedup(first.predicted_speedup)}</span>'
        rows.append(("What should change?", f"{text(first.change)}: {gain} {tag('predicted')}"))
    if record.verdict:
        rows.append(("Is the result right?", text(correctness.sentence(record.verdict)) + f" {tag('checked')}"))
    unknown = [] if record.measurement else ["Not measured in this record."]
    unknown += [] if record.verdict else ["Its digits are not checked in this record."]
    if len(unknown) == 2:
        unknown = ["Neither measured nor its digits checked in this record."]
    if record.measurement:
        time, *rest = (text(fact.value) for fact in story.measured(record))
        rows.append(("How fast is it really?", ", ".join([time, *rest[:1]]) + f" {tag('measured')}"))
    items = "".join(f"<li><b>{question}</b>{answer}</li>" for question, answer in rows)
    return card(
        "In short", f'<ol class="answers">{items}</ol>' + "".join(f'<p class="quiet">{said}</p>' for said in unknown)
    )


def limits_card(record: Record, number: int) -> str:
    """Each limit alone, the rooflines, and how programs fill the chip."""
    rows = story.limits(record)
    if not rows:
        return ""
    mark = '<span class="why">bounds it</span>'
    body = "".join(
        f"<tr{' class=bounds' if r.bounds else ''}><td class=name>{text(r.name)}{mark if r.bounds else ''}</td>"
        f'<td class="n whole">{amount(r.bytes, "B")}</td><td class="n whole">{amount(r.time_s, "s")}</td>'
        f'<td class="n">{plain(r.intensity)}</td><td class="n">{plain(r.knee)}</td></tr>'
        for r in rows
    )
    heads = (
        '<th>limit</th><th class="n">bytes</th><th class="n">alone</th><th class="n">FLOP/B</th><th class="n">knee</th>'
    )
    table = (
        f'<div class="scroll"><table class="limits"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )
    aside = (
        ""
        if any(r.bounds for r in rows)
        else f"<p>None of these alone: {text(story.verdict(record).split(':')[0].lower())}.</p>"
    )
    return card(
        f"What bounds it {tag('predicted')}",
        table + aside,
        figure(record, "roofline", number),
        fact_table(story.launch(record)),
    )


def time_card(record: Record, number: int) -> str:
    """The waterfall, and each cause with its reason."""
    if record.prediction is None:
        return ""
    rows = "".join(
        f'<tr><td>{text(s.cause)}<span class="why">{text(s.why)}</span></td>'
        f'<td class="n whole">{s.shown}</td><td class="n whole">{text(s.share)}</td></tr>'
        for s in story.time_steps(record.prediction)
    )
    total = f'<td class="n whole">{story.total_shown(record.prediction)}</td><td class="n whole">100%</td>'
    table = f'<h3>Why</h3><table><tbody>{rows}<tr class="bounds"><td>total</td>{total}</tr></tbody></table>'
    return card(f"How long it takes {tag('predicted')}", figure(record, "waterfall", number), table)


def measured_card(record: Record) -> str:
    """What was measured, beside the prediction."""
    return card("What was measured", fact_table(story.measured(record)))


def checked_card(record: Record) -> str:
    """Whether the result is right, where it was checked."""
    if record.verdict is None:
        return ""
    said = f"<p>{text(correctness.sentence(record.verdict))}</p>"
    table = fact_table(correctness.facts(record))
    return card("Is the result right", said, table, f'<p class="quiet">{text(correctness.reference(record))}</p>')


def bounds_card(record: Record) -> str:
    """Lower bounds with what they assume."""
    rows = story.bounds(record)
    said = "".join(f'<p class="quiet">{text(remark)}</p>' for remark in story.bound_remarks(record))
    return card("What no kernel can go below", fact_table(rows), said) if rows else ""


def advice_card(record: Record) -> str:
    """What to change, in the order of gain."""
    if record.advice is None:
        return ""
    items = "".join(
        f'<li><b>{text(a.change)}</b> <span class="gain">{speedup(a.predicted_speedup)}</span>'
        f'<span class="why">cause: {text(a.cause)}; cost: {text(a.cost)}; confidence: {text(a.confidence)}</span></li>'
        for a in record.advice
    )
    listed = f'<ol class="advice">{items}</ol>' if items else "<p>Nothing found to gain.</p>"
    return card(f"What to change {tag('predicted')}", listed)


def notes_card(record: Record) -> str:
    """What else the model says."""
    notes = record.prediction.notes if record.prediction else ()
    items = "".join(f"<li>{text(note)}</li>" for note in notes if clean(note))
    return card("Notes", f"<ul>{items}</ul>") if items else ""


def numbers_card(record: Record, remark: Callable[[str], str] = lambda path: "") -> str:
    """Every number with its kind, its source, and what a `remark` on its path has to say."""
    rows = "".join(
        f'<tr><td>{text(e.path)}</td><td class="n">{text(e.value)}</td>'
        f"<td>{tag(e.kind)}</td><td>{text('; '.join(filter(None, (e.source, remark(e.path)))))}</td></tr>"
        for e in entries(record)
    )
    if not rows:
        return ""
    heads = '<th>name</th><th class="n">value</th><th>kind</th><th>where it comes from</th>'
    table = f'<table class="every"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    summary = "<summary>Every number, its kind and its source</summary>"
    return f'<section class="card"><details>{summary}{table}</details></section>'


def figure(record: Record, name: str, number: int) -> str:
    """A picture in two widths: the style sheet shows the one that suits the screen."""
    drawn = [(kind, FIGURES[name](record, width)) for kind, width in (("wide", WIDE), ("phone", PHONE))]
    inner = "".join(f'<div class="{k}">{d.svg(f"{name}-{number}-{k}", inline=True)}</div>' for k, d in drawn if d)
    return f"<figure>{inner}</figure>" if inner else ""


def fact_table(facts: Sequence[story.Fact]) -> str:
    """Label, value, kind."""
    rows = "".join(
        f'<tr><td>{text(f.label)}</td><td class="n">{text(f.value)}</td><td class="n">{tag(f.kind)}</td></tr>'
        for f in facts
    )
    return f'<table class="facts"><tbody>{rows}</tbody></table>' if rows else ""


def card(head: str, *parts: str) -> str:
    """A section with a heading; nothing where it has no content."""
    return f'<section class="card"><h2>{head}</h2>{"".join(parts)}</section>' if any(parts) else ""


def pair(left: str, right: str) -> str:
    """Two sections side by side where the screen is wide, one where only one has content."""
    return f'<div class="pair"><div>{left}</div><div>{right}</div></div>' if left and right else left + right


def index_table(sweep: Sweep) -> str:
    """All records of a sweep, a line each, with links to their stories; then what holds of all."""
    common, columns = heading(sweep.records)
    heads = "".join(f"<th>{name}</th>" for name in (*columns, NOTE))
    rows = []
    for number, row in enumerate(sweep.rows(), 1):
        kept = (cell for name, cell in zip(COLUMNS, row.cells, strict=True) if name in columns)
        first, *rest = (text(cell) for cell in (*kept, row.note))
        link = f'<a href="#r{number}">{first}</a>' if number <= TOLD else first
        rows.append(f"<tr><td>{link}</td>{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>")
    count = len(sweep.records)
    more = f'<p class="quiet">The first {TOLD} are told in full below.</p>' if count > TOLD else ""
    body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
    table = f'<div class="scroll"><table class="short">{body}</table></div>'
    said = "".join(f"<p>{text(line)}</p>" for line in sweep.conclusions())
    lead = f'<p class="lead">{text(common)}</p>' if common else ""
    return f"<h1>{several(count, 'multiplication')}</h1>{lead}{more}" + (
        card(f"In short {tag('predicted')}", table, said) if count else ""
    )


def kinds() -> str:
    """What the words beside the numbers mean."""
    rows = "".join(f"<tr><td>{tag(kind)}</td><td>{text(meaning)}</td></tr>" for kind, meaning in KINDS.items())
    return card("What the numbers are", f"<table><tbody>{rows}</tbody></table>")


def data(records: list[Record]) -> str:
    """The records for machines; `<` is escaped so that no text can end the element."""
    lines = ",\n".join(json_text(record) for record in records)
    safe = f"[{lines}]".replace("<", "\\u003c")
    return f'<script type="application/json" id="records">{safe}</script>\n'


def json_text(record: Record) -> str:
    """The Record's JSON; text that cannot be written as UTF-8 has `?` where it cannot."""
    try:
        return record.to_json()
    except UnicodeEncodeError:
        return msgspec.json.encode(writable(msgspec.to_builtins(record))).decode()


def writable(value: Any) -> Any:
    """The value with every text in it made such that UTF-8 can hold it."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {writable(key): writable(item) for key, item in value.items()}
    return [writable(item) for item in value] if isinstance(value, list | tuple) else value
