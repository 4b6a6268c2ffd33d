"""Squarified treemaps: areas in proportion to values, near to squares (Bruls, Huizing, van Wijk 2000)."""

from collections.abc import Sequence
from typing import NamedTuple


class Area(NamedTuple):
    """A rectangle, y downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def size(self) -> float:
        """Its area."""
        return self.width * self.height

    def inside(self, left: float, top: float, right: float, bottom: float) -> "Area":
        """What is left of it within margins; nothing rather than less."""
        width, height = max(0.0, self.width - left - right), max(0.0, self.height - top - bottom)
        return Area(self.x + min(left, self.width), self.y + min(top, self.height), width, height)


def squarified(values: Sequence[float], within: Area) -> list[Area]:
    """An area for each value, in the values' order: together they fill `within`, each in proportion to its value.

    Values are at least 0, and one of 0 gets an area of nothing. The largest come first, from the top left.
    """
    total = sum(values)
    if total <= 0 or within.size <= 0:
        return [Area(within.x, within.y, 0.0, 0.0)] * len(values)
    order = sorted(range(len(values)), key=lambda index: -values[index])
    scaled = [values[index] / total * within.size for index in order]
    found = [Area(within.x, within.y, 0.0, 0.0)] * len(values)
    left, start = within, 0
    while start < len(scaled) and scaled[start] > 0:
        end = row_end(scaled, start, min(left.width, left.height))
        last = end == len(scaled) or scaled[end] <= 0
        placed, left = laid(scaled[start:end], left, last)
        for index, area in zip(order[start:end], placed, strict=True):
            found[index] = area
        start = end
    return found


def row_end(sizes: Sequence[float], start: int, side: float) -> int:
    """Where the row that begins at `start` along a side ends: one more would make its worst member longer."""
    end, total = start + 1, sizes[start]
    while end < len(sizes) and sizes[end] > 0:
        more = total + sizes[end]
        if worst(sizes[start], sizes[end], more, side) > worst(sizes[start], sizes[end - 1], total, side):
            break
        end, total = end + 1, more
    return end


def worst(largest: float, smallest: float, total: float, side: float) -> float:
    """The longest side ratio in a row along a side, by its largest and smallest member."""
    squared, spread = side * side, total * total
    return max(squared * largest / spread, spread / (squared * smallest)) if spread and squared else float("inf")


def laid(row: Sequence[float], within: Area, last: bool) -> tuple[list[Area], Area]:
    """A row along the shorter side, and what is left; the last row takes all of it, whatever rounding says."""
    total, placed = sum(row), []
    along_y = within.width >= within.height
    side = within.height if along_y else within.width
    across = within.width if along_y else within.height
    thick = across if last else min(across, total / side)
    at = 0.0
    for size in row:
        length = size / total * side
        if along_y:
            placed.append(Area(within.x, within.y + at, thick, length))
        else:
            placed.append(Area(within.x + at, within.y, length, thick))
        at += length
    if along_y:
        return placed, Area(within.x + thick, within.y, within.width - thick, within.height)
    return placed, Area(within.x, within.y + thick, within.width, within.height - thick)
