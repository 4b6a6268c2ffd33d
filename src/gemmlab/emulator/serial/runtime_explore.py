"""States of a launch as rows of words: kept once each, found by hash, compared whole."""

from __future__ import annotations

import numpy as np

from gemmlab.emulator.serial.runtime_state import AT_WARP, GIVEN, KIND, LANE, MASK, PC, RUN, SPARE, STATUS, inner

MET, FOLLOWED, FULL, ENDLESS_THREAD, ALLOWED = range(5)  # of `found`: states, states followed up, and why it stopped
FOUNDS = 5


@inner
def bury(threads, floats, arena, dead, rows):  # type: ignore[no-untyped-def]
    """Clear what no thread will read again, so that states which differ in nothing else are one.

    `dead[pc, v]` says whether variable v is, `rows[v]` where its row of threads begins in the arena, and its bytes.
    """
    for t in range(threads.shape[1]):
        if threads[STATUS, t] == RUN:
            threads[GIVEN, t] = 0
        if threads[STATUS, t] != AT_WARP:
            threads[MASK, t] = threads[LANE, t] = 0
            floats[t] = 0.0
        threads[SPARE, t] = 0
        floats[threads.shape[1] + t] = 0.0
        if threads[STATUS, t] == RUN:
            threads[KIND, t] = 0
        pc = threads[PC, t]
        for v in range(rows.shape[0]):
            if dead[pc, v]:
                start = rows[v, 0] + t * rows[v, 1]
                for place in range(start, start + rows[v, 1]):
                    arena[place] = 0


@inner
def keep(words, states, table, found):  # type: ignore[no-untyped-def]
    """The number of the state that `words` hold, and whether it is new; -1 where there is no room for it."""
    code = np.uint64(0xCBF29CE484222325)
    for place in range(words.size):
        code = (code ^ words[place]) * np.uint64(0x100000001B3)
        code ^= code >> np.uint64(29)
    at = np.int64(code % np.uint64(table.size))
    while table[at] >= 0:
        same = True
        for place in range(words.size):
            if states[table[at], place] != words[place]:
                same = False
                break
        if same:
            return table[at], False
        at = (at + 1) % table.size
    if found[MET] >= states.shape[0]:
        found[FULL] = 1
        return np.int64(-1), False
    number = found[MET]
    for place in range(words.size):
        states[number, place] = words[place]
    table[at] = number
    found[MET] += 1
    return number, True
