"""Small kernels that race, and a tiled matmul of tiles of any side up to 8, with and without its barriers."""

import numpy as np
from numba import cuda, float32

SIDE = 8
BOTH, NO_FIRST, NO_SECOND = (True, True), (False, True), (True, False)  # barriers of `tiled`


@cuda.jit
def tiled(a, b, c, first, second):
    """A matmul whose barriers are switched at run time: a program of its own for each case takes long to compile."""
    sa = cuda.shared.array((SIDE, SIDE), float32)
    sb = cuda.shared.array((SIDE, SIDE), float32)
    tx, ty, tile = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    n = a.shape[0]
    s = float32(0)
    for k0 in range(0, n, tile):
        sa[ty, tx] = a[row, k0 + tx] if row < n and k0 + tx < n else float32(0)
        sb[ty, tx] = b[k0 + ty, col] if col < n and k0 + ty < n else float32(0)
        if first:
            cuda.syncthreads()
        for k in range(tile):
            s += sa[ty, k] * sb[k, tx]
        if second:
            cuda.syncthreads()
    if row < n and col < n:
        c[row, col] = s


@cuda.jit
def reads_written_down(a, reads):
    """One tile whose first barrier is missing; every read of the tile is an output of its own."""
    sa = cuda.shared.array((SIDE, SIDE), float32)
    sb = cuda.shared.array((SIDE, SIDE), float32)
    tx, ty, tile = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    sa[ty, tx] = a[ty, tx]
    sb[ty, tx] = a[ty, tx]
    for k in range(tile):
        reads[ty * tile + tx, k, 0] = sa[ty, k]
        reads[ty * tile + tx, k, 1] = sb[k, tx]


@cuda.jit
def lost_update(counts):
    counts[0] += 1


@cuda.jit
def shared_update(counts):
    """numba#4907: a sum in shared memory without an atomic."""
    total = cuda.shared.array(1, float32)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    total[0] += 1
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        counts[0] = total[0]


@cuda.jit
def tree_sum(values, sums):
    """kaldi#2604: a tree sum whose last steps count on the threads of a warp keeping step."""
    partial = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    partial[t] = values[t]
    cuda.syncthreads()
    if t < 32:
        partial[t] += partial[t + 32]
        partial[t] += partial[t + 16]
        partial[t] += partial[t + 8]
        partial[t] += partial[t + 4]
        partial[t] += partial[t + 2]
        partial[t] += partial[t + 1]
    if t == 0:
        sums[0] = partial[0]


def matrices(n, seed=0):
    """Two matrices of whole numbers from 1 to 499: sums are exact, and a wrong one is seldom right by luck."""
    rng = np.random.default_rng(seed)
    return [rng.integers(1, 500, (n, n)).astype(np.float32) for _ in range(2)]
