"""What generated code calls as a thread runs: whether it may touch an element, and what its stop means for others."""

from __future__ import annotations

from gemmlab.emulator.serial.runtime_meeting import first_lane, meet, meet_block
from gemmlab.emulator.serial.runtime_queue import push
from gemmlab.emulator.serial.runtime_state import (
    ACCESS,
    ACCESSES,
    ALIVE,
    AT_BARRIER,
    AT_WARP,
    BARRIER,
    CHANGE,
    CURRENT,
    DONE,
    ENDED,
    EVERYWHERE,
    FUEL,
    HELD,
    HELD_COUNT,
    HELD_HEAD,
    HELD_QUEUE,
    LEFT,
    MANY,
    PASSING,
    POLICY,
    QUEUED,
    SLICE,
    STATUS,
    STEPS,
    THREADS,
    TOUCHED,
    TURN,
    WAITING,
    WATCHING,
    inner,
)


@inner
def admit(control, hold, hot, seen, element, block, t, kind):  # type: ignore[no-untyped-def]
    """Count a thread's access to an element, or say why it stops before it; kind 0 is a load."""
    if control[EVERYWHERE] or hot[element]:
        if control[LEFT] <= 0:
            return ACCESS
        if hold[block]:
            if not control[PASSING]:
                return HELD
            control[PASSING] = 0
        control[LEFT] -= 1
        control[ACCESSES] += 1
    control[TOUCHED] += 1
    if control[WATCHING]:
        notice(hot, seen, element, t, kind)
    control[STEPS] += 1
    control[SLICE] -= 1
    control[TURN] -= 1
    return 0


@inner
def tired(control):  # type: ignore[no-untyped-def]
    """Count a round of a loop, or say that the thread stops before it."""
    if control[SLICE] <= 0 or control[TURN] <= 0:
        return True
    control[STEPS] += 1
    control[SLICE] -= 1
    control[TURN] -= 1
    return False


@inner
def settle(control, threads, floats, slots, order, t, why):  # type: ignore[no-untyped-def]
    """A thread has stopped: queue it, hold it, or let go those that waited for it. Whether Python is to be asked."""
    slot = t // control[THREADS]
    control[TURN] -= 1  # so that turns without a step come to an end, too
    control[SLICE] -= 1
    if why == FUEL and control[TURN] > 0:
        return True  # only the slice is spent: the same thread goes on
    control[CURRENT] = -1
    queued = control[POLICY] == QUEUED
    if why in (ACCESS, FUEL):
        if queued:
            push(control, threads, t)
            if why == ACCESS:
                control[CHANGE] += 1
    elif why == HELD:
        threads[HELD_QUEUE, (control[HELD_HEAD] + control[HELD_COUNT]) % threads.shape[1]] = t
        control[HELD_COUNT] += 1
    elif why == ENDED:
        threads[STATUS, t] = DONE
        slots[ALIVE, slot] -= 1
        first = first_lane(control, t)
        for lane in range(first, min(first + 32, (slot + 1) * control[THREADS])):
            if threads[STATUS, lane] == AT_WARP:
                meet(control, threads, floats, lane)
        meet_block(control, threads, slots, order, slot)
    elif why == BARRIER:
        threads[STATUS, t] = AT_BARRIER
        slots[WAITING, slot] += 1
        meet_block(control, threads, slots, order, slot)
    else:
        threads[STATUS, t] = AT_WARP
        meet(control, threads, floats, t)
    return control[SLICE] <= 0


@inner
def notice(hot, seen, element, t, kind):  # type: ignore[no-untyped-def]
    """Mark an element as hot once two threads have touched it and one of them wrote; kind 0 is a load."""
    reader, writer = seen[0, element], seen[1, element]
    if (writer >= 0 and writer != t) or (kind and reader >= 0 and reader != t):
        hot[element] = 1
    if reader < 0:
        seen[0, element] = t
    elif reader != t:
        seen[0, element] = MANY
    if kind:
        if writer < 0:
            seen[1, element] = t
        elif writer != t:
            seen[1, element] = MANY
