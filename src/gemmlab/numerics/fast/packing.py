"""Operands laid out for the kernels: k in the order of summing, whole groups, 16 columns of B side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.fast.jit import compiled
from gemmlab.numerics.fast.split import INF, NAN, NEGATIVE, NOTHING, ZERO

Ints = npt.NDArray[Any]


@compiled
def ieee_apart(
    codes: Ints, pad: int, mantissa_bits: int, min_exponent: int, infinity: int, subnormals: bool, e: Ints, m: Ints,
    classes: Ints,
) -> None:  # fmt: skip
    """Exponents e, signed significands m and classes of codes of a wide IEEE format; `infinity` is its code."""
    mask = infinity | (infinity - 1)
    for n in range(len(codes)):
        word = np.int64(codes[n]) >> pad
        magnitude = word & mask
        negative = word & (mask + 1) != 0
        stored = magnitude >> mantissa_bits
        significand = magnitude & ((1 << mantissa_bits) - 1)
        significand |= (1 << mantissa_bits) if stored > 0 else 0
        if magnitude >= infinity or (stored == 0 and not subnormals):
            significand = 0
        kind = NAN if magnitude > infinity else INF if magnitude == infinity else ZERO if significand == 0 else 0
        e[n] = max(stored, 1) + min_exponent - 1 if significand != 0 else NOTHING
        m[n] = -significand if negative else significand
        classes[n] = kind | (NEGATIVE if negative else 0)


@compiled
def rows(index: Ints, exponents: Ints, significands: Ints, order: Ints, e: Ints, m: Ints) -> None:
    """Exponents and significands e, m (rows, ordered k) of an index (rows, k); `order` holds each k, -1 for a zero."""
    for i in range(e.shape[0]):
        for at in range(e.shape[1]):
            k = order[at]
            word = index[i, k] if k >= 0 else index[i, 0]
            e[i, at] = exponents[word] if k >= 0 else NOTHING
            m[i, at] = significands[word] if k >= 0 else 0


@compiled
def blocks(index: Ints, exponents: Ints, significands: Ints, order: Ints, e: Ints, m: Ints) -> None:
    """Exponents and significands e, m (blocks, ordered k, lanes) of an index (k, columns), short blocks with zeros."""
    lanes = e.shape[2]
    for block in range(e.shape[0]):
        wide = min(lanes, index.shape[1] - block * lanes)
        for at in range(e.shape[1]):
            k = order[at]
            for t in range(lanes):
                filled = k >= 0 and t < wide
                word = index[k, block * lanes + t] if filled else index[0, 0]
                e[block, at, t] = exponents[word] if filled else NOTHING
                m[block, at, t] = significands[word] if filled else 0


@compiled
def largest(index: Ints, exponents: Ints) -> int:
    """The largest exponent among a matrix' elements, NOTHING where all are zeros."""
    found = NOTHING
    for i in range(index.shape[0]):
        for k in range(index.shape[1]):
            found = max(found, exponents[index[i, k]])
    return found


@compiled
def vector_rows(index: Ints, exponents: Ints, values: Ints, order: Ints, floor: int, e: Ints, v: Ints) -> None:
    """As `rows`, with values (rows, ordered k); rows past the matrix are zeros, values up to exponent `floor` too."""
    for i in range(e.shape[0]):
        for at in range(e.shape[1]):
            k = order[at]
            filled = k >= 0 and i < index.shape[0]
            word = index[i, k] if filled else index[0, 0]
            exponent = exponents[word] if filled else NOTHING
            e[i, at] = exponent
            v[i, at] = values[word] if exponent > floor else 0


@compiled
def vector_blocks(index: Ints, exponents: Ints, values: Ints, order: Ints, floor: int, e: Ints, v: Ints) -> None:
    """As `blocks`, with values v (blocks, ordered k, lanes), and exponents e (blocks, pairs of k, lanes, 2)."""
    lanes = v.shape[2]
    for block in range(v.shape[0]):
        wide = min(lanes, index.shape[1] - block * lanes)
        for at in range(v.shape[1]):
            k = order[at]
            for t in range(lanes):
                filled = k >= 0 and t < wide
                word = index[k, block * lanes + t] if filled else index[0, 0]
                exponent = exponents[word] if filled else NOTHING
                e[block, at >> 1, t, at & 1] = exponent
                v[block, at, t] = values[word] if exponent > floor else 0


@compiled
def spread_out(c: Ints, run: Ints) -> None:
    """C (m, n) into blocks run (blocks, rows, lanes) of its columns."""
    lanes = run.shape[2]
    for block in range(run.shape[0]):
        wide = min(lanes, c.shape[1] - block * lanes)
        for i in range(c.shape[0]):
            for t in range(wide):
                run[block, i, t] = c[i, block * lanes + t]


@compiled
def gathered(run: Ints, bad: Ints, d: Ints, wrong: Ints) -> tuple[bool, int]:
    """The reverse: d (m, n) out of blocks run, wrong (m, n) where bad is not 0; returns (any NaN, count of wrong)."""
    lanes = run.shape[2]
    nan, count = False, 0
    for block in range(run.shape[0]):
        wide = min(lanes, d.shape[1] - block * lanes)
        for i in range(d.shape[0]):
            for t in range(wide):
                value = run[block, i, t]
                d[i, block * lanes + t] = value
                nan |= value != value  # noqa: PLR0124 - what a NaN is
                wrong[i, block * lanes + t] = bad[block, i, t] != 0
                count += bad[block, i, t] != 0
    return nan, count
