"""A multiplication on a systolic array as text: cycles by class, traffic, energy, beside another chip."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gemmlab.record import Record, SystolicSection
from gemmlab.report import systolic_story as told
from gemmlab.report import text
from gemmlab.report.canvas import Canvas, cells, shorten
from gemmlab.report.emulation import listed, titled
from gemmlab.report.words import clean

LABEL = 16  #: columns of a class's name
COUNT = 15  #: of its cycles


def systolic_text(
    records: Record | Sequence[Record],
    *,
    width: int | None = None,
    color: bool | None = None,
    unicode: bool | None = None,
) -> str:
    """The report of a systolic Record, and of another chip's beside it where there is a second one.

    Width, colour and characters as `terminal` takes them.
    """
    first, *others = [records] if isinstance(records, Record) else list(records)
    canvas = Canvas.of(sys.stdout, width, color, unicode)
    return text.joined([block for block in sections(first, canvas, others) if block])


def sections(record: Record, canvas: Canvas, others: Sequence[Record] = ()) -> list[list[str]]:
    """The report's sections in order, each as lines; nothing where the Record has no systolic array."""
    section = record.systolic
    if section is None:
        return []
    kind = kind_of(section)
    return [
        heading(record, section, canvas),
        titled("Where the cycles go", split(section, canvas), canvas, kind),
        text.facts("How it is cut", told.tiles(section), canvas),
        text.facts("What it moves", told.moves(section, kind), canvas),
        energy(section, canvas),
        *(compared(record, other, canvas) for other in others),
        text.facts(compat_title(section), told.compat(section), canvas),
        values(record, section, canvas),
        text.advice(record, canvas),
        titled("Notes", listed([clean(note) for note in section.notes], canvas), canvas),
    ]


def kind_of(section: SystolicSection) -> str:
    """What the cycles and counts are: the grid's are of every register's every cycle."""
    return "emulated" if section.engine == "grid" else "counted"


def heading(record: Record, section: SystolicSection, canvas: Canvas) -> list[str]:
    """What was asked; then the answer in one line."""
    lines = canvas.wrap(told.title(record, section), style="strong", hang=2)
    for said in told.setting(record, section):
        lines += canvas.wrap(said, 2, hang=2)
    return [*lines, "", *canvas.wrap(told.verdict(section), style="bound", hang=2)]


def split(section: SystolicSection, canvas: Canvas) -> list[str]:
    """Each class of cycles with its share and a bar; parts of a class are indented."""
    lines, start = [], 0.0
    for row in told.shares(section):
        lines += share_lines(row, start, canvas)
        start += 0.0 if row.part else row.share
    return lines


def share_lines(row: told.Share, start: float, canvas: Canvas) -> list[str]:
    """One class: name, cycles, share and a bar, or what it is where it is part of the class above."""
    name = f"{'    ' if row.part else '  '}{row.name}"
    if canvas.narrow:
        return canvas.sides(name, f"{row.cycles:,.0f} {told.tenths(row.share):>6}")
    left = f"{name:<{LABEL + 2}}{row.cycles:>{COUNT},.0f}{told.tenths(row.share):>8}"
    room = canvas.width - cells(left) - 2
    if row.part:
        return [canvas.paint(canvas.fit(f"{left}  {shorten(row.why, room)}"), "dim")]
    return [f"{left}  {canvas.paint(canvas.bar(start, row.share, room), 'counted')}".rstrip()]


def energy(section: SystolicSection, canvas: Canvas) -> list[str]:
    """Joules, and below them the table that they come from."""
    rows = told.energy(section)
    if not rows:
        return []
    source = [line for said in told.energy_source(section) for line in canvas.wrap(said, 2, "dim", 2)]
    return [*text.facts("What it costs", rows, canvas), *source]


def compared(record: Record, other: Record, canvas: Canvas) -> list[str]:
    """The array's figures in one column, another chip's in the next."""
    rows = told.beside(record, other)
    if not rows or other.chip is None:
        return []
    name = clean(other.chip.name)
    mine = clean(record.chip.name) if record.chip else "this array"
    lines = canvas.sides(f"Beside {name}", "predicted", "predicted", "strong")
    if canvas.narrow:
        for row in rows:
            lines += canvas.wrap(f"{row.label or 'which is'}: {mine} {row.array}; {name} {row.other}", 2, hang=2)
    else:
        label, column = (max(len(row[place]) for row in rows) + 2 for place in (0, 1))
        column = max(column, len(mine) + 2)
        lines.append(canvas.paint(f"  {'':{label}}{mine:<{column}}{name}", "dim"))
        lines += [f"  {row.label:<{label}}{canvas.fit(row.array):<{column}}{canvas.fit(row.other)}" for row in rows]
    return lines + [line for note in told.beside_notes(record, other) for line in canvas.wrap(note, 2, "dim", 2)]


def compat_title(section: SystolicSection) -> str:
    """Whose figures they are."""
    return f"What {clean(section.compat.program)} reports, faults included" if section.compat else ""


def values(record: Record, section: SystolicSection, canvas: Canvas) -> list[str]:
    """Whether the grid's result is the product, and whether sums left their range."""
    lines = text.correctness(record, canvas)
    said = told.overflow(section)
    return [*lines, *canvas.wrap(said, 2, hang=2)] if said else lines
