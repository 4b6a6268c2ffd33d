"""Elements of a result sorted into right, wrong, never written, and lost to a format's range."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab.check.bounds import largest
from gemmlab.check.storage import Array, Floats, poison
from gemmlab.formats import get
from gemmlab.problem import Gemm
from gemmlab.record import WorstElement

Mask = npt.NDArray[np.bool_]
RIGHT, RANGE, UNWRITTEN, WRONG = range(4)
LARGEST = float(np.finfo(np.float64).max)


class Compared(NamedTuple):
    """One block of a result beside what it ought to be."""

    got: Array  #: in its own type
    expected: Floats
    sizes: Floats  #: |alpha| |A||B| + |beta C|
    before_output: Floats  #: error bound before D's format
    bound: Floats  #: whole error bound
    raw_sizes: Floats  #: |A||B|: no partial sum is larger


@dataclass
class Tally:
    """What was found so far."""

    counts: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    relative: float = 0.0
    rank: tuple[int, float] = (-1, 0.0)
    worst: WorstElement | None = None

    def add(self, problem: Gemm, block: Compared, corner: tuple[int, ...]) -> None:
        """Count one block whose first element has that index in D."""
        got = block.got.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(got - block.expected)
        kinds = sorted_out(problem, block, got, error)
        for kind, count in enumerate(np.bincount(kinds.reshape(-1), minlength=4)):
            self.counts[kind] += int(count)
        sure = np.isfinite(error) & np.isfinite(block.sizes) & (block.sizes > 0) & (kinds != UNWRITTEN)
        if sure.any():
            with np.errstate(over="ignore"):
                furthest = float(np.max(error[sure] / block.sizes[sure]))
            self.relative = max(self.relative, min(furthest, LARGEST))  # infinity is no JSON
        self.name_worst(block, kinds, over(error, block.bound), corner)

    def name_worst(self, block: Compared, kinds: npt.NDArray[np.int64], ratio: Floats, corner: tuple[int, ...]) -> None:
        """Remember the worst element: a wrong one before an unwritten one, then what the range took, then the rest."""
        kind = int(kinds.max())
        inside = np.where(kinds == kind, ratio, -1.0)
        row, column = np.unravel_index(int(np.argmax(inside)), inside.shape)
        rank = kind, float(inside[row, column])
        if rank <= self.rank:
            return
        self.rank = rank
        *where, first_row, first_column = corner
        self.worst = WorstElement(
            index=(*where, first_row + int(row), first_column + int(column)),
            got=repr(float(block.got[row, column])),
            expected=repr(float(block.expected[row, column])),
            error_over_bound=rank[1] if np.isfinite(rank[1]) else None,
        )


def over(error: Floats, bound: Floats) -> Floats:
    """Error over bound: 0 where there is no error, infinite where no bound allows it or it is no number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio: Floats = np.where(error == 0, 0.0, error / bound)
    return np.where(np.isnan(ratio), np.inf, ratio)


def sorted_out(problem: Gemm, block: Compared, got: Floats, error: Floats) -> npt.NDArray[np.int64]:
    """The kind of each element."""
    expected = block.expected
    right = np.where(np.isfinite(expected), error <= block.bound, same_special(got, expected))
    past = overflowed(problem, block, got)
    left = unwritten(problem, block.got) & ~right
    if get(problem.d_format).kind == "float" and get(problem.d_format).nan != "ieee":
        left &= ~past  # a value past the range becomes the very code that D was filled with
    lost = ~right & ~left & (past | underflowed(problem, block, got, error))
    return np.select([right, left, lost], [RIGHT, UNWRITTEN, RANGE], WRONG)


def same_special(got: Floats, expected: Floats) -> Mask:
    """Whether two numbers are the same infinity, or both NaN."""
    return np.asarray((got == expected) | (np.isnan(got) & np.isnan(expected)))


def unwritten(problem: Gemm, got: Array) -> Mask:
    """Whether an element still holds the poison, or NaN as `numpy.nan` becomes in its type."""
    if got.dtype.kind in "iu" or get(problem.d_format).nan == "none":
        return np.asarray(got == poison(problem.d_format).astype(got.dtype))
    words = np.ascontiguousarray(got).view(f"u{got.dtype.itemsize}")
    marks = [(1 << 8 * got.dtype.itemsize) - 1, int(np.array(np.nan).astype(got.dtype).view(words.dtype))]
    return np.isnan(got.astype(np.float64)) & np.isin(words, np.array(marks, words.dtype))


def overflowed(problem: Gemm, block: Compared, got: Floats) -> Mask:
    """Whether a value past the largest of D's format, or of a partial sum in the accumulator, explains an element."""
    output, accumulator = get(problem.d_format), get(problem.accumulate)
    top, sums_top = largest(output), largest(accumulator)
    outside = np.abs(block.expected) + block.before_output > top
    if not output.signed:
        outside |= block.expected - block.before_output < 0
    partial = (block.raw_sizes > sums_top) | (block.sizes > sums_top)
    if output.kind == "int":
        return np.asarray(outside | partial)
    wrapped = partial if accumulator.kind == "int" else partial & ~np.isfinite(got)
    return np.asarray((outside & (~np.isfinite(got) | (np.abs(got) == top))) | wrapped)


def underflowed(problem: Gemm, block: Compared, got: Floats, error: Floats) -> Mask:
    """Whether flushing to zero what lies below the smallest normal number explains an element."""
    output, accumulator = get(problem.d_format), get(problem.accumulate)
    flushed = np.zeros(got.shape, np.bool_)
    if output.kind == "float":
        flushed |= (got == 0) & (np.abs(block.expected) <= 2.0**output.min_exponent + block.before_output)
    if accumulator.kind == "float":
        terms = 2 * problem.k * 2.0**accumulator.min_exponent
        flushed |= (block.raw_sizes <= terms) & (error <= block.bound + abs(problem.alpha) * terms)
    return flushed
