"""Whole matrices through the kernels that are not of aligned sums: stepwise, native floats, integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import ZEROS, Unit
from gemmlab.numerics.fast import native, stepwise
from gemmlab.numerics.fast.floats import MODES
from gemmlab.numerics.fast.plan import order_of, product_of, target_of
from gemmlab.numerics.fast.split import ZERO, Parts, largest, parts, taken_apart
from gemmlab.numerics.fast.threads import spread
from gemmlab.numerics.operands import Operand

Codes = npt.NDArray[Any]
Scales = tuple[Operand, Operand] | None
SUMS = {"aligned": stepwise.ALIGNED, "exact": stepwise.EXACT, "pairs": stepwise.PAIRS}
JOINS = {"early": stepwise.EARLY, "late": stepwise.LATE, "floor": stepwise.JOINED}
WORD = 1 << 61  # what a product, or a sum of products under one scale, stays below


def rules_of(unit: Unit, a_format: str, b_format: str, scale_format: str) -> stepwise.Rules | None:
    """A unit's fields for the stepwise walk; None where its numbers are too wide for that."""
    if unit.sum == "integer" or (unit.read_as and unit.accumulate in (*unit.a_formats, *unit.b_formats)):
        return None
    inner = "" if unit.exact_terms > 1 else scale_format
    fraction, product = product_of(unit, a_format, b_format, inner)
    bound = product
    if unit.exact_terms > 1:
        forms = [formats.get(unit.read_as or name) for name in (a_format, b_format)]
        spans = sum((form.max_magnitude >> form.mantissa_bits) - form.bias - form.min_exponent for form in forms)
        bound = (product * unit.exact_terms << spans) * largest(formats.get(scale_format)) ** 2
    if unit.c == "floor":
        bound = product * unit.k << max(unit.align_bits - fraction, 0) << unit.join_bits + 1 - unit.align_bits + 11
    split = unit.sum == "exact" and unit.exact_terms == 1 and bound >= WORD and product < 1 << 108
    if bound >= WORD and not split:
        return None
    return stepwise.Rules(
        sum=SUMS[unit.sum],
        join=JOINS[unit.c],
        terms=unit.terms,
        groups=unit.k // unit.terms,
        lanes=2 if unit.order == "parity" else 1,
        align_bits=unit.align_bits,
        fraction=fraction,
        cut=MODES[unit.cut],
        rounding=MODES[unit.rounding],
        joining=MODES[unit.c_rounding],
        join_bits=unit.join_bits,
        exact_terms=unit.exact_terms,
        scale_fraction=2 * formats.get(scale_format).mantissa_bits if unit.exact_terms > 1 else 0,
        ieee=ZEROS.index(unit.negative_zero),
        zero_sign=int(unit.zero_sign),
        product_overflow=int(unit.product_overflow),
        split=int(split),
    )


def side(unit: Unit, elements: Parts, scales: Operand | None) -> stepwise.Side:
    """One operand for the stepwise walk, by rows (count, k); scales (count, blocks) where they scale sums."""
    order = order_of(unit, elements.at.shape[1])
    index = np.take(elements.at, np.maximum(order, 0), axis=1)
    exponents, significands, classes = (np.ascontiguousarray(table[index]) for table in elements[1:4])
    significands[:, order < 0], classes[:, order < 0] = 0, ZERO
    around: list[npt.NDArray[Any]] = [np.zeros((1, 1), kind) for kind in (np.int32, np.int64, np.uint8)]
    if scales is not None and unit.exact_terms > 1:
        form = formats.get(scales.format)
        codes = scales.codes & scales.codes.dtype.type((1 << (form.bits - form.signed)) - 1)
        firsts = order[:: unit.exact_terms]
        blocks = np.take(codes, np.maximum(firsts, 0) // unit.scale_block, axis=1)
        around = [each.reshape(blocks.shape) for each in taken_apart(blocks.reshape(-1), form, True)]
        # Blocks past the last k have no scale, and nothing to scale.
        for each, empty in zip(around, (0, 0, ZERO), strict=True):
            each[:, firsts < 0] = empty
    return stepwise.Side(exponents, significands, classes, *around)


def walked(
    unit: Unit, rules: stepwise.Rules, a: Parts, b: Parts, scales: Scales, where: tuple[Any, Any], c: Codes,
    threads: int | None,
) -> Codes:  # fmt: skip
    """Codes of the outputs at rows where[0] of A and columns where[1] of B, c (count,) of them before."""
    turned = None if scales is None else Operand(np.ascontiguousarray(scales[1].codes.T), scales[1].format)
    left = side(unit, a, None if scales is None else scales[0])
    right = side(unit, Parts(b.at.T, *b[1:]), turned)
    run = c.astype(np.int64)
    rows, columns = (np.ascontiguousarray(each, np.int64) for each in where)
    to = target_of(unit)

    def task(first: int, last: int, _left: int, _right: int) -> None:
        stepwise.outputs(left, right, rows[first:last], columns[first:last], run[first:last], rules, to)

    spread(task, len(run), 1, threads)
    return run.astype(c.dtype)


def natively(unit: Unit, a: Operand, b: Operand, c: Codes, threads: int | None) -> Codes:
    """Codes (m, n) of a chain on a unit that `native.takes`."""
    order = order_of(unit, a.codes.shape[1])
    left, right = native.values(unit, a, order, 1), native.values(unit, b, order, 0)
    form = formats.get(unit.accumulate)
    kind = left.dtype.type
    d = np.array(c).view(left.dtype)
    normal = kind(2.0**form.min_exponent)
    least_in, least = kind(0 if unit.subnormal_inputs else normal), kind(0 if unit.subnormal_outputs else normal)
    halves = 2 if unit.order == "parity" else 1

    def task(first: int, last: int, _left: int, _right: int) -> None:
        rows, out = left[first:last], d[first:last]
        if unit.sum == "pairs":
            native.pair_chains(rows, right, out, unit.terms, unit.zero_sign, least_in, least)
        else:
            native.fused_chains(rows, right, out, unit.k, halves, unit.c == "late", unit.zero_sign, least_in, least)

    with np.errstate(all="ignore"):
        spread(task, d.shape[0], 1, threads)  # by rows alone: of columns with gaps no compiler makes vectors
    codes = d.view(c.dtype)
    codes[np.isnan(d)] = unit.nan_code
    return codes


def integers(unit: Unit, a: Operand, b: Operand, c: Codes, threads: int | None) -> Codes:
    """Codes (m, n) of a chain of integer sums."""
    left, right = (whole(each) for each in (a, b))
    d = np.array(c).view(np.int32)

    def task(first: int, last: int, _left: int, _right: int) -> None:
        native.integer_chains(left[first:last], right, d[first:last], unit.k * unit.saturate)

    spread(task, d.shape[0], 1, threads)
    return d.view(c.dtype)


def integer_pairs(unit: Unit, a: Operand, b: Operand, c: Codes) -> Codes:
    """Codes (count,) of chains of integer sums of rows."""
    products = whole(a).astype(np.int64) * whole(b)
    total = c.view(np.int32).astype(np.int64)
    if not unit.saturate:
        return np.asarray((total + products.sum(axis=1)).astype(np.int32).view(c.dtype))
    for start in range(0, products.shape[1], unit.k):
        total = np.clip(total + products[:, start : start + unit.k].sum(axis=1), -(1 << 31), (1 << 31) - 1)
    return total.astype(np.int32).view(c.dtype)


def whole(operand: Operand) -> npt.NDArray[np.int32]:
    """Integers out of their codes."""
    split = parts(operand, True)
    return np.asarray(split.significands[split.at], np.int32)
