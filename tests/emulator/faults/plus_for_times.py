"""A place computed as blockIdx + blockDim + threadIdx: blocks write the same elements, equal values, and miss most."""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of

SIDE = 24


@cuda.jit
def faulty(a, b, c):
    row = cuda.blockIdx.y + cuda.blockDim.y + cuda.threadIdx.y
    col = cuda.blockIdx.x + cuda.blockDim.x + cuda.threadIdx.x
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@cuda.jit
def mended(a, b, c):
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


PAIR = Pair(
    source="https://stackoverflow.com/questions/26372930",
    faulty=Launch(faulty, (3, 3), (8, 8), product_of(SIDE, SIDE, 5)),
    mended=Launch(mended, (3, 3), (8, 8), product_of(SIDE, SIDE, 5)),
    answer=product,
    kinds=frozenset({"same_value_write", "unwritten_output"}),
)
