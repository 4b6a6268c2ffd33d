"""The table of faults that one worker keeps: one row for each kind between two sites."""

from __future__ import annotations

from gemmlab.emulator.lockstep.runtime.places import EBARRIERS, EBLOCK, EPOCH, SITE, SITE_MASK
from gemmlab.emulator.lockstep.runtime.pointers import jit, words

# columns of a row; row 0 holds only the number of rows in use, and how many found no room
KIND, AT, OTHER_AT, ELEMENT, THREAD, OTHER_THREAD, EPOCH_IN_BLOCK, BLOCK = range(8)
OTHER_EPOCH, WRITES, I0, I1, I2, TIMES = range(8, 14)
COLUMNS = 14
ROWS = 512

RACE, BLOCKS, SAME, DIVERGED, BOUNDS, UNINITIALISED, ALIASED, ABSENT_LANE = range(8)


@jit
def noted(table, kind, site, other, element, thread, other_thread, epoch, block, other_epoch, writes, i0, i1, i2):  # type: ignore[no-untyped-def]
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


def note(table, kind, site, other, element, thread, other_thread, epoch, block, other_epoch, writes, i0, i1, i2):  # type: ignore[no-untyped-def]
    """The same, as a symbol."""
    return noted(table, kind, site, other, element, thread, other_thread, epoch, block, other_epoch, writes, i0, i1, i2)


def fault(table, epochs, kind, site, word, element, thread, other, writes):  # type: ignore[no-untyped-def]
    """Note a fault between a thread at `site` and thread `other` at the site of a shadow word."""
    now = words(epochs)
    at = (word >> SITE) & SITE_MASK
    return noted(
        table, kind, site, at, element, thread, other, now[EBARRIERS], now[EBLOCK], word >> EPOCH, writes, 0, 0, 0
    )
