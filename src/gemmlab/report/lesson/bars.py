"""Amounts as bars, one under the other: name and figure above each, a remark below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gemmlab.report.svg import Drawing, fit, text_lines, text_width

EDGE, TALL, LEAST, STEP = 16.0, 11.0, 1.5, 43


class Bar(NamedTuple):
    """One amount."""

    label: str
    figure: str
    share: float  #: of the track, 0 to 1; negative: no bar
    remark: str = ""
    color: str = "teal"
    spread: tuple[float, float] | None = None  #: ends of a line on it, as shares


def bars(title: str, kind: str, said: str, rows: Sequence[Bar], width: float) -> Drawing:
    """The picture of amounts of a kind; the whole width is a share of 1."""
    wide = width - 2 * EDGE
    lead = text_lines(said, 12, wide)
    remarks = [text_lines(row.remark, 11, wide) for row in rows]
    head = 40.0 + 16 * len(lead)
    height = head + sum(STEP + 14 * len(lines) for lines in remarks) + 2
    words = "; ".join(f"{row.label}: {row.figure}" for row in rows)
    drawing = Drawing(width, height, title, words)
    drawing.text(EDGE, 25, fit(title, 14, wide - 90, True), 14, bold=True, after=kind)
    drawing.paragraph(EDGE, 43, said, wide, color="quiet")
    y = head
    for row, lines in zip(rows, remarks, strict=True):
        one(drawing, row, y, wide)
        for index, line in enumerate(lines):
            drawing.text(EDGE, y + 44 + 14 * index, line, 11, "quiet")
        y += STEP + 14 * len(lines)
    return drawing


def one(drawing: Drawing, row: Bar, y: float, wide: float) -> None:
    """One row without its remark."""
    drawing.text(EDGE + wide, y + 12, row.figure, 12.5, row.color, anchor="end", bold=True)
    room = wide - text_width(row.figure, 12.5, True) - 12
    drawing.text(EDGE, y + 12, fit(row.label, 12.5, room), 12.5)
    drawing.rect(EDGE, y + 18, wide, TALL, "grid", rounded=2)
    if row.share < 0:
        return
    drawing.rect(EDGE, y + 18, min(max(row.share * wide, LEAST), wide), TALL, row.color, rounded=2)
    if row.spread:
        low, high = (EDGE + min(max(each, 0.0), 1.0) * wide for each in row.spread)
        drawing.line((low, y + 18 + TALL / 2, max(high, low + 1), y + 18 + TALL / 2), "ink", 1.5)
