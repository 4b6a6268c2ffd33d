"""Packing: blocks of A and B copied into the order in which the micro-kernel reads them, filled up with zeros.

A ragged edge so costs a few products with zero and needs no kernel of its own; and whatever the layout, the strides
meet it here and nowhere else. Arrays are one-dimensional, sizes and strides in elements.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from gemmlab.kernels.ladder.cpu.micro_kernel import I32, Emitter, pointer, whole


def turned(e: Emitter, rows: list[Any]) -> list[Any]:
    """The transpose of a square of vectors: off-diagonal blocks of half the side change places, then of a quarter..."""
    half = e.lanes // 2
    while half:
        for i in (each for each in range(e.lanes) if not each & half):
            upper, lower = rows[i], rows[i + half]
            kept = [lane if not lane & half else e.lanes + (lane ^ half) for lane in range(e.lanes)]
            moved = [e.lanes + lane if lane & half else lane ^ half for lane in range(e.lanes)]
            for place, lanes in ((i, kept), (i + half, moved)):
                rows[place] = e.b.shuffle_vector(upper, lower, ir.Constant(ir.VectorType(I32, e.lanes), lanes))
        half //= 2
    return rows


def emit_turn(e: Emitter, width: int, out: Any, source: Any, across: Any) -> None:
    """`lanes` steps of k of a panel, from lines of which each is without stride."""
    for first in range(0, width, e.lanes):
        count = min(e.lanes, width - first)
        starts = [e.b.mul(across, whole(first + line)) for line in range(count)]
        rows = [e.load(e.place(source, start)) for start in starts]
        empty = ir.Constant(e.vector, ir.Undefined)
        for k, column in enumerate(turned(e, rows + [empty] * (e.lanes - count))):
            kept = e.b.shuffle_vector(column, empty, ir.Constant(ir.VectorType(I32, count), list(range(count))))
            place = e.b.gep(out, [whole(k * width + first)])
            e.store(kept, e.b.bitcast(place, kept.type.as_pointer()))


def emit_copy(e: Emitter, width: int, out: Any, source: Any, across: Any) -> None:
    """One step of k of a panel, from lines that lie side by side."""
    kind = ir.VectorType(e.element, width).as_pointer()
    e.store(e.load(e.b.bitcast(source, kind)), e.b.bitcast(out, kind))


def function_of(emit: Any, width: int, lanes: int, dtype: np.dtype[Any]) -> Any:
    """One of the two above as a function (out, source, across) that numba's functions call with `pointer`s."""
    pointer_type = types.CPointer(from_dtype(dtype))

    @intrinsic
    def function(typing: Any, out: Any, source: Any, across: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            emit(Emitter(builder, dtype.itemsize, lanes), width, *arguments)
            return context.get_dummy_value()

        return types.void(pointer_type, pointer_type, types.int64), generate

    return function


@cache
def packer(width: int, lanes: int, dtype: np.dtype[Any]) -> Any:
    """A function that packs lines of k into panels of `width` neighbouring lines: (panel, k, line).

    Lines are A's rows or B's columns: `across` elements lie between two, `along` between two steps of k.
    """
    turn, copy = (function_of(emit, width, lanes, dtype) for emit in (emit_turn, emit_copy))

    @njit(nogil=True)
    def pack(out, source, start, across, along, lines, steps, padded):
        for first in range(0, lines, width):
            count, at, to = min(width, lines - first), start + first * across, first * padded
            done = 0
            if count == width and across == 1:
                for k in range(steps):
                    copy(pointer(out, to + k * width), pointer(source, at + k * along), across)
                done = steps
            elif count == width and along == 1:
                done = steps // lanes * lanes
                for k in range(0, done, lanes):
                    turn(pointer(out, to + k * width), pointer(source, at + k), across)
            for k in range(done, padded):
                for line in range(width):
                    kept = line < count and k < steps
                    out[to + k * width + line] = source[at + line * across + k * along] if kept else 0

    return pack
