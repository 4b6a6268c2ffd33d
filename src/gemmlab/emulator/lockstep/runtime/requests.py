"""Addresses of one access by all threads of a block, and exact counts of the requests that makes.

An index is a part that threads share plus a part of each thread's own. `prepare` takes the latter once, `reach` adds
the former and counts by a table; where that cannot be, `touch` takes each
thread's whole indices, and `settle` counts from the addresses.
"""

from __future__ import annotations

from gemmlab.emulator.lockstep.runtime.noting import BOUNDS, note
from gemmlab.emulator.lockstep.runtime.pending import mark_pending
from gemmlab.emulator.lockstep.runtime.places import (
    AT_SITE,
    BASE,
    BYTE0,
    CHANGED,
    DIMS,
    EACH,
    EBARRIERS,
    EBLOCK,
    EPOCHS,
    EXTENT,
    FAST,
    FAULTS,
    FOUND,
    HIGH,
    HOW,
    IN_GLOBAL,
    IN_LOCAL,
    IN_SHARED,
    INDEX,
    KEPT,
    KIND,
    LANES,
    LOADED,
    LOW,
    MEMO,
    MEMO_COUNTS,
    NT,
    ODD,
    ODDITY,
    ORIGIN,
    OWN,
    PIECES,
    ROOM,
    SHARED,
    SHIFT,
    SKIP,
    SLOW,
    SPACE,
    SPLIT,
    SPLITS,
    STRIDE,
    TABLE,
    WARPS_SERVED,
    WIDE,
)
from gemmlab.emulator.lockstep.runtime.pointers import octets, words

ABSENT = -(1 << 62)  # a lane that takes no part, among lane deltas
FARTHEST = 1 << 62  # that a thread's own part of an index may be from zero
LINK, KEYS, DEGREE, SCRATCH = 32, 160, 288, 320  # heads of buckets stand first


def distinct(deltas, start, end, phase, shift, width, room):
    """How many distinct keys some lanes have, and above SPLIT bits the most in one of 32 buckets.

    Keys are sectors where `width` is 0, else the 4-byte words, so many of them, that a lane's element covers.
    """
    for bucket in range(32):
        room[bucket] = -1
        room[DEGREE + bucket] = 0
    count = 0
    most = 0
    for lane in range(start, end):
        if deltas[lane] == ABSENT:
            continue
        byte = (deltas[lane] << shift) + phase
        first = byte >> 5 if width == 0 else byte >> 2
        for key in range(first, first + (width if width > 0 else 1)):
            bucket = key & 31
            at = room[bucket]
            while at >= 0 and room[KEYS + at] != key:
                at = room[LINK + at]
            if at < 0:
                room[KEYS + count] = key
                room[LINK + count] = room[bucket]
                room[bucket] = count
                count += 1
                room[DEGREE + bucket] += 1
                most = max(most, room[DEGREE + bucket])
    return count | (most << SPLIT)


def repeated(deltas, start, end, phase, shift, banks):
    """Atomics of some lanes: the most in one bank, or of each sector the most on one element, summed."""
    total = 0
    for lane in range(start, end):
        if deltas[lane] == ABSENT:
            continue
        place = (deltas[lane] << shift) + phase
        most = 0
        for other in range(start, end):
            if deltas[other] == ABSENT:
                continue
            beside = (deltas[other] << shift) + phase
            if banks != 0:
                most += (((place ^ beside) >> 2) & 31) == 0
            elif beside >> 5 == place >> 5:
                if other < lane:
                    most = 0
                    break  # counted there
                times = 0
                for third in range(other, end):
                    times += deltas[third] == deltas[other]
                most = max(most, times)
        total = max(total, most) if banks != 0 else total + most
    return total


def alike(deltas, start, end, apart):
    """Whether lanes whose numbers differ in that bit touch the same, where both take part."""
    for lane in range(start, end):
        other = lane ^ apart
        if other < end and deltas[lane] != deltas[other] and deltas[lane] != ABSENT and deltas[other] != ABSENT:
            return False
    return True


