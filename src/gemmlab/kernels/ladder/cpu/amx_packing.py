"""Packing for AMX: bfloat16 as tiles of 16 rows of 64 bytes, B's k in pairs, edges filled up with zeros.

Words are uint16 in one dimension, sizes and strides in elements. A's tiles: 16 rows of C by 32 of k; B's: 16 pairs of
k by 16 columns of C, the pair side by side. Panels of 32 rows or columns hold two tiles for each 32 of k.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit

TILE, STEP = 512, 1024  #: bfloat16 of a tile, and of a panel's two for a step of k
SUMS, BLOCK = 256, 1024  #: float32 of a tile, and of a block of four


@njit(nogil=True)
def pack_a(out, source, row_stride, k_stride, rows, k):
    """Rows of A into panels (panel, step of k, half, row, k)."""
    steps = (k + 31) // 32
    for panel in range((rows + 31) // 32):
        for line in range(32):
            row = panel * 32 + line
            there = row * row_stride
            for step in range(steps):
                place = (panel * steps + step) * STEP + line // 16 * TILE + line % 16 * 32
                tile = out[place : place + 32]
                count = min(32, k - step * 32) if row < rows else 0
                if count == 32 and k_stride == 1:
                    tile[:] = source[there + step * 32 : there + step * 32 + 32]
                    continue
                for inner in range(count):
                    tile[inner] = source[there + (step * 32 + inner) * k_stride]
                tile[count:] = 0


@njit(nogil=True)
def pack_b(out, source, k_stride, column_stride, columns, k):
    """Columns of B into panels (panel, step of k, half, pair of k, column, of the pair)."""
    steps = (k + 31) // 32
    for step in range(steps):
        for half in range((columns + 31) // 32 * 2):
            first = half * 16
            count = max(0, min(16, columns - first))
            for pair in range(16):
                place = (half // 2 * steps + step) * STEP + half % 2 * TILE + pair * 32
                words = out[place : place + 32]
                inner = step * 32 + pair * 2
                there = inner * k_stride + first * column_stride
                if count == 16 and inner + 1 < k:
                    if column_stride == 1:
                        low, high = source[there : there + 16], source[there + k_stride : there + k_stride + 16]
                        for column in range(16):
                            words[2 * column] = low[column]
                            words[2 * column + 1] = high[column]
                    else:
                        for column in range(16):
                            words[2 * column] = source[there + column * column_stride]
                            words[2 * column + 1] = source[there + column * column_stride + k_stride]
                    continue
                words[:] = 0
                for column in range(count):
                    for odd in range(min(2, k - inner)):
                        words[2 * column + odd] = source[there + column * column_stride + odd * k_stride]


@njit(nogil=True)
def rounded(out, words):
    """float32, as its words, to the nearest bfloat16, ties to even; NaN stays one."""
    for i in range(len(out)):
        word = words[i]
        near = word + np.uint32(0x7FFF) + ((word >> np.uint32(16)) & np.uint32(1))
        lost = (word & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
        out[i] = np.uint16((word | np.uint32(0x400000) if lost else near) >> np.uint32(16))


@njit(nogil=True)
def copied(out, words):
    """float32 as it is, as words."""
    for i in range(len(out)):
        out[i] = words[i]


@cache
def unpacker(put: Any) -> Any:
    """A function that writes blocks (column, row, 2, 2, 16, 16) of float32, as words, into rows of C by `put`."""

    @njit(nogil=True)
    def unpack(out, row_stride, start, blocks, rows, columns):
        down = (rows + 31) // 32
        for i in range(rows):
            for first in range(0, columns, 16):
                block = first // 32 * down + i // 32
                tile = i % 32 // 16 * 2 + first % 32 // 16
                place = block * BLOCK + tile * SUMS + i % 16 * 16
                to, count = start + i * row_stride + first, min(16, columns - first)
                put(out[to : to + count], blocks[place : place + count])

    return unpack
