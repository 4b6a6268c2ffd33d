"""Shadow words: who touched an element last, and whether anything orders that before this.

A word is epoch (31 bits) | other (1) | site (11) | thread (10) | thread (10). Two different threads stand for two or
more: whoever comes next meets one that is not itself. Epochs count over all blocks that one worker runs, so that words
are never cleared: what is older than the block's first epoch was left by an earlier block, and nothing orders blocks.
`other` says that an earlier block read the element.
"""

from __future__ import annotations

from gemmlab.emulator.lockstep.runtime.noting import ALIASED, BLOCKS, SAME, fault
from gemmlab.emulator.lockstep.runtime.places import (
    AT_SITE,
    EFLOOR,
    ENOW,
    EPOCH,
    EPOCHS,
    ESTART,
    FAULTS,
    FIRST,
    FLAGS,
    GLOBAL,
    GROUP,
    MET,
    NT,
    OTHER,
    OWNERS,
    SITE,
    SITE_MASK,
    THREAD_MASK,
    WARPS,
)
from gemmlab.emulator.lockstep.runtime.pointers import words


def stranger(r, word, t):
    """A thread of a shadow word that is not t, and that no syncwarp puts before it; -1 where there is none."""
    last = word & THREAD_MASK
    first = (word >> FIRST) & THREAD_MASK
    if not r[FLAGS] & WARPS:
        return last if last != t else (first if first != t else -1)
    if last != t and apart(r, word >> EPOCH, last, t):
        return last
    if first != t and apart(r, word >> EPOCH, first, t):
        return first
    return -1


def apart(r, epoch, other, t):
    """Whether no syncwarp puts what another thread did in an epoch before what t does now."""
    since = words(r[MET])
    return other >> 5 != t >> 5 or (
        epoch >= since[t >> 5] and epoch >= since[((r[NT] + 31) >> 5) + 32 * t + (other & 31)]
    )


def met(r, word, a, t, writes, kind):
    """Note a race of t on element a with whoever a shadow word names; says whether there was one."""
    now = words(r[EPOCHS])
    at = word >> EPOCH
    if at >= now[EFLOOR]:
        other = stranger(r, word, t)
        if other >= 0:
            fault(r[FAULTS], r[EPOCHS], kind, r[AT_SITE], word, a, t, other, writes, r[GROUP])
            return True
    elif r[FLAGS] & GLOBAL and 0 < at < now[ESTART]:
        between = SAME if kind == SAME else BLOCKS
        fault(r[FAULTS], r[EPOCHS], between, r[AT_SITE], word, a, t, word & THREAD_MASK, writes, r[GROUP])
        return True
    return False


def met_earlier_block(r, word, a, t):
    """Note a race with an earlier block's read or atomic that one of this block has since covered."""
    now = words(r[EPOCHS])
    if r[FLAGS] & GLOBAL and (word >> OTHER) & 1 and (word >> EPOCH) >= now[ESTART]:
        fault(r[FAULTS], r[EPOCHS], BLOCKS, r[AT_SITE], word, a, t, word & THREAD_MASK, 0, r[GROUP])
        return True
    return False


def marked(r, word, t):
    """The shadow word after t has touched the element too."""
    now = words(r[EPOCHS])
    at = word >> EPOCH
    second = -1
    if at >= now[EFLOOR]:
        second = stranger(r, word, t)
    if second < 0:
        second = t
    far = 0
    if r[FLAGS] & GLOBAL and ((word >> OTHER) & 1 or 0 < at < now[ESTART]):
        far = 1 << OTHER
    return (now[ENOW] << EPOCH) | far | (r[AT_SITE] << SITE) | (second << FIRST) | t


def foreign(r, word, a, t):
    """Note that an element was touched in this block under another array's name."""
    other = (word >> SITE) & SITE_MASK
    owners = words(r[OWNERS])
    if (word >> EPOCH) >= words(r[EPOCHS])[ESTART] and owners[other] != owners[r[AT_SITE]]:
        fault(r[FAULTS], r[EPOCHS], ALIASED, r[AT_SITE], word, a, t, word & THREAD_MASK, 1, r[GROUP])