def request_pieces(deltas, start, end, phase, shift, wide, space, kind, room):
    """Pieces, and conflicts above SPLIT bits, of one request: lanes touch elements `deltas` past a byte of that phase,
    each as many as a shift by `wide` says.

    Global: distinct 32-byte sectors. Shared: a wavefront serves one 4-byte word of each of 32 banks; 8-byte accesses
    go by half-warps, but loads by whole warps where neighbours, or else lanes two apart, never want different elements.
    Atomics on one element go one after another. An H200 counts so (benchmarks/results/h200_counters.json).
    """
    if space == IN_GLOBAL:
        if kind == CHANGED:
            return repeated(deltas, start, end, phase, shift, 0)
        return distinct(deltas, start, end, phase, shift, 0, room) & 0xFFFFFFFF
    width = 1
    if shift + wide > 2:
        width = 1 << (shift + wide - 2)
    step = 32 // width
    if width > 1 and kind == LOADED and (alike(deltas, start, end, 1) or alike(deltas, start, end, 2)):
        step *= 2
    total = 0
    for first in range(start, end, step):
        last = end if first + step > end else first + step
        if kind == CHANGED:
            most = repeated(deltas, first, last, phase, shift, 1)
        else:
            most = distinct(deltas, first, last, phase, shift, width, room) >> SPLIT
        if most > 0:
            total += most | ((most - 1) << SPLIT)
    return total


def prepare(record):
    """Take threads' own parts of the indices: their range, their sum relative to thread 0's, and its table by phase.

    The table holds the counts of all warps together, every thread active; it stays while the relative sums do.
    """
    r = words(record)
    threads = r[NT]
    lanes = words(r[LANES])
    for t in range(threads):
        lanes[t] = t if r[SPACE] == IN_LOCAL else 0
    for axis in range(r[DIMS]):
        low = 0
        high = 0
        if (r[OWN] >> axis) & 1:
            own = words(r[INDEX + axis])
            stride = r[STRIDE + axis]
            low = own[0]
            high = own[0]
            for t in range(threads):
                low = min(low, own[t])
                high = max(high, own[t])
                lanes[t] += own[t] * stride
            if low < -FARTHEST or high > FARTHEST:  # sums might wrap: never by the table
                low, high = -FARTHEST, FARTHEST
        r[LOW + axis] = low
        r[HIGH + axis] = high
    kept = words(r[KEPT])
    base = lanes[0]
    changed = 0
    for t in range(threads):
        lanes[t] -= base
        changed |= lanes[t] ^ kept[t]
    r[BASE] = base
    if changed == 0 or r[SPACE] == IN_LOCAL:
        return 0
    if r[SHARED] != 0:  # reads that were put off know these places by their address
        for t in range(threads):
            lanes[t], kept[t] = kept[t], lanes[t]
        mark_pending(r)
        for t in range(threads):
            lanes[t], kept[t] = kept[t], lanes[t]
    for t in range(threads):
        kept[t] = lanes[t]
    shift = r[SHIFT]
    for slot in range(32 >> shift):
        total = 0
        if r[SPACE] == IN_SHARED and shift >= 2 and slot > 0:  # whole words only turn the banks
            total = r[TABLE]
        else:
            for start in range(0, threads, 32):
                end = min(start + 32, threads)
                total += request_pieces(
                    kept, start, end, slot << shift, shift, r[WIDE], r[SPACE], r[KIND], words(r[ROOM])
                )
        r[TABLE + slot] = total
    return 0


