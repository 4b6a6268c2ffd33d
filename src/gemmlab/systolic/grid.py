"""The grid: every register of the array, and the words that move through them cycle by cycle."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from gemmlab.problem import Gemm
from gemmlab.problem.checks import whole
from gemmlab.record import GemmlabError, SystolicOverflow, SystolicSection
from gemmlab.systolic.array import Array
from gemmlab.systolic.closed import chosen
from gemmlab.systolic.control import LENGTH, MOST_TILES, SHIFT_AT, START, control, last_cycle
from gemmlab.systolic.dataflow import sides
from gemmlab.systolic.figures import Tally, check, section
from gemmlab.systolic.machine import Machine
from gemmlab.systolic.plain import Plain
from gemmlab.systolic.plan import traffic
from gemmlab.systolic.pulse import MACS, OVERFLOWS, PARTIAL_READS, PARTIAL_WRITES, READ_OTHER, READ_RIGHT, RESULTS
from gemmlab.systolic.state import numbered, state
from gemmlab.systolic.words import Load, Words, load
from gemmlab.units import ceil_div

LARGEST = 1 << 34  #: multiply-adds: some minutes of a core


class Grid:
    """An array with A (m, k) and B (k, n) about to enter it, at cycle 0.

    Operands as numerics' `operand` takes them: of the problem's formats, or numbers that these hold. Nothing waits for
    DRAM here: the edges have every word in its cycle. What cycles, reads and writes the section tells are counted as
    words pass the edges. Raises GemmlabError for formats without a unit, shapes that are not the problem's, batches and
    groups, and for more than can be walked cycle by cycle.
    """

    def __init__(self, problem: Gemm, array: Array, operands: tuple[Any, Any]) -> None:
        check(problem)
        if problem.batch != 1 or problem.groups:
            raise GemmlabError("a grid takes one multiplication, without batch and groups", "one grid for each")
        size = sides(problem, array.flow)
        self.plan = chosen(problem, array)[1]
        strips = self.plan.strips if array.moves_sums else 1
        tiles = ceil_div(size.rows, array.rows) * ceil_div(size.cols, array.cols) * strips
        if problem.multiply_adds > LARGEST or tiles > MOST_TILES:
            raise GemmlabError(
                f"{problem.m}x{problem.n}x{problem.k} is too large to move every word, cycle by cycle",
                "the closed form and the tile engine count it",
            )
        self.problem, self.array = problem, array
        self.load = load(problem, array, *operands)
        self.table = control(size, array, self.load.told, self.plan)
        #: accumulators and results as the array has them, before they are turned into D
        self.shape = (size.cols, size.stream) if array.moves_sums else (size.rows, size.cols)
        self.machine = self.make(self.load)
        self.seen: tuple[Machine | Plain, Machine] | None = None  # two more for `state`: words, and their elements

    def make(self, words: Load) -> Machine | Plain:
        """An array at cycle 0 with those words about to enter."""
        return (Plain if words.plain else Machine)(self.array, words, self.table, self.shape)

    @property
    def cycle(self) -> int:
        """Cycles that are over."""
        return self.machine.cycle

    @property
    def done(self) -> bool:
        """Whether the last word has left."""
        return self.machine.done

    def step(self, cycles: int = 1) -> None:
        """Let that many cycles pass, or what is left of them."""
        self.machine.advance(self.machine.cycle + cycles)

    def state(self, cycle: int) -> dict[str, Any]:
        """Every register after that cycle, from 0, as lists: see `state`. Raises GemmlabError past the end."""
        last = last_cycle(self.table, self.array, self.load.told.passes)
        if not 0 <= whole("cycle", cycle) <= last:
            raise GemmlabError(f"cycle {cycle} is none of this grid's", f"from 0 to {last}")
        if self.seen is None or self.seen[0].cycle > cycle:
            marks = Machine(self.array, numbered(self.load), self.table, self.shape)
            self.seen = self.make(self.load), marks
        for each in self.seen:
            each.advance(cycle + 1)
        return {**state(self.array, self.load, self.table, *self.seen), "cycles": last + 1}

    def run(self) -> tuple[Words, SystolicSection]:
        """D (m, n) in the accumulator's type, and the section, after the last word has left."""
        while not self.done:
            self.step(1 << 40)
        return self.result(), self.section()

    def result(self) -> Words:
        """D (m, n) so far, in the accumulator's type: partial sums while it runs."""
        out = self.machine.out
        return np.ascontiguousarray(out.T if self.array.dataflow == "ws" else out)

    def section(self) -> SystolicSection:
        """The Record's `systolic`: what has passed the edges. Raises GemmlabError before the last word has left."""
        if not self.done:
            raise GemmlabError(f"the grid is at cycle {self.cycle}, and words are still in it", "run() it to its end")
        told, counts = self.load.told, self.machine.counts
        stalls = idle(self.table, self.array, told.passes, self.machine.last + 1)
        length = int(self.table[:, LENGTH].sum())
        bits = traffic(self.problem, self.array, self.plan)
        done = Tally(
            tiles=len(self.table),
            strips=self.plan.strips if self.array.moves_sums else 1,
            cycles=self.machine.last + 1,
            active=told.passes * length,
            weight_stall=0,
            weight_shift=stalls["shift"],
            input=0,
            output=0,
            skew=stalls["skew"],
            drain=stalls["drain"],
            slots=length * self.array.pes,
            macs=int(counts[MACS]),
            right_reads=int(counts[READ_RIGHT]),
            other_reads=int(counts[READ_OTHER]),
            partial=int(counts[PARTIAL_WRITES]),
            results=int(counts[RESULTS]),
            a_bits=bits[0],
            b_bits=bits[1],
            c_bits=bits[2],
        )
        assert counts[PARTIAL_READS] == counts[PARTIAL_WRITES]
        found = section(self.problem, self.array, "grid", done)
        return msgspec.structs.replace(found, overflow=self.overflow())

    def overflow(self) -> SystolicOverflow | None:
        """What left int32, of a grid that is done; None of floats."""
        if self.load.unit is not None:
            return None
        additions = int(self.machine.counts[OVERFLOWS])
        if additions == 0:
            return SystolicOverflow(additions=0, outputs=0)
        exact = exact_product(self.problem, self.array, self.load)
        wrong = exact != self.result()
        first = tuple(int(at) for at in np.argwhere(wrong)[0]) if wrong.any() else None
        return SystolicOverflow(
            additions=additions, outputs=int(wrong.sum()), first=None if first is None else (first[0], first[1])
        )


