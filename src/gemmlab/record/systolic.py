"""The section of a Record that a systolic array fills: cycles, accesses and traffic of one multiplication on it."""

from gemmlab.record.section import Section
from gemmlab.record.systolic_energy import SystolicEnergy


class SystolicReads(Section, frozen=True, kw_only=True):
    """Elements that the array reads, the whole problem."""

    a: int  #: of A, out of SRAM
    b: int  #: of B, out of SRAM
    c: int  #: partial sums, back out of the accumulators


class SystolicWrites(Section, frozen=True, kw_only=True):
    """Elements that leave the array, the whole problem."""

    c: int  #: results, into SRAM
    partial: int  #: partial sums, into the accumulators


class SystolicStalls(Section, frozen=True, kw_only=True):
    """Cycles in which no new row of operands enters the array, by cause; with the active cycles all of them."""

    weight_stall: int  #: waiting for a tile of the held operand out of DRAM
    weight_shift: int  #: shifting such a tile in, where nothing hides it
    input: int  #: waiting for a moving operand out of DRAM
    output: int  #: waiting for results to be written to DRAM
    skew: int  #: the wave running into the array and out of it
    drain: int  #: results shifted out of an output-stationary array, where nothing hides it

    @property
    def non_matrix(self) -> int:
        """All but the two of the weights: what TPU v1's paper calls non-matrix cycles."""
        return self.input + self.output + self.skew + self.drain


class SystolicDram(Section, frozen=True, kw_only=True):
    """Bytes between DRAM and SRAM, the whole problem."""

    a_bytes: int  #: of A, read
    b_bytes: int  #: of B, read
    c_bytes: int  #: of results, written

    @property
    def bytes(self) -> int:
        """All of them."""
        return self.a_bytes + self.b_bytes + self.c_bytes


class SystolicOverflow(Section, frozen=True, kw_only=True):
    """What left the range of integer accumulators: sums wrap around, so an output is wrong only if it itself leaves."""

    additions: int  #: single additions, in the array and in the accumulators, whose sum left the range
    outputs: int  #: elements of D whose exact value the accumulator's format does not hold
    first: tuple[int, int] | None = None  #: row and column of the first of those outputs


class SystolicCompat(Section, frozen=True, kw_only=True):
    """What another program reports for the same multiplication, its faults included."""

    program: str  #: name and version
    cycles: int  #: its total
    utilisation: float | None  #: null where it divides by zero
    mapping: float  #: share of the PEs that a tile uses, mean over the tiles
    compute_utilisation: float  #: what it calls so
    a_reads: int  #: of SRAM, elements
    b_reads: int  #: of SRAM
    c_writes: int  #: of SRAM


class SystolicSection(Section, frozen=True, kw_only=True):
    """One multiplication on one systolic array: counted by formula or by tiles, or emulated register by register."""

    rows: int  #: PEs down a column
    cols: int  #: PEs along a row
    dataflow: str  #: what stays in the PEs: ws weights (B), is inputs (A), os outputs
    weights: str  #: single or double: whether the next tile is shifted in behind the one in use
    drain: str  #: of os: side, bottom or shadow
    edges: str  #: exact, or full: a tile at the edge is charged as a whole one
    engine: str  #: closed form, tiles or grid
    unit: str  #: of numerics, in each PE; int32 where integers are added
    passes: int  #: cycles of a PE on one product: 1, 2 or 4 where multipliers are narrower than the operands
    accumulators: int | None  #: partial sums that each column can keep; null where as many as needed
    sram_bytes: int | None  #: null where everything fits
    dram_bytes_per_s: float | None  #: null where DRAM never makes it wait
    clock_hz: float | None  #: null where only cycles are asked for
    tiles: int  #: times that the array is set up: stationary tiles, once a strip
    strips: int  #: pieces that the moving side is cut into, so that its sums fit the accumulators and SRAM
    cycles: int  #: first word in to last word out
    time_s: float | None  #: of those cycles; null without a clock
    active_cycles: int  #: a row of operands enters
    stalls: SystolicStalls  #: the other cycles
    useful_macs: int  #: m * n * k
    unused_macs: int  #: of PEs that a tile does not fill, while the array is active
    utilisation: float  #: useful multiply-adds over what all PEs could do in all cycles
    mapping: float  #: useful over useful and unused
    reads: SystolicReads  #: of SRAM and accumulators
    writes: SystolicWrites  #: of SRAM and accumulators
    accumulators_used: int  #: partial sums that a column keeps at most
    dram: SystolicDram  #: each operand as often as SRAM makes it come
    compulsory_bytes: int  #: A, B and D once each
    overflow: SystolicOverflow | None = None  #: null where no values were computed, or no integers
    compat: SystolicCompat | None = None  #: null where not asked for
    units: int = 1  #: such arrays that share the work: counts are of all of them, cycles of the one that takes longest
    validated: str = ""  #: what the chip's predicted cycles were compared with; empty where with nothing
    energy_j: float | None = None  #: of arithmetic, SRAM and DRAM; null where no table was named
    energy: SystolicEnergy | None = None  #: what that is made of, and out of which table
    notes: tuple[str, ...] = ()  #: what else is to be said
