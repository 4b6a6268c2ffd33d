"""Operands for matrix units as codes, random and adversarial, the same under every version of NumPy.

Only raw words of PCG64 are drawn, whose stream NumPy promises to keep.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type

Codes = npt.NDArray[Any]
KINDS = ("normal", "spread", "wide", "positive", "subnormal", "cancelling", "specials", "ones")


class Inputs(NamedTuple):
    """Codes of one multiplication."""

    a: Codes  #: (m, k)
    b: Codes  #: (k, n)
    c: Codes  #: (m, n)


def inputs(kind: str, a_format: str, b_format: str, accumulate: str, m: int, n: int, k: int, seed: int) -> Inputs:
    """Operands of one kind. `specials` has NaN, infinities, zeros of both signs and the ends of the subnormals."""
    a = operand(kind, a_format, (m, k), k, seed * 3)
    b = operand(kind, b_format, (n, k), k, seed * 3 + 1)
    if kind == "cancelling" and k > 1:
        # The second half takes away what the first gave, all but the last bit of every eighth product.
        half = k // 2
        a[:, half : 2 * half], b[:, half : 2 * half] = negated(a[:, :half], a_format), b[:, :half]
        a[:, half : 2 * half : 8] ^= 1 << formats.get(a_format).pad_bits
        a[:, half : 2 * half] = finite(a[:, half : 2 * half], a_format)
    return Inputs(a, np.ascontiguousarray(b.T), addend(kind, accumulate, (m, n), k, seed * 3 + 2))


def words(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.uint64]:
    """64 random bits an element."""
    return np.random.PCG64(seed).random_raw(int(np.prod(shape))).reshape(shape)


def bell(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.float64]:
    """Nearly normal values of deviation 1, as sums of four uniform ones."""
    drawn = words(shape, seed)
    total = sum(((drawn >> np.uint64(16 * at)) & np.uint64(0xFFFF)).astype(np.int64) for at in range(4))
    return (np.asarray(total) - 131_070) / 37_837


def spread(values: npt.NDArray[np.float64], exponent_bits: int, seed: int) -> npt.NDArray[np.float64]:
    """The same times powers of two, as far as a product stays within the range of most formats."""
    span = {4: 4, 5: 8, 8: 24}.get(exponent_bits, 0)
    powers = (words(values.shape, seed + (1 << 21)) >> np.uint64(40)) % np.uint64(2 * span + 1)
    return np.asarray(values * 2.0 ** (powers.astype(np.int64) - span))


def operand(kind: str, name: str, shape: tuple[int, ...], k: int, seed: int) -> Codes:
    """Codes of one operand."""
    form = formats.get(name)
    raw = (words(shape, seed) >> np.uint64(64 - form.storage_bits)).astype(code_type(form))
    if kind in ("wide", "cancelling"):
        return finite(raw, name)
    if kind == "ones":
        return encoded(np.ones(shape), name)
    if kind == "subnormal" and form.kind == "float":
        sign = 1 << (form.storage_bits - 1)
        return raw & raw.dtype.type(sign | (2 << (form.mantissa_bits + form.pad_bits)) - 1)
    values = bell(shape, seed) * (40 if form.kind == "int" else 1)
    if kind == "spread":
        values = spread(values, form.exponent_bits, seed)
    codes = encoded(np.abs(values) if kind == "positive" else values, name)
    if kind in ("specials", "payload"):
        chance = words(shape, seed + (1 << 20))
        # Of a float32 whose 13 lowest bits are not read, these NaN look like infinities.
        table = extremes(name) if kind == "specials" else np.array([0x7F800001, 0xFF801FFF], np.uint32)
        where = chance % np.uint64(2 * k) == 0
        codes[where] = table[((chance >> np.uint64(32)) % np.uint64(len(table)))[where].astype(np.int64)]
    return codes


def addend(kind: str, name: str, shape: tuple[int, ...], k: int, seed: int) -> Codes:
    """Codes of C, of the size that the sums are for most kinds, of any size for others."""
    form = formats.get(name)
    raw = (words(shape, seed) >> np.uint64(64 - form.storage_bits)).astype(code_type(form))
    if kind == "positive":
        return np.zeros(shape, code_type(form))
    if kind == "wide" or (kind in ("specials", "ones") and form.kind == "int"):
        return raw  # NaN and infinities among them
    if kind == "subnormal" and form.kind == "float":
        return raw & raw.dtype.type((1 << (form.storage_bits - 1)) | (32 << form.mantissa_bits) - 1)
    values = bell(shape, seed) * k**0.5 * (1600 if form.kind == "int" else 1)
    if kind == "spread":
        values = spread(values, form.exponent_bits, seed)
    codes = encoded(values, name)
    if kind == "specials":
        chance = words(shape, seed + (1 << 20))
        table = extremes(name)
        where = chance % np.uint64(32) == 0
        codes[where] = table[((chance >> np.uint64(32)) % np.uint64(len(table)))[where].astype(np.int64)]
    return codes


def encoded(values: npt.NDArray[np.float64], name: str) -> Codes:
    """Codes of values, rounded to nearest; tfloat32 keeps the 13 bits that its unit must not read."""
    form = formats.get(name)
    if form.kind == "int":
        return np.rint(values).astype(getattr(np, name)).view(code_type(form))
    known = "float32" if name == "tfloat32" else name
    kind = getattr(ml_dtypes, known, None) or getattr(np, known)
    return values.astype(np.float32).astype(kind).view(code_type(form))


def finite(codes: Codes, name: str) -> Codes:
    """The same with NaN and infinities turned into middling values."""
    form = formats.get(name)
    if form.kind == "int":
        return codes
    bad = ~np.isfinite(formats.decode_array(codes, name))
    flipped = codes ^ codes.dtype.type(1 << (form.storage_bits - 2))
    return np.where(bad, flipped, codes)


def negated(codes: Codes, name: str) -> Codes:
    """Minus the values; of -128, itself."""
    form = formats.get(name)
    if form.kind == "int":
        return (-codes.view(getattr(np, name))).view(codes.dtype)
    return codes ^ codes.dtype.type(1 << (form.storage_bits - 1))


def extremes(name: str) -> Codes:
    """Codes at the ends of a format: NaN, infinity, largest, zeros, subnormals, each with both signs."""
    form = formats.get(name)
    if form.kind == "int":
        return np.array([1 << (form.bits - 1), (1 << (form.bits - 1)) - 1, 0, (1 << form.bits) - 1], code_type(form))
    mantissa = form.mantissa_bits
    largest = int(form.max_magnitude)
    top = (1 << (form.bits - 1)) - 1  # all ones: NaN wherever there is one
    magnitudes = [0, 1, (1 << mantissa) - 1, 1 << mantissa, largest, min(largest + 1, top), top]
    both = [magnitude | sign << (form.bits - 1) for magnitude in magnitudes for sign in (0, 1)]
    return np.array([code << form.pad_bits for code in both], code_type(form))