def reach(record, full, x0, x1, x2):
    """The element at which thread 0 is, threads' shared parts of the indices being given; counts the access.

    -1 where not all threads are active, or some index is out of range or negative.
    """
    r = words(record)
    r[FOUND] = -1
    if full == 0:
        return -1
    if x0 < -r[LOW] or x0 >= r[EXTENT] - r[HIGH]:
        return -1
    offset = r[ORIGIN] + r[BASE] + x0 * r[STRIDE]
    dims = r[DIMS]
    if dims > 1:
        if x1 < -r[LOW + 1] or x1 >= r[EXTENT + 1] - r[HIGH + 1]:
            return -1
        offset += x1 * r[STRIDE + 1]
        if dims > 2:
            if x2 < -r[LOW + 2] or x2 >= r[EXTENT + 2] - r[HIGH + 2]:
                return -1
            offset += x2 * r[STRIDE + 2]
    if r[SPACE] != IN_LOCAL:
        shift = r[SHIFT]
        if r[SKIP] != 0:
            r[FOUND] = offset
            r[HOW] = FAST
            return offset
        r[WARPS_SERVED] += (r[NT] + 31) >> 5
        counts = r[TABLE + (((r[BYTE0] + (offset << shift)) & 31) >> shift)]
        r[PIECES] += counts & 0xFFFFFFFF
        r[SPLITS] += counts >> SPLIT
    r[FOUND] = offset
    r[HOW] = FAST
    return offset


def touch(record, t, x0, x1, x2):
    """Thread t touches the element of these whole indices, a negative one counted from the end; out of range is -1."""
    r = words(record)
    each = words(r[EACH])
    dims = r[DIMS]
    y0 = x0 + r[EXTENT] if x0 < 0 else x0
    y1 = x1 + r[EXTENT + 1] if x1 < 0 else x1
    y2 = x2 + r[EXTENT + 2] if x2 < 0 else x2
    inside = 0 <= y0 < r[EXTENT]
    element = r[ORIGIN] + y0 * r[STRIDE]
    if dims > 1:
        inside = inside and 0 <= y1 < r[EXTENT + 1]
        element += y1 * r[STRIDE + 1]
    if dims > 2:
        inside = inside and 0 <= y2 < r[EXTENT + 2]
        element += y2 * r[STRIDE + 2]
    if r[SPACE] == IN_LOCAL:
        element += t
    if not inside:
        now = words(r[EPOCHS])
        note(r[FAULTS], BOUNDS, r[AT_SITE], -1, 0, t, -1, now[EBARRIERS], now[EBLOCK], 0, 0, x0, x1, x2)
        element = -1
        r[ODDITY] = ODD
    each[t] = element
    return 0


def settle(record, mask, masked):
    """Count what the threads of a mask touched one by one; HOW then says whether some were out of range."""
    r = words(record)
    each = words(r[EACH])
    if masked != 0:
        m = octets(mask)
        for t in range(r[NT]):
            if m[t] == 0:
                each[t] = -1
    if r[SPACE] != IN_LOCAL and r[SKIP] == 0:
        count_each(r, each, r[NT])
    r[HOW] = r[ODDITY] | SLOW
    r[ODDITY] = 0
    r[FOUND] = 0
    return 0


def count_each(r, each, threads):
    """Count the requests of all warps from addresses, negative ones left out, remembering each warp's last pattern.

    Lanes that keep their distances touch as many sectors when they start at the same byte of a sector, and conflict in
    as many banks wherever they start, so a pattern seen before needs no counting.
    """
    memo = words(r[MEMO])
    counts = words(r[MEMO_COUNTS])
    shift = r[SHIFT]
    for start in range(0, threads, 32):
        end = min(start + 32, threads)
        origin = -1
        for t in range(start, end):
            if each[t] >= 0:
                origin = each[t]
                break
        if origin < 0:
            continue
        changed = 0
        for t in range(start, end):
            delta = each[t] - origin if each[t] >= 0 else ABSENT
            changed |= memo[t] ^ delta
            memo[t] = delta
        if changed != 0:
            for slot in range(start, start + 32):
                counts[slot] = -1
        phase = (r[BYTE0] + (origin << shift)) & 31
        slot = start + (phase >> shift)
        if counts[slot] < 0:
            counts[slot] = request_pieces(memo, start, end, phase, shift, r[WIDE], r[SPACE], r[KIND], words(r[ROOM]))
        r[WARPS_SERVED] += 1
        r[PIECES] += counts[slot] & 0xFFFFFFFF
        r[SPLITS] += counts[slot] >> SPLIT
