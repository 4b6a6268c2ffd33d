"""Numbers as whole significands and exponents, and the one rounding that brings a sum back into a format."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gemmlab.formats import Format


class Number(NamedTuple):
    """One operand as a matrix unit reads it: value = +-significand * 2**(exponent - fraction)."""

    kind: str  #: `finite`, `inf` or `nan`
    negative: bool  #: its sign bit
    significand: int  #: 0 for zero; the implied one included
    exponent: int  #: of its leading bit where normal; of the smallest normal where subnormal or zero
    fraction: int  #: bits of the significand below the binary point

    @property
    def zero(self) -> bool:
        """A finite value of 0."""
        return self.kind == "finite" and self.significand == 0

    @property
    def signed(self) -> int:
        """The significand with its sign."""
        return -self.significand if self.negative else self.significand


@lru_cache(maxsize=1 << 16)
def read(code: int, form: Format, subnormals: bool = True) -> Number:
    """The number that a code stands for; without `subnormals` a subnormal one is a zero of its sign."""
    word = code >> form.pad_bits
    if form.kind == "int":
        value = word - (1 << form.bits) if form.signed and word >> (form.bits - 1) else word
        return Number("finite", value < 0, abs(value), 0, 0)
    negative = bool(form.signed and word >> (form.bits - 1))
    magnitude = word & ((1 << (form.exponent_bits + form.mantissa_bits)) - 1)
    special = {"negative_zero": word == form.nan_magnitude, "none": False}.get(form.nan)
    if special or (special is None and magnitude > form.max_magnitude + form.infinity):
        return Number("nan", negative, 0, 0, 0)
    if form.infinity and magnitude > form.max_magnitude:
        # Of IEEE formats all codes past the infinity, which is the next after the largest value, are NaN.
        return Number("inf", negative, 0, 0, 0)
    stored, fraction = divmod(magnitude, 1 << form.mantissa_bits)
    if stored == 0 and form.subnormals:
        return Number("finite", negative, fraction if subnormals else 0, form.min_exponent, form.mantissa_bits)
    return Number("finite", negative, fraction | 1 << form.mantissa_bits, stored - form.bias, form.mantissa_bits)


@lru_cache(maxsize=1 << 16)
def converted(number: Number, form: Format) -> Number:
    """The number as a code of another format that holds it exactly would be read: its own leading bit, its exponent."""
    if number.kind != "finite" or number.zero:
        return Number(number.kind, number.negative, 0, form.min_exponent, form.mantissa_bits)
    scale = number.exponent - number.fraction
    exponent = max(number.significand.bit_length() - 1 + scale, form.min_exponent)
    whole = shifted(number.significand, scale - exponent + form.mantissa_bits, "rne")
    return Number("finite", number.negative, whole, exponent, form.mantissa_bits)


def shifted(value: int, left: int, rounding: str) -> int:
    """`value` * 2**left as a whole number; what falls below the point goes by `rounding`: rz, rne, rna or floor."""
    if left >= 0:
        return value << left
    if rounding == "floor":
        return value >> -left
    whole, rest = divmod(abs(value), 1 << -left)
    half = 1 << (-left - 1)
    if rounding == "rna":
        whole += rest >= half
    elif rounding == "rne":
        whole += rest > half or (rest == half and whole & 1)
    return -whole if value < 0 else whole


def pack(value: int, scale: int, form: Format, width: int, rounding: str, subnormals: bool = True) -> int:
    """The code of value * 2**scale in a float format, rounded once to `width` fraction bits; 0 gives the code of +0.

    Below the smallest normal value the same number of fraction bits stays, under its exponent: results underflow
    gradually, or to zero without `subnormals`. Past the range the result is an infinity, in every rounding: what `rz`
    cuts stays below the range, and what lies past it has no value to be cut to.
    """
    if value == 0:
        return 0
    top = abs(value).bit_length() - 1 + scale
    quantum = max(top, form.min_exponent) - width
    whole = abs(shifted(value, scale - quantum, rounding))
    sign = (value < 0) << (form.bits - 1)
    if whole >> width == 0 and not subnormals:
        return sign
    # A carry out of the significand lands in the exponent by itself: codes count up with the value.
    magnitude = (max(top, form.min_exponent) - form.min_exponent) << form.mantissa_bits
    magnitude += whole << (form.mantissa_bits - width)
    return sign | min(magnitude, form.max_magnitude + 1)


def exact(number: Number) -> tuple[int, int]:
    """(value, scale) of a finite number: value * 2**scale."""
    return number.signed, number.exponent - number.fraction
