"""A tree sum in a warp that trusts its lanes to go in step; since independent thread scheduling they need not."""

import numpy as np
from numba import cuda, float32

from emulator.public_fault import Launch, Pair


@cuda.jit
def faulty(source, target):
    sums = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    sums[t] = source[t]
    cuda.syncthreads()
    reach = 16
    while reach > 0:
        if t < reach:
            sums[t] += sums[t + reach]
        reach //= 2
    if t == 0:
        target[0] = sums[0]


@cuda.jit
def mended(source, target):
    sums = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    sums[t] = source[t]
    cuda.syncthreads()
    reach = 16
    while reach > 0:
        if t < reach:
            sums[t] += sums[t + reach]
        cuda.syncwarp()
        reach //= 2
    if t == 0:
        target[0] = sums[0]


def arguments():
    return np.arange(32, dtype=np.float32), np.zeros(1, np.float32)


PAIR = Pair(
    source="https://github.com/kaldi-asr/kaldi/issues/2604",
    faulty=Launch(faulty, (1,), (32,), arguments),
    mended=Launch(mended, (1,), (32,), arguments),
    answer=lambda source, target: np.array([source.sum()]),
    kinds=frozenset({"shared_race"}),
)
