"""One roof, all kernels: where each would stand without caches, and where the model has it with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gemmlab.report import story
from gemmlab.report.axis import LogAxis, span, stagger
from gemmlab.report.lesson.words import Loads, reached
from gemmlab.report.roofline import axes
from gemmlab.report.svg import Drawing, fit, text_lines, text_width
from gemmlab.report.words import amount, plain

ROW, PLOT, HEAD = 15, 210.0, 44.0
SAID = "What each kernel may reach at its intensity, loads and stores counted before any cache"


class Point(NamedTuple):
    """One kernel: intensity, speed without caches, speed as predicted."""

    label: str
    intensity: float
    bare: float
    predicted: float


def kernels_roofline(rows: Sequence[Loads], width: float) -> Drawing | None:
    """The picture; None where the chip's figures are unknown."""
    points = [
        Point(row.label, row.intensity, *found) for row in rows if row.intensity > 0 and (found := reached(row.record))
    ]
    if not points:
        return None
    record = rows[-1].record
    top, speed = story.peak(record), story.bandwidth(record, "dram")
    assert top
    assert speed
    lines = text_lines(SAID, 12, width - 32)
    knee = top / speed
    low, high = span([*(p.intensity for p in points), knee], 2.5, 2.5, 2)
    x = LogAxis(low, high, 52.0, width - 16)
    lefts = [label_left(x.at(p.intensity), p.label, width) for p in points]
    rows_below = stagger([(at, text_width(p.label, 11) + 6) for at, p in zip(lefts, points, strict=True)])
    roof = HEAD + 16 * len(lines) + 14
    bottom = roof + PLOT
    height = bottom + 56 + ROW * (max(rows_below) + 1) + 3 * 16
    drawing = Drawing(width, height, "Kernels under the roof", f"{SAID}: " + "; ".join(map(words, points)))
    drawing.text(16, 25, fit("Kernels under the roof", 14, width - 32, True), 14, bold=True)
    drawing.paragraph(16, 43, SAID, width - 32, color="quiet")
    y = LogAxis(min(*(min(p.bare, p.predicted) for p in points), top / 30) / 2, top, bottom, roof)
    for point, row in zip(points, rows_below, strict=True):  # beneath the ticks' numbers
        at, level = x.at(point.intensity), bottom + 50 + ROW * row
        drawing.line((at, y.at(max(point.bare, point.predicted)), at, level - 2), "teal", 1, "2 3")
    axes(drawing, x, y)
    start = max(x.low, y.low / speed)
    drawing.path([(x.at(start), y.at(start * speed)), (x.at(knee), roof), (x.end, roof)], "ink", 2)
    drawing.line((x.at(knee), roof, x.at(knee), bottom), "quiet", 1, "4 4")
    knee_label(drawing, x.at(knee), bottom - 8, f"knee {plain(knee)}", width)
    drawing.text(x.end, roof - 6, f"peak {amount(top, 'FLOP/s')}", 11, anchor="end", bold=True)
    for point, left, row in zip(points, lefts, rows_below, strict=True):
        place(drawing, point, (x, y), (left, bottom + 50 + ROW * row))
    legend(drawing, bottom + 68 + ROW * (max(rows_below) + 1))
    return drawing


def words(point: Point) -> str:
    """One kernel in a sentence."""
    bare, predicted = amount(point.bare, "FLOP/s"), amount(point.predicted, "FLOP/s")
    return f"{point.label}, {plain(point.intensity)} FLOP/byte: {bare} without caches, {predicted} predicted"


def place(drawing: Drawing, point: Point, plot: tuple[LogAxis, LogAxis], ends: tuple[float, float]) -> None:
    """One kernel: both marks above its label, which begins at `ends`."""
    x, y = plot
    at, (left, level) = x.at(point.intensity), ends
    drawing.marker("circle", at, y.at(point.bare), "teal", hollow=True)
    drawing.marker("square", at, y.at(point.predicted), "ochre")
    drawing.text(left + 4, level, point.label, 11, "teal")


def label_left(at: float, label: str, width: float) -> float:
    """Where a kernel's label begins: at its line, or as far left of it as the sheet's edge asks."""
    return min(at, max(16.0, width - 14 - text_width(label, 11)))


def knee_label(drawing: Drawing, at: float, y: float, text: str, width: float) -> None:
    """The knee's name, on the side of its line that has room."""
    fits = at + 6 + text_width(text, 11) <= width - 16
    drawing.text(at + 6 if fits else at - 6, y, text, 11, "quiet", anchor="start" if fits else "end")


def legend(drawing: Drawing, y: float) -> None:
    """What the marks mean."""
    drawing.marker("circle", 24, y - 4, "teal", hollow=True)
    drawing.text(36, y, "were every load to come from DRAM", 11, after="counted, datasheet")
    drawing.marker("square", 24, y + 14, "ochre")
    drawing.text(36, y + 18, "with the chip's caches", 11, after="predicted")
