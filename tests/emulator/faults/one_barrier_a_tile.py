"""A puzzle's tiled dot products without the second barrier: its tests, of few tiles, pass all the same."""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of

TILE = 3


@cuda.jit
def faulty(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    i, j = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        if i < a.shape[0] and start + y < a.shape[1]:
            a_tile[x, y] = a[i, start + y]
        if start + x < b.shape[0] and j < b.shape[1]:
            b_tile[x, y] = b[start + x, j]
        cuda.syncthreads()
        for k in range(min(TILE, a.shape[1] - start)):
            total += a_tile[x, k] * b_tile[k, y]
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@cuda.jit
def mended(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    i, j = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        if i < a.shape[0] and start + y < a.shape[1]:
            a_tile[x, y] = a[i, start + y]
        if start + x < b.shape[0] and j < b.shape[1]:
            b_tile[x, y] = b[start + x, j]
        cuda.syncthreads()
        if i < c.shape[0] and j < c.shape[1]:
            for k in range(min(TILE, a.shape[1] - start)):
                total += a_tile[x, k] * b_tile[k, y]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


PAIR = Pair(
    source="https://github.com/srush/GPU-Puzzles/issues/14",
    faulty=Launch(faulty, (2, 2), (TILE, TILE), product_of(6, 6, 8)),
    mended=Launch(mended, (3, 3), (TILE, TILE), product_of(8, 8, 8)),
    answer=product,
    kinds=frozenset({"shared_race"}),
    quiet=Launch(faulty, (2, 2), (TILE, TILE), product_of(6, 6, 3)),
)
