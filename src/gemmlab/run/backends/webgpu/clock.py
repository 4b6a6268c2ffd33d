"""What a timestamp is worth: its step, whether a span dwarfs it, and whether the wall clock bears it out.

Browsers and some drivers round timestamps, commonly to 65,536 ns. Nothing here starts a clock or a device.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

DWARFS = 200  # steps of a span that tells its time to a half percent
WORTH_S = 0.01  # of wall time: below it, what a submission costs hides whether both clocks agree
LEAST_SHARE, MOST_SHARE = 0.3, 1.05  # of the wall's seconds that a device may have worked


class Clock:
    """An adapter's timestamps, in ticks of `period_s` seconds."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self.step = 0  #: ticks that every difference seen is a multiple of; 0: none seen that differ
        self.doubts = 0
        self.checked = False

    def span_s(self, stamps: Sequence[int]) -> float:
        """Seconds of passes in all, from the first and last stamp of each in turn; their differences tell the step."""
        for earlier, later in itertools.pairwise(stamps):
            self.step = math.gcd(self.step, abs(later - earlier))
        spans = [last - first for first, last in zip(stamps[::2], stamps[1::2], strict=True)]
        return sum(spans) * self.period_s

    def missing(self, span_s: float) -> int:
        """How many times as much work must be timed for a span to dwarf the step; 1 where it does."""
        least_s = DWARFS * max(self.step, 1) * self.period_s
        if span_s >= least_s:
            return 1
        return math.ceil(least_s / max(span_s, self.step * self.period_s, self.period_s))

    def believed(self, span_s: float, wall_s: float) -> bool | None:
        """Whether the wall clock bears a span out; None where it was too short, or is to be tried once more."""
        if wall_s < WORTH_S:
            return None
        if LEAST_SHARE * wall_s <= span_s <= MOST_SHARE * wall_s:
            self.checked = True
            return True
        self.doubts += 1
        return False if self.doubts > 1 else None
