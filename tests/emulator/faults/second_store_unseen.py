"""One thread stores 5 and then 6, another stores 5, no barrier between: which stays depends on the order.

A race detector that keeps each thread's first store only sees equal values, and says nothing.
"""

import numpy as np
from numba import cuda, int32

from emulator.public_fault import Launch, Pair


@cuda.jit
def faulty(out):
    word = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        word[0] = 5
        word[0] = 6
    else:
        word[0] = 5
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[0] = word[0]


@cuda.jit
def mended(out):
    word = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 1:
        word[0] = 5
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        word[0] = 5
        word[0] = 6
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[0] = word[0]


def arguments():
    return (np.zeros(1, np.int32),)


PAIR = Pair(
    source="Oclgrind 21.10, src/plugins/RaceDetector.cpp: https://github.com/jrprice/Oclgrind",
    faulty=Launch(faulty, (1,), (2,), arguments),
    mended=Launch(mended, (1,), (2,), arguments),
    answer=lambda out: np.array([6], np.int32),
    kinds=frozenset({"shared_race"}),
    also=frozenset({"same_value_write"}),
)
