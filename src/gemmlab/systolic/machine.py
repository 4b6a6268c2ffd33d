"""The grid compiled: registers in lines, cycles by `pulse`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gemmlab.systolic import pulse, pulse_held
from gemmlab.systolic.array import DRAINS, Array
from gemmlab.systolic.compiled import compiled
from gemmlab.systolic.control import LENGTH, TALL, WIDE
from gemmlab.systolic.pulse import CYCLE, DOWN_AT, FLIP, LAST, REMAINING, RIGHT_AT
from gemmlab.systolic.words import Load, Words

GAP = 16  #: words between rows, so that rows of a power of two do not fall on the same lines of a cache


class Machine:
    """The same registers as `Plain`'s, by the same names."""

    def __init__(self, array: Array, load: Load, table: Any, shape: tuple[int, int]) -> None:
        self.array, self.load, self.table = array, load, table
        self.frame = pulse.Frame(
            rows=array.rows,
            cols=array.cols,
            double=array.weights == "double",
            drain=DRAINS.index(array.drain),
            passes=load.told.passes,
            wires=load.other_parts,
            checked=load.checked,
            integer=load.unit is None,
        )
        pes, sums = array.pes, np.float32 if load.unit is not None else np.int32
        wires = load.other_parts if array.moves_sums else 1
        self.line = np.zeros((wires, 2 * pes), load.right.dtype)
        self.counts = np.zeros(8, np.int64)
        self.at = np.zeros(9, np.int64)
        self.at[LAST] = -1
        self.at[RIGHT_AT] = self.at[DOWN_AT] = pes
        self.room = spaced(shape, sums)
        self.out = self.room[:, : shape[1]]
        self.right_words = with_gap(load.right)
        if array.moves_sums:
            self.at[REMAINING] = int((load.told.passes * table[:, LENGTH] * table[:, WIDE]).sum())
            self.held_line = np.zeros((wires, pes), load.other.dtype)
            self.behind_line = np.zeros((wires, pes), load.other.dtype)
            self.sum_lines = np.zeros((2, pes + array.cols), sums)
        else:
            self.at[REMAINING] = int((table[:, TALL] * table[:, WIDE]).sum())
            self.down_line = np.zeros((1, 2 * pes), load.other.dtype)
            self.behind_line = np.zeros((1, pes), sums)
            self.sum_lines = np.zeros((1, pes), sums)

    @property
    def cycle(self) -> int:
        """Cycles that are over."""
        return int(self.at[CYCLE])

    @property
    def last(self) -> int:
        """The cycle in which the last word left, up to now; -1 before any did."""
        return int(self.at[LAST])

    @property
    def done(self) -> bool:
        """Whether every word has left."""
        return bool(self.at[REMAINING] == 0)

    def advance(self, to: int) -> None:
        """Run until that many cycles are over, or all is done."""
        run = kernels(self.array.moves_sums)
        shared = (to, self.frame, self.table, self.right_words, self.load.other, self.line)
        if self.array.moves_sums:
            run(*shared, self.held_line, self.behind_line, self.sum_lines, self.room, self.at, self.counts)
        else:
            run(
                *shared,
                self.down_line,
                self.behind_line[0],
                self.sum_lines[0],
                self.room,
                self.at,
                self.counts,
            )

    @property
    def right(self) -> Words:
        """Words that move right, (wires, rows, cols)."""
        begin = self.at[RIGHT_AT]
        return self.square(self.line[:, begin : begin + self.array.pes])

    @property
    def down(self) -> Words:
        """Words that move down in an array that holds the sums, (rows, cols)."""
        begin = self.at[DOWN_AT]
        found: Words = self.square(self.down_line[:, begin : begin + self.array.pes])[0]
        return found

    @property
    def held(self) -> Words:
        """Words of a held operand, (wires, rows, cols)."""
        return self.square(self.held_line)

    @property
    def behind(self) -> Words:
        """Words on their way in or out behind those in use, (wires, rows, cols)."""
        return self.square(self.behind_line)

    @property
    def sums(self) -> Words:
        """Sums, (rows, cols)."""
        lines = self.sum_lines
        if self.array.moves_sums:
            lines = lines[self.at[FLIP], self.array.cols :][None]
        found: Words = self.square(lines)[0]
        return found

    def square(self, line: Words) -> Words:
        """Lines of PEs as (wires, rows, cols)."""
        return line.reshape(-1, self.array.rows, self.array.cols)


def spaced(shape: tuple[int, ...], kind: Any) -> Words:
    """Zeros whose rows lie a gap apart."""
    return np.zeros((*shape[:-1], shape[-1] + GAP), kind)


def with_gap(words: Words) -> Words:
    """The words in rows that lie a gap apart."""
    room = spaced(words.shape, words.dtype)
    room[..., : words.shape[-1]] = words
    return room


@cache
def kernels(moves_sums: bool) -> Any:
    """The compiled cycles of one kind of array."""
    if moves_sums:
        return compiled(pulse, pulse.PARTS)["moving_sums"]
    return compiled(pulse_held, pulse_held.PARTS)["held_sums"]
