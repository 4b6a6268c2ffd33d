"""Reordered: k before j, so that the innermost loop runs along rows of B and C and the compiler makes vectors of it."""

from __future__ import annotations

from typing import Any

from numba import njit


def loops(a, b, c):
    """C = A B of two-dimensional arrays in any layout; only rows of B without stride make vectors."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0
        for k in range(a.shape[1]):
            left = a[i, k]
            for j in range(c.shape[1]):
                c[i, j] += left * b[k, j]


# A product and its sum may become one instruction, rounded once; their order stays.
kernel: Any = njit(nogil=True, fastmath={"contract"})(loops)
