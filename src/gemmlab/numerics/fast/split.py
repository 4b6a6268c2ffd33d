"""Operands taken apart: exponent, signed significand and class of every element, as `values.read` says for one code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats import Format
from gemmlab.numerics.operands import Operand

NAN, INF, ZERO, NEGATIVE = 1, 2, 4, 8  # bits of a class
NOTHING = -4000  #: exponent of a zero: below all others by more than any shift, and twice it still fits 16 bits


Split = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.uint8]]


class Parts(NamedTuple):
    """What kernels read of a matrix: `exponents[at]` and so on, by a place an element."""

    at: npt.NDArray[Any]  #: unsigned, of the matrix' shape: its codes where the tables are by code
    exponents: npt.NDArray[np.int32]  #: NOTHING of zeros, infinities and NaN
    significands: npt.NDArray[np.int64]  #: signed; 0 of zeros, infinities and NaN
    classes: npt.NDArray[np.uint8]  #: NAN, INF, ZERO and NEGATIVE, added
    key: tuple[Format, bool, str] | None = None  #: what `tables` were asked for; None where they are this matrix' own


def parts(operand: Operand, subnormals: bool, read_as: str = "") -> Parts:
    """The elements of a matrix apart; through a table of the format's codes where it has at most 16 bits.

    With `read_as` as codes of that format, which holds them exactly, would be taken apart.
    """
    form = formats.get(operand.format)
    if form.storage_bits <= 16:
        return Parts(operand.codes, *tables(form, subnormals, read_as), (form, subnormals, read_as))
    split = renormalised(*taken_apart(operand.codes.reshape(-1), form, subnormals), form, read_as)
    return Parts(np.arange(operand.codes.size, dtype=np.uint32).reshape(operand.codes.shape), *split)


@lru_cache(maxsize=64)
def tables(form: Format, subnormals: bool, read_as: str = "") -> Split:
    """Exponent, significand and class of every code of a format of at most 16 bits."""
    split = taken_apart(np.arange(1 << form.storage_bits, dtype=np.uint32), form, subnormals)
    return renormalised(*split, form, read_as)


def renormalised(
    exponents: npt.NDArray[Any], significands: npt.NDArray[Any], classes: npt.NDArray[Any], form: Format, read_as: str
) -> Split:
    """The same numbers with the exponents and the fraction bits of another format."""
    if not read_as:
        return exponents, significands, classes
    other = formats.get(read_as)
    leading = np.frexp(significands.astype(np.float64))[1] - 1
    scale = exponents - form.mantissa_bits
    exponent = np.maximum(leading + scale, other.min_exponent)
    moved = scale - exponent + other.mantissa_bits
    exact = (significands << np.maximum(moved, 0)) >> np.maximum(-moved, 0)
    zero = significands == 0
    return np.where(zero, NOTHING, exponent).astype(np.int32), np.where(zero, 0, exact), classes


def values_of(elements: Parts, fraction: int) -> tuple[npt.NDArray[np.float32], int]:
    """(float32 values of an operand's tables, largest exponent of those that float32 does not hold or NOTHING).

    `fraction` counts the bits below the point of the significands.
    """
    if elements.key is None:
        return singles(elements.exponents, elements.significands, fraction)
    return table_values(*elements.key, fraction)


@lru_cache(maxsize=64)
def table_values(form: Format, subnormals: bool, read_as: str, fraction: int) -> tuple[npt.NDArray[np.float32], int]:
    """`values_of` for a table of all codes."""
    exponents, significands, _ = tables(form, subnormals, read_as)
    return singles(exponents, significands, fraction)


def singles(
    exponents: npt.NDArray[np.int32], significands: npt.NDArray[np.int64], fraction: int
) -> tuple[npt.NDArray[np.float32], int]:
    """Significands * 2**(exponents - fraction) as float32, and the largest exponent where that is not exact."""
    with np.errstate(over="ignore", under="ignore"):
        exact = np.ldexp(significands.astype(np.float64), exponents - fraction)
        values = exact.astype(np.float32)
    lost = values != exact
    return values, int(exponents[lost].max()) if lost.any() else NOTHING


def taken_apart(codes: npt.NDArray[Any], form: Format, subnormals: bool) -> Split:
    """Exponents, signed significands and classes of codes in one dimension."""
    if form.nan == "ieee" and form.storage_bits > 16:
        from gemmlab.numerics.fast.packing import ieee_apart

        split = np.empty(len(codes), np.int32), np.empty(len(codes), np.int64), np.empty(len(codes), np.uint8)
        top = form.max_magnitude + 1
        ieee_apart(codes, form.pad_bits, form.mantissa_bits, form.min_exponent, top, subnormals, *split)
        return split
    words = codes.astype(np.int64) >> form.pad_bits if form.storage_bits < 64 else codes.view(np.int64)
    if form.kind == "int":
        top = form.signed << (form.bits - 1)
        words = ((words & ((1 << form.bits) - 1)) ^ top) - top
        zero = words == 0
        classes = np.where(zero, ZERO, 0) | np.where(words < 0, NEGATIVE, 0)
        return np.where(zero, NOTHING, 0).astype(np.int32), words, classes.astype(np.uint8)
    # Padding above a code of fewer bits than its storage means nothing in `read` either.
    negative = ((words >> (form.bits - 1)) & 1).astype(bool) & form.signed
    magnitude = words & ((1 << (form.exponent_bits + form.mantissa_bits)) - 1)
    inf = (magnitude == form.max_magnitude + 1) if form.infinity else np.zeros(len(words), bool)
    if form.nan == "negative_zero":
        nan = words == form.nan_magnitude
    else:
        nan = (magnitude > form.max_magnitude + form.infinity) & (form.nan != "none")
    stored = magnitude >> form.mantissa_bits
    below = (stored == 0) & form.subnormals
    significand = (magnitude & ((1 << form.mantissa_bits) - 1)) | np.where(below, 0, 1 << form.mantissa_bits)
    significand[nan | inf] = 0
    if not subnormals:
        significand[below] = 0
    nothing = significand == 0
    exponent = np.where(below, form.min_exponent, stored - form.bias)
    exponent[nothing] = NOTHING
    classes = NAN * nan + INF * inf + ZERO * (nothing & ~nan & ~inf) + NEGATIVE * negative
    return exponent.astype(np.int32), np.where(negative, -significand, significand), classes.astype(np.uint8)


@lru_cache(maxsize=64)
def largest(form: Format) -> int:
    """The largest significand of a format, in units of its last fraction bit."""
    if form.kind == "int":
        return 1 << form.bits
    return (2 << form.mantissa_bits) - 1
