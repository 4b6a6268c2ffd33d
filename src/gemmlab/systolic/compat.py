"""What SCALE-Sim 3.0.0 prints for the same multiplication: its formulas, with their faults, for who comes from it."""

from __future__ import annotations

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, SystolicCompat
from gemmlab.systolic.array import Array
from gemmlab.systolic.closed import closed_form

#: what that program models; all else of an array it knows nothing of
ITS_ARRAY = {
    "weights": "single",
    "drain": "side",
    "edges": "full",
    "accumulators": None,
    "sram_bytes": None,
}


def scalesim(problem: Gemm, array: Array) -> SystolicCompat:
    """SCALE-Sim 3.0.0's figures, stall-free, for an array of these PEs and dataflow.

    It counts cycles from 0 and reports the last one's number, one too few; divides by it, which fails for one cycle;
    adds cols - 1 of the skew twice to what it calls compute utilisation of held operands; and counts rows + cols writes
    too many for every tile of held sums. The array's own options are replaced by the ones that it has. Raises
    GemmlabError as the closed form does, and for batches and groups.
    """
    if problem.batch != 1 or problem.groups:
        raise GemmlabError("SCALE-Sim takes one multiplication, without batch and groups", "one call for each")
    words = Gemm(problem.m, problem.n, problem.k, "int8")  # it knows no formats: every product takes a cycle
    found = closed_form(words, array.replace(**ITS_ARRAY, unit=""))
    cycles = found.cycles
    used = found.useful_macs / array.pes
    length = cycles // found.tiles
    charged = found.tiles * (length + array.cols - 1) if array.moves_sums else cycles
    extra = 0 if array.moves_sums else found.tiles * (array.rows + array.cols)
    return SystolicCompat(
        program="SCALE-Sim 3.0.0",
        cycles=cycles - 1,
        utilisation=used / (cycles - 1) if cycles > 1 else None,
        mapping=found.mapping,
        compute_utilisation=used / charged,
        a_reads=found.reads.a,
        b_reads=found.reads.b,
        c_writes=found.writes.c + found.writes.partial + extra,
    )
