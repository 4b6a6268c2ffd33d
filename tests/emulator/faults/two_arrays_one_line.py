"""numba's simulator knows shared arrays by their line of source, so that two on one line are one array there.

On a GPU two such arrays are two; one array is what two dynamic ones are, which both start at the first byte.
"""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of

TILE = 4


@cuda.jit
def faulty(a, b, c):
    a_tile, b_tile = cuda.shared.array(0, float32), cuda.shared.array(0, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    a_tile[y * TILE + x] = a[y, x]
    b_tile[y * TILE + x] = b[y, x]
    cuda.syncthreads()
    total = float32(0)
    for i in range(TILE):
        total += a_tile[y * TILE + i] * b_tile[i * TILE + x]
    c[y, x] = total


@cuda.jit
def mended(a, b, c):
    a_tile, b_tile = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    a_tile[y, x] = a[y, x]
    b_tile[y, x] = b[y, x]
    cuda.syncthreads()
    total = float32(0)
    for i in range(TILE):
        total += a_tile[y, i] * b_tile[i, x]
    c[y, x] = total


PAIR = Pair(
    source="https://numba.readthedocs.io/en/stable/cuda/simulator.html",
    faulty=Launch(faulty, (1,), (TILE, TILE), product_of(TILE, TILE, TILE), 2 * TILE * TILE * 4),
    mended=Launch(mended, (1,), (TILE, TILE), product_of(TILE, TILE, TILE)),
    answer=product,
    kinds=frozenset({"aliased_shared"}),
)
