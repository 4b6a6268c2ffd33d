"""Arithmetic on codes of a float format, written without branches so that LLVM makes vectors of loops around it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from gemmlab.formats import Format
from gemmlab.numerics.fast.jit import compiled

RZ, RNE, RNA, FLOOR = 0, 1, 2, 3
MODES = {"rz": RZ, "rne": RNE, "rna": RNA, "floor": FLOOR}
FRACTION = (1 << 52) - 1  # of float64
MAGIC_WORD = 0x4338000000000000  # of MAGIC
MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it leaves a whole number below 2^51 in the mantissa


class Target(NamedTuple):
    """The accumulator's format and how sums are rounded into it; numba reads it as integers."""

    min_exponent: int
    mantissa_bits: int
    sign: int  #: its bit
    infinity: int  #: code of +Inf
    width: int  #: fraction bits kept
    subnormal_inputs: int
    subnormal_outputs: int
    zero_exponent: int  #: what a zero counts with
    nan_code: int


def target(form: Format, width: int, inputs: bool, outputs: bool, zero_exponent: int, nan_code: int) -> Target:
    """The fields of a format as `Target` wants them; of 64 bits the sign is the negative number int64 gives it."""
    sign = 1 << (form.bits - 1)
    return Target(
        form.min_exponent, form.mantissa_bits, sign if form.bits < 64 else -sign, form.max_magnitude + 1, width,
        int(inputs), int(outputs), zero_exponent, nan_code if nan_code < 1 << 63 else nan_code - (1 << 64),
    )  # fmt: skip


@intrinsic
def float_of(typingctx: Any, word: Any) -> Any:
    """The float64 whose bits an int64 holds."""
    return types.float64(types.int64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.DoubleType()
    )


@intrinsic
def word_of(typingctx: Any, value: Any) -> Any:
    """The bits of a float64 as an int64."""
    return types.int64(types.float64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.IntType(64)
    )


@intrinsic
def moved(typingctx: Any, value: Any, left: Any, right: Any) -> Any:
    """(value << left) >> right of a value without sign, in its own type, which numba's shifts would widen."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        up = context.cast(builder, args[1], left, value)
        down = context.cast(builder, args[2], right, value)
        return builder.lshr(builder.shl(args[0], up), down)

    return value(value, left, right), codegen


@compiled
def cut(magnitude: int, shift: int, negative: int, mode: int) -> int:
    """A magnitude below 2^61 shifted right by 0..62, rounded by the mode; `negative` is 1 or 0, for floor."""
    unit = 1 << shift
    half = unit >> 1
    bias = 0
    if mode == RNE:
        bias = half - (1 - ((magnitude >> shift) & 1)) if shift > 0 else 0
    elif mode == RNA:
        bias = half
    elif mode == FLOOR:
        bias = (unit - 1) & -negative
    return (magnitude + bias) >> shift


@compiled
def packed(total: int, scale: int, mode: int, signed: int, to: Target) -> int:
    """The code of total * 2**scale with |total| < 2^51, rounded once; `signed` as for `rounded`."""
    negative = (total >> 63) & 1
    magnitude = abs(total)
    word = word_of(float_of(magnitude + MAGIC_WORD) - MAGIC)
    exponent = (word >> 52) - 1023 + scale
    mantissa = (word & FRACTION) | (1 << 52) if magnitude != 0 else 0
    return rounded(mantissa, exponent, negative, mode, signed, np.int64(52), to)


@compiled
def rounded(mantissa: int, exponent: int, negative: int, mode: int, signed: int, point: int, to: Target) -> int:
    """The code of a magnitude mantissa * 2**(exponent - point), whose leading bit is 2**point unless it is 0.

    With `signed` what rounds to zero keeps its sign.
    """
    top = max(exponent, to.min_exponent)
    whole = cut(mantissa, min(point - to.width + top - exponent, 62), negative, mode)
    # Past the range the exponent stops where the code is that of an infinity already.
    stored = min(top - to.min_exponent, (to.infinity >> to.mantissa_bits) - 1)
    code = (stored << to.mantissa_bits) + (whole << (to.mantissa_bits - to.width))
    # A carry on top of that would leave 63 bits, so float64 is not asked for its minimum.
    past = stored == (to.infinity >> to.mantissa_bits) - 1 and mantissa != 0
    code = to.infinity if past else min(code, to.infinity)
    if mantissa == 0 or (whole >> to.width == 0 and to.subnormal_outputs == 0):
        code = 0
    return code | (to.sign if negative != 0 and (code != 0 or signed != 0) else 0)


@compiled
def unpacked(code: int, to: Target) -> tuple[int, int]:
    """(exponent, signed significand) of a finite code; a zero has the unit's exponent for zeros."""
    magnitude = code & (to.infinity | (to.infinity - 1))
    stored = magnitude >> to.mantissa_bits
    significand = (magnitude & ((1 << to.mantissa_bits) - 1)) | (1 << to.mantissa_bits if stored > 0 else 0)
    if stored == 0 and to.subnormal_inputs == 0:
        significand = 0
    exponent = max(stored, 1) + to.min_exponent - 1
    return (to.zero_exponent if significand == 0 else exponent), (-significand if code & to.sign else significand)


@compiled
def magnitude_of(code: int, to: Target) -> int:
    """The code without its sign: `infinity` for Inf, above it for NaN."""
    return code & (to.infinity | (to.infinity - 1))


@compiled
def value_of(code: int, to: Target) -> float:
    """The value of a finite float16 or float32 code, subnormals as the unit reads them."""
    exponent, significand = unpacked(code, to)
    exponent = exponent if significand != 0 else 0
    return significand * float_of((exponent - to.mantissa_bits + 1023) << 52)


@compiled
def plus(x: int, y: int, mode: int, to: Target) -> int:
    """The code of x + y for float16 and float32, rounded once to the width."""
    a, b = value_of(x, to), value_of(y, to)
    near = a + b
    shadow = near - a
    error = (a - (near - shadow)) + (b - shadow)
    # Rounding to odd keeps what is lost as a sticky last bit, so that the second rounding is the only one.
    word = word_of(near)
    outward = 1 if (error > 0) == (near > 0) else -1
    word += outward if error != 0 and word & 1 == 0 else 0
    mantissa = (word & FRACTION) | (1 << 52) if near != 0 else 0
    code = rounded(mantissa, ((word >> 52) & 0x7FF) - 1023, (word >> 63) & 1, mode, np.int64(1), np.int64(52), to)
    p, q = magnitude_of(x, to), magnitude_of(y, to)
    if p >= to.infinity or q >= to.infinity:
        code = x if p >= to.infinity else y
        if p > to.infinity or q > to.infinity or (p == q and x != y):
            code = to.nan_code
    return code
