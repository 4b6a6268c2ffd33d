"""Shadows that find races: who touched each element last, and whether anything orders that before this.

A shadow word is epoch (31 bits) | other (1) | site (11) | thread (10) | thread (10). Two different threads stand for two
or more: whoever comes next meets one that is not itself. Epochs count over all blocks that one worker runs, so that
shadows are never cleared: what is older than the block's first epoch was left by an earlier block. `other` says that an
earlier block read the element.

W, R and A are the words of plain writes, plain reads and atomics; A has no elements where the kernel has no atomics on
that array. E holds the numbers of ENOW and following. S is, for each warp, the first epoch since its lanes last met in
a syncwarp; it has no elements where the kernel has none. `owner` is each site's array where shared arrays may lie over
each other, else empty. `blocks`: the array is global, and nothing orders blocks.
"""

from __future__ import annotations

import numpy as np

from gemmlab.emulator.lockstep.runtime import (
    ALIASED,
    BLOCKS,
    DIVERGED,
    RACE,
    SAME,
    UNINITIALISED,
    jit,
    note,
)

EPOCH, OTHER, SITE, FIRST = 32, 31, 20, 10
THREAD_MASK = 1023
SITE_MASK = 2047

#: this epoch; the first since the block's last barrier; the block's first; barriers so far in it; the block's number
ENOW, EFLOOR, ESTART, EBARRIERS, EBLOCK = range(5)


@jit
def stranger(word, t, S):  # type: ignore[no-untyped-def]
    """A thread of a shadow word that is not t, and that no syncwarp puts before it; -1 where there is none."""
    last = word & THREAD_MASK
    if last != t and (S.shape[0] == 0 or last >> 5 != t >> 5 or (word >> EPOCH) >= S[t >> 5]):
        return last
    first = (word >> FIRST) & THREAD_MASK
    if first != t and (S.shape[0] == 0 or first >> 5 != t >> 5 or (word >> EPOCH) >= S[t >> 5]):
        return first
    return np.int64(-1)


@jit
def fault(F, kind, site, word, a, t, other, E, writes):  # type: ignore[no-untyped-def]
    """Note a fault between t at `site` and the thread and site of a shadow word."""
    at = (word >> SITE) & SITE_MASK
    note(F, kind, site, at, a, t, other, E[EBARRIERS], E[EBLOCK], word >> EPOCH, writes, 0, 0, 0)


@jit
def met(F, word, site, a, t, S, E, blocks, writes, alike):  # type: ignore[no-untyped-def]
    """Note a race of t with whoever a shadow word names; says whether there was one."""
    at = word >> EPOCH
    if at >= E[EFLOOR]:
        other = stranger(word, t, S)
        if other >= 0:
            fault(F, SAME if alike else RACE, site, word, a, t, other, E, writes)
            return True
    elif blocks and 0 < at < E[ESTART]:
        fault(F, SAME if alike else BLOCKS, site, word, a, t, word & THREAD_MASK, E, writes)
        return True
    return False


@jit
def marked(word, site, t, S, E, blocks):  # type: ignore[no-untyped-def]
    """The shadow word after t has touched the element too."""
    at = word >> EPOCH
    second = np.int64(-1)
    if at >= E[EFLOOR]:
        second = stranger(word, t, S)
    if second < 0:
        second = np.int64(t)
    far = np.int64(0)
    if blocks and ((word >> OTHER) & 1 or 0 < at < E[ESTART]):
        far = np.int64(1) << OTHER
    return (E[ENOW] << EPOCH) | far | (site << SITE) | (second << FIRST) | t


@jit
def foreign(F, word, owner, site, a, t, E):  # type: ignore[no-untyped-def]
    """Note that an element was touched in this block under another array's name."""
    other = (word >> SITE) & SITE_MASK
    if (word >> EPOCH) >= E[ESTART] and owner[other] != owner[site]:
        fault(F, ALIASED, site, word, a, t, word & THREAD_MASK, E, 1)


