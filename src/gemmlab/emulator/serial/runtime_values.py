"""Scalar operations that generated code calls where numba's own differ from a GPU's, or where a CPU would trap."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

jit: Any = njit(nogil=True, error_model="numpy", boundscheck=False)


@intrinsic
def fused(typing, x, y, z):  # type: ignore[no-untyped-def]
    """`x * y + z` rounded once, of three floats of one type."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = args[0].type
        name = f"llvm.fma.{'f32' if isinstance(kind, ir.FloatType) else 'f64'}"
        function = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind] * 3))
        return builder.call(function, args)

    return (x(x, y, z), build) if isinstance(x, types.Float) and x == y == z else None


@jit
def half_fused(x, y, z):  # type: ignore[no-untyped-def]
    """`x * y + z` of three halves as a float64 that rounds to the right half.

    The product of 22 bits is exact. Where the sum is not, one operand lies so far below the other that the sum is no
    tie between halves, before or after: to be a tie it would have to end within 12 bits of where it begins.
    """
    return np.float64(x) * np.float64(y) + np.float64(z)


@jit
def quotient(x, y):  # type: ignore[no-untyped-def]
    """`x // y` of integers of one type: 0 for y = 0; the one quotient that does not fit wraps."""
    if y == 0:
        return x - x
    return x // y


@jit
def signed_quotient(x, y):  # type: ignore[no-untyped-def]
    """`x // y` of signed integers: the one quotient that does not fit wraps, where a CPU would trap."""
    if y == -1:
        return -x
    return quotient(x, y)


@jit
def remainder(x, y):  # type: ignore[no-untyped-def]
    """`x % y` of integers, with the sign of y; 0 for y = 0."""
    if y in (0, -1):
        return x - x
    return x % y


@jit
def unsigned_remainder(x, y):  # type: ignore[no-untyped-def]
    """`x % y` of unsigned integers; 0 for y = 0."""
    if y == 0:
        return x - x
    return x % y


@jit
def shifted_left(x, y, width):  # type: ignore[no-untyped-def]
    """`x << y`: nothing is left where all bits are shifted out."""
    if y < 0 or y >= width:
        return x - x
    return x << y


@jit
def shifted_right(x, y, width):  # type: ignore[no-untyped-def]
    """`x >> y`: nothing but the sign is left where all bits are shifted out."""
    if y < 0 or y >= width:
        return x >> (width - 1)
    return x >> y


@jit
def unsigned_shifted_right(x, y, width):  # type: ignore[no-untyped-def]
    """`x >> y` of unsigned integers: nothing is left where all bits are shifted out."""
    if y < 0 or y >= width:
        return x - x
    return x >> y


@jit
def smaller(x, y):  # type: ignore[no-untyped-def]
    """The smaller; of a number and NaN the number."""
    return x if x < y or y != y else y  # noqa: PLR0124 - of integers too


@jit
def larger(x, y):  # type: ignore[no-untyped-def]
    """The larger; of a number and NaN the number."""
    return x if x > y or y != y else y  # noqa: PLR0124 - of integers too


@jit
def set_bits(x, width):  # type: ignore[no-untyped-def]
    """How many of the low `width` bits are set."""
    count = 0
    for bit in range(width):
        count += (x >> np.uint64(bit)) & np.uint64(1)
    return count


@jit
def leading_zeros(x, width):  # type: ignore[no-untyped-def]
    """Zero bits above the highest that is set, of `width`."""
    for bit in range(width):
        if (x >> np.uint64(width - 1 - bit)) & np.uint64(1):
            return bit
    return width


@jit
def first_set(x, width):  # type: ignore[no-untyped-def]
    """The place of the lowest bit that is set, from 1; 0 where none is."""
    for bit in range(width):
        if (x >> np.uint64(bit)) & np.uint64(1):
            return bit + 1
    return 0


@jit
def reversed_bits(x, width):  # type: ignore[no-untyped-def]
    """The low `width` bits in reverse order."""
    result = np.uint64(0)
    for bit in range(width):
        result = (result << np.uint64(1)) | ((x >> np.uint64(bit)) & np.uint64(1))
    return result


@jit
def trips(start, stop, step):  # type: ignore[no-untyped-def]
    """Rounds of `range(start, stop, step)`; none where the step is 0."""
    if step > 0 and stop > start:
        return (stop - start - 1) // step + 1
    if step < 0 and stop < start:
        return (start - stop - 1) // -step + 1
    return 0


@jit
def within(x, extent):  # type: ignore[no-untyped-def]
    """An index, a negative one counted once from the end; below 0 where it is out of range."""
    if x < 0:
        x += extent
    return x if x < extent else np.int64(-1)


@jit
def place1(start, x, extent, step):  # type: ignore[no-untyped-def]
    """Where an element lies, or -1 where the index is out of range."""
    x = within(x, extent)
    return start + x * step if x >= 0 else np.int64(-1)


@jit
def place2(start, x, y, extent, extent_y, step, step_y):  # type: ignore[no-untyped-def]
    """Where an element of an array of two axes lies, or -1."""
    x, y = within(x, extent), within(y, extent_y)
    return start + x * step + y * step_y if x >= 0 and y >= 0 else np.int64(-1)


@jit
def place3(start, x, y, z, extent, extent_y, extent_z, step, step_y, step_z):  # type: ignore[no-untyped-def]
    """Where an element of an array of three axes lies, or -1."""
    x, y, z = within(x, extent), within(y, extent_y), within(z, extent_z)
    return start + x * step + y * step_y + z * step_z if x >= 0 and y >= 0 and z >= 0 else np.int64(-1)


@jit
def fill(memory, value):  # type: ignore[no-untyped-def]
    """All elements take a value."""
    for place in range(memory.size):
        memory[place] = value
