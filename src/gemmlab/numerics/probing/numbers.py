"""Codes of chosen values: powers of two and short significands, as operands, products and addends."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from gemmlab import formats
from gemmlab.numerics.values import read

WIDE = 60  # powers of two from 2^-60 to 2^60 are enough for any unit here, and stay inside float32
SUBNORMAL_BITS = 3


@lru_cache(maxsize=1 << 14)
def code(value: float, name: str) -> int | None:
    """The code of a value that the format holds, else None."""
    form = formats.get(name)
    if form.kind == "int":
        low, high = (-(1 << form.mantissa_bits) if form.signed else 0), form.max_magnitude
        return formats.encode(value, name) if low <= value <= high else None
    found = formats.encode(value, name)
    return found if formats.decode(found, name) == value else None


class Span(NamedTuple):
    """Powers of two of a format, by exponent."""

    low: int  #: the smallest, subnormals included
    normal: int  #: the smallest normal one
    high: int  #: the largest


@lru_cache(maxsize=64)
def span(name: str) -> Span:
    """The powers of two that a format holds."""
    form = formats.get(name)
    if form.kind == "int":
        return Span(0, 0, form.mantissa_bits - 1 if form.signed else form.bits - 1)
    top = read(form.max_magnitude << form.pad_bits, form)
    low = form.min_exponent - (form.mantissa_bits if form.subnormals else 0)
    return Span(low, form.min_exponent, top.exponent)


class Numbers(NamedTuple):
    """The values that experiments on one pair of operand formats and one accumulator can use."""

    a_format: str
    b_format: str
    accumulate: str
    subnormals: bool = True  #: False: operands and results stay normal

    def lows(self) -> tuple[int, int]:
        """Exponents of the smallest usable operands.

        A subnormal counts with the smallest normal exponent, so that an alignment of few bits cuts it even by itself:
        three bits below are deep enough for float8, which has not many more.
        """
        a, b = span(self.a_format), span(self.b_format)
        deep = SUBNORMAL_BITS if self.subnormals else 0
        return max(a.low, a.normal - deep), max(b.low, b.normal - deep)

    @property
    def top(self) -> int:
        """Exponent of the largest power of two that is a product and an addend, with room to add a few."""
        return min(span(self.a_format).high + span(self.b_format).high, span(self.accumulate).high - 3, WIDE)

    @property
    def bottom(self) -> int:
        """Exponent of the smallest such power."""
        held = span(self.accumulate)
        return max(sum(self.lows()), held.low if self.subnormals else held.normal, -WIDE)

    def product(self, significand: float, exponent: int, deep: bool = False) -> tuple[int, int] | None:
        """Codes of a and b with a * b = significand * 2**exponent, where the formats hold such; a carries the sign.

        `deep` takes all subnormals.
        """
        a_span, b_span = span(self.a_format), span(self.b_format)
        low = (a_span.low, b_span.low) if deep else self.lows()
        high = (a_span.high, b_span.high)
        middle = exponent // 2
        for wanted in (middle, exponent - max(low[0], span(self.a_format).normal), exponent - high[0]):
            y = min(max(wanted, low[1]), high[1])
            if not low[0] - 8 <= exponent - y <= high[0]:
                y = min(max(exponent - high[0], low[1]), high[1])
            a = code(math.ldexp(significand, exponent - y), self.a_format)
            b = code(math.ldexp(1.0, y), self.b_format)
            if a is not None and b is not None:
                return a, b
        return None

    def addend(self, significand: float, exponent: int) -> int | None:
        """The code of significand * 2**exponent in the accumulator's format, where it holds it."""
        return code(math.ldexp(significand, exponent), self.accumulate)

    def said(self) -> str:
        """The range of products, for people."""
        low = span(self.a_format).low + span(self.b_format).low
        high = sum(math.log2(largest(name)) for name in (self.a_format, self.b_format))
        return f"products of {self.a_format} and {self.b_format} span 2^{low}..2^{high:.1f}"


def largest(name: str) -> float:
    """The largest finite value of a format."""
    form = formats.get(name)
    return abs(formats.decode(form.max_magnitude << form.pad_bits, name))
