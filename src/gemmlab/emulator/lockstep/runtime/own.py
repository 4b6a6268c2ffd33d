"""Memory that is a thread's own: what it reads before it wrote it. Element e of thread t lies at e * threads + t.

Places that `reach` left are relative to thread 0's and may be negative; of those that `settle` left, negative ones are
out of range.
"""

from __future__ import annotations

from gemmlab.emulator.lockstep.runtime.noting import UNINITIALISED, note
from gemmlab.emulator.lockstep.runtime.places import (
    AT_SITE,
    EACH,
    EBARRIERS,
    EBLOCK,
    EPOCHS,
    FAULTS,
    FOUND,
    HOW,
    LANES,
    LEFT,
    NT,
    WRITTEN,
)
from gemmlab.emulator.lockstep.runtime.pointers import octets, words


def local_read(record, mask):
    """Threads read elements of their own: note those that they never wrote, while there are any."""
    r = words(record)
    offset = r[FOUND]
    how = r[HOW]
    if words(r[LEFT])[0] == 0:
        return 0
    m = octets(mask)
    written = octets(r[WRITTEN])
    now = words(r[EPOCHS])
    places = words(r[EACH] if how else r[LANES])
    for t in range(r[NT]):
        a = places[t] + offset
        if m[t] and (how == 0 or places[t] >= 0) and written[a] == 0:
            element = a // r[NT]
            note(r[FAULTS], UNINITIALISED, r[AT_SITE], -1, element, t, -1, now[EBARRIERS], now[EBLOCK], 0, 0, 0, 0, 0)
    return 0


def local_written(record, mask):
    """Threads write elements of their own."""
    r = words(record)
    offset = r[FOUND]
    how = r[HOW]
    left = words(r[LEFT])
    if left[0] == 0:
        return 0
    m = octets(mask)
    written = octets(r[WRITTEN])
    places = words(r[EACH] if how else r[LANES])
    for t in range(r[NT]):
        if m[t] and (how == 0 or places[t] >= 0) and written[places[t] + offset] == 0:
            written[places[t] + offset] = 1
            left[0] -= 1
    return 0


def fill(memory, size, value):
    """Make all bytes of a piece of memory the same."""
    room = octets(memory)
    for i in range(size):
        room[i] = value
    return 0
