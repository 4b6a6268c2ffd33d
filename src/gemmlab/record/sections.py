"""The sections of a Record. Field names are the JSON keys; sizes are elements, the rest SI units as each name says."""

import msgspec


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all sections: frozen, named fields, comparable."""


class ProblemSection(Section):
    """The multiplication D = epilogue(alpha * A @ B + beta * C)."""

    m: int
    n: int
    k: int
    batch: int
    groups: tuple[tuple[int, int, int], ...]  #: (m, n, k) of each member of a grouped GEMM; empty when there is none
    a_format: str
    b_format: str
    c_format: str
    d_format: str
    accumulate: str
    layout: str
    lda: int
    ldb: int
    ldc: int
    a_offset_bytes: int
    b_offset_bytes: int
    c_offset_bytes: int
    alpha: float
    beta: float
    epilogue: str
    scale: str  #: block scales as `format/block`, empty when there are none
    structure: str
    lower_band: int = 0  #: diagonals below and above the main one, of a banded A
    upper_band: int = 0


class LevelFigures(Section):
    """One level of a chip's memory, the whole chip together."""

    name: str
    bandwidth_bytes_per_s: float
    capacity_bytes: float


class ChipSection(Section):
    """The chip as the prediction used it."""

    name: str
    sm_count: int
    clock_hz: float
    levels: tuple[LevelFigures, ...]
    peak_flop_per_s: dict[str, float]
    calibrated: bool  #: its constants were fitted to measurements of this chip
    validated: bool  #: its predictions were compared with measurements that the fit did not see


class KernelSection(Section):
    """The kernel whose program was counted."""

    name: str
    block_m: int
    block_n: int
    block_k: int
    stages: int
    warps: int
    registers: int
    split_k: int
    group_m: int
    raster: str
    cluster_m: int
    cluster_n: int
    shared_bytes: int  #: shared memory of one program


class Count(Section):
    """Counted: exact, before any cache, the whole problem (all batch entries and groups)."""

    flop: int
    epilogue_flop: int
    global_load_elements: int
    global_load_bytes: int
    global_store_bytes: int
    compulsory_bytes: int  #: A, B and C once each
    raw_bytes: int  #: = global_load_bytes
    sectors_requested: int  #: 32-byte sectors of the loads, by each warp's request, true start alignment
    store_sectors: int
    shared_load_bytes: int
    shared_store_bytes: int
    register_load_elements: int  #: operands that the arithmetic reads from registers
    intensity_flop_per_byte: float  #: flop over (loads + stores)
    padded_flop: int  #: flop that the tiles execute, out-of-range elements included
    programs: int  #: thread blocks launched
    load_requests: int = 0  #: warps' load requests with at least one lane in range
    store_requests: int = 0
    workspace_bytes: int = 0  #: partial results of split_k, one way; in both loads and stores above


class LevelPrediction(Section):
    """What one level of memory carries and how long that takes by itself."""

    name: str
    bytes: float
    time_s: float
    intensity_flop_per_byte: float
    knee_flop_per_byte: float


class Term(Section):
    """One named cause's share of the predicted time; all shares add up to it."""

    cause: str
    time_s: float
    why: str = ""


class Prediction(Section):
    """Predicted: traffic, limits and time."""

    time_s: float
    bound: str
    knee_flop_per_byte: float
    compute_time_s: float  #: flop at the data sheet's peak
    waves: float
    wave_efficiency: float
    programs_per_sm: int
    occupancy_limit: str  #: what stops one more program from fitting an SM
    dram_read_bytes: float
    dram_write_bytes: float
    dram_bytes: float
    dram_bytes_low: float
    dram_bytes_high: float
    levels: tuple[LevelPrediction, ...]
    terms: tuple[Term, ...]
    lower_bound_bytes: float
    lower_bounds: dict[str, float]
    energy_j: float | None
    notes: tuple[str, ...] = ()


class Advice(Section):
    """One change, what it is predicted to gain, and what it costs."""

    cause: str
    change: str
    predicted_speedup: float
    cost: str
    confidence: str


class Measurement(Section):
    """Measured, or reported by the user."""

    backend: str
    time_s: float
    time_s_low: float | None = None
    time_s_high: float | None = None
    repeats: int | None = None
    flop_per_s: float | None = None
    fraction_of_limit: float | None = None
    environment: dict[str, str] = {}


class Record(Section):
    """One multiplication, one chip, one kernel; sections that nobody filled are null."""

    problem: ProblemSection | None = None
    chip: ChipSection | None = None
    kernel: KernelSection | None = None
    count: Count | None = None
    prediction: Prediction | None = None
    advice: tuple[Advice, ...] | None = None
    emulation: None = None
    measurement: Measurement | None = None
    verdict: None = None
    systolic: None = None
    numerics: None = None

    def to_json(self) -> str:
        """The Record as one line of JSON with every key."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> "Record":
        """The Record that `to_json` wrote; raises msgspec.ValidationError naming the field that is wrong."""
        return msgspec.json.decode(text, type=cls)
