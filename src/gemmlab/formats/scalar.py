"""One number to its code and back: exact integer arithmetic, the reference for the array versions.

Rounding takes the exact value once, so a float64 (or an int, or a Fraction) never passes through float32 on its way to
eight bits. Casts of ml_dtypes from float64 arrays do pass through float32 and round twice: 1 + 2**-4 + 2**-40 becomes
1.0 there as float8_e4m3fn, and 1.125 here. From float32 both agree on every value inside the range, except that
ml_dtypes before 0.7 took values between 2^-127 and 1.5 * 2^-127 to 2^-126 in float8_e8m0fnu, where 2^-127 is the
nearest.
"""

import math
from operator import index
from typing import Any, SupportsFloat

from gemmlab.formats.format import Format
from gemmlab.formats.table import get
from gemmlab.record import GemmlabError, unknown_name

ROUNDINGS = ("rne", "rz", "rna")


def encode(value: SupportsFloat, name: str | Format, rounding: str = "rne", saturate: bool = False) -> int:
    """The code of `value`, any real number (float, int, Fraction, numpy scalar), as an unsigned integer.

    `rounding`: `rne` to nearest, ties to even; `rna` to nearest, ties away from zero; `rz` toward zero, which never
    carries a finite value past the largest one. ml_dtypes casts to floats with `rne`, to integers with `rz`.

    Past the range, without `saturate`, as ml_dtypes: infinity where the format has one; else NaN; the largest value
    for float4 and float6, which have neither; integers wrap modulo 2^bits, as casts of ml_dtypes from wider integers do
    (its casts from floats did before 0.7, which makes them 0). With `saturate`, infinities included, the nearest end
    of the range.

    NaN keeps its sign and loses its payload. Where there is no NaN it becomes, as in ml_dtypes, a zero of the opposite
    sign (float4, float6; with `saturate` the largest value, as PTX's cvt.satfinite) or 0 (integers, where an infinity
    without `saturate` gives 0 too). Formats without -0 turn it into 0. Unsigned floats turn negative values into NaN,
    also those that would round to zero. float8_e8m0fnu has no zero either: it becomes NaN, and positive values below
    2^-127 become 2^-127 in every rounding.

    Raises GemmlabError for an unknown format or rounding, or no real number.
    """
    form = name if isinstance(name, Format) else get(name)
    if rounding not in ROUNDINGS:
        raise unknown_name("rounding", str(rounding), ROUNDINGS)
    numerator, denominator, negative = parts(value)
    if form.kind == "int":
        return integer_code((numerator, denominator, negative), form, rounding, saturate)
    if denominator == 0 and numerator == 0:
        magnitude = form.nan_magnitude
        if form.nan == "none":
            magnitude, negative = (form.max_magnitude, False) if saturate else (0, not negative)
    elif (numerator == 0 and not form.zero) or (not form.signed and negative and numerator):
        magnitude = form.nan_magnitude
    elif denominator == 0:
        magnitude = form.max_magnitude if saturate else form.overflow_magnitude
    else:
        magnitude = finite_magnitude(numerator, denominator, form, rounding, saturate)
    sign = negative and form.signed and (form.signed_zero or magnitude != 0)
    return (magnitude | sign << (form.bits - 1)) << form.pad_bits


def decode(code: int, name: str | Format) -> float:
    """The value of a code, exactly; NaN with its sign, +-Inf, -0 and subnormals as the format has them.

    Padding (the low 13 bits of a stored tfloat32) is ignored. Raises GemmlabError for a code that does not fit the
    format's storage.
    """
    form = name if isinstance(name, Format) else get(name)
    if not 0 <= code < 1 << form.storage_bits:
        raise GemmlabError(
            f"{code} is no code of {form.name}, whose codes have {form.storage_bits} bits",
            f"a whole number from 0 to {(1 << form.storage_bits) - 1}",
        )
    code = int(code) >> form.pad_bits
    negative = form.signed and bool(code >> (form.bits - 1))
    if form.kind == "int":
        return float(code - (negative << form.bits))
    if form.nan == "negative_zero" and code == form.nan_magnitude:
        return math.nan
    magnitude = code & ((1 << (form.exponent_bits + form.mantissa_bits)) - 1)
    return math.copysign(magnitude_value(magnitude, form), -1 if negative else 1)


