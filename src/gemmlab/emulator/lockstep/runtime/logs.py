"""Accesses and meetings of lanes written down one by one, for a second look at blocks in which threads race.

What compiled code calls here is plain Python: it runs in few blocks, and only where a first look found a race.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator.lockstep.runtime.places import (
    AT_SITE,
    EACH,
    EBARRIERS,
    EBLOCK,
    ELEMENT_BITS,
    EPOCHS,
    FLAGS,
    FOUND,
    GROUP,
    HOW,
    KIND,
    LANES,
    LOGGED,
    RECORD,
    SHIFT,
    SPAN,
    STORED,
    VALUED,
    VALUES,
)

Integers = NDArray[np.int64]

# columns of what is written down; ORDER counts accesses, CLOCK is the version of the thread's clock
BLOCK, BARRIERS, KEY, SITE, THREAD, BITS, CLOCK, ORDER = range(8)
COLUMNS = 8

Clock = dict[int, int]  #: how far each thread had come when it last was ordered before this one by syncwarp

OPEN: dict[int, Log] = {}  #: logs that are written to, by number
NUMBERS = count(1)


class Log:
    """What threads did to certain elements, in the order they did it.

    `keys` are the elements, sorted; `most_calls` and `most` bound how often accesses are looked at, and how many are
    kept. A log that is full says so, and keeps no more.
    """

    def __init__(self, keys: Integers, threads: int, most_calls: int, most: int) -> None:
        self.keys, self.threads, self.calls, self.left = keys, threads, most_calls, most
        self.number = next(NUMBERS)
        self.pieces: list[Integers] = []
        self.order = 0
        self.clocks: list[Clock] = [{}]  #: by version; version 0 is that of a thread that met nobody
        self.versions: Integers = np.zeros(threads, np.int64)
        self.error: BaseException | None = None

    @property
    def full(self) -> bool:
        """Whether something could not be kept."""
        return self.calls < 0 or self.left < 0

    def entries(self) -> Integers:
        """All that was kept, a row each."""
        return np.concatenate(self.pieces) if self.pieces else np.zeros((0, COLUMNS), np.int64)

    def begin_block(self) -> None:
        """Another block's threads have met nobody yet."""
        self.versions[:] = 0

    def clock(self, thread: int, version: int) -> Clock:
        """The clock of a thread."""
        return self.clocks[version] if version else {thread: 1}

    def access(self, r: Integers, mask: int, full: int) -> None:
        """Keep those threads' accesses that touch the elements looked for."""
        self.calls -= 1
        if self.full:
            return
        now = at(int(r[EPOCHS]), EBLOCK + 1)
        places = at(int(r[EACH] if r[HOW] else r[LANES]), self.threads)
        there = np.ones(self.threads, np.bool_)
        if r[HOW] & 2 or not full:
            there = (octets(mask, self.threads) != 0) & (places >= 0)
        span = int(r[SPAN])
        elements = (places + r[FOUND]) * span
        keys = (int(r[GROUP]) << ELEMENT_BITS) | elements[:, None] + np.arange(span)
        found = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        wanted, part = np.nonzero((self.keys[found] == keys) & there[:, None])
        if not len(wanted):
            return
        rows = np.zeros((len(wanted), COLUMNS), np.int64)
        rows[:, BLOCK], rows[:, BARRIERS], rows[:, SITE] = now[EBLOCK], now[EBARRIERS], r[AT_SITE]
        rows[:, KEY], rows[:, THREAD], rows[:, CLOCK] = keys[wanted, part], wanted, self.versions[wanted]
        rows[:, ORDER] = self.order + np.arange(len(wanted))
        self.order += len(wanted)
        if r[KIND] == STORED:  # where no values are stored, writes differ
            rows[:, BITS] = bits(r, self.threads)[wanted] if r[FLAGS] & VALUED else rows[:, ORDER]
        self.left -= len(wanted)
        self.pieces.append(rows)

    def meeting(self, named: Integers, here: NDArray[np.bool_]) -> None:
        """A syncwarp: what lanes that name the same members did is before what each of them does next."""
        for start in range(0, self.threads, 32):
            lanes = np.flatnonzero(here[start : start + 32]) + start
            for mask in np.unique(named[lanes]):
                self.together([int(t) for t in lanes if named[t] == mask and int(mask) >> (int(t) - start) & 1])

    def together(self, group: list[int]) -> None:
        """Those threads are ordered."""
        known: Clock = {}
        for thread in group:
            for number, time in self.clock(thread, int(self.versions[thread])).items():
                known[number] = max(time, known.get(number, 0))
        for thread in group:
            self.clocks.append({**known, thread: known[thread] + 1})
            self.versions[thread] = len(self.clocks) - 1


def at(address: int, size: int) -> Integers:
    """Integers that lie at an address."""
    return np.ctypeslib.as_array((ctypes.c_int64 * size).from_address(address))


def octets(address: int, size: int) -> NDArray[np.uint8]:
    """Bytes that lie at an address."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def bits(r: Integers, threads: int) -> Integers:
    """The bits that each thread stores."""
    size = 1 << int(r[SHIFT])
    return octets(int(r[VALUES]), threads * size).view(f"u{size}").astype(np.int64)


class Called:
    """A function of this file as compiled code calls it."""

    def __init__(self, function: Callable[[int, int, int], None]) -> None:
        self.kept = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * 3)(function)
        self.address = ctypes.cast(self.kept, ctypes.c_void_p).value


def guarded(log: Log | None, write: Callable[[Log], None]) -> int:
    """Write to a log; an error waits there for whoever opened it, since compiled code hears none."""
    if log is not None and log.error is None:
        try:
            write(log)
        except BaseException as error:
            log.error = error
    return 0


def _access(record: int, mask: int, full: int) -> Any:
    r = at(record, RECORD)
    return guarded(OPEN.get(int(r[LOGGED])), lambda log: log.access(r, mask, full))


def _meeting(masks: int, mask: int, number: int) -> Any:
    def write(log: Log) -> None:
        log.meeting(at(masks, log.threads), octets(mask, log.threads) != 0)

    return guarded(OPEN.get(number), write)


log_access, log_meeting = Called(_access), Called(_meeting)
