"""Random and adversarial dot products for a matrix unit, as codes of its formats."""

from typing import NamedTuple

import numpy as np

from gemmlab import formats
from gemmlab.formats import Format
from gemmlab.formats.array import code_type
from gemmlab.numerics.behaviour import Unit

Codes = np.ndarray
#: share of the vectors of each kind
KINDS = {
    "normal": 0.15, "wide": 0.25, "cancelling": 0.2, "finite": 0.1, "bits": 0.05, "tiny": 0.07, "huge": 0.05,
    "sparse": 0.05, "special": 0.06, "zeros": 0.02,
}  # fmt: skip
ADDENDS = ("zero", "normal", "wide", "cancelling", "tiny", "huge", "bits", "edge")


class Vectors(NamedTuple):
    """`count` dot products of k terms."""

    a: Codes  #: (count, k)
    b: Codes  #: (count, k)
    c: Codes  #: (count,) of the accumulator's format
    a_scales: Codes | None  #: (count, blocks) of a scaled unit
    b_scales: Codes | None


def vectors(
    unit: Unit, a_format: str, b_format: str, scale_format: str, count: int, k: int, random: np.random.Generator
) -> Vectors:
    """A mixture of all kinds of operands with all kinds of addends, in random order."""
    kinds = random.choice(list(KINDS), count, p=list(KINDS.values()))
    sides = [formats.get(a_format), formats.get(b_format)]
    a, b = (np.zeros((count, k), code_type(form)) for form in sides)
    for kind in KINDS:
        chosen = np.flatnonzero(kinds == kind)
        made = [operands(kind, form, (chosen.size, k), random) for form in sides]
        if kind == "cancelling" and k > 1:
            half = k // 2
            made = [np.concatenate([each[:, :half], each[:, :half], each[:, 2 * half :]], axis=1) for each in made]
            if sides[0].signed and sides[0].kind == "float":
                made[0][:, half : 2 * half] ^= made[0].dtype.type(1 << (sides[0].storage_bits - 1))
                made[0][:, half : 2 * half] = without_nan(made[0][:, half : 2 * half], sides[0])
            # one pair in eight no longer cancels: a step in the last place of B
            made[1][:, half : 2 * half] ^= (random.random((chosen.size, half)) < 1 / 8).astype(made[1].dtype)
            order = random.permuted(np.tile(np.arange(k), (chosen.size, 1)), axis=1)
            made = [np.take_along_axis(each, order, axis=1) for each in made]
        if kind == "zeros" and sides[0].signed_zero and sides[1].signed_zero:
            # zeros of one sign against values of one sign: all products are -0, or all +0
            ends = random.integers(0, 2, (2, chosen.size, 1), dtype=np.uint64)
            for each, form, end in zip((0, 1), sides, ends, strict=True):
                sign = (end << np.uint64(form.storage_bits - 1)).astype(made[each].dtype)
                made[each] = (made[each] & made[each].dtype.type((1 << (form.storage_bits - 1)) - 1)) | sign
            made[0] &= made[0].dtype.type(1 << (sides[0].storage_bits - 1))
        a[chosen], b[chosen] = made
    with np.errstate(all="ignore"):
        sums = np.sum(formats.decode_array(a, sides[0]) * formats.decode_array(b, sides[1]), axis=1)
    scales = [scale_codes(scale_format, (count, k // unit.scale_block), random) for _ in "ab"] if unit.scaled else []
    c = addends(formats.get(unit.accumulate), sums, random)
    return Vectors(a, b, c, *(scales or (None, None)))


def operands(kind: str, form: Format, shape: tuple[int, int], random: np.random.Generator) -> Codes:
    """Codes of one kind; the padding of tfloat32 holds random bits, which nobody may read."""
    if form.kind == "int":
        low = 1 << form.bits
        ends = np.array([0, 1, low // 2 - 1, low // 2, low - 1])
        wild = random.integers(0, low, shape)
        return np.where(random.random(shape) < (kind == "special") * 0.5, random.choice(ends, shape), wild).astype(
            code_type(form)
        )
    top, one = form.max_magnitude, 1 << form.mantissa_bits
    if kind in ("normal", "wide", "special", "cancelling", "zeros"):
        reach = 0 if kind in ("normal", "special", "zeros") else min(1 - form.min_exponent, 40) / 2
        with np.errstate(over="ignore", under="ignore"):
            drawn = random.standard_normal(shape) * np.exp2(random.uniform(-reach, reach, shape))
        codes = formats.encode_array(drawn, form, saturate=True)
        if kind == "special":
            rare = random.random(shape) < 0.5 / shape[1]
            codes = np.where(rare, random.choice(edges(form), shape).astype(codes.dtype), codes)
        return codes
    if kind == "bits":
        return random.integers(0, 1 << form.storage_bits, shape, dtype=np.uint64).astype(code_type(form))
    magnitude = random.integers(0, top + 1, shape, dtype=np.uint64)
    if kind == "tiny":
        magnitude = random.integers(0, 2 * one + 1, shape, dtype=np.uint64)
    elif kind == "huge":
        magnitude = np.uint64(top) - random.integers(0, min(2 * one, top), shape, dtype=np.uint64)
    elif kind == "sparse":
        magnitude *= random.random(shape) < 0.3
    return signed(magnitude, form, random)


def addends(form: Format, sums: np.ndarray, random: np.random.Generator) -> Codes:
    """C of all kinds: some cancel the products' sum, nearly or to the bit."""
    kinds = np.array(ADDENDS)[random.integers(0, len(ADDENDS), sums.size)]
    c = np.zeros(sums.shape, code_type(form))
    for kind in ADDENDS:
        chosen = np.flatnonzero(kinds == kind)
        if kind == "cancelling":
            with np.errstate(all="ignore"):
                wanted = -np.nan_to_num(sums[chosen]) * (1 + random.integers(-1, 2, chosen.size) * 2.0**-20)
            c[chosen] = formats.encode_array(wanted, form, saturate=True)
        elif kind == "zero":
            c[chosen] = random.integers(0, 1 + (form.kind == "float"), chosen.size) << (form.storage_bits - 1)
        elif kind == "edge" and form.kind == "float":
            c[chosen] = random.choice(edges(form), chosen.size)
        else:
            c[chosen] = operands(kind, form, (1, chosen.size), random)[0]
    return c


def scale_codes(name: str, shape: tuple[int, int], random: np.random.Generator) -> Codes:
    """Block scales: near one, or any code at all, NaN among them."""
    form = formats.get(name)
    near = formats.encode_array(np.exp2(random.integers(-6, 7, shape)), form) + random.integers(0, 4, shape)
    wild = random.integers(0, 1 << form.storage_bits, shape)
    return np.where(random.random(shape[0])[:, None] < 0.3, wild, near).astype(np.uint8)


def edges(form: Format) -> Codes:
    """Codes at which something changes: zeros, smallest and largest values, infinities, NaN."""
    magnitudes = [0, 1, (1 << form.mantissa_bits) - 1, 1 << form.mantissa_bits, form.max_magnitude]
    if form.nan in ("ieee", "ones"):
        magnitudes += list({form.max_magnitude + 1, form.nan_magnitude})
    both = magnitudes + [magnitude | 1 << (form.bits - 1) for magnitude in magnitudes]
    return np.array(both, np.uint64) << np.uint64(form.pad_bits)


def signed(magnitude: np.ndarray, form: Format, random: np.random.Generator) -> Codes:
    """Codes with random signs and padding; no NaN where -0 is its code."""
    sign = random.integers(0, 2, magnitude.shape, dtype=np.uint64) << np.uint64(form.bits - 1)
    codes = (magnitude | sign) << np.uint64(form.pad_bits)
    codes |= random.integers(0, 1 << form.pad_bits, magnitude.shape, dtype=np.uint64)
    return without_nan(codes.astype(code_type(form)), form)


def without_nan(codes: Codes, form: Format) -> Codes:
    """The codes with 0 in place of a -0 that would be NaN."""
    if form.nan == "negative_zero":
        return np.where(codes == form.nan_magnitude, 0, codes).astype(codes.dtype)
    return codes
