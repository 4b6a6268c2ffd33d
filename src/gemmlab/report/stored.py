"""What a store holds: its runs as text, the Records of one as lines for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gemmlab.report.canvas import Canvas
from gemmlab.report.compared import run_text
from gemmlab.report.spreadsheet import columns, flat, line
from gemmlab.report.words import clean, several
from gemmlab.store import Row, Run

KEY = ("run", "date", "suite", "problem", "formats", "chip", "backend", "kernel", "threads")


def to_json(rows: Iterable[Row]) -> Iterator[str]:
    """A line of JSON for each row, without line ends: what it is kept under, and the Record as `record`."""
    for row in rows:
        yield msgspec.json.encode(row).decode()


def to_csv(rows: Iterable[Row]) -> Iterator[str]:
    """Lines of CSV without line ends: a header, then for each row `key.run`, ..., and the figures of its Record.

    The Record's columns are those of `csv_rows`, by dotted name.
    """
    names = [name for name in columns() if "." in name]
    yield line([*(f"key.{name}" for name in KEY), *names])
    for row in rows:
        values = flat(row.record)
        yield line([*(getattr(row, name) for name in KEY), *(values.get(name) for name in names)])


def runs_table(
    runs: Sequence[Run], *, width: int | None = None, color: bool | None = None, unicode: bool | None = None
) -> str:
    """Runs, a line or two each, as text without a line end; width, colour and characters as `terminal` takes them."""
    canvas = Canvas.of(sys.stdout, width, color, unicode)
    lines: list[str] = [] if runs else ["no runs"]
    for run in runs:
        lines += canvas.sides(run.id, clean(run.suite), left_style="strong")
        lines += canvas.wrap(run_text(run).partition(", ")[2], 2, hang=2)
    return "\n".join([*lines, "", several(len(runs), "run")]) if runs else lines[0]
