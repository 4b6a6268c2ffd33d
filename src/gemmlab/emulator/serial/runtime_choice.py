"""Which thread runs next, and which blocks come after those that have ended."""

from __future__ import annotations

from gemmlab.emulator.serial.runtime_meeting import unstick
from gemmlab.emulator.serial.runtime_queue import drawn, pop, push, queue_block, shuffle
from gemmlab.emulator.serial.runtime_state import (
    ACCESSES,
    ALIVE,
    BLOCK_ORDER,
    BLOCK_SEED,
    BLOCKS,
    CHANGE,
    COUNT,
    DONE,
    ENDLESS,
    EPOCH,
    HEAD,
    HELD_COUNT,
    HELD_HEAD,
    HELD_QUEUE,
    HORIZON,
    ID,
    LEFT,
    LOCKSTEP,
    NEXT,
    NOBODY,
    ORDER,
    PASSING,
    PATIENCE,
    PC,
    POLICY,
    PREEMPTIONS,
    QUEUE,
    QUEUED,
    REVERSE,
    RUN,
    SCRIPT,
    SCRIPTED,
    SHUFFLED,
    STARTED,
    STATUS,
    STEPPED,
    THREADS,
    TOGETHER,
    TURN,
    WAITING,
    WAVE_DONE,
    inner,
    jit,
)


@jit
def start_wave(control, threads, slots, order, changes, only):  # type: ignore[no-untyped-def]
    """Begin the next blocks; whether there are any."""
    last = only.size if only.size else control[BLOCKS]
    if control[NEXT] >= last:
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
        present = control[NEXT] < last
        slots[ALIVE, slot] = n if present else 0
        slots[WAITING, slot] = slots[EPOCH, slot] = 0
        for t in range(slot * n, slot * n + n):
            threads[STATUS, t] = RUN if present else DONE
            threads[PC, t] = 0
        if present:
            place = block_at(control, control[NEXT], last)
            slots[ID, slot] = only[place] if only.size else place
            control[NEXT] += 1
            queue_block(control, threads, slots, order, slot)
    if control[ORDER] == SHUFFLED and control[TOGETHER] > 1 and control[POLICY] == QUEUED:
        shuffle(control, threads, QUEUE, 0, control[COUNT])
    control[STARTED] = 1
    return True


@inner
def block_at(control, place, blocks):  # type: ignore[no-untyped-def]
    """Which of that many blocks stands at a place in their order."""
    if control[BLOCK_ORDER] == REVERSE:
        return blocks - 1 - place
    if control[BLOCK_ORDER] != SHUFFLED:
        return place
    # a walk in steps without a common divisor meets every block once, and needs no table
    step = blocks * 618 // 1000 + 1 + control[BLOCK_SEED] % 97
    while common_divisor(step, blocks) != 1:
        step += 1
    return (place * step + control[BLOCK_SEED]) % blocks


@inner
def common_divisor(a, b):  # type: ignore[no-untyped-def]
    """The greatest common divisor."""
    while b:
        a, b = b, a % b
    return a


@inner
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


@inner
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


@inner
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


@inner
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


@inner
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
