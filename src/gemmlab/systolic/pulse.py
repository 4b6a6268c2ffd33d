"""Cycles of an array that holds an operand as loops over numbers, to be compiled: the moves of the plain NumPy form.

Registers lie row after row in one line. A register that moves right is a window over a longer line: the window moves
one word back a cycle, which shifts all rows at once, and then every row's first word is overwritten by what enters. A
register that moves down does the same a row at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gemmlab.systolic.control import (
    CLOSES,
    COL,
    COLS,
    FIRST,
    LENGTH,
    OPENS,
    ROW,
    ROWS,
    SHIFT_AT,
    START,
    WIDE,
)

#: what is counted
READ_RIGHT, READ_OTHER, PARTIAL_READS, PARTIAL_WRITES, RESULTS, MACS, OVERFLOWS = range(7)
#: where the walk is: cycle, cycle of the last word, where the windows begin, which of two lines of sums is in use; the
#: first tile in flight, the first that has not begun, the first that is still shifted in; words that have not left
CYCLE, LAST, RIGHT_AT, DOWN_AT, FLIP, OLDEST, NEXT, SHIFTING, REMAINING = range(9)

LARGEST = (1 << 31) - 1


class Frame(NamedTuple):
    """The array, as plain numbers."""

    rows: int
    cols: int
    double: bool
    drain: int  #: 0 side, 1 bottom, 2 shadow
    passes: int
    wires: int  #: parts of the operand that does not move right
    checked: bool  #: integer sums may leave int32
    integer: bool


def moving_sums(
    to: int,
    frame: Frame,
    table: Any,
    right: Any,
    other: Any,
    line: Any,
    held: Any,
    behind: Any,
    sums: Any,
    out: Any,
    at: Any,
    counts: Any,
) -> None:
    """Cycles of an array that holds an operand, until `to` of them are over or all words have left.

    `right` is (parts, rows side, stream), `other` (parts, rows side, cols side), `line` (wires, twice the PEs), `held`
    and `behind` (wires, PEs), `sums` two lines of a row of zeros and the PEs, `out` (cols side, stream).
    """
    pes = frame.rows * frame.cols
    chain = behind if frame.double else held
    while at[CYCLE] < to and at[REMAINING] > 0:
        t = at[CYCLE]
        while at[NEXT] < len(table) and table[at[NEXT], START] <= t:
            at[NEXT] += 1
        newest = at[NEXT] - 1
        # past its wave every moving register holds zero, and stays so
        if (
            newest >= 0
            and t < table[newest, START] + frame.passes * table[newest, LENGTH] + frame.rows + frame.cols - 1
        ):
            slide(line, at, RIGHT_AT, 1, pes)
            enter_right(t, frame, table, right, line, at, counts)
            if frame.double:
                swap(t, frame, table, held, behind, newest, at[OLDEST])
            now, then = sums[at[FLIP]], sums[1 - at[FLIP]]
            begin = at[RIGHT_AT]
            for wire in range(frame.wires):
                words = line[wire, begin : begin + pes]
                if frame.checked:
                    counts[OVERFLOWS] += add_checked(then[frame.cols :], now, words, held[wire], wire > 0)
                elif wire == 0:
                    add(then[frame.cols :], now, words, held[wire])
                else:
                    add_held(then[frame.cols :], words, held[wire])
            at[FLIP] = 1 - at[FLIP]
            shift_in(t, frame, table, other, chain, at, counts)
            leave_foot(t, frame, table, sums[at[FLIP], pes:], out, at, counts)
            row = at[OLDEST]
            while row <= newest and t >= wave_end(frame, table, row):
                row += 1
            at[OLDEST] = row
        else:
            shift_in(t, frame, table, other, chain, at, counts)
        at[CYCLE] += 1


def wave_end(frame: Frame, table: Any, row: int) -> int:
    """The cycle in which a tile's wave leaves the foot of the array's last column, in use or not."""
    last: int = table[row, START] + frame.passes * table[row, LENGTH] + frame.rows + frame.cols - 3
    return last


def add(then: Any, now: Any, words: Any, held: Any) -> None:
    """Every PE's sum: the one above, and a product."""
    for e in range(len(words)):
        then[e] = now[e] + words[e] * held[e]


def add_held(sums: Any, words: Any, others: Any) -> None:
    """The same where the sum lies in the PE already."""
    for e in range(len(words)):
        sums[e] += words[e] * others[e]


def add_checked(then: Any, now: Any, words: Any, held: Any, again: bool) -> int:
    """The same with integers that wrap around, and how many left int32; `again` adds to what is there."""
    left = 0
    for e in range(len(words)):
        exact = (then[e] if again else now[e]) + words[e] * held[e]
        left += 1 if exact > LARGEST or exact < -LARGEST - 1 else 0
        then[e] = exact
    return left


def slide(line: Any, at: Any, window: int, words: int, pes: int) -> None:
    """Move a window that many words back; at the line's beginning its contents go to the end first."""
    if at[window] < words:
        spare = line.shape[1] - pes
        for wire in range(line.shape[0]):
            for e in range(pes):
                line[wire, spare + e] = line[wire, at[window] + e]
        at[window] = spare
    at[window] -= words


