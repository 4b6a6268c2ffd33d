"""A pipelined matmul fetches two tiles ahead into two buffers: the one it fills is the one that others still read.

The issue is of a compiler's pipelining, with few wrong elements; this is that fault as a kernel. Three buffers mend it.
"""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of

TILE = 8
AHEAD = 2


def pipelined(buffers):
    @cuda.jit
    def kernel(a, b, c):
        a_tiles = cuda.shared.array((buffers, TILE, TILE), float32)
        b_tiles = cuda.shared.array((buffers, TILE, TILE), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        col, row = cuda.grid(2)
        steps = a.shape[1] // TILE
        for step in range(min(AHEAD, steps)):
            a_tiles[step, y, x] = a[row, step * TILE + x]
            b_tiles[step, y, x] = b[step * TILE + y, col]
        total = float32(0)
        for step in range(steps):
            cuda.syncthreads()
            for i in range(TILE):
                total += a_tiles[step % buffers, y, i] * b_tiles[step % buffers, i, x]
            later = step + AHEAD
            if later < steps:
                a_tiles[later % buffers, y, x] = a[row, later * TILE + x]
                b_tiles[later % buffers, y, x] = b[later * TILE + y, col]
        c[row, col] = total

    return kernel


faulty = pipelined(2)
mended = pipelined(3)

PAIR = Pair(
    source="https://github.com/tile-ai/tilelang/issues/96",
    faulty=Launch(faulty, (2, 2), (TILE, TILE), product_of(16, 16, 40)),
    mended=Launch(mended, (2, 2), (TILE, TILE), product_of(16, 16, 40)),
    answer=product,
    kinds=frozenset({"shared_race"}),
    quiet=Launch(faulty, (2, 2), (TILE, TILE), product_of(16, 16, 16)),
)