def round_to(value: SupportsFloat, name: str | Format, rounding: str = "rne", saturate: bool = False) -> float:
    """The value of the format that `value` becomes; arguments and errors as for `encode`."""
    return decode(encode(value, name, rounding, saturate), name)


def parts(value: Any) -> tuple[int, int, bool]:
    """|value| as numerator and denominator, and its sign bit; infinity is 1/0, NaN 0/0."""
    try:
        if hasattr(value, "as_integer_ratio"):
            numerator, denominator = value.as_integer_ratio()
        elif hasattr(value, "__index__"):
            numerator, denominator = index(value), 1
        elif isinstance(value, str | bytes):
            raise TypeError
        else:
            numerator, denominator = float(value).as_integer_ratio()
    except (OverflowError, ValueError):
        numerator, denominator = int(math.isinf(value)), 0
    except TypeError:
        raise GemmlabError(f"{value!r} is not a real number", "give a float, an int or a Fraction") from None
    negative = numerator < 0 if numerator and denominator else math.copysign(1.0, value) < 0
    return abs(int(numerator)), int(denominator), negative


def finite_magnitude(numerator: int, denominator: int, form: Format, rounding: str, saturate: bool) -> int:
    """The magnitude that the finite value numerator/denominator >= 0 rounds to."""
    exponent = max(floor_log2(numerator, denominator), form.min_exponent) if numerator else form.min_exponent
    spacing = exponent - form.mantissa_bits
    whole = round_quotient(numerator << max(-spacing, 0), denominator << max(spacing, 0), rounding)
    # A subnormal counts spacings from zero; a normal adds a binade's worth of codes for each exponent, and a carry
    # out of the mantissa lands in the next binade by itself.
    magnitude = ((exponent - form.min_exponent) << form.mantissa_bits) + whole
    if not form.subnormals:
        magnitude = max(magnitude - (1 << form.mantissa_bits), 0)
    if magnitude <= form.max_magnitude:
        return magnitude
    return form.max_magnitude if saturate or rounding == "rz" else form.overflow_magnitude


def integer_code(value: tuple[int, int, bool], form: Format, rounding: str, saturate: bool) -> int:
    """The two's complement code of a value; wraps modulo 2^bits, or saturates."""
    numerator, denominator, negative = value
    low, high = (-(1 << form.mantissa_bits), form.max_magnitude) if form.signed else (0, form.max_magnitude)
    if denominator == 0:
        whole = (low if negative else high) if numerator and saturate else 0
    else:
        whole = round_quotient(numerator, denominator, rounding) * (-1 if negative else 1)
        whole = min(max(whole, low), high) if saturate else whole
    return whole % (1 << form.bits)


def magnitude_value(magnitude: int, form: Format) -> float:
    """The value of a float format's code without sign."""
    if form.nan in ("ieee", "ones") and magnitude > form.max_magnitude:
        return math.inf if form.infinity and magnitude == form.overflow_magnitude else math.nan
    stored, fraction = magnitude >> form.mantissa_bits, magnitude & ((1 << form.mantissa_bits) - 1)
    if stored == 0 and form.subnormals:
        return math.ldexp(fraction, form.min_exponent - form.mantissa_bits)
    return math.ldexp(fraction + (1 << form.mantissa_bits), stored - form.bias - form.mantissa_bits)


def floor_log2(numerator: int, denominator: int) -> int:
    """The largest e with 2^e <= numerator/denominator, both positive."""
    guess = numerator.bit_length() - denominator.bit_length()
    fits = numerator << max(-guess, 0) >= denominator << max(guess, 0)
    return guess if fits else guess - 1


def round_quotient(numerator: int, denominator: int, rounding: str) -> int:
    """numerator/denominator >= 0 as a whole number."""
    whole, rest = divmod(numerator, denominator)
    if rounding == "rz" or 2 * rest < denominator:
        return whole
    tie_down = 2 * rest == denominator and rounding == "rne" and whole % 2 == 0
    return whole if tie_down else whole + 1
