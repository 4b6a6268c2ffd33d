"""Split-k: blocks along z share an output tile, each sums a part of k, and atomics join the parts."""

from numba import cuda, float32


def split_k(tile):
    """The tiled kernel whose k is shared out to gridDim.z blocks, in whole tiles."""

    @cuda.jit
    def kernel(a, b, c):
        """C += A B, float32: C must hold zeros, or what is to be added to. Columns of C along x."""
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.y * tile + y
        col = cuda.blockIdx.x * tile + x
        a_tile = cuda.shared.array((tile, tile), float32)
        b_tile = cuda.shared.array((tile, tile), float32)
        total = float32(0)
        for start in range(cuda.blockIdx.z * tile, a.shape[1], cuda.gridDim.z * tile):
            value = float32(0)
            if row < a.shape[0] and start + x < a.shape[1]:
                value = a[row, start + x]
            a_tile[y, x] = value
            value = float32(0)
            if start + y < b.shape[0] and col < b.shape[1]:
                value = b[start + y, col]
            b_tile[y, x] = value
            cuda.syncthreads()
            for i in range(tile):
                total += a_tile[y, i] * b_tile[i, x]
            cuda.syncthreads()
        if row < c.shape[0] and col < c.shape[1]:
            cuda.atomic.add(c, (row, col), total)

    return kernel


TILE = 16
PARTS = 4
kernel = split_k(TILE)
