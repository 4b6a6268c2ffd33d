"""16 x 16 blocks on 1000 x 1000: each two rows at the right edge are a warp that is half in and half out, 500 of them.

Blocks of 8 x 32 threads fit the rows of 1000, and whole warps are past the last.
"""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of

SIDE = 1000


@cuda.jit
def kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


PAIR = Pair(
    source="https://stackoverflow.com/questions/44337092",
    faulty=Launch(kernel, (63, 63), (16, 16), product_of(SIDE, SIDE, 1)),
    mended=Launch(kernel, (125, 32), (8, 32), product_of(SIDE, SIDE, 1)),
    answer=product,
    counts=(("divergent_branches", 500, 0),),
)