def idle(table: Any, array: Array, passes: int, cycles: int) -> dict[str, int]:
    """Cycles in which no row enters, by cause, from the cycles in which tiles begin and end."""
    starts = table[:, START]
    ends = starts + passes * table[:, LENGTH]
    gaps = starts - np.concatenate([[0], ends[:-1]])
    tail = cycles - int(ends[-1])
    if array.moves_sums:
        shift = int(np.minimum(gaps, starts - table[:, SHIFT_AT]).sum())
        return {"shift": shift, "drain": 0, "skew": int(gaps.sum()) - shift + tail}
    if array.drain == "shadow":
        return {"shift": 0, "drain": int(gaps.sum()) + array.rows, "skew": tail - array.rows}
    drain = len(table) * array.rows if array.drain == "bottom" else 0
    return {"shift": 0, "drain": drain, "skew": int(gaps.sum()) + tail - drain}


def exact_product(problem: Gemm, array: Array, words: Load) -> Words:
    """A @ B in int64: float64 holds every sum of 16-bit products up to k = 2^23 exactly."""
    right, other = words.right.sum(axis=0, dtype=np.int64), words.other.sum(axis=0, dtype=np.int64)
    a, b = {"ws": (right.T, other), "is": (other.T, right), "os": (right, other)}[array.dataflow]
    if problem.k <= 1 << 20:
        return np.asarray(a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    return np.asarray(a @ b)
