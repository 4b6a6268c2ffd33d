"""The table of faults that one worker keeps: one row for each kind between two sites."""

from __future__ import annotations

from gemmlab.emulator.lockstep.runtime.places import (
    EBARRIERS,
    EBLOCK,
    ELEMENT_BITS,
    EPOCH,
    ERACES,
    FLAGGED,
    KEY_SLOTS,
    KEYS,
    MOST_KEYS,
    RACING,
    SITE,
    SITE_MASK,
    UNKEPT,
)
from gemmlab.emulator.lockstep.runtime.pointers import octets, words

# columns of a row; row 0 holds only the number of rows in use, and how many found no room
KIND, AT, OTHER_AT, ELEMENT, THREAD, OTHER_THREAD, EPOCH_IN_BLOCK, BLOCK = range(8)
OTHER_EPOCH, WRITES, I0, I1, I2, TIMES = range(8, 14)
COLUMNS = 14
ROWS = 512

RACE, BLOCKS, SAME, DIVERGED, BOUNDS, UNINITIALISED, ALIASED, ABSENT_LANE = range(8)


def note(table, kind, site, other, element, thread, other_thread, epoch, block, other_epoch, writes, i0, i1, i2):
    """Count one more fault of that kind between those two sites, and keep the first."""
    rows = words(table)
    used = rows[0]
    for row in range(1, used + 1):
        at = row * COLUMNS
        if (
            rows[at + KIND] == kind
            and rows[at + AT] == site
            and rows[at + OTHER_AT] == other
            and rows[at + WRITES] == writes
        ):
            rows[at + TIMES] += 1
            return 0
    if used + 1 >= ROWS:
        rows[1] += 1
        return 0
    used += 1
    rows[0] = used
    at = used * COLUMNS
    rows[at + KIND] = kind
    rows[at + AT] = site
    rows[at + OTHER_AT] = other
    rows[at + ELEMENT] = element
    rows[at + THREAD] = thread
    rows[at + OTHER_THREAD] = other_thread
    rows[at + EPOCH_IN_BLOCK] = epoch
    rows[at + BLOCK] = block
    rows[at + OTHER_EPOCH] = other_epoch
    rows[at + WRITES] = writes
    rows[at + I0] = i0
    rows[at + I1] = i1
    rows[at + I2] = i2
    rows[at + TIMES] = 1
    return 0


def remember(races, key, block):
    """Keep that an element is raced for, and in which block."""
    known = words(races)
    octets(known[FLAGGED])[block] = 1
    at = ((key * 40503) >> 7) & (KEY_SLOTS - 1)
    while known[KEYS + at] != 0:
        if known[KEYS + at] == key:
            return
        at = (at + 1) & (KEY_SLOTS - 1)
    if known[RACING] == MOST_KEYS:
        known[UNKEPT] += 1
        return
    known[KEYS + at] = key
    known[RACING] += 1


def fault(table, epochs, kind, site, word, element, thread, other, writes, group):
    """Note a fault between a thread at `site` and thread `other` at the site of a shadow word."""
    now = words(epochs)
    at = (word >> SITE) & SITE_MASK
    remember(now[ERACES], (group << ELEMENT_BITS) | element, now[EBLOCK])
    return note(
        table, kind, site, at, element, thread, other, now[EBARRIERS], now[EBLOCK], word >> EPOCH, writes, 0, 0, 0
    )
