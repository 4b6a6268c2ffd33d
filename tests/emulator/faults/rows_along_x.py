"""Naive with x as the row: a warp's 32 threads read 32 rows of A, a sector each, and write 32 rows of C."""

from emulator.public_fault import Launch, Pair, product, product_of
from gemmlab.kernels.ladder import load

SIDE = 64
WARPS = SIDE * SIDE // 32
faulty, mended = load("uncoalesced:kernel"), load("naive:kernel")

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
