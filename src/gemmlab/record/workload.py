"""The Record's `call`: where one multiplication stands in a whole program, and what to change there."""

from gemmlab.record.section import Section


class ChangeSection(Section, frozen=True, kw_only=True):
    """One change of the program, as the line to paste, and what it does to time and digits."""

    cause: str  #: what it removes
    line: str  #: PyTorch, to paste; several lines where one is not enough
    digits: str  #: what it may change in the results
    cost: str  #: what it takes
    confidence: str  #: high, medium or low
    gain_s: float  #: predicted: of the workload's time, all `count` together
    predicted_speedup: float  #: of this multiplication: time now over time then


class CallSection(Section, frozen=True, kw_only=True):
    """One multiplication of a workload, all its `count` together."""

    source: str  #: the trace, model or table
    operator: str  #: what asked for it, such as `aten::addmm`
    count: int  #: in all steps together
    steps: int = 1  #: how many of the program's steps the source holds: counts and times are of all of them
    places: tuple[str, ...]  #: modules of the model, or lines of the trace's stacks
    phase: str  #: forward, backward or optimizer; empty where the source does not tell
    shapes: tuple[tuple[int, ...], ...]  #: of A, B and what is added, as the program holds them
    strides: tuple[tuple[int, ...] | None, ...]  #: in elements; null where the source does not tell
    formats: tuple[str, ...]  #: of the same tensors
    fused: str  #: the kernel that keeps its result or operand on chip; empty where none does
    kernels: tuple[str, ...]  #: measured: names of the kernels that ran it
    time_s: float  #: of all `count`, measured in the trace, else predicted
    known: str  #: measured or predicted: how time_s is known
    predicted_time_s: float | None  #: predicted: of all `count`; null where nothing is, a processor's trace alone
    limit_s: float | None  #: predicted: the roofline's seconds of all `count`; null where nothing is
    flop_share: float  #: counted: of the work of all multiplications and of what else does FLOP
    time_share: float  #: of the workload's time
    cause: str  #: why it is not at its limit, in a word
    gain_s: float  #: predicted: what the best change gains, of the workload's time
    changes: tuple[ChangeSection, ...]  #: predicted: the largest gain first
