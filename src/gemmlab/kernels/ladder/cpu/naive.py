"""Naive: an element of C at a time, the dot product of a row of A and a column of B."""

from __future__ import annotations

from typing import Any

from numba import njit


def loops(a, b, c):
    """C = A B of two-dimensional arrays in any layout; sums in C's type, in the order of k."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = c.dtype.type(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


kernel: Any = njit(nogil=True)(loops)
