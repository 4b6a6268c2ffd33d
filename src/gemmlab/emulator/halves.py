"""float16 for compiled code, which has no arithmetic of its own in it: bits to numbers and back, rounded once."""

from __future__ import annotations

import numpy as np
from numba import njit

# A half has 10 stored bits of significand, exponents from -14 to 15, and steps of 2^-24 below 2^-14.


@njit(cache=True, nogil=True)
def half_to_single(bits):  # type: ignore[no-untyped-def]
    """The float32 that uint16 bits of a half stand for; exact."""
    wide = np.uint32(bits)
    sign = (wide & np.uint32(0x8000)) << np.uint32(16)
    exponent = (wide >> np.uint32(10)) & np.uint32(0x1F)
    fraction = wide & np.uint32(0x3FF)
    if exponent == np.uint32(0):
        small = np.float32(fraction) * np.float32(2.0**-24)
        return -small if sign else small
    raised = np.uint32(0xFF) if exponent == np.uint32(0x1F) else exponent + np.uint32(112)
    return np.uint32(sign | (raised << np.uint32(23)) | (fraction << np.uint32(13))).view(np.float32)


@njit(cache=True, nogil=True)
def double_to_half(x):  # type: ignore[no-untyped-def]
    """The uint16 bits of the half nearest to a float64, ties to even: rounded once, subnormals, infinity, NaN."""
    wide = np.float64(x).view(np.uint64)
    sign = np.uint64((wide >> np.uint64(48)) & np.uint64(0x8000))
    size = wide & np.uint64(0x7FFFFFFFFFFFFFFF)
    if size > np.uint64(0x7FF0000000000000):
        return np.uint16(sign | np.uint64(0x7E00))
    if size >= np.uint64(0x40EFFE0000000000):  # 65520, from where rounding reaches past the largest half
        return np.uint16(sign | np.uint64(0x7C00))
    exponent = np.int64(size >> np.uint64(52)) - 1023
    if exponent < -25:  # under half of the least half
        return np.uint16(sign)
    significand = (size & np.uint64(0xFFFFFFFFFFFFF)) | np.uint64(0x10000000000000)
    dropped = np.uint64(42 if exponent >= -14 else 28 - exponent)
    kept = significand >> dropped
    rest = significand & ((np.uint64(1) << dropped) - np.uint64(1))
    middle = np.uint64(1) << (dropped - np.uint64(1))
    if rest > middle or (rest == middle and kept & np.uint64(1)):
        kept += np.uint64(1)
    # the leading bit of a normal significand carries into the exponent, as a carry from rounding does
    biased = np.uint64(exponent + 14) << np.uint64(10) if exponent >= -14 else np.uint64(0)
    return np.uint16(sign | (biased + kept))


@njit(cache=True, nogil=True)
def single_to_half(x):  # type: ignore[no-untyped-def]
    """The uint16 bits of the half nearest to a float32, ties to even."""
    return double_to_half(np.float64(x))


@njit(cache=True, nogil=True)
def round_half(x):  # type: ignore[no-untyped-def]
    """A float32 or float64 rounded to the nearest half, as float32."""
    return half_to_single(double_to_half(np.float64(x)))
