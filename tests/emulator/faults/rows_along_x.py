"""Naive with x as the row: a warp's 32 threads read 32 rows of A, a sector each, and write 32 rows of C."""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of

SIDE = 64
WARPS = SIDE * SIDE // 32


@cuda.jit
def faulty(a, b, c):
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@cuda.jit
def mended(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


PAIR = Pair(
    source="https://github.com/siboehm/SGEMM_CUDA/issues/7",
    faulty=Launch(faulty, (2, 8), (32, 8), product_of(SIDE, SIDE, SIDE)),
    mended=Launch(mended, (2, 8), (32, 8), product_of(SIDE, SIDE, SIDE)),
    answer=product,
    counts=(
        # a step of a warp reads 32 sectors of A and one of B, or one of A and four of B
        ("global_load.sectors", WARPS * SIDE * (32 + 1), WARPS * SIDE * (1 + 4)),
        ("global_store.sectors", WARPS * 32, WARPS * 4),
    ),
)
