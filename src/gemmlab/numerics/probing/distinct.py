"""Candidates that some experiments cannot tell apart, since nothing lies where an alignment of so many bits cuts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.fast.floats import MODES
from gemmlab.numerics.fast.kinds import WORD
from gemmlab.numerics.fast.split import parts
from gemmlab.numerics.fast.stepwise import Side
from gemmlab.numerics.operands import Codes, Operand
from gemmlab.numerics.probing.numbers import span

Table = npt.NDArray[np.int64]


class Reach(NamedTuple):
    """Between what exponents all terms and sums of some experiments lie."""

    lowest: int  #: of the last bit of any term, and so of any sum
    highest: int  #: that a term counts with, or a sum however it is rounded


def reach(a: Side, b: Side, fraction: int, c: Codes | None, accumulate: str, subnormals: bool) -> Reach | None:
    """The reach of rows of products and their C; None where products are too wide to tell.

    `fraction` counts the bits below the point of a product of significands; C is None where it joins late, as nothing
    is aligned there.
    """
    form = formats.get(accumulate)
    if largest(a.significands) * largest(b.significands) >= WORD:
        return None
    products = a.significands * b.significands
    counted = a.exponents.astype(np.int64) + b.exponents
    sides = [(products, counted, fraction)]
    if c is not None:
        addend = parts(Operand(c, accumulate), subnormals)
        exponents = addend.exponents[addend.at].astype(np.int64)
        sides.append((addend.significands[addend.at], exponents, form.mantissa_bits))
    lowest, highest = [], [form.min_exponent]
    sums = np.zeros(len(products))
    for values, at, below in sides:
        some = values != 0
        if some.any():
            lowest.append(int((at[some] - below + trailing(values[some])).min()))
            highest.append(int(at[some].max()))
            with np.errstate(over="ignore"):
                magnitudes = np.where(some, np.ldexp(np.abs(values).astype(np.float64), at - below), 0)
            sums += magnitudes.reshape(len(sums), -1).sum(axis=1)
    # A sum at most doubles each time that it is rounded: with C, with every product, and with what joins C late.
    total = min(sums.max(initial=0), np.finfo(np.float64).max)
    most = int(np.frexp(total)[1]) + int((products != 0).sum(axis=1).max(initial=0)) + 2
    high = span(accumulate).high
    if most > high:
        # What overflows is infinite, or the largest number, which ends in the accumulator's last bit.
        lowest.append(high - form.mantissa_bits)
    return Reach(min(lowest, default=0), max(min(most, high), *highest))


def merged(table: Table, bits: int, cuts: int, deep: Table) -> tuple[Table, Table]:
    """(rows of `table` that differ in more than cuts that cut nothing, place in them of each row of `table`).

    `bits` and `cuts` are the columns of alignments and of ways to cut; `deep`, by row, the alignment from which on
    nothing is cut.
    """
    whole = table[:, bits] >= deep
    if not whole.any():
        return table, np.arange(len(table))
    made = table.copy()
    made[whole, bits], made[whole, cuts] = deep[whole], MODES["rz"]
    _, first, places = np.unique(made, axis=0, return_index=True, return_inverse=True)
    return made[first], places.reshape(-1)


def largest(significands: npt.NDArray[Any]) -> int:
    """The largest magnitude, 1 where there is none."""
    return max(1, int(np.abs(significands).max(initial=0)))


def trailing(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Zero bits that whole numbers other than zero end in."""
    return np.asarray(np.frexp((values & -values).astype(np.float64))[1]) - 1
