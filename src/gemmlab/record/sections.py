"""The sections of a Record. Field names are the JSON keys; sizes are elements, the rest SI units as each name says."""

import msgspec

from gemmlab.record.emulation import EmulationSection
from gemmlab.record.numerics import NumericsSection
from gemmlab.record.section import Section
from gemmlab.record.systolic import SystolicSection
from gemmlab.record.workload import CallSection


class ProblemSection(Section, frozen=True, kw_only=True):
    """The multiplication D = epilogue(alpha * A @ B + beta * C)."""

    m: int  #: rows of A and D
    n: int  #: columns of B and D
    k: int  #: columns of A, rows of B: the side that is summed over
    batch: int  #: multiplications of these sides, each with its own A, B and C
    groups: tuple[tuple[int, int, int], ...]  #: (m, n, k) of each member of a grouped GEMM; empty when there is none
    a_format: str  #: number format of A, by its ml_dtypes name
    b_format: str  #: of B
    c_format: str  #: of C
    d_format: str  #: of the result D
    accumulate: str  #: of the sums
    layout: str  #: A's letter, then B's; `t` is stored transposed
    lda: int  #: elements between two stored rows of A
    ldb: int  #: of B
    ldc: int  #: of C and D
    a_offset_bytes: int  #: how far A's first element lies past an aligned address
    b_offset_bytes: int  #: B's
    c_offset_bytes: int  #: C's and D's
    alpha: float  #: factor of A @ B
    beta: float  #: factor of C; 0 never reads it
    epilogue: str  #: steps applied to each output, joined by `+`; empty when there are none
    scale: str  #: block scales as `format/block`, empty when there are none
    structure: str  #: what is known of A: general, triangular, symmetric, banded or sparse_2_4
    lower_band: int = 0  #: diagonals below the main one, of a banded A
    upper_band: int = 0  #: above it


class LevelFigures(Section, frozen=True, kw_only=True):
    """One level of a chip's memory, the whole chip together."""

    name: str  #: dram, l2, shared or register
    bandwidth_bytes_per_s: float  #: datasheet, or calibrated
    capacity_bytes: float  #: of all SMs together


class ChipSection(Section, frozen=True, kw_only=True):
    """The chip as the prediction used it."""

    name: str  #: as `gemmlab chips` lists it
    sm_count: int  #: SMs, compute units, matrix units or cores
    clock_hz: float  #: the clock of the published peaks
    levels: tuple[LevelFigures, ...]  #: from DRAM inwards
    peak_flop_per_s: dict[str, float]  #: dense peak by format
    calibrated: bool  #: its constants were fitted to measurements of this chip
    validated: bool  #: its predictions were compared with measurements that the fit did not see


class KernelSection(Section, frozen=True, kw_only=True):
    """The kernel whose program was counted."""

    name: str  #: in the catalogue of kernels
    block_m: int  #: rows of D of one program's tile
    block_n: int  #: columns of it
    block_k: int  #: how much of k a program takes at a time
    stages: int  #: tiles of A and B in flight in shared memory
    warps: int  #: of one program
    registers: int  #: of one thread
    split_k: int  #: programs that share one tile of D, each a part of k
    group_m: int  #: rows of tiles that are walked together
    raster: str  #: n: programs run along n first; m: along m
    cluster_m: int  #: programs along m that share B's tile
    cluster_n: int  #: programs along n that share A's tile
    shared_bytes: int  #: shared memory of one program


class ArrayCount(Section, frozen=True, kw_only=True):
    """What a CPU rung's loops ask of one array; a value that stays in a register is asked for once."""

    name: str  #: A, B or C; packed A and packed B; edge, product or sums: what lies between registers and C
    load_elements: int  #: elements that loads ask for, a vector's lanes each
    load_bytes: int  #: the same in bytes
    store_elements: int  #: elements that stores write
    store_bytes: int  #: the same in bytes


