"""Tiled: a block stages a tile of each operand in shared memory, so that each element is fetched once a block."""

from numba import cuda, float32


def tiled(tile):
    """The kernel whose blocks are tile x tile threads and whose tiles are as large."""

    @cuda.jit
    def kernel(a, b, c):
        """C = A B, float32; columns of C along x. What lies past an edge is staged as zero and changes no sum."""
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.y * tile + y
        col = cuda.blockIdx.x * tile + x
        a_tile = cuda.shared.array((tile, tile), float32)
        b_tile = cuda.shared.array((tile, tile), float32)
        total = float32(0)
        for start in range(0, a.shape[1], tile):
            value = float32(0)
            if row < a.shape[0] and start + x < a.shape[1]:
                value = a[row, start + x]
            a_tile[y, x] = value
            value = float32(0)
            if start + y < b.shape[0] and col < b.shape[1]:
                value = b[start + y, col]
            b_tile[y, x] = value
            cuda.syncthreads()  # nobody reads a tile before all of it is there
            for i in range(tile):
                total += a_tile[y, i] * b_tile[i, x]
            cuda.syncthreads()  # nobody overwrites a tile that another still reads
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = total

    return kernel


TILE = 16
kernel = tiled(TILE)
kernel_8 = tiled(8)  # half the side: each element fetched twice as often
