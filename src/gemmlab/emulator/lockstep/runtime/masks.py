"""Blocks as they begin and go on, and masks of active threads: how many there are, and whether all of a block meet."""

from __future__ import annotations

from gemmlab.emulator.lockstep.columns import REQUESTS, SPLITS, THREADS
from gemmlab.emulator.lockstep.runtime.noting import DIVERGED, note
from gemmlab.emulator.lockstep.runtime.places import (
    EBARRIERS,
    EBLOCK,
    EFLOOR,
    ENDLESS,
    ENOW,
    EROUNDS,
    ESTART,
    ESTOP,
)
from gemmlab.emulator.lockstep.runtime.pointers import octets, words


def narrowed(parent, child, threads, size, splits):
    """Active threads of `child`; writes them and their warps to `size`, adds warps where only a part of `parent` is."""
    whole = octets(parent)
    part = octets(child)
    active = 0
    warps = 0
    for start in range(0, threads, 32):
        inner = 0
        outer = 0
        for t in range(start, min(start + 32, threads)):
            inner += part[t]
            outer += whole[t]
        active += inner
        if inner > 0:
            warps += 1
        if 0 < inner < outer and splits != 0:
            words(splits)[SPLITS] += 1
    words(size)[0] = active
    words(size)[1] = warps
    return active


def executed(counters, size):
    """One more execution of a site by a mask's threads and warps."""
    words(counters)[THREADS] += words(size)[0]
    words(counters)[REQUESTS] += words(size)[1]
    return 0


def copied(to, to_size, of, of_size, threads):
    """Make a mask like another."""
    for t in range(threads):
        octets(to)[t] = octets(of)[t]
    words(to_size)[0] = words(of_size)[0]
    words(to_size)[1] = words(of_size)[1]
    return words(of_size)[0]


def first_active(places, mask, threads):
    """What stands at the first active thread's place."""
    m = octets(mask)
    for t in range(threads):
        if m[t]:
            return words(places)[t]
    return -1


def barrier(mask, masked, threads, site, epochs, faults):
    """Every thread of the block must be here, else note one that waits and one that is absent; a new epoch begins."""
    m = octets(mask)
    now = words(epochs)
    here = -1
    absent = -1
    if masked != 0:
        for t in range(threads):
            if m[t] and here < 0:
                here = t
            if not m[t] and absent < 0:
                absent = t
    if absent >= 0:
        note(faults, DIVERGED, site, -1, 0, here, absent, now[EBARRIERS], now[EBLOCK], 0, 0, 0, 0, 0)
    now[ENOW] += 1
    now[EFLOOR] = now[ENOW]
    now[EBARRIERS] += 1
    return 0


def begin_block(epochs, begin, block):
    """A block begins: an epoch of its own, no barriers and no rounds so far."""
    now = words(epochs)
    now[ENOW] += 1
    now[EFLOOR] = now[ENOW]
    now[ESTART] = now[ENOW]
    now[EBARRIERS] = 0
    now[EBLOCK] = block
    now[EROUNDS] = 0
    words(begin)[block] = now[ENOW]
    return 0


def tick(epochs, limit):
    """One more round of a loop; says whether to stop, because somebody asked for it or after too many."""
    now = words(epochs)
    now[EROUNDS] += 1
    if now[EROUNDS] > limit and now[ESTOP] == 0:
        now[ESTOP] = ENDLESS
    return now[ESTOP]
