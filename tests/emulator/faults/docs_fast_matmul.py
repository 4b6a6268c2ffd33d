"""A documented tiled matmul: threads past both edges return before the barriers, and it walks as many tiles as blocks.

So whole tiles of k go missing or are read past the edge wherever k is not what the grid is wide.
"""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of

TILE = 8


@cuda.jit
def faulty(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    row, col = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if row >= c.shape[0] and col >= c.shape[1]:
        return
    total = float32(0)
    for tile in range(cuda.gridDim.x):
        a_tile[x, y] = a[row, y + tile * TILE]
        b_tile[x, y] = b[x + tile * TILE, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[x, i] * b_tile[i, y]
        cuda.syncthreads()
    c[row, col] = total


@cuda.jit
def mended(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    row, col = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        a_tile[x, y] = 0
        b_tile[x, y] = 0
        if row < a.shape[0] and start + y < a.shape[1]:
            a_tile[x, y] = a[row, start + y]
        if start + x < b.shape[0] and col < b.shape[1]:
            b_tile[x, y] = b[start + x, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[x, i] * b_tile[i, y]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


PAIR = Pair(
    source="https://github.com/numba/numba/issues/7324",
    faulty=Launch(faulty, (3, 2), (TILE, TILE), product_of(20, 13, 30)),
    mended=Launch(mended, (3, 2), (TILE, TILE), product_of(20, 13, 30)),
    answer=product,
    kinds=frozenset({"barrier_divergence", "out_of_bounds"}),
    also=frozenset({"uninitialised_read"}),
    quiet=Launch(faulty, (2, 2), (TILE, TILE), product_of(16, 16, 16)),
)
