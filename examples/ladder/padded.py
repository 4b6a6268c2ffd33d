"""Padded: A's tile is staged transposed, and one unused column keeps its stores out of each other's banks."""

from numba import cuda, float32


def padded(tile, pad):
    """The kernel of tile x tile threads whose transposed A tile has pad more columns than it uses."""
    width = tile + pad

    @cuda.jit
    def kernel(a, b, c):
        """C = A B, float32; columns of C along x."""
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.y * tile + y
        col = cuda.blockIdx.x * tile + x
        a_tile = cuda.shared.array((tile, width), float32)
        b_tile = cuda.shared.array((tile, tile), float32)
        total = float32(0)
        for start in range(0, a.shape[1], tile):
            value = float32(0)
            if row < a.shape[0] and start + x < a.shape[1]:
                value = a[row, start + x]
            a_tile[x, y] = value  # a warp stores down a column: words `width` apart
            value = float32(0)
            if start + y < b.shape[0] and col < b.shape[1]:
                value = b[start + y, col]
            b_tile[y, x] = value
            cuda.syncthreads()
            for i in range(tile):
                total += a_tile[i, y] * b_tile[i, x]
            cuda.syncthreads()
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = total

    return kernel


TILE = 32
PAD = 1
kernel = padded(TILE, PAD)
unpadded = padded(TILE, 0)  # the same, its 32 stores of a warp all to one bank
