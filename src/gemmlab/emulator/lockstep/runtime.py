"""What generated kernels call: exact counting of one request and its memo, masks, and the table of faults.

Thread numbers are those within a block; `P[t] + U` is the element that thread t touches, a negative one is out of range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

ABSENT = -(1 << 62)  # a lane that takes no part, among lane deltas

# columns of a fault row; row 0 of a table holds only the number of rows in use
KIND, AT, OTHER_AT, ELEMENT, THREAD, OTHER_THREAD, EPOCH_IN_BLOCK, BLOCK, OTHER_EPOCH, TIMES, WRITES, I0, I1, I2 = (
    range(14)
)
FAULT_COLUMNS = 14

RACE, BLOCKS, SAME, DIVERGED, BOUNDS, UNINITIALISED, ALIASED, ABSENT_LANE = range(8)

jit: Any = njit(nogil=True, error_model="numpy", boundscheck=False)


@jit
def note(F, kind, site, other, element, thread, other_thread, epoch, block, other_epoch, writes, i0, i1, i2):  # type: ignore[no-untyped-def]
    """Count one more fault of that kind between those two sites, and keep the first."""
    used = F[0, 0]
    for row in range(1, used + 1):
        if F[row, KIND] == kind and F[row, AT] == site and F[row, OTHER_AT] == other and F[row, WRITES] == writes:
            F[row, TIMES] += 1
            return
    if used + 1 >= F.shape[0]:
        F[0, 1] += 1  # too many kinds of fault to keep apart
        return
    used += 1
    F[0, 0] = used
    F[used, KIND] = kind
    F[used, AT] = site
    F[used, OTHER_AT] = other
    F[used, ELEMENT] = element
    F[used, THREAD] = thread
    F[used, OTHER_THREAD] = other_thread
    F[used, EPOCH_IN_BLOCK] = epoch
    F[used, BLOCK] = block
    F[used, OTHER_EPOCH] = other_epoch
    F[used, TIMES] = 1
    F[used, WRITES] = writes
    F[used, I0] = i0
    F[used, I1] = i1
    F[used, I2] = i2


@jit
def request_pieces(deltas, lanes_from, phase, shift, shared):  # type: ignore[no-untyped-def]
    """(pieces, conflicts) of one request: lane l touches element deltas[l], `phase` bytes past an aligned address.

    Global: distinct 32-byte sectors. Shared: words of 4 bytes in 32 banks; a wavefront serves one word of each bank;
    8-byte accesses go by half-warps, 16-byte ones by quarter-warps.
    """
    head = np.full(32, -1, np.int64)
    link = np.empty(128, np.int64)
    keys = np.empty(128, np.int64)
    if not shared:
        count = 0
        for lane in range(32):
            if deltas[lanes_from + lane] == ABSENT:
                continue
            key = ((deltas[lanes_from + lane] << shift) + phase) >> 5
            bucket = key & 31
            at = head[bucket]
            while at >= 0 and keys[at] != key:
                at = link[at]
            if at < 0:
                keys[count] = key
                link[count] = head[bucket]
                head[bucket] = count
                count += 1
        return count, 0
    words = 1
    step = 32
    if shift > 2:
        words = 1 << (shift - 2)
        step = 32 // words
    pieces = 0
    conflicts = 0
    for start in range(0, 32, step):
        head[:] = -1
        count = 0
        most = 0
        degree = np.zeros(32, np.int64)
        for lane in range(start, start + step):
            if deltas[lanes_from + lane] == ABSENT:
                continue
            for word in range(words):
                key = (((deltas[lanes_from + lane] << shift) + phase) >> 2) + word
                bucket = key & 31
                at = head[bucket]
                while at >= 0 and keys[at] != key:
                    at = link[at]
                if at < 0:
                    keys[count] = key
                    link[count] = head[bucket]
                    head[bucket] = count
                    count += 1
                    degree[bucket] += 1
                    most = max(most, degree[bucket])
        pieces += most
        if most > 1:
            conflicts += most - 1
    return pieces, conflicts


@jit
def count_requests(P, m, masked, threads, byte0, shift, shared, memo_d, memo_p):  # type: ignore[no-untyped-def]
    """(pieces, conflicts) of all warps of the block for one access, exactly, remembering each warp's last pattern.

    Lanes that keep their distances touch as many sectors when they start at the same byte of a sector, and conflict in
    as many banks wherever they start, so a pattern seen before needs no counting.
    """
    pieces = 0
    conflicts = 0
    for start in range(0, threads, 32):
        end = min(start + 32, threads)
        origin = np.int64(-1)
        for t in range(start, end):
            if (not masked or m[t]) and P[t] >= 0:
                origin = P[t]
                break
        if origin < 0:
            continue
        same = True
        row = start
        for t in range(start, end):
            delta = P[t] - origin
            if (masked and not m[t]) or P[t] < 0:
                delta = ABSENT
            if memo_d[row + t - start] != delta:
                same = False
                memo_d[row + t - start] = delta
        w = start >> 5
        if not same:
            memo_p[w, :] = -1
        phase = (byte0 + (origin << shift)) & 31
        slot = phase >> shift if shift < 5 else 0
        known = memo_p[w, slot]
        if known < 0:
            p, c = request_pieces(memo_d, row, phase, shift, shared)
            known = (p << 16) | c
            memo_p[w, slot] = known
        pieces += known >> 16
        conflicts += known & 65535
    return pieces, conflicts


@jit
def prepare(L, K, threads, shift, shared, table):  # type: ignore[no-untyped-def]
    """Make the lane part of an address relative to thread 0's, and its table of counts by phase; returns the origin.

    `table[phase] = (pieces, conflicts)` of all warps together, every thread active.
    """
    origin = L[0]
    same = True
    for t in range(threads):
        L[t] -= origin
        same &= L[t] == K[t]
    if same:
        return origin
    padded = np.full(((threads + 31) >> 5) * 32, ABSENT, np.int64)
    for t in range(threads):
        K[t] = L[t]
        padded[t] = L[t]
    phases = 32 >> shift if shift < 5 else 1
    for slot in range(phases):
        total = 0
        clashes = 0
        if shared and shift >= 2 and slot > 0:
            total = table[0, 0]
            clashes = table[0, 1]
        else:
            for start in range(0, threads, 32):
                p, c = request_pieces(padded, start, slot << shift, shift, shared)
                total += p
                clashes += c
        table[slot, 0] = total
        table[slot, 1] = clashes
    return origin


@jit
def narrowed(parent, child, threads):  # type: ignore[no-untyped-def]
    """(threads, warps, splits): active threads of `child`, warps with any, warps where only part of `parent` is."""
    n = 0
    warps = 0
    splits = 0
    for start in range(0, threads, 32):
        inner = 0
        outer = 0
        for t in range(start, min(start + 32, threads)):
            inner += child[t]
            outer += parent[t]
        n += inner
        if inner > 0:
            warps += 1
            if inner < outer:
                splits += 1
    return n, warps, splits


@jit
def clear(m, dying, threads):  # type: ignore[no-untyped-def]
    """Threads of `dying` are no longer active in `m`."""
    for t in range(threads):
        m[t] &= ~dying[t]
