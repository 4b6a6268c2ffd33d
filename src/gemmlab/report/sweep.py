"""Many Records as a table for the terminal: a line each, then what holds of all."""

import sys
from collections.abc import Iterable, Sequence

from gemmlab.problem import Shape
from gemmlab.record import Record
from gemmlab.report.canvas import Canvas, cells, shorten
from gemmlab.report.sweep_story import COLUMNS, NOTE, Row, Sweep, heading

LEFT = ("shape", "format", "bound")  #: columns of words; the others hold figures
CAPS = {"shape": 26, "format": 14, "time": 11, "of all": 6, "bound": 12, "DRAM": 11, "of limit": 8}

WIDEST = 160
LEAST_ROOM = 40  # columns that a note beside its shape must have, else it goes below


def sweep_table(
    records: Iterable[Record],
    shapes: Sequence[Shape] = (),
    *,
    width: int | None = None,
    color: bool | None = None,
    unicode: bool | None = None,
) -> str:
    """A table for the terminal, one line for each Record; name and advice get lines of their own without room.

    `shapes` are what the Records are of, in the same order, where they have names or occur several times. Times and
    DRAM traffic are predicted. Width, colour and characters as `terminal` takes them.
    """
    canvas = Canvas.of(sys.stdout, width, color, unicode, widest=WIDEST)
    sweep = Sweep(list(records), shapes)
    if not sweep.records:
        return "no multiplications"
    common, columns = heading(sweep.records)
    rows = [fitted(row, columns, canvas) for row in sweep.rows()]
    sizes = [
        min(max(cells(name), *(cells(row.cells[i]) for row in rows)), CAPS[name]) for i, name in enumerate(columns)
    ]
    lines = [*canvas.wrap(common, style="dim", hang=2), ""] if common else []
    if sum(sizes) + 2 * (len(sizes) - 1) > canvas.width:
        lines += [line for row in rows for line in stacked(row, columns, canvas)]
    else:
        lines += side_by_side(rows, columns, sizes, canvas)
    return "\n".join([*lines, "", *(line for said in sweep.conclusions() for line in canvas.wrap(said, hang=2))])


def fitted(row: Row, columns: Sequence[str], canvas: Canvas) -> Row:
    """The row's cells in those columns, in characters that can be shown."""
    shown = (canvas.fit(cell) for name, cell in zip(COLUMNS, row.cells, strict=True) if name in columns)
    return Row(tuple(shown), canvas.fit(row.label), canvas.fit(row.change))


def side_by_side(rows: Sequence[Row], columns: Sequence[str], sizes: Sequence[int], canvas: Canvas) -> list[str]:
    """The rows in columns, notes at the end of their lines if there is room for them and below if not."""
    room = canvas.width - sum(sizes) - 2 * len(sizes)
    room = room if room >= LEAST_ROOM else 0
    noted = any(row.note for row in rows)
    lines = [canvas.paint(columned(columns, columns, sizes, (NOTE, room if noted else 0)), "dim")]
    for row in rows:
        first, *rest = row.cells
        if cells(first) > sizes[0]:
            lines += canvas.wrap(first, hang=2)
            first = ""
        lines.append(columned((first, *rest), columns, sizes, (row.note, room)))
        if not room:
            lines += canvas.wrap(row.note, 4, "dim", 2)
    return lines


def columned(texts: Sequence[str], columns: Sequence[str], sizes: Sequence[int], note: tuple[str, int]) -> str:
    """One line: words to the left, figures to the right, the note as far as its room goes."""
    parts = []
    for name, given, size in zip(columns, texts, sizes, strict=True):
        text = shorten(given, size)
        pad = " " * (size - cells(text))
        parts.append(text + pad if name in LEFT else pad + text)
    return "  ".join([*parts, shorten(*note)] if note[1] else parts).rstrip()


def stacked(row: Row, columns: Sequence[str], canvas: Canvas) -> list[str]:
    """One Record on several lines of a narrow terminal."""
    said = dict(zip(columns, row.cells, strict=True))
    form = said.get("format", "-")
    lines = canvas.wrap(f"{said['shape']}, {form}" if form != "-" else said["shape"], style="strong", hang=2)
    if said["time"] != "-":
        text = f"{said['time']}, {said['of all']} of all, bound {said['bound']}, DRAM {said['DRAM']}"
        lines += canvas.wrap(f"{text}, {said['of limit']} of its limit", 2, hang=2)
    return lines + canvas.wrap(row.note, 2, "dim", 2)
