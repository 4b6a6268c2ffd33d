"""When each tile is fetched, shifted in, streamed and written: a recurrence over the tiles, in maxima and sums alone.

Every operation is served in one fixed order, and every time is a maximum of earlier ones plus a service that gets
shorter with bandwidth. So no time can rise with bandwidth. Plain Python; the engine compiles it where tiles are many.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

NOISE = 1e-6  #: cycles: what sums of fractions are off by at most, so that a whole number is not rounded up

#: what is counted: cycles by class, then tiles, multiply-adds, accesses, and bits between DRAM and SRAM
COUNTS = (
    "cycles",
    "active",
    "weight_stall",
    "weight_shift",
    "input",
    "output",
    "skew",
    "drain",
    "tiles",
    "slots",
    "macs",
    "right_reads",
    "other_reads",
    "partial",
    "results",
    "right_bits",
    "other_bits",
    "result_bits",
)
CYCLES, ACTIVE, WEIGHT_STALL, WEIGHT_SHIFT, INPUT, OUTPUT, SKEW, DRAIN = range(8)
TILES, SLOTS, MACS, RIGHT_READS, OTHER_READS, PARTIAL, RESULTS, RIGHT_BITS, OTHER_BITS, RESULT_BITS = range(8, 18)
#: the array's clock: of the tile before, when its rows began to enter, no more did, its last word had left; of held
#: sums also when its last row entered, and the rows of its results; and when the last word of all tiles had left
START, END, DONE, LANDED, TALL, LEFT = range(6)
#: DRAM's clock: nothing left to do, results of the last tile written, of the one before, all written
FREE, WRITTEN, BEFORE, WRITE_END = range(4)
FETCH_START, HELD_READY, FETCH_END = range(3)


class Work(NamedTuple):
    """What the walk needs of problem, array and plan, as plain numbers."""

    moves_sums: bool
    double: bool  #: of held operands: the next tile is shifted in behind the one in use
    drain: int  #: of held sums: 0 side, 1 bottom, 2 shadow
    full: bool  #: edge tiles are charged as whole ones
    passes: int
    shift: int  #: cycles in which a held tile is shifted in
    down: int  #: tiles down
    across: int
    strips: int
    outer: int  #: which of these three is the outer loop: 0, 1 or 2
    middle: int
    inner: int
    side_rows: int  #: of the problem
    side_cols: int
    side_stream: int
    rows: int  #: of the array
    cols: int
    ahead: int  #: tiles that are fetched before their turn
    right_bits: int  #: of a word; 0 where the operand is resident
    other_bits: int
    result_bits: int
    right_always: bool  #: every tile fetches it, not the first ones alone
    other_always: bool
    cycles_per_bit: float  #: of DRAM; 0 where it never makes the array wait


def run_tiles(work: Work, times: Any) -> Any:
    """What `COUNTS` names, of all tiles one after another; rows of `times` get each tile's place and times."""
    total = work.down * work.across * work.strips
    told, clock, dram = np.zeros(18, np.int64), np.zeros(6, np.int64), np.zeros(4)
    queue, place, ahead = np.zeros((work.ahead + 1, 3)), np.zeros(3, np.int64), np.zeros(3, np.int64)
    for tile in range(min(work.ahead, total)):
        fetch(work, tile, 0.0, ahead, queue, dram, told)
    for tile in range(total):
        locate(work, tile, place)
        rows = min(work.rows, work.side_rows - place[0] * work.rows)
        cols = min(work.cols, work.side_cols - place[1] * work.cols)
        length = strip_length(work.side_stream, work.strips, place[2])
        final = place[0] == work.down - 1 if work.moves_sums else place[2] == work.strips - 1
        access(work, place, rows, cols, length, final, told)
        slot = tile % (work.ahead + 1)
        tall, wide = (work.rows, work.cols) if work.full else (rows, cols)
        shifted = 0
        if work.moves_sums:
            at, shifted = shift_in(work, queue[slot, HELD_READY], clock, told)
        else:
            at = let_out(work, tile > 0 and place[2] == 0, clock, told)
        come = max(at, whole(queue[slot, FETCH_END]))
        told[INPUT] += come - at
        start = come
        if final and work.result_bits * work.cycles_per_bit > 0:  # two tiles' results are buffered
            start = max(come, whole(dram[BEFORE]) - (work.rows - 1 if work.moves_sums else 0))
            told[OUTPUT] += start - come
        enter(work, start, length, tall, wide, final, clock, told)
        if tile + work.ahead < total:
            fetch(work, tile + work.ahead, float(clock[END] + work.rows - 1), ahead, queue, dram, told)
        if final:
            write(work, start, clock[END], cols * (length if work.moves_sums else rows), dram, told)
        if tile < len(times):
            note(times[tile], place, queue[slot], shifted, work.shift, clock, dram)
    drained = work.rows if not work.moves_sums and work.drain > 0 else 0
    told[DRAIN] += drained
    told[SKEW] += clock[LEFT] - clock[END] - drained
    told[CYCLES] = max(clock[LEFT], whole(dram[WRITE_END]))
    told[OUTPUT] += told[CYCLES] - clock[LEFT]
    return told


