"""One operation on numpy scalars, as numba's CUDA target defines it for operands of given types."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gemmlab.emulator.reference import rules

Function = Callable[..., Any]

COMPARISONS = frozenset({operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne})
#: exact or correctly rounded in every format; a GPU's differ from the others in the last bits
EXACT = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "fabs": np.fabs,
    "copysign": np.copysign,
    "fmod": np.fmod,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}


@cache
def convert(source: Any, target: Any) -> Function:
    """A function from values of one type to another, as C converts."""
    if source == target:
        return _same
    return rules.dtype(target).type  # type: ignore[no-any-return]


def _same(value: Any) -> Any:
    return value


@cache
def operation(function: Any, *kinds: Any) -> tuple[Function, Any] | None:
    """What an operator does with operands of those types, and the type it gives; None where numba has none."""
    found = rules.signature(function, *kinds)
    if found is None:
        return None
    result = found.return_type
    if function is operator.not_:
        return _not, result
    if function is operator.pow:
        return _power(found), result
    # the implementations convert twice: to what the signature takes, then to what it gives
    last = found.args if function in COMPARISONS else (result,) * len(kinds)
    return _converting(function, kinds, found.args, last), result


def _not(value: Any) -> Any:
    return np.bool_(not value)


def _converting(function: Function, kinds: Any, first: Any, last: Any) -> Function:
    steps = [_after(convert(b, c), convert(a, b)) for a, b, c in zip(kinds, first, last, strict=True)]
    if all(step is _same for step in steps):
        return function
    if len(steps) == 2:
        one, other = steps
        return lambda x, y: function(one(x), other(y))
    return lambda *values: function(*(step(value) for value, step in zip(values, steps, strict=True)))


def _after(second: Function, first: Function) -> Function:
    """One conversion after another."""
    if _same in (first, second):
        return first if second is _same else second
    return lambda value: second(first(value))


def _power(found: Any) -> Function:
    """A power: of an integer exponent by repeated squaring in the result's type, else of the library."""
    from numba import types

    wrap = rules.dtype(found.return_type).type
    if not isinstance(found.args[1], types.Integer):
        return lambda x, y: wrap(np.power(wrap(x), wrap(y)))
    return lambda x, y: _by_squaring(wrap(x), int(y), wrap)


def _by_squaring(base: Any, exponent: int, wrap: Function) -> Any:
    result, left = wrap(1), abs(exponent)
    while left:
        if left & 1:
            result = wrap(result * base)
        base, left = wrap(base * base), left >> 1
    return result if exponent >= 0 else wrap(wrap(1) / result)


@cache
def mathematical(function: Any, *kinds: Any) -> tuple[Function, Any] | None:
    """A function of `math`, or `abs`, for arguments of those types; those that are not exact go through float64."""
    found = rules.signature(function, *kinds)
    if found is None:
        return None
    if function is abs:
        return _converting(np.abs, kinds, found.args, found.args), found.return_type
    name = function.__name__
    computed = EXACT.get(name) or (lambda *values: _in_double(function, values))
    # whole numbers are computed as float64
    last = [kind if rules.is_float(kind) else rules.kind_of("float64") for kind in found.args]
    narrow, wrap = _converting(computed, kinds, found.args, last), rules.dtype(found.return_type).type
    return lambda *values: wrap(narrow(*values)), found.return_type


def _in_double(function: Function, values: tuple[Any, ...]) -> float:
    """The value Python's own function gives, with IEEE's answers where Python raises."""
    try:
        return float(function(*map(float, values)))
    except OverflowError:
        return math.inf
    except ValueError:
        poles = {"log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": -1.0}
        if poles.get(function.__name__) == float(values[0]):
            return -math.inf
        return math.nan


def smaller(first: Any, second: Any) -> Any:
    """`min` of two values of one type: the number, where one of them is NaN."""
    return np.fmin(first, second)


def larger(first: Any, second: Any) -> Any:
    """`max` of two values of one type: the number, where one of them is NaN."""
    return np.fmax(first, second)


def fused(x: Any, y: Any, z: Any) -> Any:
    """`x * y + z` with one rounding, in the type of x."""
    from fractions import Fraction

    values = [float(v) for v in (x, y, z)]
    if not all(map(math.isfinite, values)):
        return type(x)(values[0] * values[1] + values[2])
    exact = Fraction(values[0]) * Fraction(values[1]) + Fraction(values[2])
    if exact == 0:  # the sign of zero follows the ordinary rules
        return type(x)(values[0] * values[1] + values[2])
    return rounded(exact, type(x))


def rounded(exact: Any, wrap: Any) -> Any:
    """The nearest value of a float type to a fraction, ties to even."""
    from fractions import Fraction

    if wrap is np.float64:
        try:
            return np.float64(exact.numerator / exact.denominator)
        except OverflowError:
            return np.float64(math.copysign(math.inf, exact))
    # float64 of the fraction is at most one step off the narrow type's nearest: settle between neighbours
    near = wrap(float(exact))
    if not np.isfinite(near):
        return near
    around = (np.nextafter(near, wrap(-np.inf)), near, np.nextafter(near, wrap(np.inf)))
    finite = [value for value in around if np.isfinite(value)]
    return min(
        finite, key=lambda value: (abs(Fraction(float(value)) - exact), int(value.view(f"u{value.itemsize}")) & 1)
    )


def popcount(value: Any) -> Any:
    """`cuda.popc`: bits that are set."""
    return type(value)(bin(bits_of(value)).count("1"))


def reversed_bits(value: Any) -> Any:
    """`cuda.brev`: the bits in reverse order."""
    width = 8 * value.itemsize
    return type(value)(int(format(bits_of(value), f"0{width}b")[::-1], 2))


def leading_zeros(value: Any) -> Any:
    """`cuda.clz`: zero bits above the highest that is set."""
    return type(value)(8 * value.itemsize - bits_of(value).bit_length())


def first_set(value: Any) -> Any:
    """`cuda.ffs`: the place of the lowest bit that is set, from 1; 0 where none is."""
    bits = bits_of(value)
    return np.uint32((bits & -bits).bit_length())


def bits_of(value: Any) -> int:
    """The bits of an integer as a number from 0."""
    width = 8 * int(value.itemsize)
    return int(value) & ((1 << width) - 1)
