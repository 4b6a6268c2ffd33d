"""Where threads wait for each other: barriers of a block, operations of a warp."""

from __future__ import annotations

import numpy as np

from gemmlab.emulator.serial.runtime_queue import push_front, queue_block
from gemmlab.emulator.serial.runtime_state import (
    ACTIVEMASK,
    ALIVE,
    ALL,
    ANY,
    AT_BARRIER,
    AT_WARP,
    BALLOT,
    DONE,
    EPOCH,
    EQ,
    GIVEN,
    KIND,
    LANE,
    MASK,
    PC,
    POLICY,
    QUEUED,
    RUN,
    SHFL,
    SHFL_DOWN,
    SHFL_UP,
    SHFL_XOR,
    SPARE,
    STATUS,
    STUCK,
    THREADS,
    WAITING,
    WRONG,
    inner,
    jit,
)


@inner
def meet_block(control, threads, slots, order, slot):  # type: ignore[no-untyped-def]
    """Open the barrier of a block once every thread that has not ended waits at it."""
    waiting = slots[WAITING, slot]
    if waiting == 0 or waiting < slots[ALIVE, slot]:
        return
    n = control[THREADS]
    count = 0
    place = np.int64(-1)
    absent = waiting < n
    for t in range(slot * n, slot * n + n):
        if threads[STATUS, t] == AT_BARRIER:
            count += threads[GIVEN, t]
            absent = absent or (place >= 0 and threads[PC, t] != place)
            place = threads[PC, t]
    for t in range(slot * n, slot * n + n):
        if threads[STATUS, t] == AT_BARRIER:
            threads[STATUS, t] = RUN
            kind = threads[KIND, t]
            threads[GIVEN, t] = count if kind == 1 else np.int64(count == waiting if kind == 2 else count > 0)
    control[WRONG] += np.int64(absent)
    slots[WAITING, slot] = 0
    slots[EPOCH, slot] += 1
    queue_block(control, threads, slots, order, slot)


@inner
def first_lane(control, t):  # type: ignore[no-untyped-def]
    """The wave's number of the first thread of t's warp."""
    n = control[THREADS]
    return t // n * n + t % n // 32 * 32


@inner
def meet(control, threads, floats, t):  # type: ignore[no-untyped-def]
    """Let the lanes that t waits for go on together, once all of them are there."""
    if threads[KIND, t] == ACTIVEMASK:
        return
    first = first_lane(control, t)
    lanes = min(32, (t // control[THREADS] + 1) * control[THREADS] - first)
    together = np.int64(0)
    for lane in range(lanes):
        other = first + lane
        if (threads[MASK, t] >> lane) & 1 == 0 or threads[STATUS, other] == DONE:
            continue
        if threads[STATUS, other] != AT_WARP or threads[PC, other] != threads[PC, t]:
            return
        together |= np.int64(1) << lane
    exchange(control, threads, floats, first, lanes, together)


@jit
def unstick(control, threads, floats):  # type: ignore[no-untyped-def]
    """Let the first lanes go on that wait for others which do not come; whether there were any."""
    for t in range(threads.shape[1]):
        if threads[STATUS, t] == AT_WARP:
            first = first_lane(control, t)
            lanes = min(32, (t // control[THREADS] + 1) * control[THREADS] - first)
            together = np.int64(0)
            for lane in range(lanes):
                other = first + lane
                if threads[STATUS, other] == AT_WARP and threads[PC, other] == threads[PC, t]:
                    together |= np.int64(1) << lane
            if threads[KIND, t] != ACTIVEMASK:
                control[STUCK] += 1
            exchange(control, threads, floats, first, lanes, together)
            return True
    return False


@inner
def exchange(control, threads, floats, first, lanes, together):  # type: ignore[no-untyped-def]
    """Give each lane of a warp what it asked of the others, and let them run."""
    spare = threads.shape[1]  # the second half of `floats`
    votes = np.int64(0)
    for lane in range(lanes):
        t = first + lane
        if (together >> lane) & 1 and threads[GIVEN, t]:
            votes |= np.int64(1) << lane
        source = shuffled_from(threads[KIND, t], lane, threads[LANE, t])
        if (together >> source) & 1 == 0:
            source = lane
        threads[SPARE, t] = threads[GIVEN, first + source]
        floats[spare + t] = floats[first + source]
    for lane in range(lanes - 1, -1, -1):
        if (together >> lane) & 1 == 0:
            continue
        t = first + lane
        kind = threads[KIND, t]
        if SHFL <= kind <= SHFL_XOR:
            threads[GIVEN, t] = threads[SPARE, t]
            floats[t] = floats[spare + t]
        elif kind == ACTIVEMASK:
            threads[GIVEN, t] = together
        elif kind == BALLOT:
            threads[GIVEN, t] = votes
        elif kind == ANY:
            threads[GIVEN, t] = np.int64(votes != 0)
        elif kind == ALL:
            threads[GIVEN, t] = np.int64(votes == together)
        elif kind == EQ:
            threads[GIVEN, t] = np.int64(votes in (0, together))
        threads[STATUS, t] = RUN
        if control[POLICY] == QUEUED:
            push_front(control, threads, t)


@inner
def shuffled_from(kind, lane, given):  # type: ignore[no-untyped-def]
    """The lane whose value a shuffle takes: its own where the one named is out of the warp."""
    if kind == SHFL:
        return given & 31
    source = lane - given if kind == SHFL_UP else lane + given if kind == SHFL_DOWN else lane
    if kind == SHFL_XOR:
        source = lane ^ given
    return source if 0 <= source < 32 else lane


@inner
def wait(threads, t, given, kind, mask, lane):  # type: ignore[no-untyped-def]
    """Say what a thread waits for, and what it gives to those that wait with it."""
    threads[GIVEN, t] = given
    threads[KIND, t] = kind
    threads[MASK, t] = mask
    threads[LANE, t] = lane