@jit
def shadow_read(P, U, m, masked, threads, span, W, R, A, S, owner, E, blocks, site, F):  # type: ignore[no-untyped-def]
    """Threads read element P[t] + U, or none where that is negative; `span` shadow words are one element."""
    now = E[ENOW]
    floor = E[EFLOOR]
    start = E[ESTART]
    plain = A.shape[0] == 0 and owner.shape[0] == 0 and S.shape[0] == 0 and not blocks and span == 1 and not masked
    if plain:  # the loop that nearly all reads of shared memory take
        mine = (now << EPOCH) | (site << SITE)
        for t in range(threads):
            a = P[t] + U
            w = W[a]
            r = R[a]
            if w >= now << EPOCH:
                if w & THREAD_MASK != t or (w >> FIRST) & THREAD_MASK != t:
                    met(F, w, site, a, t, S, E, blocks, 0, False)
            elif w < start << EPOCH:
                note(F, UNINITIALISED, site, -1, a, t, -1, E[EBARRIERS], E[EBLOCK], 0, 0, 0, 0, 0)
            last = r & THREAD_MASK
            second = t if r < now << EPOCH else (last if last != t else (r >> FIRST) & THREAD_MASK)
            R[a] = mine | (second << FIRST) | t
        return
    for t in range(threads):
        if (masked and not m[t]) or P[t] < 0:
            continue
        for part in range(span):
            a = (P[t] + U) * span + part
            w = W[a]
            met(F, w, site, a, t, S, E, blocks, 0, False)
            if A.shape[0] > 0:
                met(F, A[a], site, a, t, S, E, blocks, 0, False)
            if not blocks and (w >> EPOCH) < start and not (A.shape[0] > 0 and (A[a] >> EPOCH) >= start):
                note(F, UNINITIALISED, site, -1, a, t, -1, E[EBARRIERS], E[EBLOCK], 0, 0, 0, 0, 0)
            if owner.shape[0] > 0:
                foreign(F, w, owner, site, a, t, E)
            R[a] = marked(R[a], site, t, S, E, blocks)


@jit
def equal(x, y):  # type: ignore[no-untyped-def]
    """The same value, NaN included."""
    return x == y or (x != x and y != y)


@jit
def shadow_store(P, U, m, masked, threads, span, W, R, A, S, owner, E, blocks, site, F, M, X, valued):  # type: ignore[no-untyped-def]
    """Threads store X[t] into element P[t] + U of M, in thread order. Without `valued` nothing is, and writes differ."""
    for t in range(threads):
        if (masked and not m[t]) or P[t] < 0:
            continue
        alike = valued and equal(M[P[t] + U], X[t])
        for part in range(span):
            a = (P[t] + U) * span + part
            r = R[a]
            w = W[a]
            read = met(F, r, site, a, t, S, E, blocks, 0, False)
            if blocks and (r >> OTHER) & 1 and (r >> EPOCH) >= E[ESTART]:
                fault(F, BLOCKS, site, r, a, t, r & THREAD_MASK, E, 0)
                read = True
            met(F, w, site, a, t, S, E, blocks, 1, alike and not read)
            if A.shape[0] > 0:
                met(F, A[a], site, a, t, S, E, blocks, 1, False)
            if owner.shape[0] > 0:
                foreign(F, w, owner, site, a, t, E)
                foreign(F, r, owner, site, a, t, E)
            W[a] = marked(w, site, t, S, E, blocks)
        if valued:
            M[P[t] + U] = X[t]


@jit
def shadow_atomic(P, m, masked, threads, span, W, R, A, S, owner, E, blocks, site, F):  # type: ignore[no-untyped-def]
    """Threads change element P[t] atomically: plain accesses of others that nothing orders conflict."""
    for t in range(threads):
        if (masked and not m[t]) or P[t] < 0:
            continue
        for part in range(span):
            a = P[t] * span + part
            w = W[a]
            r = R[a]
            if not blocks and (w >> EPOCH) < E[ESTART] and (A[a] >> EPOCH) < E[ESTART]:
                note(F, UNINITIALISED, site, -1, a, t, -1, E[EBARRIERS], E[EBLOCK], 0, 0, 0, 0, 0)
            met(F, w, site, a, t, S, E, blocks, 1, False)
            met(F, r, site, a, t, S, E, blocks, 0, False)
            if blocks and (r >> OTHER) & 1 and (r >> EPOCH) >= E[ESTART]:
                fault(F, BLOCKS, site, r, a, t, r & THREAD_MASK, E, 0)
            if owner.shape[0] > 0:
                foreign(F, w, owner, site, a, t, E)
                foreign(F, r, owner, site, a, t, E)
            A[a] = marked(A[a], site, t, S, E, blocks)


@jit
def barrier(m, masked, threads, site, E, F):  # type: ignore[no-untyped-def]
    """Every thread of the block must be here, else note one that waits and one that is absent; a new epoch begins."""
    if masked:
        here = -1
        absent = -1
        for t in range(threads):
            if m[t]:
                if here < 0:
                    here = t
            elif absent < 0:
                absent = t
        if absent >= 0:
            note(F, DIVERGED, site, -1, 0, here, absent, E[EBARRIERS], E[EBLOCK], 0, 0, 0, 0, 0)
    E[ENOW] += 1
    E[EFLOOR] = E[ENOW]
    E[EBARRIERS] += 1
