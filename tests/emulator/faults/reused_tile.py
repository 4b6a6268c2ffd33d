"""The shared tile of A serves again to hold C's tile, with no barrier between: some threads still read A there."""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of

TILE = 8


@cuda.jit
def faulty(a, b, c):
    tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile[y, x] = a[row, x]
    cuda.syncthreads()
    total = float32(0)
    for i in range(TILE):
        total += tile[y, i] * b[i, col]
    tile[y, x] = total
    cuda.syncthreads()
    c[row, col] = tile[y, x]


@cuda.jit
def mended(a, b, c):
    tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile[y, x] = a[row, x]
    cuda.syncthreads()
    total = float32(0)
    for i in range(TILE):
        total += tile[y, i] * b[i, col]
    cuda.syncthreads()
    tile[y, x] = total
    cuda.syncthreads()
    c[row, col] = tile[y, x]


PAIR = Pair(
    source="https://github.com/KnowingNothing/MatmulTutorial/issues/13",
    faulty=Launch(faulty, (2, 2), (TILE, TILE), product_of(16, 16, TILE)),
    mended=Launch(mended, (2, 2), (TILE, TILE), product_of(16, 16, TILE)),
    answer=product,
    kinds=frozenset({"shared_race"}),
)
