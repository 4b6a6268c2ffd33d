"""A grid of whole tiles only, and unguarded loads of a last tile that is not whole: at 1000 x 1000 an edge is missing.

Here 20 x 20, with tiles of 8: as 1000 is no multiple of 32, so is 20 none of 8.
"""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of
from gemmlab.kernels.ladder import load

TILE = 8
SIDE = 20


@cuda.jit
def faulty(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        a_tile[y, x] = a[row, start + x]
        b_tile[y, x] = b[start + y, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()
    c[row, col] = total


mended = load("tiled:tiled")(TILE)  # guards its loads and its stores

PAIR = Pair(
    source="https://github.com/NVIDIA/cuda-samples/issues/411",
    faulty=Launch(faulty, (SIDE // TILE, SIDE // TILE), (TILE, TILE), product_of(SIDE, SIDE, SIDE)),
    mended=Launch(mended, (-(-SIDE // TILE), -(-SIDE // TILE)), (TILE, TILE), product_of(SIDE, SIDE, SIDE)),
    answer=product,
    kinds=frozenset({"unwritten_output", "out_of_bounds"}),
    quiet=Launch(faulty, (2, 2), (TILE, TILE), product_of(16, 16, 16)),
)