class Count(Section, frozen=True, kw_only=True):
    """Counted: exact, before any cache, the whole problem (all batch entries and groups).

    Of a CPU's rung `arrays` tells its arrays one by one, and what only a GPU has (sectors, requests, shared memory) is
    0; loads and stores are those of all its arrays, and `programs` are rectangles of C, a thread each.
    """

    flop: int  #: 2 for each multiply-add
    epilogue_flop: int  #: of all outputs
    global_load_elements: int  #: in-range elements that the threads ask for
    global_load_bytes: int  #: the same in bytes; C only where beta is not 0
    global_store_bytes: int  #: of D, and of partial results
    compulsory_bytes: int  #: A, B and C once each
    raw_bytes: int  #: = global_load_bytes
    sectors_requested: int  #: 32-byte sectors of the loads, by each warp's request, true start alignment
    store_sectors: int  #: 32-byte sectors of the stores
    shared_load_bytes: int  #: read from shared memory
    shared_store_bytes: int  #: written to it
    register_load_elements: int  #: operands that the arithmetic reads from registers
    intensity_flop_per_byte: float  #: flop over (loads + stores)
    padded_flop: int  #: flop that the tiles execute, out-of-range elements included
    programs: int  #: thread blocks launched
    load_requests: int = 0  #: warps' load requests with at least one lane in range
    store_requests: int = 0  #: the same of stores
    workspace_bytes: int = 0  #: partial results of split_k, one way; in both loads and stores above
    arrays: tuple[ArrayCount, ...] = ()  #: of a CPU's rung, array by array; empty for a GPU's kernel


class LevelPrediction(Section, frozen=True, kw_only=True):
    """What one level of memory carries and how long that takes by itself."""

    name: str  #: dram, l2, shared or register; of a CPU's rung its caches: dram, l3, l2 or l1
    bytes: float  #: carried by this level
    time_s: float  #: at its bandwidth, nothing else in the way
    intensity_flop_per_byte: float  #: flop over bytes
    knee_flop_per_byte: float  #: the intensity above which arithmetic is the limit


class Term(Section, frozen=True, kw_only=True):
    """One named cause's share of the predicted time; all shares add up to it."""

    cause: str  #: its name
    time_s: float  #: its share; all shares add up to the predicted time
    why: str = ""  #: the reason, in words


class Prediction(Section, frozen=True, kw_only=True):
    """Predicted: traffic, limits and time."""

    time_s: float  #: of one launch, data in DRAM
    bound: str  #: what limits it
    knee_flop_per_byte: float  #: peak over DRAM bandwidth
    compute_time_s: float  #: flop at the data sheet's peak
    waves: float  #: programs over the slots for them
    wave_efficiency: float  #: waves over the next whole number of them
    programs_per_sm: int  #: resident at once
    occupancy_limit: str  #: what stops one more program from fitting an SM
    dram_read_bytes: float  #: through L2
    dram_write_bytes: float  #: through L2
    dram_bytes: float  #: both together
    dram_bytes_low: float  #: lower end of the band
    dram_bytes_high: float  #: upper end of the band
    levels: tuple[LevelPrediction, ...]  #: each level by itself
    terms: tuple[Term, ...]  #: the waterfall of causes
    lower_bound_bytes: float  #: no algorithm doing all m*n*k products moves less
    lower_bounds: dict[str, float]  #: bytes by name; hong_kung is what three tiles reach, no bound
    energy_j: float | None  #: null where the chip's file has no energies
    notes: tuple[str, ...] = ()  #: what else is to be said


class Advice(Section, frozen=True, kw_only=True):
    """One change, what it is predicted to gain, and what it costs."""

    cause: str  #: what it removes
    change: str  #: what to do
    predicted_speedup: float  #: time now over time then
    cost: str  #: what it takes
    confidence: str  #: high, medium or low


