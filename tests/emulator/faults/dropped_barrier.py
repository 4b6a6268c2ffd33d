"""A compiler drops the barrier among 48 of 64 threads, as no barrier takes part of a warp: a race is what is left.

The mended twin parts the guard in two and lets all threads wait between.
"""

import numpy as np
from numba import cuda, float32

from emulator.public_fault import Launch, Pair

ACTIVE = 48


@cuda.jit
def faulty(source, target):
    staged = cuda.shared.array(ACTIVE, float32)
    t = cuda.threadIdx.x
    if t < ACTIVE:
        staged[t] = source[t]
        target[t] = staged[ACTIVE - 1 - t]


@cuda.jit
def mended(source, target):
    staged = cuda.shared.array(ACTIVE, float32)
    t = cuda.threadIdx.x
    if t < ACTIVE:
        staged[t] = source[t]
    cuda.syncthreads()
    if t < ACTIVE:
        target[t] = staged[ACTIVE - 1 - t]


def arguments():
    return np.arange(ACTIVE, dtype=np.float32), np.zeros(ACTIVE, np.float32)


PAIR = Pair(
    source="https://github.com/tile-ai/tilelang/issues/2556",
    faulty=Launch(faulty, (1,), (64,), arguments),
    mended=Launch(mended, (1,), (64,), arguments),
    answer=lambda source, target: source[::-1],
    kinds=frozenset({"shared_race"}),
    also=frozenset({"uninitialised_read"}),
)
