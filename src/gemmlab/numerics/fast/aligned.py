"""Aligned sums by plain loops over 16 columns, which LLVM turns into the vectors of whatever machine it runs on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.fast.floats import RZ, Target, cut, magnitude_of, moved, packed, plus, unpacked
from gemmlab.numerics.fast.jit import compiled

LANES = 16  #: columns of a block


class Walk(NamedTuple):
    """How k is gone through, and the widths of the aligned sum; numba reads it as integers."""

    terms: int  #: of a group
    groups: int  #: of an instruction
    lanes: int  #: sums of their own in an instruction, 2 of `parity`
    late: int  #: C joins at the instruction's end
    align_bits: int
    fraction: int  #: bits below the point of a product
    cut: int  #: mode of what lies below align_bits
    rounding: int  #: mode of a sum
    joining: int  #: mode of C's late addition
    flush: int  #: terms whose sum the narrow lanes hold
    zeros_count: int  #: 1 where a product of zero can set the largest exponent


@compiled
def columns(  # noqa: PLR0915 - one loop nest that LLVM sees whole
    first: int,
    last: int,
    ea: npt.NDArray[np.int32],
    ma: npt.NDArray[Any],
    za: npt.NDArray[np.uint8],
    eb: npt.NDArray[np.int32],
    mb: npt.NDArray[Any],
    zb: npt.NDArray[np.uint8],
    c: npt.NDArray[np.int64],
    walk: Walk,
    to: Target,
) -> None:
    """The chains of all rows of A with the blocks `first` to `last` of columns of B; c (m, blocks, 16) becomes d.

    ea, ma (m, k): exponents and signed significands, k in the order of summing, whole instructions; eb, mb
    (blocks, k, 16). za (m, groups), zb (blocks, groups, 16): whether a group has a zero. Significands and sums have the
    type of ma: int32 where `flush` terms of a product cut to align_bits fit it.
    """
    up = max(walk.align_bits - walk.fraction, 0)
    down = max(walk.fraction - walk.align_bits, 0)
    c_up = max(walk.align_bits - to.mantissa_bits, 0)
    c_down = max(to.mantissa_bits - walk.align_bits, 0)
    lane = ma.dtype.type
    deepest = np.int32(31 if ma.itemsize == 4 else 62)
    depth = np.empty(LANES, np.int32)
    run = np.empty(LANES, np.int64)
    half = np.empty(LANES, np.int64)
    held = np.empty(LANES, np.int64)
    total = np.empty(LANES, np.int64)
    top = np.empty(LANES, np.int32)
    narrow = np.empty(LANES, ma.dtype)
    for block in range(first, last):
        for i in range(ma.shape[0]):
            out = c[i, block]
            for t in range(LANES):
                out[t] = to.nan_code if magnitude_of(out[t], to) > to.infinity else out[t]
                run[t] = out[t]
            for group in range(ma.shape[1] // walk.terms):
                place = group % walk.groups
                start = group * walk.terms
                if walk.late != 0 and place % (walk.groups // walk.lanes) == 0:
                    for t in range(LANES):
                        if place == 0:
                            held[t] = run[t]
                        else:
                            half[t] = run[t]
                        run[t] = 0
                for t in range(LANES):
                    top[t] = unpacked(run[t], to)[0]
                    total[t] = 0
                if walk.zeros_count != 0:
                    for t in range(LANES):
                        zero = (za[i, group] | zb[block, group, t]) != 0
                        top[t] = max(top[t], to.zero_exponent) if zero else top[t]
                for k in range(start, start + walk.terms):
                    a = ea[i, k]
                    for t in range(LANES):
                        top[t] = max(top[t], np.int32(a + eb[block, k, t]))
                for t in range(LANES):
                    depth[t] = top[t] + down
                for chunk in range(start, start + walk.terms, walk.flush):
                    for t in range(LANES):
                        narrow[t] = 0
                    stop = min(chunk + walk.flush, start + walk.terms)
                    if walk.cut == RZ:
                        for k in range(chunk, stop):
                            a, s = ea[i, k], ma[i, k]
                            for t in range(LANES):
                                product = lane(s * mb[block, k, t])
                                shift = min(np.int32(depth[t] - eb[block, k, t] - a), deepest)
                                kept = moved(abs(product), up, shift)
                                narrow[t] += -kept if product < 0 else kept
                    else:
                        for k in range(chunk, stop):
                            a, s = ea[i, k], ma[i, k]
                            for t in range(LANES):
                                product = np.int64(s) * np.int64(mb[block, k, t])
                                shift = min(np.int64(depth[t] - eb[block, k, t] - a), 62)
                                negative = np.int64(1) if product < 0 else np.int64(0)
                                kept = cut(abs(product) << up, shift, negative, walk.cut)
                                narrow[t] += -kept if product < 0 else kept
                    for t in range(LANES):
                        total[t] += narrow[t]
                for t in range(LANES):
                    exponent, significand = unpacked(run[t], to)
                    shift = min(top[t] - exponent + c_down, 62)
                    negative = np.int64(1) if significand < 0 else np.int64(0)
                    kept = cut(abs(significand) << c_up, shift, negative, walk.cut)
                    joined = total[t] + (-kept if significand < 0 else kept)
                    code = packed(joined, top[t] - walk.align_bits, walk.rounding, np.int64(0), to)
                    run[t] = run[t] if magnitude_of(run[t], to) >= to.infinity else code
                if walk.late != 0 and place == walk.groups - 1:
                    for t in range(LANES):
                        both = plus(half[t], run[t], walk.joining, to) if walk.lanes == 2 else run[t]
                        run[t] = plus(both, held[t], walk.joining, to)
            for t in range(LANES):
                out[t] = run[t]
