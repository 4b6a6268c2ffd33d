"""A logarithmic axis: where values lie, which ticks it shows, and how labels beside it keep apart."""

import math
from typing import NamedTuple

from gemmlab.report.words import amount

LABEL_GAP = 5


class LogAxis(NamedTuple):
    """Values from `low` to `high` laid on pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value; what lies beyond an end is put on it."""
        if value <= self.low:
            return self.start
        if value >= self.high:
            return self.end
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def value(self, pixel: float) -> float:
        """The value at a pixel, beyond the ends too."""
        share = (pixel - self.start) / (self.end - self.start)
        return float(self.low * (self.high / self.low) ** share)

    def longer(self, start: float, end: float) -> "LogAxis":
        """The same scale on more pixels."""
        return LogAxis(self.value(start), self.value(end), start, end)

    def ticks(self, apart: float) -> list[float]:
        """Round values at least `apart` pixels from each other: 1, 2 and 5, 1 and 3, or some decades only."""
        decade = abs(self.end - self.start) / math.log10(self.high / self.low)
        every = max(1, math.ceil(apart / decade))
        steps = (1, 2, 5) if decade * math.log10(2) >= apart else (1, 3) if decade * 0.47 >= apart else (1,)
        first = math.floor(math.log10(self.low) / every) * every
        last = math.ceil(math.log10(self.high))
        values = [step * 10.0**power for power in range(first, last + 1, every) for step in steps]
        return [v for v in values if self.low * 0.999 <= v <= self.high * 1.001]


def tick_text(value: float, unit: str = "") -> str:
    """A round value as short as can be: `100 G`, `20`, `0.1`."""
    if not 1e-12 <= value < 1e18:
        return f"{value:.0e} {unit}".replace("e+", "e").strip()
    if not unit and 1e-3 <= value < 1e3:
        return f"{value:g}"
    head, _, prefix = amount(value, unit or "_").partition(" ")
    short = head.rstrip("0").rstrip(".") if "." in head else head
    return f"{short} {prefix.replace('_', '')}".strip()


def span(values: list[float], below: float, above: float, decades: float) -> tuple[float, float]:
    """Ends of an axis that holds all positive values with room of a factor at each end, and at least some decades."""
    low, high = min(values) / below, max(values) * above
    missing = decades - math.log10(high / low)
    if missing > 0:
        low, high = low / 10 ** (missing / 2), high * 10 ** (missing / 2)
    return low, high


def stagger(places: list[tuple[float, float]], blocked: list[tuple[float, float]] | None = None) -> list[int]:
    """The row of each label, given as (pixel of its leader, width), such that no label meets another or a leader.

    Row 0 lies next to what is labelled. A label starts at its leader and runs right; the leader passes through the rows
    before it. `blocked` intervals of row 0 are taken. Going from right to left, some row is always free.
    """
    rows = [0] * len(places)
    labels = [(0, left, right) for left, right in blocked or []]
    leaders: list[tuple[int, float]] = []
    for index in sorted(range(len(places)), key=lambda i: -places[i][0]):
        left, right = places[index][0], places[index][0] + places[index][1] + LABEL_GAP
        row = 0
        while any(r == row and left < b and a < right for r, a, b in labels) or any(
            r > row and left < x < right for r, x in leaders
        ):
            row += 1
        rows[index] = row
        labels.append((row, left, right))
        leaders.append((row, left))
    return rows