def shift_in(work: Work, held_ready: float, clock: Any, told: Any) -> tuple[int, int]:
    """When the held tile lies in the array, and when it began to shift in; idle cycles until then are told."""
    at = clock[END]
    if not work.double:
        told[SKEW] += clock[DONE] - at
        at = clock[DONE]
    begun = max(whole(held_ready), clock[START] if work.double else clock[DONE])
    told[WEIGHT_STALL] += max(0, begun - at)
    at = max(at, begun)
    told[WEIGHT_SHIFT] += max(0, begun + work.shift - at)
    return max(at, begun + work.shift), begun


def let_out(work: Work, next_tile: bool, clock: Any, told: Any) -> int:
    """When the sums held before have made room; idle cycles until then are told."""
    at = clock[END]
    if not next_tile:
        return int(at)
    if work.drain == 2:
        due = clock[LANDED] + max(0, clock[TALL] - work.passes * work.side_stream)
        told[DRAIN] += max(0, due - at)
        return int(max(at, due))
    drained = work.rows if work.drain == 1 else 0
    told[DRAIN] += drained
    told[SKEW] += clock[DONE] - at - drained
    return int(clock[DONE])


def enter(work: Work, start: int, length: int, tall: int, wide: int, final: bool, clock: Any, told: Any) -> None:
    """Move the array's clock past a tile whose first row of operands enters at `start`."""
    clock[START] = start
    clock[END] = start + work.passes * length
    told[ACTIVE] += work.passes * length
    if work.moves_sums:
        clock[DONE] = clock[END] + work.rows + wide - 2
        clock[LEFT] = max(clock[LEFT], clock[DONE])
        return
    clock[DONE] = clock[END] + tall + wide - 2 + (work.rows if work.drain > 0 else 0)
    clock[LEFT] = max(clock[LEFT], clock[DONE])
    if final:
        clock[LANDED], clock[TALL] = clock[END], tall


def fetch(work: Work, tile: int, room: float, place: Any, queue: Any, dram: Any, told: Any) -> None:
    """Bring a tile's operands once there is `room` for them, the held one first; what was kept does not come again."""
    locate(work, tile, place)
    rows = min(work.rows, work.side_rows - place[0] * work.rows)
    cols = min(work.cols, work.side_cols - place[1] * work.cols)
    length = strip_length(work.side_stream, work.strips, place[2])
    right = rows * length * work.right_bits if work.right_always or place[1] == 0 else 0
    held = work.rows * work.cols if work.full else rows * cols  # tiles are stored whole where they are charged so
    other = (held if work.moves_sums else length * cols) * work.other_bits
    if not work.other_always and place[2 if work.moves_sums else 0] > 0:
        other = 0
    told[RIGHT_BITS] += right
    told[OTHER_BITS] += other
    slot = tile % (work.ahead + 1)
    queue[slot, :] = 0.0
    if (right + other) * work.cycles_per_bit > 0:
        begun = max(dram[FREE], room)
        dram[FREE] = begun + (right + other) * work.cycles_per_bit
        queue[slot, FETCH_START], queue[slot, FETCH_END] = begun, dram[FREE]
        if other > 0:
            queue[slot, HELD_READY] = begun + other * work.cycles_per_bit


def write(work: Work, start: int, end: int, outputs: int, dram: Any, told: Any) -> None:
    """Write a tile's results from the cycle in which the first one leaves."""
    told[RESULTS] += outputs
    told[RESULT_BITS] += outputs * work.result_bits
    amount = outputs * work.result_bits * work.cycles_per_bit
    if amount > 0:
        first_out = float(start + work.rows if work.moves_sums else end)
        dram[FREE] = max(dram[FREE], first_out) + amount
        dram[BEFORE], dram[WRITTEN] = dram[WRITTEN], dram[FREE]
        dram[WRITE_END] = dram[FREE]


def access(work: Work, place: Any, rows: int, cols: int, length: int, final: bool, told: Any) -> None:
    """Count a tile's multiply-adds and its words of SRAM and accumulators."""
    told[TILES] += 1 if work.moves_sums or place[2] == 0 else 0
    told[SLOTS] += work.rows * work.cols * length
    told[MACS] += rows * cols * length
    told[RIGHT_READS] += rows * length
    told[OTHER_READS] += rows * cols if work.moves_sums else cols * length
    if work.moves_sums and not final:
        told[PARTIAL] += cols * length


def note(line: Any, place: Any, fetched: Any, shifted: int, shift: int, clock: Any, dram: Any) -> None:
    """Put a tile's place and times into its row."""
    line[0:3] = place
    line[3:6] = fetched
    line[6], line[7] = shifted, shifted + shift
    line[8], line[9], line[10] = clock[START], clock[END], clock[DONE]
    line[11] = dram[WRITE_END]


def locate(work: Work, tile: int, place: Any) -> None:
    """Put the tile's number down, across and its strip into `place`."""
    counts = (work.down, work.across, work.strips)
    place[work.inner] = tile % counts[work.inner]
    place[work.middle] = tile // counts[work.inner] % counts[work.middle]
    place[work.outer] = tile // (counts[work.inner] * counts[work.middle])


def strip_length(length: int, strips: int, index: int) -> int:
    """Of a strip: strips are as equal as they can be, longer ones first."""
    return length // strips + (1 if index < length % strips else 0)


def whole(time: float) -> int:
    """The first cycle that is not before that time."""
    return math.ceil(time - NOISE)


#: to be compiled, each after those that it calls
PARTS = (
    "locate",
    "strip_length",
    "whole",
    "shift_in",
    "let_out",
    "enter",
    "fetch",
    "write",
    "access",
    "note",
    "run_tiles",
)
