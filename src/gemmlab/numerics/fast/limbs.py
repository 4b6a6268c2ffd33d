"""Whole numbers of any width in digits of 32 bits, for sums that no machine integer holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.fast.floats import Target, packed, rounded
from gemmlab.numerics.fast.jit import compiled

Digits = npt.NDArray[np.int64]
DIGIT = (1 << 32) - 1
POINT = 60  #: bits of a mantissa handed to `rounded` below its leading one


@compiled
def bit_length(value: int) -> int:
    """Bits of a value from 0 to 2^63 - 1."""
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if value >> step:
            bits += step
            value >>= step
    return bits + value


@compiled
def put(digits: Digits, value: int, at: int) -> None:
    """Add value * 2**at, |value| < 2^62, to digits whose carries stay where they are."""
    sign = -1 if value < 0 else 1
    magnitude = abs(value)
    place, bit = at >> 5, at & 31
    low = (magnitude & DIGIT) << bit
    high = (magnitude >> 32) << bit
    digits[place] += sign * (low & DIGIT)
    digits[place + 1] += sign * ((low >> 32) + (high & DIGIT))
    digits[place + 2] += sign * (high >> 32)


@compiled
def settled(digits: Digits, count: int) -> int:
    """Bring `count` digits to magnitudes of 32 bits; returns 1 where the number was negative, else 0."""
    carry = 0
    for place in range(count):
        whole = digits[place] + carry
        digits[place] = whole & DIGIT
        carry = whole >> 32
    if carry >= 0:
        return 0
    carry = 1
    for place in range(count):
        whole = (digits[place] ^ DIGIT) + carry
        digits[place] = whole & DIGIT
        carry = whole >> 32
    return 1


@compiled
def total_of(
    values: Any, places: Any, count: int, digits: Digits, mode: int, signed: int, to: Target
) -> tuple[int, int]:
    """(code of sum_i values[i] * 2**places[i] rounded once, whether the sum is not 0)."""
    low, high, widest = np.int64(1 << 30), np.int64(-(1 << 30)), np.int64(0)
    for i in range(count):
        if values[i] != 0:
            low, high = min(low, places[i]), max(high, places[i])
            widest = max(widest, abs(values[i]))
    if widest == 0:
        return 0, 0
    bits = bit_length(widest)
    if high - low + bits + bit_length(count) < 51:
        total = np.int64(0)
        for i in range(count):
            total += values[i] << (places[i] - low) if values[i] != 0 else 0
        return packed(total, low, mode, signed, to), int(total != 0)
    used = (high - low + bits + 16) // 32 + 3
    digits[:used] = 0
    for i in range(count):
        if values[i] != 0:
            put(digits, values[i], places[i] - low)
    negative = settled(digits, used)
    lead = used - 1
    while lead >= 0 and digits[lead] == 0:
        lead -= 1
    if lead < 0:
        return 0, 0
    # The leading 61 bits, and whether anything is below them as the last: no rounding reads more.
    have = bit_length(digits[lead])
    mantissa = digits[lead]
    place = lead - 1
    while have < POINT + 1:
        take = min(32, POINT + 1 - have)
        digit = digits[place] if place >= 0 else 0
        mantissa = (mantissa << take) | (digit >> (32 - take))
        if digit & ((1 << (32 - take)) - 1):
            mantissa |= 1
        have += take
        place -= 1
    while place >= 0:
        if digits[place] != 0:
            mantissa |= 1
        place -= 1
    exponent = low + 32 * lead + bit_length(digits[lead]) - 1
    return rounded(mantissa, exponent, negative, mode, signed, np.int64(POINT), to), 1
