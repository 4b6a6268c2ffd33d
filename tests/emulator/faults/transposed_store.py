"""A tile of A stored transposed: a warp holds 16 rows and two places of k four apart, whose words meet in one bank.

Four unused columns put the two 16 banks apart.
"""

import numpy as np
from numba import cuda, float32

from emulator.public_fault import Launch, Pair

ROWS = 128
STEP = 8
WIDE = 4
THREADS = ROWS * STEP // WIDE


def staged(pad):
    width = ROWS + pad

    @cuda.jit
    def kernel(a, out):
        tile = cuda.shared.array((STEP, width), float32)
        t = cuda.threadIdx.x
        row, col = t // (STEP // WIDE), t % (STEP // WIDE) * WIDE
        for i in range(WIDE):
            tile[col + i, row] = a[row, col + i]
        cuda.syncthreads()
        for i in range(t, STEP * ROWS, THREADS):
            out[i // ROWS, i % ROWS] = tile[i // ROWS, i % ROWS]

    return kernel


faulty, mended = staged(0), staged(4)


def arguments():
    return np.arange(ROWS * STEP, dtype=np.float32).reshape(ROWS, STEP), np.zeros((STEP, ROWS), np.float32)


STORES = THREADS // 32 * WIDE  # requests

PAIR = Pair(
    source="https://github.com/siboehm/SGEMM_CUDA/issues/8",
    faulty=Launch(faulty, (1,), (THREADS,), arguments),
    mended=Launch(mended, (1,), (THREADS,), arguments),
    answer=lambda a, out: a.T,
    counts=(("shared_store.wavefronts", 2 * STORES, STORES), ("shared_store.bank_conflicts", STORES, 0)),
)
