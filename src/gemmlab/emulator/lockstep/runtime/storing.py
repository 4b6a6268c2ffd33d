"""Stores to shared or global memory, in thread order: find who else touched the elements, leave a mark, store."""

from __future__ import annotations

from gemmlab.emulator.lockstep.runtime.marks import foreign, marked, met, met_earlier_block
from gemmlab.emulator.lockstep.runtime.noting import RACE, SAME
from gemmlab.emulator.lockstep.runtime.pending import written_now
from gemmlab.emulator.lockstep.runtime.places import (
    ATOMIC,
    ATOMICS,
    EACH,
    EPOCH,
    EPOCHS,
    ESTART,
    FLAGS,
    FOUND,
    HOW,
    LANES,
    LOGGED,
    MEMORY,
    NT,
    OWNED,
    READ,
    SHARED,
    SHIFT,
    SPAN,
    UNWRITTEN,
    VALUED,
    VALUES,
    WRITTEN,
)
from gemmlab.emulator.lockstep.runtime.pointers import octets, pairs, quads, words
from gemmlab.emulator.lockstep.runtime.symbols import EXTERNAL

log_access = EXTERNAL["log_access"]


def bits_of(address, i, shift):
    """The bits of element i of an array, its elements of 1 << shift bytes."""
    if shift == 2:
        return quads(address)[i]
    if shift == 3:
        return words(address)[i]
    if shift == 1:
        return pairs(address)[i]
    return octets(address)[i]


def put_bits(address, i, shift, bits):
    """Store bits as element i."""
    if shift == 2:
        quads(address)[i] = bits
    elif shift == 3:
        words(address)[i] = bits
    elif shift == 1:
        pairs(address)[i] = bits
    else:
        octets(address)[i] = bits


def shadow_store(record, mask, full):
    """Threads store what the record's values hold; without VALUED nothing is stored, and writes differ."""
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
    shift = r[SHIFT]
    fresh = 0
    if r[SHARED] != 0:
        written_now(r)
    for t in range(r[NT]):
        if partly != 0 and (m[t] == 0 or places[t] < 0):
            continue
        at = places[t] + offset
        bits = 0
        alike = False
        if r[FLAGS] & VALUED:
            bits = bits_of(r[VALUES], t, shift)
            alike = bits_of(r[MEMORY], at, shift) == bits
        for a in range(at * r[SPAN], (at + 1) * r[SPAN]):
            raced = met(r, read[a], a, t, 0, RACE)
            raced |= met_earlier_block(r, read[a], a, t)
            met(r, written[a], a, t, 1, SAME if alike and not raced else RACE)
            if r[FLAGS] & ATOMICS:
                met(r, atomic[a], a, t, 1, RACE)
                met_earlier_block(r, atomic[a], a, t)
            if r[FLAGS] & OWNED:
                foreign(r, written[a], a, t)
                foreign(r, read[a], a, t)
            fresh += written[a] < start
            written[a] = marked(r, written[a], t)
        if r[FLAGS] & VALUED:
            put_bits(r[MEMORY], at, shift, bits)
    if r[SHARED] != 0:
        words(r[SHARED])[UNWRITTEN] -= fresh
    return 0
