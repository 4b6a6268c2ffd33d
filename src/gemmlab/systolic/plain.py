"""The grid in plain NumPy: every register of the array, moved and computed once a cycle.

The slow form, right by reading: the compiled one is compared with it, and units whose sums no machine computes run
on it. Cycle t: words move, what is held is swapped in, every PE multiplies and adds, results leave.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gemmlab.systolic.array import Array
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
    TALL,
    WIDE,
    last_cycle,
)
from gemmlab.systolic.pulse import MACS, OVERFLOWS, PARTIAL_READS, PARTIAL_WRITES, READ_OTHER, READ_RIGHT, RESULTS
from gemmlab.systolic.words import LARGEST, Load, Words


class Plain:
    """Registers (rows, cols) of an array: `right`, `down`, `held`, `behind` and `sums`, words as `Load` has them.

    `right`, `held` and `behind` have one register for each part of a held word, `right` carrying a word on the wire of
    the part that it meets.
    """

    def __init__(self, array: Array, load: Load, table: Any, shape: tuple[int, int]) -> None:
        self.array, self.load, self.table = array, load, table
        self.cycle = 0
        self.last = -1  #: cycle in which the last word left
        self.counts = np.zeros(8, np.int64)
        size = (array.rows, array.cols)
        wires = load.other_parts if array.moves_sums else 1
        sums: Any = np.int32
        if load.unit is not None:
            sums = np.float64 if load.unit.accumulate == "float64" else np.float32
        self.right = np.zeros((wires, *size), load.right.dtype)
        self.held = np.zeros((wires, *size), load.other.dtype)
        self.behind = np.zeros((wires, *size), load.other.dtype if array.moves_sums else sums)
        self.down = np.zeros(size, load.other.dtype)
        self.sums = np.zeros(size, sums)
        self.foot = np.zeros(array.cols, sums)
        self.out = np.zeros(shape, sums)  #: accumulators, then results: (cols side, stream), or (rows side, cols side)
        self.i, self.j = np.indices(size)
        #: from a tile's start to a cycle in which nothing of it is left, and the tiles of which something is
        self.past = load.told.passes * table[:, LENGTH] + 2 * array.rows + array.cols
        self.near = table[:0]

    @property
    def done(self) -> bool:
        """Whether every word has left."""
        return self.cycle > last_cycle(self.table, self.array, self.load.told.passes)

    def advance(self, to: int) -> None:
        """Run until that many cycles are over, or all is done."""
        while self.cycle < to and not self.done:
            self.near = self.table[
                (self.table[:, SHIFT_AT] <= self.cycle) & (self.cycle < self.table[:, START] + self.past)
            ]
            with np.errstate(all="ignore"):  # infinities and NaN are words like any other
                if self.array.moves_sums:
                    self.moving_sums()
                else:
                    self.held_sums()
            self.cycle += 1

    def active(self) -> Words:
        """The PEs that a row of operands is passing; of held sums those alone that both operands reach."""
        wave = self.cycle - self.i - self.j
        found = np.zeros(wave.shape, bool)
        for row in self.near:
            passing = (row[START] <= wave) & (wave < row[START] + self.load.told.passes * row[LENGTH])
            if not self.array.moves_sums:
                passing &= (self.i < row[ROWS]) & (self.j < row[COLS])
            found |= passing
        return found

    def moving_sums(self) -> None:
        """One cycle of an array that holds an operand."""
        load, rows, cols = self.load, self.array.rows, self.array.cols
        passes, wires, t = load.told.passes, load.other_parts, self.cycle
        self.right[:, :, 1:] = self.right[:, :, :-1].copy()
        self.right[:, :, 0] = 0
        double = self.array.weights == "double"
        for row in self.near:
            for i in range(row[ROWS]):
                step = t - i - row[START]
                if 0 <= step < passes * row[LENGTH]:
                    word, turn = divmod(step, passes)
                    self.right[turn % wires, i, 0] = load.right[turn // wires, row[ROW] + i, row[FIRST] + word]
                    self.counts[READ_RIGHT] += turn == 0
                    self.counts[MACS] += row[COLS] * (turn == 0)
            if double:
                swap = t - self.i - self.j == row[START]
                self.held[:, swap] = self.behind[:, swap]
        above = np.vstack([np.zeros((1, cols), self.sums.dtype), self.sums[:-1]])
        self.sums = self.add(self.right, self.held, above)
        self.sums[~self.active()] = 0
        self.shift_in(self.behind if double else self.held, double)
        for row in self.near:
            for j in range(row[WIDE]):
                step = t - (rows - 1) - j - row[START]
                if 0 <= step < passes * row[LENGTH]:
                    self.last = t
                    if j < row[COLS]:
                        self.leave(row, j, *divmod(step, passes))

    def shift_in(self, chain: Words, skewed: bool) -> None:
        """Move words of what is held one row down, where the table says so; a word of several parts takes as long."""
        load, rows, wires = self.load, self.array.rows, self.load.other_parts
        for row in self.near:
            for j in range(self.array.cols):
                late = self.cycle - row[SHIFT_AT] - (j if skewed else 0) - (wires - 1)
                step = late // wires
                if late % wires or not 0 <= step < rows:
                    continue
                chain[:, 1 : step + 1, j] = chain[:, :step, j].copy()
                source = rows - 1 - step
                real = source < row[ROWS] and j < row[COLS]
                chain[:, 0, j] = load.other[:, row[ROW] + source, row[COL] + j] if real else 0
                self.counts[READ_OTHER] += real

    def leave(self, row: Any, j: int, word: int, turn: int) -> None:
        """Let a word leave the foot of a column: into the accumulators, or out as a result."""
        value = self.sums[-1, j]
        self.foot[j] = value if turn == 0 else self.plus(self.foot[j], value)
        if turn < self.load.told.passes - 1:
            return
        place = (row[COL] + j, row[FIRST] + word)
        if row[OPENS]:
            self.out[place] = self.foot[j]
        else:
            self.out[place] = self.plus(self.out[place], self.foot[j])
            self.counts[PARTIAL_READS] += 1
        self.counts[RESULTS if row[CLOSES] else PARTIAL_WRITES] += 1

    def held_sums(self) -> None:
        """One cycle of an array that holds the sums."""
        load, passes, t = self.load, self.load.told.passes, self.cycle
        drain = self.array.drain
        if drain != "side":
            self.shift_out(self.sums if drain == "bottom" else self.behind[0])
        self.right[0, :, 1:] = self.right[0, :, :-1].copy()
        self.down[1:] = self.down[:-1].copy()
        self.right[0, :, 0] = 0
        self.down[0] = 0
        others = load.other_parts
        for row in self.near:
            for i in range(row[ROWS]):
                word, turn = divmod(t - i - row[START], passes)
                if 0 <= word < row[LENGTH]:
                    self.right[0, i, 0] = load.right[turn // others, row[ROW] + i, row[FIRST] + word]
                    self.counts[READ_RIGHT] += turn == 0
                    self.counts[MACS] += row[COLS] * (turn == 0)
            for j in range(row[COLS]):
                word, turn = divmod(t - j - row[START], passes)
                if 0 <= word < row[LENGTH]:
                    self.down[0, j] = load.other[turn % others, row[FIRST] + word, row[COL] + j]
                    self.counts[READ_OTHER] += turn == 0
        active = self.active()
        self.sums = np.where(active, self.add(self.right, self.down[None], self.sums), self.sums)
        for row in self.near:
            ends = t - self.i - self.j == row[START] + passes * row[LENGTH] - 1
            used = ends & (self.i < row[ROWS]) & (self.j < row[COLS])
            if drain == "side":
                self.out[row[ROW] + self.i[used], row[COL] + self.j[used]] = self.sums[used]
                self.counts[RESULTS] += used.sum()
                if (ends & (self.i < row[TALL]) & (self.j < row[WIDE])).any():
                    self.last = t
            elif drain == "shadow":
                self.behind[0][used] = self.sums[used]
            if drain != "bottom":
                self.sums[ends] = 0

    def shift_out(self, chain: Words) -> None:
        """Move results one row down, column by column once its last row is done; the last row's leave."""
        bottom = self.array.rows - 1
        for row in self.near:
            for j in range(row[WIDE]):
                step = self.cycle - j - (row[START] + self.load.told.passes * row[LENGTH] + row[TALL] - 1)
                if not 0 <= step <= bottom:
                    continue
                lowest = min(step + row[TALL] - 1, bottom)
                if lowest == bottom:
                    self.last = self.cycle
                    if bottom - step < row[ROWS] and j < row[COLS]:
                        self.out[row[ROW] + bottom - step, row[COL] + j] = chain[bottom, j]
                        self.counts[RESULTS] += 1
                    lowest = bottom - 1
                chain[step + 1 : lowest + 2, j] = chain[step : lowest + 1, j].copy()
                chain[step, j] = 0

    def add(self, right: Words, other: Words, sums: Words) -> Words:
        """What every PE's sum is after this cycle."""
        if self.load.unit is None:
            for part in range(len(right)):
                product = right[part].astype(np.int64) * other[part]
                sums = self.plus(sums, product)
            return sums
        if not self.load.plain:
            return np.asarray(right[0] * other[0] + sums, sums.dtype)
        from gemmlab.numerics import dots

        found = sums.copy()
        at = self.active()
        a, b = (other[0], right[0]) if self.array.flow.right == "b" else (right[0], other[0])
        found[at] = dots(self.load.unit, a[at][:, None], b[at][:, None], found[at])
        return found

    def plus(self, left: Any, right: Any) -> Any:
        """A sum in the accumulator's format; integers wrap around and are counted."""
        if self.load.unit is not None:
            return left + right
        exact = np.asarray(left, np.int64) + right
        self.counts[OVERFLOWS] += ((exact > LARGEST) | (exact < -LARGEST - 1)).sum()
        return exact.astype(np.int32)
