"""Which steps of k each row of output tiles visits, and where in a sector the visits start.

A general A is visited whole. A triangular (lower) or banded A only in the tiles that meet its structure, so the steps of
a row block are a range whose ends move linearly down the matrix; a symmetric A is read in place up to the tile that the
diagonal crosses, and past it from the mirrored tile of the stored half.
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


def starts(walk: Walk, span: Span, blocks: range, whole_steps: bool, block_bits: int, step_bits: int) -> Histogram:
    """Starts, in bits modulo a sector, of the visits of those row blocks to steps of the span.

    `whole_steps` takes the steps with all block_k elements, else the ragged last one alone. A visit of block i and step
    j starts at i * block_bits + j * step_bits.
    """
    whole = walk.k // walk.block_k
    if whole_steps:
        until = starts_before(walk, span.high, blocks, whole, block_bits, step_bits)
        before = starts_before(walk, span.low, blocks, whole, block_bits, step_bits)
        return subtracted(until, before)
    if whole == walk.steps:
        return {}
    until = starts_of_last(walk, span.high, blocks, block_bits, step_bits)
    return subtracted(until, starts_of_last(walk, span.low, blocks, block_bits, step_bits))


def starts_of_last(walk: Walk, bound: Bound, blocks: range, block_bits: int, step_bits: int) -> Histogram:
    """Starts of the last step in those row blocks whose bound lies past it."""
    first = (
        walk.first_reaching(bound, walk.steps)
        if bound.slope
        else 0
        if walk.value(bound, 0) == walk.steps
        else blocks.stop
    )
    first = min(max(first, blocks.start), blocks.stop)
    return progression(block_bits, blocks.stop - first, first * block_bits + (walk.steps - 1) * step_bits)


def starts_before(walk: Walk, bound: Bound, blocks: range, limit: int, block_bits: int, step_bits: int) -> Histogram:
    """Starts of all steps below the bound and below `limit`, row blocks together."""
    if limit == 0 or not blocks:
        return {}
    if bound.slope == 0:
        below = min(limit, walk.value(bound, 0))
        rows = progression(block_bits, len(blocks), blocks.start * block_bits)
        return combined(rows, progression(step_bits, below))
    entering = min(max(walk.first_reaching(bound, 1), blocks.start), blocks.stop)
    full = min(max(walk.first_reaching(bound, limit), entering), blocks.stop)
    rows = progression(block_bits, blocks.stop - full, full * block_bits)
    rectangle = combined(rows, progression(step_bits, limit))
    return added(rectangle, staircase(walk, bound, range(entering, full), block_bits, step_bits))


def staircase(walk: Walk, bound: Bound, blocks: range, block_bits: int, step_bits: int) -> Histogram:
    """Starts below a bound that is nowhere clamped.

    Row blocks `cycle` apart start alike and differ by a whole number of step periods, so each of the first `cycle`
    stands for all of its kind: their numbers of periods are an arithmetic progression.
    """
    period = SECTOR_BITS // gcd(step_bits, SECTOR_BITS)
    reach = walk.block_k * period
    cycle = lcm(SECTOR_BITS // gcd(block_bits, SECTOR_BITS), reach // gcd(bound.slope, reach))
    growth = cycle * bound.slope // reach
    histogram: Histogram = {}
    for block in blocks[:cycle]:
        kin = (blocks.stop - block - 1) // cycle + 1
        periods, rest = divmod(walk.value(bound, block), period)
        whole = kin * periods + growth * (kin * (kin - 1) // 2)
        for step in range(period if whole else rest):
            at = (block * block_bits + step * step_bits) % SECTOR_BITS
            histogram[at] = histogram.get(at, 0) + whole + (kin if step < rest else 0)
    return histogram
