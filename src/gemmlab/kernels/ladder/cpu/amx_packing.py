"""Packing for AMX: bfloat16 as tiles of 16 rows of 64 bytes, edges filled up with zeros; sums back into rows of C.

A's tiles are 16 rows of C by 32 of k; B's 16 pairs of k by 16 columns of C, a pair side by side. Either is 16 x 16
pairs and the other's transpose, so what lies along k is copied, what lies across is woven to pairs, and one of the two
has to be turned. Words are uint16 in one dimension, sizes and strides in elements.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from gemmlab.kernels.ladder.cpu.micro_kernel import I64, Emitter, pointer
from gemmlab.kernels.ladder.cpu.packing import turned

TILE, STEP = 512, 1024  #: bfloat16 of a tile, and of a panel's two for a step of k
SUMS, BLOCK = 256, 1024  #: float32 of a tile, and of a block of four
I16, I32 = ir.IntType(16), ir.IntType(32)
PAIRS, HALVES, WORDS = (ir.VectorType(kind, count) for kind, count in ((I32, 16), (I16, 16), (I16, 32)))


def at(builder: Any, start: Any, elements: Any, kind: Any) -> Any:
    """A pointer to a vector so many elements ahead."""
    elements = ir.Constant(I64, elements) if isinstance(elements, int) else elements
    return builder.bitcast(builder.gep(start, [elements]), kind.as_pointer())


def load(builder: Any, place: Any) -> Any:
    """A vector, at any element's address."""
    loaded = builder.load(place)
    loaded.align = 2
    return loaded


def woven(builder: Any, source: Any, along: Any, pair: int) -> Any:
    """16 pairs of two neighbouring k, from lines side by side."""
    low, high = (
        load(builder, at(builder, source, builder.mul(along, ir.Constant(I64, 2 * pair + odd)), HALVES))
        for odd in range(2)
    )
    order = [lane // 2 + lane % 2 * 16 for lane in range(32)]
    both = builder.shuffle_vector(low, high, ir.Constant(ir.VectorType(I32, 32), order))
    return builder.bitcast(both, PAIRS)


def copied_along(builder: Any, source: Any, across: Any, line: int) -> Any:
    """16 pairs of one line, which lies along k."""
    place = at(builder, source, builder.mul(across, ir.Constant(I64, line)), PAIRS)
    return load(builder, place)


def tile_function(rows_of: Any, turn: bool) -> Any:
    """A function (out, source, stride) that packs one tile of rows that `rows_of` makes, turned if so."""
    words = types.CPointer(types.uint16)

    @intrinsic
    def function(typing: Any, out: Any, source: Any, stride: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            out, source, stride = arguments
            rows = [rows_of(builder, source, stride, row) for row in range(16)]
            for row, value in enumerate(turned(Emitter(builder, 4, 16), rows) if turn else rows):
                builder.store(value, at(builder, out, row * 32, PAIRS)).align = 64
            return context.get_dummy_value()

        return types.void(words, words, types.int64), generate

    return function


@cache
def tile_packer(pairs_first: bool) -> Any:
    """A function that packs lines of k into panels of 32 lines: (panel, step of k, half, line, k), or as B's tiles are.

    (out, source, across, along, lines, k): `across` elements between two lines, `along` between two of k.
    """
    from_along, from_across = tile_function(copied_along, pairs_first), tile_function(woven, not pairs_first)
    words = types.Array(types.uint16, 1, "C")

    @njit(types.void(words, words, *[types.int64] * 4), nogil=True)
    def pack(out, source, across, along, lines, k):
        steps = (k + 31) // 32
        halves = (lines + 31) // 32 * 2
        for index in range(steps * halves):
            # Memory is walked along its rows, whichever those are.
            step, half = (index % steps, index // steps) if along == 1 else (index // halves, index % halves)
            to = (half // 2 * steps + step) * STEP + half % 2 * TILE
            start = half * 16 * across + step * 32 * along
            inside = half * 16 + 16 <= lines and step * 32 + 32 <= k
            if inside and along == 1:
                from_along(pointer(out, to), pointer(source, start), across)
            elif inside and across == 1:
                from_across(pointer(out, to), pointer(source, start), along)
            else:
                for line in range(16):
                    for inner in range(32):
                        place = inner // 2 * 32 + line * 2 + inner % 2 if pairs_first else line * 32 + inner
                        kept = half * 16 + line < lines and step * 32 + inner < k
                        out[to + place] = source[start + line * across + inner * along] if kept else 0

    return pack


def emit_rounding(builder: Any, words: Any) -> Any:
    """float32, as its words, to the nearest bfloat16, ties to even; NaN stays one."""

    def same(value: int) -> Any:
        return ir.Constant(PAIRS, [value] * 16)

    odd = builder.and_(builder.lshr(words, same(16)), same(1))
    near = builder.add(builder.add(words, same(0x7FFF)), odd)
    nan = builder.icmp_unsigned(">", builder.and_(words, same(0x7FFFFFFF)), same(0x7F800000))
    chosen = builder.select(nan, builder.or_(words, same(0x400000)), near)
    return builder.trunc(builder.lshr(chosen, same(16)), HALVES)


def row_function(wide: bool) -> Any:
    """A function (out, sums) that writes 16 sums as they are, where `wide`, or rounded to bfloat16."""
    word = types.uint32 if wide else types.uint16

    @intrinsic
    def function(typing: Any, out: Any, sums: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            out, sums = arguments
            words = load(builder, at(builder, sums, 0, PAIRS))
            value = words if wide else emit_rounding(builder, words)
            builder.store(value, at(builder, out, 0, value.type)).align = 2
            return context.get_dummy_value()

        return types.void(types.CPointer(word), types.CPointer(types.uint32)), generate

    return function


@cache
def unpacker(wide: bool) -> Any:
    """A function that writes blocks (column, row, 2, 2, 16, 16) of float32, as words, into rows of C.

    (out, row_stride, start, blocks, rows, columns, edge), with room for 16 elements of C in `edge`.
    """
    put = row_function(wide)

    @njit(nogil=True)
    def unpack(out, row_stride, start, blocks, rows, columns, edge):
        down = (rows + 31) // 32
        for i in range(rows):
            for first in range(0, columns, 16):
                block = first // 32 * down + i // 32
                tile = i % 32 // 16 * 2 + first % 32 // 16
                sums = pointer(blocks, block * BLOCK + tile * SUMS + i % 16 * 16)
                to = start + i * row_stride + first
                if first + 16 <= columns:
                    put(pointer(out, to), sums)
                    continue
                put(pointer(edge, 0), sums)
                for column in range(columns - first):
                    out[to + column] = edge[column]

    return unpack
