"""Operands that bring out every rule: drawn codes, near-cancelling values, extremes, special ones, and drawn units."""

import numpy as np

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import Operand

KINDS = ("codes", "values", "sprinkled", "cancelling", "extremes")
NAN_CODES = {"float16": 0x7FFF, "float32": 0x7FFFFFFF, "float64": 0x7FF8 << 48}


def every_code(rng, form, shape):
    """Codes drawn evenly: all exponents, subnormals, zeros, NaN and infinities of the format."""
    return rng.integers(0, 1 << form.bits, shape, dtype=np.uint64) << np.uint64(form.pad_bits)


def values(rng, form, shape):
    """Codes of normally distributed values over a few binades."""
    if form.kind == "int":
        return every_code(rng, form, shape)
    drawn = rng.standard_normal(shape) * 2.0 ** rng.integers(-3, 4, shape)
    drawn = np.abs(drawn) if not form.signed else drawn
    return formats.encode_array(drawn, form).astype(np.uint64)


def operand(rng, name, shape, kind, along=1):
    """An operand of one of KINDS, k running along the axis `along`."""
    form = formats.get(name)
    codes = values(rng, form, shape)
    if kind == "codes":
        codes = every_code(rng, form, shape)
    elif kind == "sprinkled":
        codes = np.where(rng.random(shape) < 0.03, every_code(rng, form, shape), codes)
    elif kind == "cancelling" and form.kind == "float" and form.signed:
        # Neighbours in k that differ in sign, the last bit, or not at all.
        turned = np.moveaxis(codes, along, 1)
        pairs = turned.shape[1] // 2 * 2
        flip = np.uint64(1) << np.uint64(form.bits - 1 + form.pad_bits)
        last = rng.integers(0, 2, turned[:, :pairs:2].shape, dtype=np.uint64) << np.uint64(form.pad_bits)
        turned[:, 1:pairs:2] = turned[:, :pairs:2] ^ flip ^ last
        codes = np.moveaxis(turned, 1, along)
    elif kind == "extremes" and form.kind == "float":
        sign = 1 << (form.bits - 1) if form.signed else 0
        chosen = [0, sign, 1, 1 | sign, form.max_magnitude, form.max_magnitude | sign, form.max_magnitude // 2]
        chosen += [form.max_magnitude + 1] if form.infinity else []
        codes = rng.choice(np.array(chosen, np.uint64), shape) << np.uint64(form.pad_bits)
    return Operand(np.ascontiguousarray(codes.astype(code_type(form))), name)


def problem(rng, unit, shape, kind, addend="values"):
    """(A, B, C's codes, scales) of shape (m, n, k) for a unit; the formats of A and B are drawn from its own."""
    m, n, k = shape
    names = rng.choice(unit.a_formats), rng.choice(unit.b_formats)
    a, b = operand(rng, str(names[0]), (m, k), kind), operand(rng, str(names[1]), (k, n), kind, along=0)
    c = operand(rng, unit.accumulate, (m, n), addend).codes
    scales = None
    if unit.scaled:
        blocks = -(-k // unit.scale_block)
        name = str(rng.choice(unit.scale_formats))
        kind = "codes" if kind == "codes" else "values"
        scales = operand(rng, name, (m, blocks), kind), operand(rng, name, (blocks, n), kind)
    return a, b, c, scales


def drawn_unit(rng):
    """A unit that nobody has built: widths, cuts, groups, order and addend at random."""
    wide = int(rng.integers(8, 31))
    accumulate = "float64" if wide > 23 else str(rng.choice(["float32", "float32", "float64", "float16"]))
    width = min(wide, 10) if accumulate == "float16" else wide
    formats_here = ("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "tfloat32", "float6_e3m2fn")
    name = str(rng.choice(formats_here))
    terms, times = int(rng.integers(1, 65)), int(rng.integers(1, 4))
    late = bool(rng.random() < 0.4)
    return Unit(
        name="drawn",
        a_formats=(name,),
        b_formats=(name,),
        accumulate=accumulate,
        terms=terms,
        instruction_k=terms * times,
        order="parity" if late and times == 2 else "ascending",
        align_bits=int(rng.integers(8, 37)),
        cut=str(rng.choice(["rz", "rz", "rne", "floor", "rna"])),
        width=width,
        rounding=str(rng.choice(["rz", "rne", "floor", "rna"])),
        c="late" if late else "early",
        c_rounding=str(rng.choice(["rz", "rne", "floor", "rna"])),
        zero_exponent=(None, -133, -20, -5)[int(rng.integers(4))],
        subnormal_inputs=bool(rng.random() < 0.8),
        subnormal_outputs=bool(rng.random() < 0.8),
        negative_zero=str(rng.choice(["positive", "positive", "ieee", "rounded"])),
        nan_code=NAN_CODES[accumulate] if rng.random() < 0.9 else 0,
    )
