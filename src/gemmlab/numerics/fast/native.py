"""Units that round as IEEE 754 says at every step: the machine's own float32 and float64, and int32."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba.extending import intrinsic

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.fast.jit import compiled
from gemmlab.numerics.operands import Operand

Floats = npt.NDArray[Any]


def takes(unit: Unit, a_format: str, b_format: str) -> bool:
    """Whether each of the unit's steps is one operation of float32 or float64."""
    if unit.accumulate not in ("float32", "float64") or unit.scaled or unit.product_overflow or unit.read_as:
        return False
    whole = formats.get(unit.accumulate)
    for name in (a_format, b_format):
        form = formats.get(name)
        if form.kind != "float" or form.mantissa_bits > whole.mantissa_bits or form.exponent_bits > whole.exponent_bits:
            return False
    late = unit.c == "late"
    return (
        unit.width == whole.mantissa_bits
        and unit.negative_zero == "ieee"
        and unit.rounding == "rne"
        and (unit.c_rounding == "rne" or (not late and unit.sum == "exact"))
        and ((unit.sum == "exact" and unit.terms == 1) or (unit.sum == "pairs" and not late))
        and unit.nan_code & (1 << (whole.bits - 1)) - 1 > whole.max_magnitude + 1
    )


def values(unit: Unit, operand: Operand, order: npt.NDArray[np.int64], along: int) -> Floats:
    """What an operand stands for, as its unit reads it, in the accumulator's type; k in the order of summing."""
    form = formats.get(operand.format)
    found = operand.values
    if not unit.subnormal_inputs:
        small = np.abs(found) < 2.0**form.min_exponent
        found = np.where(small, np.copysign(0.0, found), found)
    if not unit.zero_sign:
        found = np.where(found == 0, 0.0, found)
    filled = np.take(found, np.maximum(order, 0), axis=along)
    filled[(order < 0, slice(None)) if along == 0 else (slice(None), order < 0)] = 0.0
    return np.ascontiguousarray(filled.astype(unit.accumulate))


@intrinsic
def multiply_add(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """A * b + c rounded once, of three floats of one type."""
    return a(a, a, a), lambda context, builder, signature, args: builder.fma(*args)


@compiled
def flushed(value: Any, least: Any) -> Any:
    """The value, or a zero of its sign where it is smaller than `least`."""
    return np.copysign(type(value)(0), value) if abs(value) < least else value


@compiled
def fused_chains(
    a: Floats, b: Floats, d: Floats, step: int, halves: int, late: bool, zero_sign: bool, least_in: Any, least: Any
) -> None:
    """D (m, n), C before, becomes the chains of fused multiply-adds over a (m, k) and b (k, n).

    Instructions take `step` products. `late` sums start from zero, in `halves` that are added before C. Numbers below
    `least_in` count as zeros of C, below `least` of results.
    """
    wide = d.shape[1]
    run, half = np.empty(wide, d.dtype), np.empty(wide, d.dtype)
    for i in range(d.shape[0]):
        for start in range(0, a.shape[1], step):
            for j in range(wide):
                if start == 0 or not zero_sign:
                    d[i, j] = flushed(d[i, j], least_in)
                    d[i, j] = d[i, j] if zero_sign or d[i, j] != 0 else abs(d[i, j])
                run[j] = 0 if late else d[i, j]
            for k in range(start, start + step):
                if halves == 2 and k == start + step // 2:
                    half[:] = run
                    run[:] = 0
                x = a[i, k]
                for j in range(wide):
                    run[j] = flushed(multiply_add(x, b[k, j], run[j]), least)
            for j in range(wide):
                total = run[j]
                if late:
                    total = flushed(half[j] + total, least) if halves == 2 else total
                    total = flushed(total + d[i, j], least)
                d[i, j] = total


@compiled
def pair_chains(a: Floats, b: Floats, d: Floats, terms: int, zero_sign: bool, least_in: Any, least: Any) -> None:
    """D (m, n), C before, becomes chains of sums in pairs over `terms` rounded products; a (m, k), b (k, n)."""
    wide = d.shape[1]
    parts = np.empty((terms, wide), d.dtype)
    for i in range(d.shape[0]):
        for start in range(0, a.shape[1], terms):
            for n in range(terms):
                x = a[i, start + n]
                for j in range(wide):
                    parts[n, j] = flushed(x * b[start + n, j], least)
            count = terms
            while count > 1:
                for n in range(count // 2):
                    for j in range(wide):
                        parts[n, j] = flushed(parts[2 * n, j] + parts[2 * n + 1, j], least)
                count //= 2
            for j in range(wide):
                held = flushed(d[i, j], least_in)
                held = held if zero_sign or held != 0 else abs(held)
                d[i, j] = flushed(held + parts[0, j], least)


@compiled
def integer_chains(a: npt.NDArray[np.int32], b: npt.NDArray[np.int32], d: npt.NDArray[np.int32], step: int) -> None:
    """D (m, n), C before, becomes the sums of exact products modulo 2^32; saturated after every `step`, if not 0."""
    wide = d.shape[1]
    inner = a.shape[1]
    if step == 0:
        for i in range(d.shape[0]):
            for k in range(inner):
                x = a[i, k]
                for j in range(wide):
                    d[i, j] += np.int32(x * b[k, j])
        return
    total = np.empty(wide, np.int64)
    for i in range(d.shape[0]):
        for start in range(0, inner, step):
            total[:] = d[i]
            for k in range(start, min(start + step, inner)):
                x = np.int64(a[i, k])
                for j in range(wide):
                    total[j] += x * b[k, j]
            for j in range(wide):
                d[i, j] = np.int32(max(min(total[j], 2147483647), -2147483648))


def combine(factor: Any, x: Floats, y: Floats, out: Floats) -> None:
    """Out = factor * x + y, each rounded once; all (m, n) of one type."""
    combine_flat(factor, x.reshape(-1), y.reshape(-1), out.reshape(-1))


@compiled
def combine_flat(factor: Any, x: Floats, y: Floats, out: Floats) -> None:
    """`combine` in one dimension."""
    for n in range(len(out)):
        out[n] = multiply_add(factor, x[n], y[n])
