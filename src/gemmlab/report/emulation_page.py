"""An emulated launch as the article of a page: counts, the source line by line, faults, proof."""

from __future__ import annotations

from collections.abc import Sequence

from gemmlab.record import EmulationSection, LineCounts, Record
from gemmlab.report import emulation as told
from gemmlab.report import fault_words
from gemmlab.report.emulation_hints import hints, notes
from gemmlab.report.emulation_tables import ARRAY_HEADS, MEMORY_HEADS, Row, array_rows, memory_rows, weight
from gemmlab.report.emulation_tables import told as access_text
from gemmlab.report.page import card, checked_card, code, numbers_card, pair, tag, text


def emulated(record: Record, emulation: EmulationSection, number: int) -> str:
    """The article's content."""
    kind = tag(told.KIND)
    work = "".join(f"<tr><td>{text(name)}</td><td>{text(said)}</td></tr>" for name, said in told.work_rows(emulation))
    parts = [
        opening(record, emulation, number),
        card(f"Faults {kind}", faults(emulation)),
        pair(
            card(f"What it asks memory for {kind}", counts(MEMORY_HEADS, memory_rows(emulation))),
            card(f"What it computes {kind}", f"<table><tbody>{work}</tbody></table>"),
        ),
        card(f"Line by line {kind}", source(emulation)),
        card(f"By array {kind}", counts(ARRAY_HEADS, array_rows(emulation))),
        card(f"Under other schedules {kind}", listed(told.tried_texts(emulation))),
        card("What this run proves", proof(emulation)),
        card("What to look at", listed(hints(emulation))),
        card("Notes", listed(notes(emulation))),
        checked_card(record),
        numbers_card(record),
    ]
    return "\n".join(part for part in parts if part)


def opening(record: Record, emulation: EmulationSection, number: int) -> str:
    """The kernel and its launch, then what was found."""
    level = "h1" if number == 1 else "h2"
    lead = "".join(f'<p class="lead">{text(said)}</p>' for said in told.setting(record, emulation))
    head = f"<{level}>{text(told.title(record, emulation))}</{level}>"
    return f'<header>{head}{lead}<p class="verdict">{text(told.found(record, emulation))}</p></header>'


def faults(emulation: EmulationSection) -> str:
    """Each fault: what, then who and where."""
    items = "".join(
        f'<li><b>{text(fault_words.title(fault))}</b><span class="why">'
        f"{text(fault_words.sentence(fault, emulation))}</span></li>"
        for fault in emulation.faults
    )
    return f'<ol class="advice">{items}</ol>' if items else ""


def counts(heads: Sequence[str], rows: Sequence[Row]) -> str:
    """A table of numbers."""
    if not rows:
        return ""
    titles = "".join(f'<th class="n">{head}</th>' for head in heads)
    body = "".join(
        f"<tr><td class=name>{text(row.name)}</td>"
        + "".join(f'<td class="n whole">{text(cell)}</td>' for cell in row.cells)
        + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr><th></th>{titles}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def source(emulation: EmulationSection) -> str:
    """Every line that executes anything, with its share of all pieces of memory as a bar."""
    most = max((weight(row)[0] for row in emulation.lines), default=0)
    body = "".join(source_row(emulation, row, most) for row in emulation.lines)
    return f'<table class="code"><tbody>{body}</tbody></table>' if body else ""


def source_row(emulation: EmulationSection, row: LineCounts, most: int) -> str:
    """One line of source, what it does below, and its bar."""
    where = str(row.line) if row.file == emulation.file else f"{row.file}:{row.line}"
    share = weight(row)[0] / most if most else 0.0
    bar = f'<span class="load" style="width:{100 * share:.0f}%"></span>' if share else ""
    said = "".join(f'<span class="why">{text(each)}</span>' for each in line_notes(row))
    return f"<tr><td class=name>{text(where)}</td><td>{code(row.text)}{bar}{said}</td></tr>"


def line_notes(row: LineCounts) -> list[str]:
    """What a line does: its accesses, arithmetic, divergence and barriers."""
    notes = [access_text(access) for access in row.accesses]
    notes += [f"{row.flop:,} FLOP, {row.fma:,} fma"] * bool(row.flop)
    notes += [f"{row.branches:,} tests by warps, {row.divergent_branches:,} divergent"] * bool(row.branches)
    return notes + [f"{row.barrier_waits:,} warps wait"] * bool(row.barrier_waits)


def proof(emulation: EmulationSection) -> str:
    """The sentence, and why it says no more."""
    if emulation.proof is None:
        return ""
    return f"<p>{text(emulation.proof.text)}</p>{listed(emulation.proof.reasons)}"


def listed(said: Sequence[str]) -> str:
    """Texts as a list; nothing where there are none."""
    return f"<ul>{''.join(f'<li>{text(each)}</li>' for each in said)}</ul>" if said else ""
