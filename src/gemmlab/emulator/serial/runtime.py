"""What decides which thread runs next: the queue of a schedule, barriers, warps, and the next blocks.

A wave is the blocks that run at once, `TOGETHER` of them; thread t of a wave is thread t % THREADS of its block
t // THREADS. All of a schedule's state is in arrays of integers, so that a run may go on where it was left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# `control`
(
    THREADS,  # of a block
    TOGETHER,  # blocks that run at once
    BLOCKS,  # of the grid
    NEXT,  # place in the order of blocks of the next wave
    BLOCK_ORDER,
    POLICY,
    ORDER,
    HEAD,  # of the queue
    COUNT,
    HELD_HEAD,  # of threads that wait before a delayed write
    HELD_COUNT,
    CURRENT,  # the thread that runs, or -1
    LEFT,  # accesses it may make before it is stopped
    SLICE,  # steps until Python is asked whether to go on
    TURN,  # steps until a thread that does not wait is put behind the others
    PASSING,  # the thread was held, and may now write
    ACCESSES,  # of the wave so far, to elements that threads share
    STEPS,  # of the launch so far: accesses and rounds of loops
    CHANGE,  # place in `changes` of the next preemption
    SCRIPT,  # place in `script`
    RANDOM,  # state of the generator
    WRONG,  # barriers that a thread of the block was absent from
    STUCK,  # warp operations that waited for a lane that does not come
    EVERYWHERE,  # every access to shared elements counts, not only those marked in `hot`
    WATCHING,  # accesses are noted in `seen`
    EPOCHS,  # rows of `hot`
    ELEMENTS,  # columns of `hot`
    HORIZON,  # accesses among which preemptions are drawn
    PREEMPTIONS,
    STARTED,  # a wave is under way
    FINISHED,
    FILL,  # memory holds NaN, not zero, before it is written
    GRID_X,
    GRID_Y,
    GRID_Z,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    BLOCK_SEED,
    TOUCHED,  # accesses to memory that threads share, hot or not
    ONE_WAVE,  # nothing follows the wave that is under way
    MOST_ACCESSES,  # of a wave
) = range(42)
CONTROLS = 42

PC, STATUS, GIVEN, MASK, LANE, KIND, QUEUE, HELD_QUEUE, SPARE = range(9)  # rows of `threads`
THREAD_ROWS = 9
ID, ALIVE, WAITING, EPOCH = range(4)  # rows of `slots`

RUN, AT_BARRIER, AT_WARP, DONE = range(4)  # STATUS
QUEUED, LOCKSTEP, SCRIPTED, STEPPED = range(4)  # POLICY
FORWARD, REVERSE, ALTERNATING, SHUFFLED = range(4)  # ORDER and BLOCK_ORDER
ENDED, ACCESS, HELD, FUEL, BARRIER, WARP = range(1, 7)  # why a thread stopped
SYNCWARP, SHFL, SHFL_UP, SHFL_DOWN, SHFL_XOR, BALLOT, ANY, ALL, EQ, ACTIVEMASK = range(10)

PATIENCE = 65536
ENDLESS = 1 << 62
MANY = 1 << 40  # instead of a thread: more than one
NOBODY, WAVE_DONE = -2, -1

jit: Any = njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)


@jit
def drawn(control, below):  # type: ignore[no-untyped-def]
    """A random integer from 0 to below - 1: splitmix64 (Steele, Lea and Flood, 2014)."""
    control[RANDOM] += np.int64(-7046029254386353131)
    z = np.uint64(control[RANDOM])
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64((z >> np.uint64(1)) % np.uint64(below))


@jit
def push(control, threads, t):  # type: ignore[no-untyped-def]
    """Put a thread behind the others."""
    size = threads.shape[1]
    threads[QUEUE, (control[HEAD] + control[COUNT]) % size] = t
    control[COUNT] += 1


@jit
def push_front(control, threads, t):  # type: ignore[no-untyped-def]
    """Put a thread before the others."""
    control[HEAD] = (control[HEAD] - 1) % threads.shape[1]
    threads[QUEUE, control[HEAD]] = t
    control[COUNT] += 1


@jit
def pop(control, threads):  # type: ignore[no-untyped-def]
    """Take the first thread."""
    t = threads[QUEUE, control[HEAD]]
    control[HEAD] = (control[HEAD] + 1) % threads.shape[1]
    control[COUNT] -= 1
    return t


@jit
def shuffle(control, threads, row, start, count):  # type: ignore[no-untyped-def]
    """Put the places of a row from `start` on in a random order."""
    for last in range(count - 1, 0, -1):
        a, b = start + last, start + drawn(control, last + 1)
        threads[row, a], threads[row, b] = threads[row, b], threads[row, a]


@jit
def queue_block(control, threads, slots, order, slot):  # type: ignore[no-untyped-def]
    """Put the running threads of a block behind the others, in the order of its epoch."""
    if control[POLICY] != QUEUED:
        return
    n = control[THREADS]
    turned = control[ORDER] == REVERSE or (control[ORDER] == ALTERNATING and slots[EPOCH, slot] % 2 == 1)
    for place in range(n):
        threads[SPARE, slot * n + place] = order[n - 1 - place if turned else place]
    if control[ORDER] == SHUFFLED:
        shuffle(control, threads, SPARE, slot * n, n)
    for place in range(slot * n, slot * n + n):
        t = slot * n + threads[SPARE, place]
        if threads[STATUS, t] == RUN:
            push(control, threads, t)


@jit
def start_wave(control, threads, slots, order, changes):  # type: ignore[no-untyped-def]
    """Begin the next blocks; whether there are any."""
    if control[NEXT] >= control[BLOCKS]:
        return False
    n = control[THREADS]
    control[ACCESSES] = control[CHANGE] = control[HEAD] = control[COUNT] = control[HELD_COUNT] = 0
    for count in range(control[PREEMPTIONS]):
        change = drawn(control, control[HORIZON])
        place = count
        while place > 0 and changes[place - 1] > change:
            changes[place] = changes[place - 1]
            place -= 1
        changes[place] = change
    for slot in range(control[TOGETHER]):
        present = control[NEXT] < control[BLOCKS]
        slots[ALIVE, slot] = n if present else 0
        slots[WAITING, slot] = slots[EPOCH, slot] = 0
        for t in range(slot * n, slot * n + n):
            threads[STATUS, t] = RUN if present else DONE
            threads[PC, t] = 0
        if present:
            slots[ID, slot] = block_at(control, control[NEXT])
            control[NEXT] += 1
            queue_block(control, threads, slots, order, slot)
    if control[ORDER] == SHUFFLED and control[TOGETHER] > 1 and control[POLICY] == QUEUED:
        shuffle(control, threads, QUEUE, 0, control[COUNT])
    control[STARTED] = 1
    return True


@jit
def block_at(control, place):  # type: ignore[no-untyped-def]
    """The block that stands at a place in the order of blocks."""
    blocks = control[BLOCKS]
    if control[BLOCK_ORDER] == REVERSE:
        return blocks - 1 - place
    if control[BLOCK_ORDER] != SHUFFLED:
        return place
    # a walk in steps without a common divisor meets every block once, and needs no table
    step = blocks * 618 // 1000 + 1 + control[BLOCK_SEED] % 97
    while common_divisor(step, blocks) != 1:
        step += 1
    return (place * step + control[BLOCK_SEED]) % blocks


@jit
def common_divisor(a, b):  # type: ignore[no-untyped-def]
    """The greatest common divisor."""
    while b:
        a, b = b, a % b
    return a


@jit
def choose(control, threads, floats, changes, script, loops, stops, rounds):  # type: ignore[no-untyped-def]
    """The thread that runs next, LEFT and TURN set for it; WAVE_DONE or NOBODY where there is none."""
    control[TURN] = PATIENCE if control[POLICY] == QUEUED else ENDLESS
    control[LEFT] = ENDLESS
    control[PASSING] = 0
    while True:
        if control[POLICY] == QUEUED:
            t = next_queued(control, threads, changes)
        elif control[POLICY] == LOCKSTEP:
            t = next_in_lockstep(control, threads, loops, rounds)
            if t >= 0:
                control[LEFT] = stops[threads[PC, t]]
        else:
            t = next_in_script(control, threads, script)
            if t == NOBODY and control[POLICY] == STEPPED:
                return NOBODY
        if t >= 0:
            return t
        if not unstick(control, threads, floats):
            return WAVE_DONE


@jit
def next_queued(control, threads, changes):  # type: ignore[no-untyped-def]
    """The first of the queue, until the next preemption; else the first that was held before a write."""
    if control[CHANGE] < control[PREEMPTIONS]:
        control[LEFT] = max(changes[control[CHANGE]] - control[ACCESSES], 0)
    if control[COUNT]:
        return pop(control, threads)
    if control[HELD_COUNT]:
        t = threads[HELD_QUEUE, control[HELD_HEAD]]
        control[HELD_HEAD] = (control[HELD_HEAD] + 1) % threads.shape[1]
        control[HELD_COUNT] -= 1
        control[PASSING] = 1
        return t
    return NOBODY


@jit
def next_in_script(control, threads, script):  # type: ignore[no-untyped-def]
    """The next turn that was written down; behind the last, the first thread that can run."""
    while control[SCRIPT] < script.shape[0]:
        t = script[control[SCRIPT], 0]
        control[LEFT] = script[control[SCRIPT], 1]
        if t < threads.shape[1] and threads[STATUS, t] == RUN:
            control[SCRIPT] += 1
            return t
        if not running(threads):
            return NOBODY  # the turns that are left are for when others have been let go
        control[SCRIPT] += 1
    if control[POLICY] == SCRIPTED:
        control[LEFT] = ENDLESS
        for t in range(threads.shape[1]):
            if threads[STATUS, t] == RUN:
                return t
    return NOBODY


@jit
def running(threads):  # type: ignore[no-untyped-def]
    """Whether any thread can run."""
    count = 0
    for t in range(threads.shape[1]):
        count += threads[STATUS, t] == RUN
    return count > 0


@jit
def next_in_lockstep(control, threads, loops, rounds):  # type: ignore[no-untyped-def]
    """A thread that is furthest behind; all that stand where it stands follow before any other."""
    if control[COUNT]:
        return pop(control, threads)
    first = NOBODY
    for t in range(threads.shape[1]):
        if threads[STATUS, t] == RUN:
            if first == NOBODY:
                first = t
                control[COUNT] = 0
            else:
                ahead = compared(threads, loops, rounds, t, first)
                if ahead > 0:
                    continue
                if ahead < 0:
                    first = t
                    control[COUNT] = 0
            push(control, threads, t)
    return pop(control, threads) if control[COUNT] else NOBODY


@jit
def compared(threads, loops, rounds, a, b):  # type: ignore[no-untyped-def]
    """Below 0 where thread a is behind b: in an earlier round of a loop both are in, else earlier in the source."""
    pc_a, pc_b = threads[PC, a], threads[PC, b]
    for depth in range(loops.shape[1]):
        loop = loops[pc_a, depth]
        if loop < 0 or loop != loops[pc_b, depth]:
            break
        behind = rounds[loop, a] - rounds[loop, b]
        if behind:
            return behind
    return pc_a - pc_b


@jit
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


@jit
def tired(control):  # type: ignore[no-untyped-def]
    """Count a round of a loop, or say that the thread stops before it."""
    if control[SLICE] <= 0 or control[TURN] <= 0:
        return True
    control[STEPS] += 1
    control[SLICE] -= 1
    control[TURN] -= 1
    return False


@jit
def wait(threads, t, given, kind, mask, lane):  # type: ignore[no-untyped-def]
    """Say what a thread waits for, and what it gives to those that wait with it."""
    threads[GIVEN, t] = given
    threads[KIND, t] = kind
    threads[MASK, t] = mask
    threads[LANE, t] = lane


@jit
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


@jit
def meet_block(control, threads, slots, order, slot):  # type: ignore[no-untyped-def]
    """Open the barrier of a block once every thread that has not ended waits at it."""
    waiting = slots[WAITING, slot]
    if waiting == 0 or waiting < slots[ALIVE, slot]:
        return
    n = control[THREADS]
    count = 0
    place = np.int64(-1)
    absent = waiting < n
    for t in range(slot * n, slot * n + n):
        if threads[STATUS, t] == AT_BARRIER:
            count += threads[GIVEN, t]
            absent = absent or (place >= 0 and threads[PC, t] != place)
            place = threads[PC, t]
    for t in range(slot * n, slot * n + n):
        if threads[STATUS, t] == AT_BARRIER:
            threads[STATUS, t] = RUN
            kind = threads[KIND, t]
            threads[GIVEN, t] = count if kind == 1 else np.int64(count == waiting if kind == 2 else count > 0)
    control[WRONG] += np.int64(absent)
    slots[WAITING, slot] = 0
    slots[EPOCH, slot] += 1
    queue_block(control, threads, slots, order, slot)


@jit
def first_lane(control, t):  # type: ignore[no-untyped-def]
    """The wave's number of the first thread of t's warp."""
    n = control[THREADS]
    return t // n * n + t % n // 32 * 32


@jit
def meet(control, threads, floats, t):  # type: ignore[no-untyped-def]
    """Let the lanes that t waits for go on together, once all of them are there."""
    if threads[KIND, t] == ACTIVEMASK:
        return
    first = first_lane(control, t)
    lanes = min(32, (t // control[THREADS] + 1) * control[THREADS] - first)
    together = np.int64(0)
    for lane in range(lanes):
        other = first + lane
        if (threads[MASK, t] >> lane) & 1 == 0 or threads[STATUS, other] == DONE:
            continue
        if threads[STATUS, other] != AT_WARP or threads[PC, other] != threads[PC, t]:
            return
        together |= np.int64(1) << lane
    exchange(control, threads, floats, first, lanes, together)


@jit
def unstick(control, threads, floats):  # type: ignore[no-untyped-def]
    """Let the first lanes go on that wait for others which do not come; whether there were any."""
    for t in range(threads.shape[1]):
        if threads[STATUS, t] == AT_WARP:
            first = first_lane(control, t)
            lanes = min(32, (t // control[THREADS] + 1) * control[THREADS] - first)
            together = np.int64(0)
            for lane in range(lanes):
                other = first + lane
                if threads[STATUS, other] == AT_WARP and threads[PC, other] == threads[PC, t]:
                    together |= np.int64(1) << lane
            if threads[KIND, t] != ACTIVEMASK:
                control[STUCK] += 1
            exchange(control, threads, floats, first, lanes, together)
            return True
    return False


@jit
def exchange(control, threads, floats, first, lanes, together):  # type: ignore[no-untyped-def]
    """Give each lane of a warp what it asked of the others, and let them run."""
    spare = threads.shape[1]  # the second half of `floats`
    votes = np.int64(0)
    for lane in range(lanes):
        t = first + lane
        if (together >> lane) & 1 and threads[GIVEN, t]:
            votes |= np.int64(1) << lane
        source = shuffled_from(threads[KIND, t], lane, threads[LANE, t])
        if (together >> source) & 1 == 0:
            source = lane
        threads[SPARE, t] = threads[GIVEN, first + source]
        floats[spare + t] = floats[first + source]
    for lane in range(lanes - 1, -1, -1):
        if (together >> lane) & 1 == 0:
            continue
        t = first + lane
        kind = threads[KIND, t]
        if SHFL <= kind <= SHFL_XOR:
            threads[GIVEN, t] = threads[SPARE, t]
            floats[t] = floats[spare + t]
        elif kind == ACTIVEMASK:
            threads[GIVEN, t] = together
        elif kind == BALLOT:
            threads[GIVEN, t] = votes
        elif kind == ANY:
            threads[GIVEN, t] = np.int64(votes != 0)
        elif kind == ALL:
            threads[GIVEN, t] = np.int64(votes == together)
        elif kind == EQ:
            threads[GIVEN, t] = np.int64(votes in (0, together))
        threads[STATUS, t] = RUN
        if control[POLICY] == QUEUED:
            push_front(control, threads, t)


@jit
def shuffled_from(kind, lane, given):  # type: ignore[no-untyped-def]
    """The lane whose value a shuffle takes: its own where the one named is out of the warp."""
    if kind == SHFL:
        return given & 31
    source = lane - given if kind == SHFL_UP else lane + given if kind == SHFL_DOWN else lane
    if kind == SHFL_XOR:
        source = lane ^ given
    return source if 0 <= source < 32 else lane


@jit
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