class Measurement(Section, frozen=True, kw_only=True):
    """Measured, or reported by the user."""

    backend: str  #: what measured it; `reported` is a time that the user gave
    time_s: float | None = None  #: median of the rounds, of one multiplication; null where there is a fault
    time_s_low: float | None = None  #: lower quartile
    time_s_high: float | None = None  #: upper quartile
    repeats: int | None = None  #: how many multiplications were timed, all rounds together
    flop_per_s: float | None = None  #: flop over time
    fraction_of_limit: float | None = None  #: limit over time: 1 is the roofline itself
    environment: dict[str, str] = msgspec.field(default_factory=dict)  #: chip, driver, versions, clocks
    kernel: str = ""  #: what was timed, by its name within the backend
    idea: str = ""  #: the one thing that it does differently, in a sentence
    vendor: bool = False  #: a library that others are measured against
    threads: int | None = None  #: of the CPU
    device: int | None = None  #: which NVIDIA GPU, as nvidia-smi counts
    software: bool = False  #: on a software adapter, where the CPU does a GPU's work: the time is no chip's
    samples: tuple[float, ...] = ()  #: seconds of one multiplication, of each round in turn
    copies: int | None = None  #: sets of operands that the multiplications rotate through
    sustained_time_s: float | None = None  #: of one multiplication, once the chip has worked without a pause
    limit_s: float | None = None  #: what the fraction is of: the roofline's seconds
    fault: str = ""  #: crashed, never ended, out of memory, refused, wrong or above the limit; empty where fine
    fault_detail: str = ""  #: the same in words
    notes: tuple[str, ...] = ()  #: what else is to be known of the figure


class WorstElement(Section, frozen=True, kw_only=True):
    """The element of D that lies furthest off: a wrong one if any is, else one never written, else out of range."""

    index: tuple[int, ...]  #: row and column of D, behind the batch entry's or the group member's number
    got: str  #: what D holds, as text, since NaN and infinities are no JSON
    expected: str  #: the reference's value, as text
    error_over_bound: float | None  #: above 1 is more than rounding; null where no bound allows it at all


class Verdict(Section, frozen=True, kw_only=True):
    """Checked: every element of D against a reference. One that is not informative proves nothing, right or not."""

    ok: bool  #: no element is wrong, unwritten or out of range
    wrong_elements: int  #: further off than rounding explains
    max_relative_error: float  #: largest error over |alpha| |A||B| + |beta C|, of elements with a finite one
    bound: float  #: what rounding explains of it, underflow left out; 0 where the result must be exact
    reference: str  #: what D was compared with, and how exact that is
    informative: bool  #: every fault tried in the reference would have been found under the same bound
    elements: int  #: of D, every batch entry and group
    unwritten_elements: int  #: still hold the NaN, or the other code, that D was filled with
    range_elements: int  #: lost to overflow or underflow of the accumulator or of D's format, not to rounding
    missed_faults: tuple[str, ...] = ()  #: faults that would have passed; empty where informative
    worst: WorstElement | None = None  #: the furthest off


class Record(Section, frozen=True, kw_only=True):
    """One multiplication, one chip, one kernel; sections that nobody filled are null."""

    problem: ProblemSection | None = None  #: what was asked
    chip: ChipSection | None = None  #: where
    kernel: KernelSection | None = None  #: how
    count: Count | None = None  #: counted
    prediction: Prediction | None = None  #: predicted
    advice: tuple[Advice, ...] | None = None  #: predicted; null where not asked for, empty where nothing is to gain
    emulation: EmulationSection | None = None  #: emulated: one launch of a kernel
    measurement: Measurement | None = None  #: measured
    verdict: Verdict | None = None  #: checked
    systolic: SystolicSection | None = None  #: counted or emulated: a systolic array
    numerics: NumericsSection | None = None  #: emulated or measured: a matrix unit
    call: CallSection | None = None  #: its part in a whole program

    def to_json(self) -> str:
        """The Record as one line of JSON with every key."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> "Record":
        """The Record that `to_json` wrote; raises msgspec.ValidationError naming the field that is wrong."""
        return msgspec.json.decode(text, type=cls)
