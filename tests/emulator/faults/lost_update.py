"""Two threads add to one shared element with a plain `+=`: both read, add and write back, and one addition is lost."""

import numpy as np
from numba import cuda, int32

from emulator.public_fault import Launch, Pair


@cuda.jit
def faulty(out):
    count = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        count[0] = 0
    cuda.syncthreads()
    count[0] += 1
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[0] = count[0]


@cuda.jit
def mended(out):
    count = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        count[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[0] = count[0]


def arguments():
    return (np.zeros(1, np.int32),)


PAIR = Pair(
    source="https://github.com/numba/numba/issues/4907",
    faulty=Launch(faulty, (1,), (2,), arguments),
    mended=Launch(mended, (1,), (2,), arguments),
    answer=lambda out: np.array([2], np.int32),
    kinds=frozenset({"shared_race"}),
    also=frozenset({"same_value_write"}),
)
