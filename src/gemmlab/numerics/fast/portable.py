"""Whole matrices through the aligned kernels: packing, threads, and the special values behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.fast import packing, specials
from gemmlab.numerics.fast.aligned import LANES, columns
from gemmlab.numerics.fast.plan import Plan, order_of
from gemmlab.numerics.fast.split import NAN, NOTHING, Parts, parts
from gemmlab.numerics.fast.threads import spread
from gemmlab.numerics.operands import Operand
from gemmlab.units import ceil_div

Codes = npt.NDArray[Any]
Scales = tuple[Operand, Operand] | None
Slow = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], Codes]


def sides(unit: Unit, a: Operand, b: Operand, scales: Scales) -> tuple[Parts, Parts]:
    """Both operands apart; scales are multiplied into their elements where these are summed one by one."""
    left, right = (parts(side, unit.subnormal_inputs, unit.read_as) for side in (a, b))
    if scales is None or unit.exact_terms > 1:
        return left, right
    return scaled(left, scales[0], 1, unit.scale_block), scaled(right, scales[1], 0, unit.scale_block)


def scaled(elements: Parts, scales: Operand, axis: int, block: int) -> Parts:
    """Elements times the scale of their block along `axis`, each by itself in the tables."""
    form = formats.get(scales.format)
    mask = (1 << (form.bits - form.signed)) - 1
    around = parts(Operand(scales.codes & scales.codes.dtype.type(mask), scales.format), True)
    index = np.repeat(around.at, block, axis=axis)[: elements.at.shape[0], : elements.at.shape[1]].reshape(-1)
    own = elements.at.reshape(-1)
    significands = elements.significands[own] * around.significands[index]
    exponents = elements.exponents[own] + around.exponents[index]
    exponents[significands == 0] = NOTHING
    # Only a NaN among scales is special, and a zero scale is no zero operand: 0 * Inf is about elements.
    classes = elements.classes[own] | around.classes[index] & NAN
    shape = elements.at.shape
    return Parts(np.arange(own.size, dtype=np.uint32).reshape(shape), exponents, significands, classes)


def multiplied(
    unit: Unit, plan: Plan, a: Parts, b: Parts, c: Codes, threads: int | None, slow: Slow, paired: bool = False
) -> Codes:
    """Codes (m, n) of a chain; `slow` gives the codes at indices (i, j) that only a step by step walk can tell.

    With `paired` c is (count, 1), and row i of A meets column i of B alone.
    """
    rows, across = len(a.at), b.at.shape[1]
    order = order_of(unit, a.at.shape[1])
    lane = np.int32 if plan.narrow else np.int64
    wide = ceil_div(across, LANES)
    ea, ma = np.empty((rows, len(order)), np.int32), np.empty((rows, len(order)), lane)
    eb, mb = np.empty((wide, len(order), LANES), np.int32), np.empty((wide, len(order), LANES), lane)
    packing.rows(a.at, a.exponents, a.significands, order, ea, ma)
    packing.blocks(b.at, b.exponents, b.significands, order, eb, mb)
    groups = len(order) // plan.walk.terms
    za, zb = np.zeros((rows, groups), np.uint8), np.zeros((wide, groups, LANES), np.uint8)
    if plan.walk.zeros_count:
        za[:] = (ma == 0).reshape(rows, groups, -1).any(axis=2)
        zb[:] = (mb == 0).reshape(wide, groups, -1, LANES).any(axis=2)
    run = np.zeros((rows, 1 if paired else wide, LANES), np.int64)
    lane_of = np.arange(rows) % LANES
    if paired:
        run[np.arange(rows), 0, lane_of] = c[:, 0]
    else:
        run.reshape(rows, -1)[:, :across] = c

    def task(first: int, last: int, left: int, right: int) -> None:
        columns(
            left, right, ea[first:last], ma[first:last], za[first:last], eb, mb, zb, run[first:last],
            plan.walk, plan.to,
        )  # fmt: skip

    if paired:
        for block in range(wide):
            own, one = slice(LANES * block, LANES * (block + 1)), slice(block, block + 1)
            columns(0, 1, ea[own], ma[own], za[own], eb[one], mb[one], zb[one], run[own], plan.walk, plan.to)
        d = run[np.arange(rows), 0, lane_of][:, None]
    else:
        spread(task, rows, wide, threads)
        d = np.ascontiguousarray(run.reshape(rows, -1)[:, :across])
    return with_specials(plan.to, a, b, c, d.astype(c.dtype), slow, paired=paired)


def with_specials(
    to: Any, a: Parts, b: Parts, c: Codes, d: Codes, slow: Slow, wrong: Any = None, paired: bool = False
) -> Codes:
    """The codes `d` with NaN and infinities of the operands in them; `slow` mends those that are wrong."""
    sides = specials.found(a, b)
    todo = np.zeros(d.shape, np.uint8) if wrong is None else wrong.view(np.uint8)
    if sides is not None:
        reach = specials.reach_of(*sides, (d.shape[0], d.shape[1]), paired)
        specials.settle(sides[0].nan, sides[1].nan, reach, c, d, todo, paired, to)
    if todo.any():
        i, j = np.nonzero(todo)
        d[i, j] = slow(i, i if paired else j)
    return d


def in_vectors(
    unit: Unit, plan: Plan, a: Parts, b: Parts, c: Codes, threads: int | None, lanes: int, slow: Slow,
    paired: bool = False,
) -> Codes:  # fmt: skip
    """Codes (m, n) of a chain by the vector kernel; by the plain loops where it would leave too many outputs."""
    from gemmlab.numerics.fast import lanes as vectored

    found = vectored.multiplied(unit, plan, a, b, c, threads, lanes, paired)
    if found is None or found.wrong > c.size // 64 + 8:
        return multiplied(unit, plan, a, b, c, threads, slow, paired)
    wrong = found.bad if found.wrong else None
    return with_specials(plan.to, a, b, c, found.codes, slow, wrong, paired)
