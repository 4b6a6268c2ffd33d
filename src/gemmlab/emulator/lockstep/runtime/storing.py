"""Stores to shared or global memory, in thread order: find who else touched the elements, leave a mark, store."""

from __future__ import annotations

from typing import Any

from numba import types

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
    LANES,
    MEMORY,
    NT,
    OWNED,
    READ,
    SHARED,
    SPAN,
    UNWRITTEN,
    VALUED,
    VALUES,
    WRITTEN,
)
from gemmlab.emulator.lockstep.runtime.pointers import octets, pointer_to, words


def storing(pointer: Any) -> Any:
    """The function for elements of one size: it stores bits, whatever type they are of."""

    def shadow_store(record, offset, how, mask, partly):  # type: ignore[no-untyped-def]
        r = words(record)
        m = octets(mask)
        memory = pointer(r[MEMORY])
        values = pointer(r[VALUES])
        written = words(r[WRITTEN])
        read = words(r[READ])
        atomic = words(r[ATOMIC])
        places = words(r[EACH] if how else r[LANES])
        start = words(r[EPOCHS])[ESTART] << EPOCH
        fresh = 0
        if r[SHARED] != 0:
            written_now(r)
        for t in range(r[NT]):
            if partly != 0 and (m[t] == 0 or places[t] < 0):
                continue
            alike = r[FLAGS] & VALUED != 0 and memory[places[t] + offset] == values[t]
            for a in range((places[t] + offset) * r[SPAN], (places[t] + offset + 1) * r[SPAN]):
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
                memory[places[t] + offset] = values[t]
        if r[SHARED] != 0:
            words(r[SHARED])[UNWRITTEN] -= fresh
        return 0

    return shadow_store


shadow_store_1 = storing(octets)
shadow_store_2 = storing(pointer_to(types.uint16))
shadow_store_4 = storing(pointer_to(types.uint32))
shadow_store_8 = storing(pointer_to(types.uint64))
