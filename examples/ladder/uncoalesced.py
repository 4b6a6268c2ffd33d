"""Uncoalesced: naive with x along a column of C, so that a warp's threads read A and write C whole rows apart."""

from numba import cuda, float32


@cuda.jit
def kernel(a, b, c):
    """C = A B, float32; x runs down a column of C. Launch at least c.shape threads, rows along x."""
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        i = 0
        while i < a.shape[1]:  # numba-cuda counts a `range` in four times the instructions
            total += a[row, i] * b[i, col]
            i += 1
        c[row, col] = total