def enter_right(t: int, frame: Frame, table: Any, right: Any, line: Any, at: Any, counts: Any) -> None:
    """Put what enters into every row's first register, each row one cycle later than the one above it."""
    row, begin = at[NEXT] - 1, at[RIGHT_AT]
    for i in range(frame.rows):
        place = begin + i * frame.cols
        for wire in range(line.shape[0]):
            line[wire, place] = 0
        wave = t - i
        while row >= 0 and table[row, START] > wave:
            row -= 1
        if row < 0:
            continue  # rows further down still hold what entered last time, and must be cleared
        step = wave - table[row, START]
        if step >= frame.passes * table[row, LENGTH] or i >= table[row, ROWS]:
            continue
        if frame.passes == 1:
            line[0, place] = right[0, table[row, ROW] + i, table[row, FIRST] + step]
        else:
            word, turn = step // frame.passes, step % frame.passes
            wire = turn % frame.wires
            part = turn // frame.wires
            line[wire if line.shape[0] > 1 else 0, place] = right[part, table[row, ROW] + i, table[row, FIRST] + word]
            if turn > 0:
                continue
        counts[READ_RIGHT] += 1
        counts[MACS] += table[row, COLS]


def swap(t: int, frame: Frame, table: Any, held: Any, behind: Any, newest: int, oldest: int) -> None:
    """Take the words behind into use, along the slanted line that each tile's first row of operands has reached."""
    for row in range(oldest, newest + 1):
        d = t - table[row, START]
        for i in range(max(0, d - frame.cols + 1), min(frame.rows - 1, d) + 1):
            e = i * frame.cols + d - i
            for wire in range(frame.wires):
                held[wire, e] = behind[wire, e]


def shift_in(t: int, frame: Frame, table: Any, other: Any, chain: Any, at: Any, counts: Any) -> None:
    """Move words of what is held one row down; skewed by column where they lie behind those in use."""
    rows, cols, wires = frame.rows, frame.cols, frame.wires
    skew = 1 if frame.double else 0
    while at[SHIFTING] < len(table) and t >= table[at[SHIFTING], SHIFT_AT] + rows * wires + skew * (cols - 1):
        at[SHIFTING] += 1
    row = at[SHIFTING]
    while row < len(table) and table[row, SHIFT_AT] <= t:
        late = t - table[row, SHIFT_AT] - (wires - 1)
        if frame.double:
            # column j is at step (late - j) / wires: a whole number from 0 to rows - 1
            lowest = max(0, late - wires * (rows - 1))
            lowest += (late - lowest) % wires
            for i in range(min(rows - 1, late // wires), 0, -1):
                past = min(cols, late - wires * i + 1)
                for wire in range(wires):
                    copy_down(chain[wire], i * cols, cols, lowest, past, wires)
            for j in range(lowest, min(cols, late + 1), wires):
                counts[READ_OTHER] += put_top(table[row], other, chain, j, rows - 1 - (late - j) // wires)
        elif late >= 0 and late % wires == 0 and late // wires < rows:
            step = late // wires
            for i in range(step, 0, -1):
                for wire in range(wires):
                    copy_down(chain[wire], i * cols, cols, 0, cols, 1)
            for j in range(cols):
                counts[READ_OTHER] += put_top(table[row], other, chain, j, rows - 1 - step)
        row += 1


def copy_down(chain: Any, row: int, cols: int, first: int, past: int, every: int) -> None:
    """Take columns of the row above, every one or every so many."""
    if every == 1:
        for j in range(first, past):
            chain[row + j] = chain[row - cols + j]
    else:
        for j in range(first, past, every):
            chain[row + j] = chain[row - cols + j]


def put_top(tile: Any, other: Any, chain: Any, j: int, source: int) -> int:
    """Put a word of the tile's row `source` into the first row; 1 where there is one, 0 past the tile's edge."""
    real = source < tile[ROWS] and j < tile[COLS]
    for wire in range(chain.shape[0]):
        chain[wire, j] = other[wire, tile[ROW] + source, tile[COL] + j] if real else 0
    return 1 if real else 0


def leave_foot(t: int, frame: Frame, table: Any, foot: Any, out: Any, at: Any, counts: Any) -> None:
    """Let words leave the foot of each column: into its accumulators, or out as results."""
    row, oldest = at[NEXT] - 1, at[OLDEST]
    for j in range(frame.cols):
        wave = t - (frame.rows - 1) - j
        while row >= oldest and table[row, START] > wave:
            row -= 1
        if row < oldest:
            break
        step = wave - table[row, START]
        if step >= frame.passes * table[row, LENGTH] or j >= table[row, WIDE]:
            continue
        at[LAST] = t
        at[REMAINING] -= 1
        if j >= table[row, COLS]:
            continue
        word, turn = step, 0
        if frame.passes > 1:
            word, turn = step // frame.passes, step % frame.passes
        col, place = table[row, COL] + j, table[row, FIRST] + word
        opens = table[row, OPENS] == 1
        if opens and turn == 0:
            out[col, place] = foot[j]
        else:
            if frame.integer:
                counts[OVERFLOWS] += left_range(out[col, place], foot[j])
            out[col, place] = out[col, place] + foot[j]
        if turn == frame.passes - 1:
            if not opens:
                counts[PARTIAL_READS] += 1
            if table[row, CLOSES] == 1:
                counts[RESULTS] += 1
            else:
                counts[PARTIAL_WRITES] += 1


def left_range(left: Any, right: Any) -> int:
    """1 where the sum of two int32 is none."""
    exact = left + right
    return 1 if exact > LARGEST or exact < -LARGEST - 1 else 0


#: to be compiled, each after those that it calls
PARTS = (
    "wave_end",
    "add",
    "add_held",
    "add_checked",
    "slide",
    "enter_right",
    "swap",
    "copy_down",
    "put_top",
    "shift_in",
    "left_range",
    "leave_foot",
    "moving_sums",
)
