"""Reads and atomics of shared or global memory: find who else touched the elements, and leave a mark."""

from __future__ import annotations

from gemmlab.emulator.lockstep.runtime.marks import foreign, marked, met, met_earlier_block
from gemmlab.emulator.lockstep.runtime.noting import RACE, UNINITIALISED, note
from gemmlab.emulator.lockstep.runtime.pending import all_written, mark_reads, postponed, written_now
from gemmlab.emulator.lockstep.runtime.places import (
    AT_SITE,
    ATOMIC,
    ATOMICS,
    EACH,
    EBARRIERS,
    EBLOCK,
    ENOW,
    EPOCH,
    EPOCHS,
    ESTART,
    FAULTS,
    FIRST,
    FLAGS,
    FOUND,
    GLOBAL,
    HOW,
    LANES,
    LOGGED,
    NT,
    OWNED,
    READ,
    SHARED,
    SPAN,
    THREAD_MASK,
    VALUED,
    WRITTEN,
)
from gemmlab.emulator.lockstep.runtime.pointers import octets, words
from gemmlab.emulator.lockstep.runtime.symbols import EXTERNAL

log_access = EXTERNAL["log_access"]


def unwritten(r, a, t):
    """Note a read of what nobody in this block wrote."""
    now = words(r[EPOCHS])
    note(r[FAULTS], UNINITIALISED, r[AT_SITE], -1, a, t, -1, now[EBARRIERS], now[EBLOCK], 0, 0, 0, 0, 0)


def shadow_read(record, mask, full):
    """Threads read elements, as `reach` or `settle` left them; without `full` only those of the mask."""
    r = words(record)
    if r[LOGGED] != 0:
        log_access(record, mask, full)
    offset = r[FOUND]
    how = r[HOW]
    partly = (how & 2) | (1 - full)
    now = words(r[EPOCHS])
    written = words(r[WRITTEN])
    read = words(r[READ])
    places = words(r[EACH] if how else r[LANES])
    start = now[ESTART] << EPOCH
    if partly == 0 and r[FLAGS] & ~VALUED == 0 and r[SPAN] == 1:  # nearly all reads of shared memory
        if how == 0 and r[SHARED] != 0 and postponed(r, offset):
            if all_written(r):
                return 0
            least = written[places[0] + offset]
            for t in range(r[NT]):
                least = min(least, written[places[t] + offset])
            if least >= start:
                return 0
            for t in range(r[NT]):
                if written[places[t] + offset] < start:
                    unwritten(r, places[t] + offset, t)
            return 0
        here = now[ENOW] << EPOCH
        for t in range(r[NT]):
            a = places[t] + offset
            w = written[a]
            if w >= here:
                if (w & THREAD_MASK) != t or ((w >> FIRST) & THREAD_MASK) != t:
                    met(r, w, a, t, 0, RACE)
            elif w < start:
                unwritten(r, a, t)
        mark_reads(read, places, offset, r[NT], now[ENOW], r[AT_SITE])
        return 0
    m = octets(mask)
    atomic = words(r[ATOMIC])
    for t in range(r[NT]):
        if partly != 0 and (m[t] == 0 or places[t] < 0):
            continue
        fresh = -1
        for a in range((places[t] + offset) * r[SPAN], (places[t] + offset + 1) * r[SPAN]):
            w = written[a]
            met(r, w, a, t, 0, RACE)
            if r[FLAGS] & ATOMICS:
                met(r, atomic[a], a, t, 0, RACE)
                met_earlier_block(r, atomic[a], a, t)
            if not r[FLAGS] & GLOBAL and w < start and not (r[FLAGS] & ATOMICS and atomic[a] >= start):
                fresh = a
            if r[FLAGS] & OWNED:
                foreign(r, w, a, t)
            read[a] = marked(r, read[a], t)
        if fresh >= 0:
            unwritten(r, fresh, t)
    return 0


def shadow_atomic(record, mask, full):
    """Threads change elements atomically: plain accesses of others that nothing orders conflict."""
    r = words(record)
    if r[LOGGED] != 0:
        log_access(record, mask, full)
    offset = r[FOUND]
    how = r[HOW]
    partly = (how & 2) | (1 - full)
    m = octets(mask)
    written = words(r[WRITTEN])
    read = words(r[READ])
    atomic = words(r[ATOMIC])
    places = words(r[EACH] if how else r[LANES])
    start = words(r[EPOCHS])[ESTART] << EPOCH
    if r[SHARED] != 0:
        written_now(r)
    for t in range(r[NT]):
        if partly != 0 and (m[t] == 0 or places[t] < 0):
            continue
        fresh = -1
        for a in range((places[t] + offset) * r[SPAN], (places[t] + offset + 1) * r[SPAN]):
            w = written[a]
            if not r[FLAGS] & GLOBAL and w < start and atomic[a] < start:
                fresh = a
            met(r, w, a, t, 1, RACE)
            met(r, read[a], a, t, 0, RACE)
            met_earlier_block(r, read[a], a, t)
            if r[FLAGS] & OWNED:
                foreign(r, w, a, t)
                foreign(r, read[a], a, t)
            atomic[a] = marked(r, atomic[a], t)
        if fresh >= 0:
            unwritten(r, fresh, t)
    return 0
