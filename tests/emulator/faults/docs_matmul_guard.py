"""A documented matmul's guard stops only threads that are past both edges: it says `and` where `or` is right."""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of


@cuda.jit
def faulty(a, b, c):
    row, col = cuda.grid(2)
    if row >= c.shape[0] and col >= c.shape[1]:
        return
    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]
    c[row, col] = total


@cuda.jit
def mended(a, b, c):
    row, col = cuda.grid(2)
    if row >= c.shape[0] or col >= c.shape[1]:
        return
    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]
    c[row, col] = total


PAIR = Pair(
    source="https://github.com/numba/numba/issues/6884",
    faulty=Launch(faulty, (3, 2), (8, 8), product_of(20, 13, 9)),
    mended=Launch(mended, (3, 2), (8, 8), product_of(20, 13, 9)),
    answer=product,
    kinds=frozenset({"out_of_bounds"}),
    quiet=Launch(faulty, (2, 2), (8, 8), product_of(16, 16, 9)),
)
