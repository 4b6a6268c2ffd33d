"""Packing: blocks of A and B copied into the order in which the micro-kernel reads them, filled up with zeros.

A ragged edge so costs a few products with zero and needs no kernel of its own; and whatever the layout, the strides
meet it here and nowhere else. Arrays are one-dimensional, sizes and strides in elements.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import njit


@cache
def packer(width: int) -> Any:
    """A function that packs lines of k into panels of `width` neighbouring lines: (panel, k, line).

    Lines are A's rows or B's columns: `across` elements lie between two, `along` between two steps of k.
    """

    @njit(nogil=True)
    def pack(out, source, start, across, along, lines, steps, padded):
        for first in range(0, lines, width):
            panel = out[first * padded : (first + width) * padded]
            count = min(width, lines - first)
            at = start + first * across
            if count < width:
                panel[:] = 0
                for k in range(steps):
                    for line in range(count):
                        panel[k * width + line] = source[at + line * across + k * along]
            elif across == 1:
                for k in range(steps):
                    for line in range(width):
                        panel[k * width + line] = source[at + line + k * along]
            else:
                for k in range(steps):
                    for line in range(width):
                        panel[k * width + line] = source[at + line * across + k * along]
            panel[steps * width :] = 0

    return pack
