"""A stencil walks along tiles with no barrier between reading one and staging the next: a single tile is right."""

import numpy as np
from numba import cuda, float32

from emulator.public_fault import Launch, Pair

TILE = 16
TILES = 4
STAGED = TILE + 2  # a neighbour on either side


@cuda.jit
def faulty(source, target):
    staged = cuda.shared.array(STAGED, float32)
    t = cuda.threadIdx.x
    for tile in range(source.shape[0] // TILE):
        place = tile * TILE + t
        staged[t + 1] = source[place]
        if t == 0:
            staged[0] = 0
            staged[TILE + 1] = 0
            if place > 0:
                staged[0] = source[place - 1]
            if place + TILE < source.shape[0]:
                staged[TILE + 1] = source[place + TILE]
        cuda.syncthreads()
        target[place] = staged[t] + staged[t + 1] + staged[t + 2]


@cuda.jit
def mended(source, target):
    staged = cuda.shared.array(STAGED, float32)
    t = cuda.threadIdx.x
    for tile in range(source.shape[0] // TILE):
        place = tile * TILE + t
        staged[t + 1] = source[place]
        if t == 0:
            staged[0] = 0
            staged[TILE + 1] = 0
            if place > 0:
                staged[0] = source[place - 1]
            if place + TILE < source.shape[0]:
                staged[TILE + 1] = source[place + TILE]
        cuda.syncthreads()
        target[place] = staged[t] + staged[t + 1] + staged[t + 2]
        cuda.syncthreads()


def arguments(tiles=TILES):
    return np.arange(tiles * TILE, dtype=np.float32), np.zeros(tiles * TILE, np.float32)


def answer(source, target):
    beside = np.pad(source, 1)
    return beside[:-2] + beside[1:-1] + beside[2:]


PAIR = Pair(
    source="https://github.com/ORNL/HeCBench/issues/253",
    faulty=Launch(faulty, (1,), (TILE,), arguments),
    mended=Launch(mended, (1,), (TILE,), arguments),
    answer=answer,
    kinds=frozenset({"shared_race"}),
    quiet=Launch(faulty, (1,), (TILE,), lambda: arguments(1)),
)
