"""Whole matrices through the vector kernel: which units it takes, packing, and what it leaves to others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.fast import packing, vectors
from gemmlab.numerics.fast.floats import RNE, RZ
from gemmlab.numerics.fast.machine import machine
from gemmlab.numerics.fast.plan import Plan, order_of
from gemmlab.numerics.fast.split import NOTHING, Parts, values_of
from gemmlab.numerics.fast.threads import spread
from gemmlab.units import ceil_div

Codes = npt.NDArray[Any]
COLUMNS = {8: vectors.columns8, 16: vectors.columns16}


class Found(NamedTuple):
    """What the vector kernel gave."""

    codes: Codes  #: (m, n)
    bad: npt.NDArray[np.bool_]  #: (m, n): where they are not to be believed
    wrong: int  #: how many those are


def takes(unit: Unit, plan: Plan) -> bool:
    """Whether the vector kernel computes such a unit: cuts toward zero, and results of float32 or float16."""
    walk, to = plan.walk, plan.to
    product = plan.product
    single = unit.accumulate == "float32" and walk.rounding == RZ
    half = unit.accumulate == "float16" and walk.rounding == RNE and unit.width == 10 and machine().halves
    late = walk.late == 0 or (
        walk.lanes == 1 and walk.joining == RNE and (half or (single and unit.width == 23 and unit.subnormal_outputs))
    )
    return (
        walk.cut == RZ
        and (single or half)
        and late
        and (unit.subnormal_inputs or not half)
        and (unit.subnormal_outputs or not half)
        and product < 1 << 24
        and kept(plan) < 1 << 30
        and (to.zero_exponent <= to.min_exponent or to.zero_exponent < vectors.LOWEST)
    )


def kept(plan: Plan) -> int:
    """The most that a product counts, in units of the last bit that stays."""
    down = max(plan.walk.fraction - plan.walk.align_bits, 0)
    return (plan.product << max(plan.walk.align_bits - plan.walk.fraction, 0) >> down) + 1


def multiplied(
    unit: Unit, plan: Plan, a: Parts, b: Parts, c: Codes, threads: int | None, lanes: int, paired: bool
) -> Found | None:
    """The chain's codes, and where they are wrong; None for operands outside of float32's range.

    With `paired` c is (count, 1), and row i of A meets column i of B alone: blocks of as many rows as columns are
    multiplied whole, and their diagonals taken.
    """
    rows, across = len(a.at), b.at.shape[1]
    order = padded(order_of(unit, a.at.shape[1]), unit.terms)
    terms, inner = unit.terms + unit.terms % 2, len(order)
    step = lanes if paired else vectors.ROWS
    tall, wide = ceil_div(rows, step) * step, ceil_div(across, lanes)
    tables = floats_of(a, b, plan)
    if tables is None:
        return None
    (a_values, a_floor), (b_values, b_floor) = tables
    ae, av = np.empty((tall, inner), np.int16), np.empty((tall, inner), np.float32)
    be, bv = np.empty((wide, inner // 2, lanes, 2), np.int16), np.empty((wide, inner, lanes), np.float32)
    packing.vector_rows(a.at, a.exponents, a_values, order, a_floor, ae, av)
    packing.vector_blocks(b.at, b.exponents, b_values, order, b_floor, be, bv)
    deep = lanes if paired else tall
    run, bad = np.zeros((wide, deep, lanes), np.float32), np.zeros((wide, deep, lanes), np.int32)
    kind = np.dtype(unit.accumulate)
    start = c.view(kind).astype(np.float32, copy=False)
    block, place = np.divmod(np.arange(rows), lanes)
    if paired:
        run[block, place, place] = start[:, 0]
    else:
        packing.spread_out(start, run)
    numbers = numbers_of(unit, plan, inner, terms)
    e, v = ae.view(np.int32).reshape(-1), av.reshape(-1)
    f, w = be.view(np.int32).reshape(-1), bv.reshape(-1)
    r, x = run.reshape(-1), bad.reshape(-1)
    columns = COLUMNS[lanes]

    def task(first: int, last: int, left: int, right: int) -> None:
        columns(left, right, first * step, last * step, tall, e, v, f, w, r, x, numbers)

    if paired:
        of_a, of_b, of_d = lanes * inner, inner * lanes, lanes * lanes
        for n in range(wide):
            columns(
                0, 1, 0, lanes, lanes, e[n * of_a // 2 :], v[n * of_a :], f[n * of_b // 2 :], w[n * of_b :],
                r[n * of_d :], x[n * of_d :], numbers,
            )  # fmt: skip
        run, bad = run[block, place, place][None, :, None], bad[block, place, place][None, :, None]
    else:
        spread(task, tall // step, wide, threads)
    d, wrong = np.empty(c.shape, np.float32), np.empty(c.shape, np.bool_)
    nan, count = packing.gathered(run, bad, d, wrong)
    codes = d.astype(kind, copy=False).view(c.dtype)
    if nan:
        codes[np.isnan(d)] = unit.nan_code
    return Found(codes, wrong, count)


def numbers_of(unit: Unit, plan: Plan, inner: int, terms: int) -> tuple[int, ...]:
    """The kernel's whole numbers, in the order of `vectors.NAMES` from `stride` on."""
    walk, to = plan.walk, plan.to
    half = unit.accumulate == "float16"
    room = ((1 << 31) - 1) // kept(plan)
    sums = unit.terms * kept(plan) + (2 << walk.align_bits)
    return (
        inner, inner // terms, terms, min(terms, room // 2 * 2), walk.groups, walk.late, int(half),
        int(sums < 1 << 24 and not half), walk.align_bits, unit.width, to.min_exponent, to.zero_exponent,
    )  # fmt: skip


def padded(order: npt.NDArray[np.int64], terms: int) -> npt.NDArray[np.int64]:
    """The order of k with every group filled up to an even number of terms."""
    if terms % 2 == 0:
        return order
    return np.pad(order.reshape(-1, terms), ((0, 0), (0, 1)), constant_values=-1).reshape(-1)


def floats_of(a: Parts, b: Parts, plan: Plan) -> tuple[tuple[Any, int], tuple[Any, int]] | None:
    """Of both operands the float32 values of their tables, and the exponent up to which they count as zeros.

    Where the other operand's largest exponent is too small for an element to leave anything in a sum that the kernel
    answers for, the element is taken as zero, which spares subnormal products. None where float32 lacks a value.
    """
    tops = [top_of(side) for side in (a, b)]
    found = []
    for side, own, other in ((a, plan.fractions[0], tops[1]), (b, plan.fractions[1], tops[0])):
        floor = max(vectors.LOWEST - plan.walk.align_bits - 2 - other, NOTHING)
        values, inexact = values_of(side, own)
        if inexact > floor:
            return None
        found.append((values, floor))
    return found[0], found[1]


def top_of(side: Parts) -> int:
    """An exponent that no element's exceeds: of the narrow formats their own largest, else that of the matrix."""
    if side.key is not None and side.key[0].exponent_bits < formats.get("bfloat16").exponent_bits:
        return formats.get(side.key[2]).bias if side.key[2] else side.key[0].bias + 1
    return int(packing.largest(side.at, side.exponents))
