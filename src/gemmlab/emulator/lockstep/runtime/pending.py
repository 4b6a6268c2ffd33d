"""Reads of a shared array that are noted whole and marked only if somebody writes the array before the next barrier.

Most epochs read what an earlier one wrote and write nothing: then no mark would ever be looked at.
"""

from __future__ import annotations

from gemmlab.emulator.lockstep.runtime.places import (
    AT_SITE,
    ENOW,
    EPOCH,
    EPOCHS,
    ESTART,
    FIRST,
    LANES,
    LAST_WRITE,
    MOST_PENDING,
    NT,
    OF_BLOCK,
    PENDING,
    PENDING_EPOCH,
    READ,
    READS,
    SHARED,
    SITE,
    SIZE,
    THREAD_MASK,
    UNWRITTEN,
)
from gemmlab.emulator.lockstep.runtime.pointers import words


def postponed(r, offset):
    """Put off marking a read by all threads; says whether that may be: nobody wrote the array in this epoch."""
    known = words(r[SHARED])
    now = words(r[EPOCHS])
    if known[LAST_WRITE] == now[ENOW]:
        return False
    if known[PENDING_EPOCH] != now[ENOW]:
        known[PENDING_EPOCH] = now[ENOW]
        known[PENDING] = 0
    if known[PENDING] == MOST_PENDING:
        mark_pending(r)
    at = READS + 3 * known[PENDING]
    known[at] = r[LANES]
    known[at + 1] = offset
    known[at + 2] = r[AT_SITE]
    known[PENDING] += 1
    return True


def all_written(r):
    """Whether this block has written every element of the array."""
    known = words(r[SHARED])
    return known[UNWRITTEN] == 0 and known[OF_BLOCK] == words(r[EPOCHS])[ESTART]


def mark_pending(r):
    """Mark the reads of this epoch that were put off."""
    known = words(r[SHARED])
    now = words(r[EPOCHS])[ENOW]
    if known[PENDING_EPOCH] != now:
        return
    for i in range(known[PENDING]):
        at = READS + 3 * i
        mark_reads(words(r[READ]), words(known[at]), known[at + 1], r[NT], now, known[at + 2])
    known[PENDING] = 0


def mark_reads(read, places, offset, threads, now, site):
    """Mark a read by all threads."""
    here = now << EPOCH
    mine = here | (site << SITE)
    for t in range(threads):
        a = places[t] + offset
        last = read[a]
        other = last & THREAD_MASK
        if other == t:
            other = (last >> FIRST) & THREAD_MASK
        if last < here:
            other = t
        read[a] = mine | (other << FIRST) | t


def written_now(r):
    """The array is about to be written: reads that were put off are marked first."""
    known = words(r[SHARED])
    now = words(r[EPOCHS])
    mark_pending(r)
    known[LAST_WRITE] = now[ENOW]
    if known[OF_BLOCK] != now[ESTART]:
        known[OF_BLOCK] = now[ESTART]
        known[UNWRITTEN] = known[SIZE]
