"""Block loads whose mask is missing along k, and stores whose mask knows rows but not columns.

The issues are of Triton's `tl.load` and `tl.store`; what a block does there, the threads of a block do here.
"""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of

BLOCK = 16  # rows of a block, one a thread
COLS = 4  # columns of a block
STEP = 8


@cuda.jit
def faulty(a, b, c):
    row = cuda.blockIdx.x * BLOCK + cuda.threadIdx.x
    left = cuda.blockIdx.y * COLS
    totals = cuda.local.array(COLS, float32)
    for j in range(COLS):
        totals[j] = 0
    if row < c.shape[0]:
        for start in range(0, a.shape[1], STEP):
            for i in range(start, start + STEP):
                for j in range(COLS):
                    totals[j] += a[row, i] * b[i, left + j]
        for j in range(COLS):
            c[row, left + j] = totals[j]


@cuda.jit
def mended(a, b, c):
    row = cuda.blockIdx.x * BLOCK + cuda.threadIdx.x
    left = cuda.blockIdx.y * COLS
    totals = cuda.local.array(COLS, float32)
    for j in range(COLS):
        totals[j] = 0
    if row < c.shape[0]:
        for start in range(0, a.shape[1], STEP):
            for i in range(start, min(start + STEP, a.shape[1])):
                for j in range(COLS):
                    if left + j < c.shape[1]:
                        totals[j] += a[row, i] * b[i, left + j]
        for j in range(COLS):
            if left + j < c.shape[1]:
                c[row, left + j] = totals[j]


PAIR = Pair(
    source="https://github.com/triton-lang/triton/issues/630, /770, /911; https://github.com/gpu-mode/lectures/issues/51",
    faulty=Launch(faulty, (2, 3), (BLOCK,), product_of(20, 10, 19)),
    mended=Launch(mended, (2, 3), (BLOCK,), product_of(20, 10, 19)),
    answer=product,
    kinds=frozenset({"out_of_bounds"}),
    quiet=Launch(faulty, (2, 2), (BLOCK,), product_of(20, 8, 16)),
)
