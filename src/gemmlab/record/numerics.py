"""The section of a Record about a matrix unit: which, how it was used, what its accumulator does to the bits."""

from typing import Any

import msgspec

from gemmlab.record.section import Section


class NumericsSchedule(Section, frozen=True, kw_only=True):
    """In which order and through which formats the multiplication was brought together."""

    instruction_k: int  #: products of one instruction
    promote: int  #: k between two promotions to a sum outside the unit; 0 never promotes
    split_k: int  #: programs that share k
    block_k: int  #: a share of split_k is a multiple of this
    reduce: str  #: format that the shares are stored in
    reduce_sum: str  #: format of the sum of the shares
    tfloat32: str  #: how float32 operands become tfloat32: rz, rna or rne
    alpha: float = 1.0  #: factor of A @ B
    beta: float = 0.0  #: factor of C; 0 never reads it
    a_format: str = ""  #: number format of A
    b_format: str = ""  #: of B
    d_format: str = ""  #: of the result D
    words: str = ""  #: the same as a sentence


class TraceTerm(Section, frozen=True, kw_only=True):
    """One summand: its value is significand * 2**unit_exponent, what stays of it kept * 2**(the step's unit)."""

    where: str  #: the k of its product, `c` for what was there before, or what an addition brings together
    a: str  #: A's element, of a product
    b: str  #: B's element, of a product
    value: str  #: exact product, or the addend
    exponent: int | None  #: that it counts with when aligning; null where it does not count
    significand: int  #: with its sign
    unit_exponent: int  #: of the significand's last bit
    shift: int | None  #: places below the largest exponent of the step; null where it does not count
    kept: int | None  #: what stays after the cut, in units of the step; null where nothing is aligned
    lost: str  #: what the cut takes, as a value
    lost_bits: int  #: bits of the significand below the cut, of a summand that is not zero


class TraceStep(Section, frozen=True, kw_only=True):
    """One fused sum of the unit, or one addition outside it."""

    kind: str  #: `fused sum`; of an addition what it brings together: late C, promotion, split-k, D, ...
    ks: tuple[int, ...]  #: products in it
    terms: tuple[TraceTerm, ...]  #: in the order of k, what was there before behind them
    largest_exponent: int  #: of all summands; they are aligned to it
    unit_exponent: int  #: exponent of the last bit that is kept
    total: int  #: sum of what was kept, in units of 2**unit_exponent
    total_value: str  #: the same as a value
    exact: str  #: sum of the summands as they came, nothing cut
    cut: str  #: how summands were cut: rz, rne, rna, floor; empty where nothing is cut
    rounding: str  #: how the sum became the result, in words
    result: str  #: the value that goes on; empty where the sum goes on unrounded
    code: str  #: its bits, hexadecimal
    format: str  #: whose bits these are
    width: int  #: fraction bits that the rounding keeps
    lost: str  #: what the rounding takes of the sum; empty where there is no finite result
    rule: str  #: `nan` or `inf` where a rule for special values gave the result; else empty


class TraceSection(Section, frozen=True, kw_only=True):
    """Emulated: one output of a multiplication, term by term."""

    row: int  #: of D
    column: int  #: of D
    k: int  #: products
    accumulate: str  #: format of the unit's sums
    d_format: str  #: of the result
    chains: tuple[tuple[int, int], ...]  #: first k and the one past the last of each chain that starts from zero
    steps: tuple[TraceStep, ...]  #: in the order in which they happen
    result: str  #: the output
    code: str  #: its bits, hexadecimal
    exact: str  #: the same sum without any rounding
    error: str  #: result less exact; empty where one is not finite


class NumericsMismatch(Section, frozen=True, kw_only=True):
    """The first output that differs."""

    output: str  #: which of the recorded outputs, or of what
    index: tuple[int, ...]  #: of the vector, or row and column
    expected: str  #: bits that were recorded or computed by the other, hexadecimal
    got: str  #: bits that the unit gives, hexadecimal
    expected_value: str  #: the same as a number
    got_value: str  #: the same as a number
    trace: TraceSection | None = None  #: how the unit comes to its bits


class NumericsOutput(Section, frozen=True, kw_only=True):
    """One of several outputs that were compared."""

    name: str  #: float32 or float16, or the backend
    unit: str  #: the unit that it was compared with
    mismatches: int  #: outputs that differ in any bit
    total: int  #: outputs that were compared


class NumericsSweepStep(Section, frozen=True, kw_only=True):
    """One step of the truncation sweep."""

    bits: int  #: low bits cleared of every output of an instruction chain
    unchanged: float  #: share of outputs that stay the same, bit for bit
    relative_frobenius: float | None = None  #: error beside float64, over the reference


