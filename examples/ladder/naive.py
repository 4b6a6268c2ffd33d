"""Naive: one thread an output, both operands straight from global memory."""

from numba import cuda, float32


@cuda.jit
def kernel(a, b, c):
    """C = A B, float32; x runs along a row of C. Launch at least c.shape threads, columns along x."""
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total
