"""Which steps of k each row of output tiles visits, and where in a sector the visits start.

A general A is visited whole. A triangular (lower) or banded A only in the tiles that meet its structure, each of them
whole: the steps of a row block are a range whose ends move linearly down the matrix. A symmetric A is read in place up
to the tiles that the diagonal crosses, which are stored whole, and past them from the mirrored tile of the stored half.
"""

from __future__ import annotations

from math import gcd, lcm
from typing import NamedTuple

from gemmlab.count.residues import SECTOR_BITS, Histogram, added, combined, progression, subtracted
from gemmlab.kernels import Kernel
from gemmlab.problem import Gemm
from gemmlab.units import ceil_div


class Bound(NamedTuple):
    """The step where a row block's visits begin or end: ceil((slope * block + offset) / block_k), kept in 0..steps."""

    slope: int
    offset: int


class Span(NamedTuple):
    """Steps from `low` to before `high` of each row block; `mirrored` where A's stored half is read transposed."""

    low: Bound
    high: Bound
    mirrored: bool = False


class Stride(NamedTuple):
    """A visit of row block i and step j starts at i * block + j * step bits."""

    block: int
    step: int


class Walk(NamedTuple):
    """The rows of output tiles and the steps of k of one multiplication."""

    m: int
    k: int
    block_m: int
    block_k: int

    @property
    def blocks(self) -> int:
        """Rows of output tiles."""
        return ceil_div(self.m, self.block_m)

    @property
    def steps(self) -> int:
        """Steps over all of k."""
        return ceil_div(self.k, self.block_k)

    def first_reaching(self, bound: Bound, step: int) -> int:
        """The first row block whose bound is at least `step`, unclamped; bound.slope is positive."""
        return max(0, ((step - 1) * self.block_k - bound.offset) // bound.slope + 1)

    def value(self, bound: Bound, block: int) -> int:
        """The bound of one row block."""
        return min(self.steps, max(0, ceil_div(bound.slope * block + bound.offset, self.block_k)))


def spans(problem: Gemm, kernel: Kernel) -> tuple[Span, ...]:
    """The steps that every row block visits, by problem structure; together they cover each visited step once."""
    start, end = Bound(0, 0), Bound(0, problem.k)
    below_diagonal = Bound(kernel.block_m, kernel.block_m)  # tiles with a column not past the block's last row
    if problem.structure == "triangular":
        return (Span(start, below_diagonal),)
    if problem.structure == "banded":
        first = Bound(kernel.block_m, 1 - kernel.block_k - problem.lower_band)
        return (Span(first, Bound(kernel.block_m, kernel.block_m + problem.upper_band)),)
    if problem.structure == "symmetric":
        return (Span(start, below_diagonal), Span(below_diagonal, end, mirrored=True))
    return (Span(start, end),)


def starts(walk: Walk, span: Span, blocks: range, stride: Stride, *, whole_steps: bool) -> Histogram:
    """Starts, in bits modulo a sector, of the visits of those row blocks to steps of the span.

    `whole_steps` takes the steps with all block_k elements, else the ragged last one alone.
    """
    whole = walk.k // walk.block_k
    if whole_steps:
        until = starts_before(walk, span.high, blocks, whole, stride)
        before = starts_before(walk, span.low, blocks, whole, stride)
        return subtracted(until, before)
    if whole == walk.steps:
        return {}
    until = starts_of_last(walk, span.high, blocks, stride)
    return subtracted(until, starts_of_last(walk, span.low, blocks, stride))


def starts_of_last(walk: Walk, bound: Bound, blocks: range, stride: Stride) -> Histogram:
    """Starts of the last step in those row blocks whose bound lies past it."""
    first = (
        walk.first_reaching(bound, walk.steps)
        if bound.slope
        else 0
        if walk.value(bound, 0) == walk.steps
        else blocks.stop
    )
    first = min(max(first, blocks.start), blocks.stop)
    return progression(stride.block, blocks.stop - first, first * stride.block + (walk.steps - 1) * stride.step)


def starts_before(walk: Walk, bound: Bound, blocks: range, limit: int, stride: Stride) -> Histogram:
    """Starts of all steps below the bound and below `limit`, row blocks together."""
    if limit == 0 or not blocks:
        return {}
    if bound.slope == 0:
        below = min(limit, walk.value(bound, 0))
        rows = progression(stride.block, len(blocks), blocks.start * stride.block)
        return combined(rows, progression(stride.step, below))
    entering = min(max(walk.first_reaching(bound, 1), blocks.start), blocks.stop)
    full = min(max(walk.first_reaching(bound, limit), entering), blocks.stop)
    rows = progression(stride.block, blocks.stop - full, full * stride.block)
    rectangle = combined(rows, progression(stride.step, limit))
    return added(rectangle, staircase(walk, bound, range(entering, full), stride))


def staircase(walk: Walk, bound: Bound, blocks: range, stride: Stride) -> Histogram:
    """Starts below a bound that is nowhere clamped.

    Row blocks `cycle` apart start alike and differ by a whole number of step periods, so each of the first `cycle`
    stands for all of its kind: their numbers of periods are an arithmetic progression.
    """
    period = SECTOR_BITS // gcd(stride.step, SECTOR_BITS)
    reach = walk.block_k * period
    cycle = lcm(SECTOR_BITS // gcd(stride.block, SECTOR_BITS), reach // gcd(bound.slope, reach))
    growth = cycle * bound.slope // reach
    periods_from: Histogram = {}
    ends: dict[int, list[int]] = {}  # by start of the row block: how many of its kind end after so many odd steps
    for block in blocks[:cycle]:
        at = block * stride.block % SECTOR_BITS
        kin = (blocks.stop - block - 1) // cycle + 1
        periods, rest = divmod(walk.value(bound, block), period)
        periods_from[at] = periods_from.get(at, 0) + kin * periods + growth * (kin * (kin - 1) // 2)
        ends.setdefault(at, [0] * (period + 1))[rest] += kin
    histogram = combined(periods_from, progression(stride.step, period))
    for at, ending in ends.items():
        beyond = sum(ending)
        for step in range(period):
            beyond -= ending[step]
            if not beyond:
                break
            place = (at + step * stride.step) % SECTOR_BITS
            histogram[place] = histogram.get(place, 0) + beyond
    return histogram