class NumericsEvidence(Section, frozen=True, kw_only=True):
    """One probe of the unit and what it says."""

    probe: str  #: its name
    asked: str  #: what goes in
    answer: str  #: what came out
    says: str  #: what follows for the unit


class NumericsAmbiguity(Section, frozen=True, kw_only=True):
    """A rule of a revealed unit that its answers leave open."""

    field: str  #: of the unit
    values: tuple[str, ...]  #: some of those that explain all answers, the chosen one first
    reason: str  #: why no experiment in these formats shows it


class NumericsError(Section, frozen=True, kw_only=True):
    """Emulated outputs beside a float64 reference of the same operands."""

    relative_frobenius: float | None  #: |D - reference| over |reference|, both Frobenius norms; null if not finite
    max_relative: float | None  #: largest error over |alpha| |A||B| + |beta C|, of outputs with a finite one
    bias: float | None  #: signed error over |reference|, summed: below 0 toward zero
    correctly_rounded: int  #: outputs equal to the reference rounded to D's format, bit for bit
    total: int  #: outputs
    not_finite: int  #: outputs that are NaN or infinite
    time_s: float  #: measured: seconds of the emulation on this machine
    mac_per_s: float  #: measured: products a second of the emulation on this machine


class NumericsPrediction(Section, frozen=True, kw_only=True):
    """Predicted: what the unit and the schedule do to a sum of this length, from a formula and not from a run."""

    max_bound: float | None  #: no output is further off than this; null where the accumulator may overflow
    relative_bound: float | None  #: Frobenius norm of all outputs' bounds over that of the exact sums
    relative_error: float | None  #: expected Frobenius norm of the error over that of the exact sums
    relative_bias: float | None  #: expected signed error over the sums' magnitudes; negative: toward zero
    stuck_value: float | None  #: running sum from which no product here changes it; null where there is none
    stuck_from_k: int | None  #: k from which half of the outputs take in nothing more; null: never
    overflow_from_k: int | None  #: k at which a sum leaves the accumulator's range; null: never
    outputs_sampled: int  #: outputs that the expected figures come from
    tolerance: float | None = None  #: expected relative error that was asked for
    promote: int | None = None  #: largest promotion interval that meets the tolerance; null where none does


class NumericsSection(Section, frozen=True, kw_only=True):
    """One matrix unit: what was asked of it, and what that says of its accumulator."""

    unit: str  #: its name
    kind: str = ""  #: what the figures are: emulated, or measured
    backend: str = ""  #: what was asked: the unit itself, or what ran on hardware
    schedule: NumericsSchedule | None = None  #: of a whole multiplication
    plateau: int | None = None  #: most low bits that can be cleared without changing any output
    width_bits: int | None = None  #: of the accumulator as kept: sign, exponent and fraction
    fraction_bits: int | None = None  #: fraction bits of it
    mismatches: int | None = None  #: outputs that differ
    total: int | None = None  #: outputs compared
    first_mismatch: NumericsMismatch | None = None  #: null where none differs
    outputs: tuple[NumericsOutput, ...] = ()  #: of several that were compared
    confirmed: bool | None = None  #: whether the unit that was found gave every bit of random vectors
    sweep: tuple[NumericsSweepStep, ...] = ()  #: the truncation sweep
    contradicted: str = ""  #: why float64 says that a sweep's answers are wrong; empty where it does not
    mode: str = ""  #: of a sweep: blocks added outside the unit, or chained through it
    action: str = ""  #: what happens to low bits: mask or round
    a_format: str = ""  #: of a sweep's operand A
    b_format: str = ""  #: of its B
    shape: tuple[int, int, int] | None = None  #: m, n, k of a sweep
    block_k: int | None = None  #: k between two clearings
    evidence: tuple[NumericsEvidence, ...] = ()  #: probes and their answers
    fields: dict[str, Any] = msgspec.field(
        default_factory=dict
    )  #: the rules found, as of `gemmlab numerics units --json`
    ambiguous: tuple[NumericsAmbiguity, ...] = ()  #: rules that the answers leave open
    order: str = ""  #: of addition of the first products, nested; `c` is the addend
    same_as: tuple[str, ...] = ()  #: known units with the same rules, but for those left open
    experiments: int | None = None  #: dot products that were asked for
    instruction: str = ""  #: of the matrix unit that ran or would run, as PTX spells it
    architecture: str = ""  #: for which the machine code is
    sass: dict[str, int] = msgspec.field(default_factory=dict)  #: matrix opcodes of the machine code, and how many
    error: NumericsError | None = None  #: beside float64
    prediction: NumericsPrediction | None = None  #: by formula
    trace: TraceSection | None = None  #: one output term by term
    notes: tuple[str, ...] = ()  #: what these figures cannot show
