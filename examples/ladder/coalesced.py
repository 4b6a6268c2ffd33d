"""Coalesced: a warp stays in one row of C, so that it reads one element of A and 128 consecutive bytes of B."""

from numba import cuda, float32

WIDTH = 32  # columns of C in a block: the threads of a warp
HEIGHT = 8  # rows of C in a block


@cuda.jit
def kernel(a, b, c):
    """C = A B, float32. A block has WIDTH * HEIGHT threads along x and computes HEIGHT x WIDTH of C."""
    thread = cuda.threadIdx.x
    row = cuda.blockIdx.y * HEIGHT + thread // WIDTH
    col = cuda.blockIdx.x * WIDTH + thread % WIDTH
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        i = 0
        while i < a.shape[1]:  # numba-cuda counts a `range` in four times the instructions
            total += a[row, i] * b[i, col]
            i += 1
        c[row, col] = total
