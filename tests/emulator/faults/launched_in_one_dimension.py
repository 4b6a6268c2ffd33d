"""A kernel that asks for its place in two dimensions, launched in one: all of its threads are in one column of C."""

from numba import cuda, float32

from emulator.public_fault import Launch, Pair, product, product_of


@cuda.jit
def kernel(a, b, c):
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


PAIR = Pair(
    source="https://github.com/numba/numba/issues/7679",
    faulty=Launch(kernel, (4,), (64,), product_of(20, 10, 6)),
    mended=Launch(kernel, (2, 1), (16, 16), product_of(20, 10, 6)),
    answer=product,
    kinds=frozenset({"unwritten_output"}),
    quiet=Launch(kernel, (1,), (64,), product_of(20, 1, 6)),
)
