"""The queue of threads that can run, and the order in which those of a block enter it."""

from __future__ import annotations

import numpy as np

from gemmlab.emulator.serial.runtime_state import (
    ALTERNATING,
    COUNT,
    EPOCH,
    HEAD,
    ORDER,
    POLICY,
    QUEUE,
    QUEUED,
    RANDOM,
    REVERSE,
    RUN,
    SHUFFLED,
    SPARE,
    STATUS,
    THREADS,
    inner,
)


@inner
def drawn(control, below):  # type: ignore[no-untyped-def]
    """A random integer from 0 to below - 1: splitmix64 (Steele, Lea and Flood, 2014)."""
    control[RANDOM] += np.int64(-7046029254386353131)
    z = np.uint64(control[RANDOM])
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64((z >> np.uint64(1)) % np.uint64(below))


@inner
def push(control, threads, t):  # type: ignore[no-untyped-def]
    """Put a thread behind the others."""
    size = threads.shape[1]
    threads[QUEUE, (control[HEAD] + control[COUNT]) % size] = t
    control[COUNT] += 1


@inner
def push_front(control, threads, t):  # type: ignore[no-untyped-def]
    """Put a thread before the others."""
    control[HEAD] = (control[HEAD] - 1) % threads.shape[1]
    threads[QUEUE, control[HEAD]] = t
    control[COUNT] += 1


@inner
def pop(control, threads):  # type: ignore[no-untyped-def]
    """Take the first thread."""
    t = threads[QUEUE, control[HEAD]]
    control[HEAD] = (control[HEAD] + 1) % threads.shape[1]
    control[COUNT] -= 1
    return t


@inner
def shuffle(control, threads, row, start, count):  # type: ignore[no-untyped-def]
    """Put the places of a row from `start` on in a random order."""
    for last in range(count - 1, 0, -1):
        a, b = start + last, start + drawn(control, last + 1)
        threads[row, a], threads[row, b] = threads[row, b], threads[row, a]


@inner
def queue_block(control, threads, slots, order, slot):  # type: ignore[no-untyped-def]
    """Put the running threads of a block behind the others, in the order of its epoch."""
    if control[POLICY] != QUEUED:
        return
    n = control[THREADS]
    turned = control[ORDER] == REVERSE or (control[ORDER] == ALTERNATING and slots[EPOCH, slot] % 2 == 1)
    for place in range(n):
        threads[SPARE, slot * n + place] = order[n - 1 - place if turned else place]
    if control[ORDER] == SHUFFLED:
        shuffle(control, threads, SPARE, slot * n, n)
    for place in range(slot * n, slot * n + n):
        t = slot * n + threads[SPARE, place]
        if threads[STATUS, t] == RUN:
            push(control, threads, t)
