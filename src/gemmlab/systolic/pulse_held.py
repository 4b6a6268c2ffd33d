"""Cycles of an array that holds the sums as loops over numbers, to be compiled: registers as in `pulse`."""

from __future__ import annotations

from typing import Any

from gemmlab.systolic.control import COL, COLS, FIRST, LENGTH, ROW, ROWS, START, TALL, WIDE
from gemmlab.systolic.pulse import (
    CYCLE,
    DOWN_AT,
    LAST,
    NEXT,
    OLDEST,
    OVERFLOWS,
    READ_OTHER,
    REMAINING,
    RESULTS,
    RIGHT_AT,
    Frame,
    add_checked,
    add_held,
    enter_right,
    slide,
)


def held_sums(
    to: int,
    frame: Frame,
    table: Any,
    right: Any,
    other: Any,
    line: Any,
    down: Any,
    behind: Any,
    sums: Any,
    out: Any,
    at: Any,
    counts: Any,
) -> None:
    """Cycles of an array that holds the sums, until `to` of them are over or all words have left.

    `right` is (parts, rows side, stream), `other` (parts, stream, cols side), `line` and `down` (1, twice the PEs),
    `behind` and `sums` (PEs), `out` (rows side, cols side).
    """
    pes = frame.rows * frame.cols
    while at[CYCLE] < to and at[REMAINING] > 0:
        t = at[CYCLE]
        while at[NEXT] < len(table) and table[at[NEXT], START] <= t:
            at[NEXT] += 1
        newest = at[NEXT] - 1
        if frame.drain > 0:
            shift_out(t, frame, table, sums if frame.drain == 1 else behind, out, at, counts)
        if (
            newest >= 0
            and t < table[newest, START] + frame.passes * table[newest, LENGTH] + frame.rows + frame.cols - 1
        ):
            slide(line, at, RIGHT_AT, 1, pes)
            slide(down, at, DOWN_AT, frame.cols, pes)
            enter_right(t, frame, table, right, line, at, counts)
            enter_top(t, frame, table, other, down, at, counts)
            words = line[0, at[RIGHT_AT] : at[RIGHT_AT] + pes]
            others = down[0, at[DOWN_AT] : at[DOWN_AT] + pes]
            if frame.checked:
                counts[OVERFLOWS] += add_checked(sums, sums, words, others, False)
            else:
                add_held(sums, words, others)
            land(t, frame, table, sums, behind, out, at, counts)
        row = at[OLDEST]
        while row < len(table) and t >= last_result(frame, table, row):
            row += 1
        at[OLDEST] = row
        at[CYCLE] += 1


def last_result(frame: Frame, table: Any, row: int) -> int:
    """A cycle by which a tile's last word has left, and its wave the array."""
    wave: int = table[row, START] + frame.passes * table[row, LENGTH] + frame.rows + frame.cols - 2
    return wave + (frame.rows if frame.drain > 0 else 0)


def enter_top(t: int, frame: Frame, table: Any, other: Any, down: Any, at: Any, counts: Any) -> None:
    """Put what enters from above into every column's first register, each one cycle later than the one before."""
    row, begin = at[NEXT] - 1, at[DOWN_AT]
    for j in range(frame.cols):
        down[0, begin + j] = 0
        wave = t - j
        while row >= 0 and table[row, START] > wave:
            row -= 1
        if row < 0:
            continue
        step = wave - table[row, START]
        if step >= frame.passes * table[row, LENGTH] or j >= table[row, COLS]:
            continue
        word, turn = step, 0
        if frame.passes > 1:
            word, turn = step // frame.passes, step % frame.passes
        down[0, begin + j] = other[turn % frame.wires, table[row, FIRST] + word, table[row, COL] + j]
        counts[READ_OTHER] += 1 if turn == 0 else 0


def land(t: int, frame: Frame, table: Any, sums: Any, behind: Any, out: Any, at: Any, counts: Any) -> None:
    """Take sums that are complete, along the slanted line that a tile's last operands have reached."""
    for row in range(at[OLDEST], at[NEXT]):
        d = t - (table[row, START] + frame.passes * table[row, LENGTH] - 1)
        if d < 0:
            continue
        for i in range(max(0, d - frame.cols + 1), min(frame.rows - 1, d) + 1):
            j = d - i
            e = i * frame.cols + j
            used = i < table[row, ROWS] and j < table[row, COLS]
            if frame.drain == 0:
                if i < table[row, TALL] and j < table[row, WIDE]:
                    at[LAST] = t
                    at[REMAINING] -= 1
                if used:
                    out[table[row, ROW] + i, table[row, COL] + j] = sums[e]
                    counts[RESULTS] += 1
            elif frame.drain == 2 and used:
                behind[e] = sums[e]
            if frame.drain != 1:
                sums[e] = 0


def shift_out(t: int, frame: Frame, table: Any, chain: Any, out: Any, at: Any, counts: Any) -> None:
    """Move results one row down, column by column once its last row is done; the last row's leave."""
    rows, cols = frame.rows, frame.cols
    for row in range(at[OLDEST], at[NEXT]):
        tall, wide = table[row, TALL], table[row, WIDE]
        late = t - (table[row, START] + frame.passes * table[row, LENGTH] + tall - 1)
        # column j is at step late - j, from 0 to rows - 1; its results lie in rows step .. step + tall - 1
        for i in range(rows - 1, -1, -1):
            first, past = max(0, late - i), min(wide, late - i + tall, late + 1)
            if i == rows - 1:
                for j in range(first, past):
                    at[LAST] = t
                    at[REMAINING] -= 1
                    source = rows - 1 - (late - j)
                    if source < table[row, ROWS] and j < table[row, COLS]:
                        out[table[row, ROW] + source, table[row, COL] + j] = chain[i * cols + j]
                        counts[RESULTS] += 1
            else:
                for j in range(first, past):
                    chain[(i + 1) * cols + j] = chain[i * cols + j]
            if 0 <= late - i < wide:
                chain[i * cols + late - i] = 0


#: to be compiled, each after those that it calls
PARTS = (
    "add_held",
    "add_checked",
    "slide",
    "enter_right",
    "last_result",
    "enter_top",
    "land",
    "shift_out",
    "held_sums",
)
