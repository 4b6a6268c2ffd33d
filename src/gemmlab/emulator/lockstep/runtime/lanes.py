"""Where lanes of a warp meet: member masks, syncwarp, shuffles and votes."""

from __future__ import annotations

from gemmlab.emulator.lockstep.runtime.noting import ABSENT_LANE, note
from gemmlab.emulator.lockstep.runtime.places import EBARRIERS, EBLOCK, ELOG, ENOW
from gemmlab.emulator.lockstep.runtime.pointers import octets, words
from gemmlab.emulator.lockstep.runtime.symbols import EXTERNAL

log_meeting = EXTERNAL["log_meeting"]


def members(masks, mask, threads, site, epochs, faults):
    """Every lane of the block that a member mask names must be here and name the same, the caller among them."""
    named = words(masks)
    m = octets(mask)
    now = words(epochs)
    for t in range(threads):
        if not m[t]:
            continue
        start = t & ~31
        for lane in range(32):
            other = start + lane
            wanted = (named[t] >> lane) & 1
            if other >= threads:
                break
            if (wanted and (not m[other] or named[other] != named[t])) or (other == t and not wanted):
                note(faults, ABSENT_LANE, site, -1, 0, t, other, now[EBARRIERS], now[EBLOCK], 0, 0, 0, 0, 0)
                return 0
    return 0


def meet(masks, mask, threads, since, epochs):
    """A syncwarp: what lanes that name the same members did before is before what those do next.

    `since` holds by warp the epoch before which all its lanes' accesses are ordered, then the same by thread and lane
    for syncwarps of a part of a warp.
    """
    named = words(masks)
    m = octets(mask)
    now = words(epochs)
    now[ENOW] += 1
    if now[ELOG] != 0:
        log_meeting(masks, mask, now[ELOG])
    known = words(since)
    warps = (threads + 31) >> 5
    for start in range(0, threads, 32):
        end = min(start + 32, threads)
        done = 0
        for t in range(start, end):
            if not m[t] or (done >> (t - start)) & 1:
                continue
            together = 0
            for other in range(t, end):
                if m[other] and named[other] == named[t]:
                    together |= 1 << (other - start)
            done |= together
            together &= named[t]
            if together == (1 << (end - start)) - 1:
                known[start >> 5] = now[ENOW]
            else:
                meet_partly(known, warps + 32 * start, together, end - start, now[ENOW])
    return 0


def meet_partly(known, rows, together, lanes, epoch):
    """What is before one of these lanes is before all of them from now on, and so is what they did."""
    for lane in range(lanes):
        latest = 0
        for one in range(lanes):
            if (together >> one) & 1:
                latest = max(latest, known[rows + 32 * one + lane])
        if (together >> lane) & 1:
            latest = epoch
        for one in range(lanes):
            if (together >> one) & 1:
                known[rows + 32 * one + lane] = latest


def sources(kind, lanes, threads):
    """Make each thread's lane argument of a shuffle the thread whose value it gets: its own if that is no lane.

    `kind`: 0 by number, 1 up, 2 down, 3 xor.
    """
    wanted = words(lanes)
    for t in range(threads):
        own = t & 31
        source = wanted[t] & 31
        if kind == 1:
            source = own - source
        elif kind == 2:
            source = own + source
        elif kind == 3:
            source = own ^ source
        if source < 0 or source > 31 or (t & ~31) + source >= threads:
            source = own
        wanted[t] = (t & ~31) + source
    return 0


def votes(ballots, mask, threads, yes, here):
    """For each warp: a bit for each active lane whose vote is yes, and one for each active lane."""
    m = octets(mask)
    ballot = octets(ballots)
    for start in range(0, threads, 32):
        agreed = 0
        there = 0
        for t in range(start, min(start + 32, threads)):
            if m[t]:
                there |= 1 << (t - start)
                if ballot[t]:
                    agreed |= 1 << (t - start)
        words(yes)[start >> 5] = agreed
        words(here)[start >> 5] = there
    return 0


def votes_equal(bits, mask, threads, yes, here):
    """For each warp: 1 where all active lanes hold the same bits, else 0; and the first active thread."""
    m = octets(mask)
    value = words(bits)
    for start in range(0, threads, 32):
        first = -1
        alike = 1
        for t in range(start, min(start + 32, threads)):
            if m[t]:
                if first < 0:
                    first = t
                elif value[t] != value[first]:
                    alike = 0
        words(yes)[start >> 5] = alike
        words(here)[start >> 5] = first
    return 0
