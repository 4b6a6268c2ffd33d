"""Counts of one multiplication as the Record's section."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, SystolicDram, SystolicReads, SystolicSection, SystolicStalls, SystolicWrites
from gemmlab.systolic.arithmetic import arithmetic
from gemmlab.systolic.array import Array
from gemmlab.systolic.formula import Formula
from gemmlab.units import ceil_div


class Tally(NamedTuple):
    """What one engine counted of one multiplication, no batch, no groups; cycles of the classes add up to `cycles`."""

    tiles: int
    strips: int
    cycles: int
    active: int
    weight_stall: int
    weight_shift: int
    input: int
    output: int
    skew: int
    drain: int
    slots: int  #: multiply-adds that all PEs could do in the active cycles
    macs: int
    right_reads: int
    other_reads: int
    partial: int
    results: int
    a_bits: int  #: from DRAM
    b_bits: int
    c_bits: int

    @property
    def dram_bits(self) -> int:
        """Of all operands."""
        return self.a_bits + self.b_bits + self.c_bits

    def plus(self, other: Tally) -> Tally:
        """One after the other; `strips` are the most of both."""
        sums = Tally(*(x + y for x, y in zip(self, other, strict=True)))
        return sums._replace(strips=max(self.strips, other.strips))

    def times(self, batch: int) -> Tally:
        """So many of it, one after another."""
        return Tally(*(batch * x for x in self))._replace(strips=self.strips)


def tally(form: Formula, strips: int, macs: int, bits: tuple[int, int, int]) -> Tally:
    """The closed form's counts, nothing waiting for DRAM."""
    return Tally(
        tiles=form.tiles,
        strips=strips,
        cycles=form.cycles,
        active=form.active,
        weight_stall=0,
        weight_shift=form.shift,
        input=0,
        output=0,
        skew=form.skew,
        drain=form.drain,
        slots=form.slots,
        macs=macs,
        right_reads=form.right_reads,
        other_reads=form.other_reads,
        partial=form.partial,
        results=form.results,
        a_bits=bits[0],
        b_bits=bits[1],
        c_bits=bits[2],
    )


def check(problem: Gemm) -> None:
    """Raise GemmlabError for what an array alone does not do."""
    for said, has in (
        (f"structure {problem.structure}", problem.structure != "general"),
        ("block scales", problem.scale is not None),
        (f"alpha = {problem.alpha}", problem.alpha != 1),
        (f"beta = {problem.beta}", problem.beta != 0),
        (f"epilogue `{problem.epilogue}`", bool(problem.epilogue)),
    ):
        if has:
            raise GemmlabError(f"{said} on a systolic array, which only multiplies", "D = A @ B, both general")


def section(problem: Gemm, array: Array, engine: str, done: Tally) -> SystolicSection:
    """The Record's `systolic` of what an engine counted."""
    told = arithmetic(problem, array)
    right_is_a = array.flow.right == "a"
    return SystolicSection(
        rows=array.rows,
        cols=array.cols,
        dataflow=array.dataflow,
        weights=array.weights,
        drain=array.drain,
        edges=array.edges,
        engine=engine,
        unit=told.unit,
        passes=told.passes,
        accumulators=array.accumulators,
        sram_bytes=array.sram_bytes,
        dram_bytes_per_s=array.dram_bytes_per_s,
        clock_hz=array.clock_hz,
        tiles=done.tiles,
        strips=done.strips,
        cycles=done.cycles,
        time_s=None if array.clock_hz is None else done.cycles / array.clock_hz,
        active_cycles=done.active,
        stalls=SystolicStalls(
            weight_stall=done.weight_stall,
            weight_shift=done.weight_shift,
            input=done.input,
            output=done.output,
            skew=done.skew,
            drain=done.drain,
        ),
        useful_macs=done.macs,
        unused_macs=done.slots - done.macs,
        utilisation=done.macs * told.passes / (array.pes * done.cycles),
        mapping=done.macs / done.slots,
        reads=SystolicReads(
            a=done.right_reads if right_is_a else done.other_reads,
            b=done.other_reads if right_is_a else done.right_reads,
            c=done.partial,
        ),
        writes=SystolicWrites(c=done.results, partial=done.partial),
        accumulators_used=accumulators_used(problem, array, done.strips),
        dram=SystolicDram(
            a_bytes=ceil_div(done.a_bits, 8), b_bytes=ceil_div(done.b_bits, 8), c_bytes=ceil_div(done.c_bits, 8)
        ),
        compulsory_bytes=problem.compulsory_bytes,
    )


def accumulators_used(problem: Gemm, array: Array, strips: int) -> int:
    """Partial sums that a column keeps at most; none where each result passes the array once."""
    most = 0
    for member in problem.members:
        rows, stream = getattr(member, array.flow.rows), getattr(member, array.flow.stream)
        if not array.moves_sums:
            most = max(most, min(rows, array.rows) * (array.sums_of_a_tile // array.rows))
        elif rows > array.rows:
            most = max(most, ceil_div(stream, min(strips, stream)))
    return most
