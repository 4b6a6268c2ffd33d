"""Which type a value has: the rules by which numba types scalars for CUDA, in a dozen lines each.

Types go by their numpy names. Each rule is compared in the tests with numba's own typing, for all pairs of types.
"""

from __future__ import annotations

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
INTEGERS = (*SIGNED, *UNSIGNED)
TYPES = ("bool", *INTEGERS, *FLOATS)

_BITS = {"bool": 8, **{name: int(name.lstrip("uintfloa")) for name in (*INTEGERS, *FLOATS)}}

#: integers that a float of that many bits takes without going wider, in arithmetic and where variables meet
_ARITHMETIC_FITS = {16: ("bool", "int8"), 32: ("bool", "int8", "int16", "uint8")}
_MEETING_FITS = {16: ("bool", "int8", "uint8"), 32: ("bool", "int8", "int16", "uint8", "uint16")}


def is_float(kind: str) -> bool:
    """Whether it is a floating-point type."""
    return kind in FLOATS


def is_integer(kind: str) -> bool:
    """Whether it is an integer type; bool is none."""
    return kind in INTEGERS


def width(kind: str) -> int:
    """Bits of a value in memory; a bool takes a byte."""
    return _BITS[kind]


def arithmetic(x: str, y: str) -> str:
    """The type of x + y, x - y and x * y."""
    if is_float(x) or is_float(y):
        return _floating(x, y, _ARITHMETIC_FITS)
    return "uint64" if x in UNSIGNED and y in UNSIGNED else "int64"


def _floating(x: str, y: str, fits: dict[int, tuple[str, ...]]) -> str:
    """The float that two types meet in, at least one of them a float."""
    if is_float(x) and is_float(y):
        return max(x, y, key=width)
    number, whole = (x, y) if is_float(x) else (y, x)
    for bits in (16, 32):
        if width(number) <= bits and whole in fits[bits]:
            return f"float{bits}"
    return "float64"


def division(x: str, y: str) -> str:
    """The type of x / y: integers divide as float64."""
    return arithmetic(x, y) if is_float(x) or is_float(y) else "float64"


def flooring(x: str, y: str) -> str:
    """The type of x // y and x % y: float16 has neither and goes to float32."""
    kind = arithmetic(x, y)
    return "float32" if kind == "float16" else kind


def power(x: str, y: str) -> str:
    """The type of x ** y: a float keeps its type under an integer exponent, float16 goes to float32."""
    kind = x if is_float(x) and not is_float(y) else arithmetic(x, y)
    return "float32" if kind == "float16" else kind


def shift(x: str) -> str | None:
    """The type of x << y and x >> y, by the left operand; None where x has no bits to shift."""
    return None if is_float(x) else arithmetic(x, x)


def bitwise(x: str, y: str) -> str | None:
    """The type of x & y, x | y and x ^ y; None for floats."""
    if is_float(x) or is_float(y):
        return None
    return "bool" if x == y == "bool" else arithmetic(x, y)


def comparing(x: str, y: str) -> str:
    """The type in which x and y are compared: int64 and uint64 meet in float64."""
    return _floating(x, y, _ARITHMETIC_FITS) if is_float(x) or is_float(y) else meeting(x, y)


def meeting(x: str, y: str) -> str:
    """The type of a variable that holds an x on one path and a y on another; also of min and max."""
    if x == y:
        return x
    if is_float(x) or is_float(y):
        return _floating(x, y, _MEETING_FITS)
    if "bool" in (x, y):
        return y if x == "bool" else x
    if (x in SIGNED) == (y in SIGNED):
        return max(x, y, key=width)
    signed, unsigned = (x, y) if x in SIGNED else (y, x)
    if width(unsigned) == 64:
        return "float64"
    return f"int{max(width(signed), 2 * width(unsigned))}"


def counting(*bounds: str) -> str | None:
    """The type of the variable of `range(*bounds)`; None where a bound is no integer."""
    if any(is_float(bound) for bound in bounds):
        return None
    if "int64" in bounds:
        return "int64"
    signed = [bound for bound in bounds if bound in SIGNED]
    unsigned = [bound for bound in bounds if bound in UNSIGNED]
    if not unsigned:
        return "int32"
    if not signed:
        return "uint64"
    if "uint64" in unsigned:
        return "int32" if "int32" in signed else "uint64"
    return "int64" if "uint32" in unsigned else "int32"


def negated(x: str) -> str:
    """The type of -x."""
    return x if is_float(x) else arithmetic(x, x)


def inverted(x: str) -> str | None:
    """The type of ~x; None for floats."""
    return bitwise(x, x)
