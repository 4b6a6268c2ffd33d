"""Threads leave by what their data says, before a barrier behind which the others read what they should have left."""

import numpy as np
from numba import cuda, float64

from emulator.public_fault import Launch, Pair


@cuda.jit
def faulty(levels, steps):
    levels_seen = cuda.shared.array(32, float64)
    t = cuda.threadIdx.x
    level = levels[t]
    if level < 0:
        return
    levels_seen[t] = level
    cuda.syncthreads()
    steps[t] = level - levels_seen[(t + 1) % 32]


@cuda.jit
def mended(levels, steps):
    levels_seen = cuda.shared.array(32, float64)
    t = cuda.threadIdx.x
    level = levels[t]
    if level < 0:
        level = 0.0
    levels_seen[t] = level
    cuda.syncthreads()
    steps[t] = level - levels_seen[(t + 1) % 32]


def arguments():
    return np.arange(32.0) - 5, np.zeros(32)


def answer(levels, steps):
    held = np.maximum(levels, 0)
    return held - np.roll(held, -1)


PAIR = Pair(
    source="https://github.com/numba/numba/issues/1626",
    faulty=Launch(faulty, (1,), (32,), arguments),
    mended=Launch(mended, (1,), (32,), arguments),
    answer=answer,
    kinds=frozenset({"barrier_divergence", "uninitialised_read"}),
    also=frozenset({"unwritten_output"}),
    quiet=Launch(faulty, (1,), (32,), lambda: (np.arange(32.0), np.zeros(32))),
)
