"""Energy of a run on a systolic array: its counts, each by the memory that serves it."""

from __future__ import annotations

from gemmlab.formats import bits_of
from gemmlab.problem import Gemm
from gemmlab.record import SystolicEnergy, SystolicSection
from gemmlab.systolic import Array
from gemmlab.systolic.energy import Use, Work, charge, table

ASSUMED_SRAM = 1 << 20  #: bytes of one bank where the array's SRAM is not said: larger ones are built of such banks
SUM_BYTES = 4  #: of a partial sum


def energy_of(problem: Gemm, array: Array, section: SystolicSection, table_name: str) -> SystolicEnergy:
    """What the counts of a section cost by a table of energies.

    SRAM is charged as the smallest memory of the table that holds it, each column's accumulators as a memory of their
    own. Raises GemmlabError for a table that does not exist.
    """
    sizes = {name: bits_of(getattr(problem, f"{name}_format")) / 8 for name in ("a", "b", "d")}
    sram = float(array.sram_bytes or ASSUMED_SRAM)
    column = float(SUM_BYTES * (array.accumulators or section.accumulators_used))
    sums = section.reads.c + section.writes.partial
    return charge(
        table(table_name),
        Work(
            macs=section.useful_macs,
            operands=wider(problem),
            sums=problem.accumulate,
            from_sram=(
                Use("A out of SRAM", round(section.reads.a * sizes["a"]), sram),
                Use("B out of SRAM", round(section.reads.b * sizes["b"]), sram),
            ),
            others=(
                Use("results into SRAM", round(section.writes.c * sizes["d"]), sram),
                Use("partial sums in accumulators", sums * SUM_BYTES, column),
                Use("DRAM", section.dram.bytes, None),
            ),
            bytes_per_mac=sizes["a"] + sizes["b"],
        ),
    )


def wider(problem: Gemm) -> str:
    """The format of the wider operand."""
    return max((problem.a_format, problem.b_format), key=bits_of)
