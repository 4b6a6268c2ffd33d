"""Sets of whole numbers that enclose what an expression takes over threads and loop rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bound = int | float  #: a whole number, or an infinity

LISTED = 4096  #: numbers a set lists before only its bounds are kept
PAIRS = 1 << 14  #: pairs of listed numbers that one operation looks at
LARGEST = 1 << 31  #: listed numbers stay below, so that no product of two leaves int64


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Whole numbers from `lo` to `hi`; where `listed` is given (sorted, distinct), those only.

    With `teeth` (width, by), those only that lie at most `width` past `lo` or past some multiple of `by` from it: what
    a loop makes of a block's places, round after round.
    """

    lo: Bound
    hi: Bound
    listed: Ints | None = None
    teeth: tuple[int, int] | None = None

    @property
    def finite(self) -> bool:
        """Whether both bounds are known."""
        return math.isfinite(self.lo) and math.isfinite(self.hi)

    @property
    def single(self) -> bool:
        """Whether it is one number."""
        return self.lo == self.hi

    @property
    def gapless(self) -> bool:
        """Whether it lists every number between its bounds."""
        return self.listed is not None and self.listed.size == self.hi - self.lo + 1

    def same(self, other: Spread) -> bool:
        """Whether both are the same set."""
        if (self.lo, self.hi, self.teeth) != (other.lo, other.hi, other.teeth):
            return False
        if self.listed is None or other.listed is None:
            return self.listed is other.listed
        return np.array_equal(self.listed, other.listed)


ANY = Spread(-math.inf, math.inf)
TRUTHS = Spread(0, 1, np.array([0, 1]))


def one(number: int) -> Spread:
    """The set of one number."""
    return Spread(number, number, np.array([number]) if abs(number) < LARGEST else None)


def between(lo: Bound, hi: Bound) -> Spread:
    """All whole numbers between, both included."""
    if hi - lo < LISTED and math.isfinite(lo) and max(abs(lo), abs(hi)) < LARGEST:
        return Spread(lo, hi, np.arange(int(lo), int(hi) + 1))
    return Spread(lo, hi)


def listing(numbers: Ints) -> Spread:
    """The set of those numbers, which need be neither sorted nor distinct; more than can be listed leave bounds."""
    lo, hi = int(numbers.min()), int(numbers.max())
    if max(-lo, hi) >= LARGEST:
        return Spread(lo, hi)
    if hi - lo < 8 * numbers.size + LISTED:
        present = np.zeros(hi - lo + 1, np.bool_)
        present[numbers - lo] = True
        distinct = np.flatnonzero(present) + lo
    else:
        distinct = np.unique(numbers)
    return Spread(lo, hi, distinct if distinct.size <= LISTED else None)


def union(x: Spread, y: Spread) -> Spread:
    """Numbers of either."""
    if x.same(y):
        return x
    if x.listed is not None and y.listed is not None:
        return listing(np.concatenate((x.listed, y.listed)))
    if x.teeth is None:
        x, y = y, x
    lo, hi = min(x.lo, y.lo), max(x.hi, y.hi)
    if x.teeth is None or not math.isfinite(x.lo) or not math.isfinite(y.lo):
        return Spread(lo, hi)
    width, by = x.teeth
    past = (int(y.lo) - int(x.lo)) % by
    fits = past + (y.teeth[0] if y.teeth is not None else y.hi - y.lo) <= width
    if not fits or (y.teeth is not None and y.teeth[1] != by):
        return Spread(lo, hi)
    return Spread(min(x.lo, y.lo - past), hi, teeth=x.teeth)


def combed(x: Spread, by: int, hi: Bound) -> Spread:
    """Numbers of `x` and those steps of `by` past them, up to `hi`."""
    width = x.hi - x.lo
    return Spread(x.lo, hi, teeth=(int(width), by) if width + 1 < by else None)


def widen(before: Spread, after: Spread) -> Spread:
    """`after`, its bounds given up where they moved past `before`: ends a loop's search for them."""
    if before.same(after):
        return before
    lo = before.lo if after.lo >= before.lo else -math.inf
    hi = before.hi if after.hi <= before.hi else math.inf
    if before.listed is not None and after.listed is not None and math.isfinite(lo) and hi == math.inf:
        by = int(after.hi) - int(before.hi)
        width = (int(before.hi) - int(before.lo)) % by
        if width + 1 < by and ((after.listed - int(lo)) % by <= width).all():
            return Spread(lo, hi, teeth=(width, by))
    return Spread(lo, hi, teeth=before.teeth if before.teeth == after.teeth and math.isfinite(lo) else None)


def clipped(x: Spread, lo: Bound, hi: Bound) -> Spread:
    """Numbers of `x` within bounds; `x` itself where none is."""
    if (lo <= x.lo and x.hi <= hi) or lo > x.hi or hi < x.lo:
        return x
    if x.teeth is not None and lo <= x.lo:
        return Spread(x.lo, min(hi, x.hi), teeth=x.teeth)
    if x.listed is None:
        return between(max(lo, x.lo), min(hi, x.hi))
    kept = x.listed[(x.listed >= lo) & (x.listed <= hi)]
    return listing(kept) if kept.size else x


def pairwise(operation: Callable[[Any, Any], Any], x: Spread, y: Spread) -> Spread | None:
    """All results of an operation of numpy on a number of each; None where the numbers are not listed."""
    if x.listed is None or y.listed is None or x.listed.size * y.listed.size > PAIRS:
        return None
    return listing(np.asarray(operation(x.listed[:, None], y.listed[None, :])).astype(np.int64).ravel())


def add(x: Spread, y: Spread) -> Spread:
    """Sums. An infinite bound outlives only the addition of small numbers, which no run adds up to a wrap."""
    if x.gapless and y.gapless:
        return between(x.lo + y.lo, x.hi + y.hi)
    found = pairwise(np.add, x, y)
    if found is not None:
        return found
    if not x.finite and not (y.finite and max(-y.lo, y.hi) <= LARGEST):
        return ANY
    if not y.finite and not (x.finite and max(-x.lo, x.hi) <= LARGEST):
        return ANY
    moved = x if y.single else y if x.single else None
    return Spread(x.lo + y.lo, x.hi + y.hi, teeth=None if moved is None else moved.teeth)


def negated(x: Spread) -> Spread:
    """The numbers with the other sign."""
    return Spread(-x.hi, -x.lo, None if x.listed is None else -x.listed[::-1])


def subtract(x: Spread, y: Spread) -> Spread:
    """Differences."""
    return add(x, negated(y))


def multiply(x: Spread, y: Spread) -> Spread:
    """Products; without known bounds of both, any number."""
    found = pairwise(np.multiply, x, y)
    if found is not None:
        return found
    if not (x.finite and y.finite):
        return one(0) if (x.single and x.lo == 0) or (y.single and y.lo == 0) else ANY
    corners = [a * b for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    return Spread(min(corners), max(corners))


def floor_divide(x: Spread, divisor: int) -> Spread:
    """Quotients by a number above zero, rounded down."""
    if x.listed is not None:
        return listing(x.listed // divisor)
    lo, hi = (int(b) // divisor if math.isfinite(b) else b for b in (x.lo, x.hi))
    return between(lo, hi)


def modulo(x: Spread, divisor: int) -> Spread:
    """Remainders by a number above zero, none negative."""
    if x.listed is not None:
        return listing(x.listed % divisor)
    return x if x.lo >= 0 and x.hi < divisor else between(0, divisor - 1)
