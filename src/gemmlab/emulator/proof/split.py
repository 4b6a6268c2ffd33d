"""Values taken apart: what the block adds, and what threads and loop rounds make of it in every block alike."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator.program import Line
from gemmlab.emulator.proof.spread import ANY, TRUTHS, Ints, Spread, add, listing, one, subtract, union

Bools = NDArray[np.bool_]
SAFE = 1 << 61  #: sums of two such numbers stay in int64


@dataclass(frozen=True, slots=True)
class Blame:
    """Why a value is not the launch's alone: `data`, `atomic` or `warp`, words for it, the line that brought it in."""

    kind: str
    what: str
    line: Line


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A value of every thread of every block: `u` of its block, plus a number of `rest`.

    Blocks that agree in all `pins` have the same number of `rest` at the same thread and step. `u` spreads over the
    grid's axes (z, y, x), and is 0 in the first block. A float has no parts: `rest` is any number, `number` its value
    where the launch fixes it. A truth value is sure in blocks marked in `yes` and `no`.
    """

    u: Ints
    rest: Spread
    pins: frozenset[int] = frozenset()
    blame: Blame | None = None
    yes: Bools | None = None
    no: Bools | None = None
    number: int | float | None = None

    @property
    def alike(self) -> bool:
        """Whether blocks add nothing to it."""
        return self.u.size == 1

    @property
    def uniform(self) -> bool:
        """Whether all threads of a block hold one value, throughout."""
        return self.rest.single

    def lo(self) -> int | float:
        """Bound over all blocks, from below."""
        return int(self.u.min()) + self.rest.lo

    def hi(self) -> int | float:
        """Bound over all blocks, from above."""
        return int(self.u.max()) + self.rest.hi

    def same(self, other: Split) -> bool:
        """Whether both say the same."""
        return (
            self.pins == other.pins
            and self.blame == other.blame
            and self.number == other.number
            and self.rest.same(other.rest)
            and np.array_equal(self.u, other.u)
        )


ZERO = np.zeros((1, 1, 1), np.int64)


def shrunk(array: Ints) -> Ints:
    """The array without the axes along which it is constant."""
    for axis in range(3):
        if array.shape[axis] > 1:
            first = array[(slice(None),) * axis + (slice(0, 1),)]
            if (array == first).all():
                array = first
    return array


def constant(number: int) -> Split:
    """A whole number that the launch fixes."""
    return Split(ZERO, one(number), number=number)


def of_threads(rest: Spread) -> Split:
    """A value that differs between threads or rounds, not between blocks."""
    return Split(ZERO, rest, number=int(rest.lo) if rest.single and rest.finite else None)


def of_parts(u: Ints, rest: Spread, pins: frozenset[int] = frozenset(), blame: Blame | None = None) -> Split:
    """A split with its constant part in `rest`, where equal blocks look equal."""
    u = shrunk(u)
    first = int(u.flat[0])
    if first:
        u = u - first
        rest = add(rest, one(first))
    number = int(rest.lo) if u.size == 1 and rest.single else None
    return Split(u, rest, frozenset() if rest.single else pins, blame, number=number)


@dataclass(slots=True)
class Pins:
    """Numbers of each block that tell blocks apart, each distinct array once."""

    arrays: list[Ints] = field(default_factory=list)
    known: dict[tuple[tuple[int, ...], bytes], int] = field(default_factory=dict)

    def pin(self, array: Ints) -> frozenset[int]:
        """The pin of an array over the grid; none where it is constant."""
        array = shrunk(array)
        if array.size == 1:
            return frozenset()
        array = array - array.flat[0]
        key = array.shape, array.tobytes()
        if key not in self.known:
            self.known[key] = len(self.arrays)
            self.arrays.append(array)
        return frozenset((self.known[key],))

    def opaque(self, values: Iterable[Split], rest: Spread = ANY) -> Split:
        """What any function makes of values: fixed by them, so blocks must agree in all that they add."""
        values = tuple(values)
        pins = frozenset[int]().union(*(v.pins | self.pin(v.u) for v in values))
        blame = next((v.blame for v in values if v.blame is not None), None)
        return Split(ZERO, rest, pins, blame)

    def compare(self, op: str, x: Split, y: Split) -> Split:
        """A comparison of whole numbers: blocks are alike if they lie alike between the numbers where it turns."""
        if op in ("gt", "ge"):
            return self.compare("lt" if op == "gt" else "le", y, x)
        if op == "ne":
            return inverted(self.compare("eq", x, y))
        threshold, rest = shrunk(y.u - x.u), subtract(x.rest, y.rest)
        place, yes, no = position(op, threshold, rest)
        if yes.all() or no.all():
            return of_threads(one(int(yes.all())))
        blame = x.blame or y.blame
        return Split(ZERO, TRUTHS, x.pins | y.pins | self.pin(place), blame, yes, no)

    def choose(self, condition: Split | None, x: Split, y: Split) -> Split:
        """`x` where the condition holds, else `y`; without one, either, by what the blocks have in common."""
        pins, blame = x.pins | y.pins, x.blame or y.blame
        if condition is not None:
            if condition.number is not None:
                return x if condition.number else y
            yes, no = condition.yes, condition.no
            if yes is not None and no is not None and x.uniform and y.uniform and (yes | no).all():
                there = np.where(yes, x.u + int(x.rest.lo), y.u + int(y.rest.lo))
                return of_parts(there, one(0), blame=blame)
            pins, blame = pins | condition.pins, blame or condition.blame
        if x.u is y.u or np.array_equal(x.u, y.u):
            number = x.number if x.number == y.number else None
            return Split(x.u, union(x.rest, y.rest), pins, blame, both(x.yes, y.yes), both(x.no, y.no), number)
        difference = y.u - x.u
        if condition is None or condition.yes is None or condition.no is None:
            mixed, u = np.ones((1, 1, 1), np.bool_), x.u
        else:
            mixed, u = ~(condition.yes | condition.no), np.where(condition.no, y.u, x.u)
        pins |= self.pin(np.where(mixed, difference, 0))
        rest = union(x.rest, y.rest)
        if mixed.any():
            spread, where = np.broadcast_arrays(difference, mixed)
            rest = union(rest, add(y.rest, listing(spread[where])))
        return of_parts(u, rest, pins, blame)


def both(x: Bools | None, y: Bools | None) -> Bools | None:
    """Blocks marked in both, if both are marked at all."""
    return None if x is None or y is None else x & y


def inverted(value: Split) -> Split:
    """`not` of a truth value."""
    if value.number is not None:
        return of_threads(one(int(not value.number)))
    return replace(value, yes=value.no, no=value.yes)


def position(op: str, threshold: Ints, rest: Spread) -> tuple[Ints, Bools, Bools]:
    """Where each block's threshold lies in `rest`, and blocks in which `rest op threshold` always or never holds."""
    if op == "eq":
        return equal_position(threshold, rest)
    if rest.listed is not None:
        place = np.searchsorted(rest.listed, threshold, "left" if op == "lt" else "right").astype(np.int64)
        return place, place == rest.listed.size, place == 0
    if op == "le":
        threshold = threshold + 1
    place = within(threshold, rest.lo, rest.hi + 1)
    if rest.teeth is not None:
        width, by = rest.teeth
        past = place - int(rest.lo)
        place = past // by * (width + 2) + np.minimum(past % by, width + 1)
    return place, threshold > rest.hi, threshold <= rest.lo


def equal_position(threshold: Ints, rest: Spread) -> tuple[Ints, Bools, Bools]:
    """`position` of equality."""
    if rest.listed is not None:
        place = np.minimum(np.searchsorted(rest.listed, threshold), rest.listed.size - 1)
        hit = rest.listed[place] == threshold
        return np.where(hit, place + 1, 0).astype(np.int64), hit & rest.single, ~hit
    place = within(threshold, rest.lo - 1, rest.hi + 1)
    inside = (threshold >= rest.lo) & (threshold <= rest.hi)
    return place, inside & rest.single, ~inside


def within(array: Ints, lo: int | float, hi: int | float) -> Ints:
    """The array clipped; bounds that int64 does not hold clip nothing."""
    if math.isfinite(lo) and lo > -SAFE:
        array = np.maximum(array, int(lo))
    if math.isfinite(hi) and hi < SAFE:
        array = np.minimum(array, int(hi))
    return array
