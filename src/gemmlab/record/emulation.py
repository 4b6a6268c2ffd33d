"""The section of a Record that an emulated launch fills: all of it counted access by access, nothing from a formula."""

from gemmlab.record.section import Section


class GlobalAccess(Section, frozen=True, kw_only=True):
    """Accesses to global memory of one kind: loads, stores or atomics."""

    elements: int = 0  #: asked for by active threads, before any cache
    bytes: int = 0  #: the same in bytes
    requests: int = 0  #: warps' executions with at least one active thread
    sectors: int = 0  #: different 32-byte pieces of memory of each request, summed; of atomics as often as lanes repeat


class SharedAccess(Section, frozen=True, kw_only=True):
    """Accesses to shared memory of one kind."""

    elements: int = 0  #: asked for by active threads
    bytes: int = 0  #: the same in bytes
    requests: int = 0  #: warps' executions with at least one active thread
    wavefronts: int = 0  #: passes over the 32 banks that the requests take
    bank_conflicts: int = 0  #: those of them that lanes' different words in one bank cause


class LocalAccess(Section, frozen=True, kw_only=True):
    """Accesses to arrays that each thread has for itself, which a compiler keeps in registers where it can."""

    elements: int = 0  #: asked for by active threads
    bytes: int = 0  #: the same in bytes


class Access(Section, frozen=True, kw_only=True):
    """What one line does of one kind to one array, or all lines together."""

    kind: str  #: load, store or atomic
    array: str  #: as the kernel names it
    space: str  #: global, shared or local
    elements: int = 0  #: asked for by active threads
    bytes: int = 0  #: the same in bytes
    requests: int = 0  #: warps' executions with at least one active thread
    sectors: int = 0  #: 32-byte pieces, of global memory alone
    wavefronts: int = 0  #: passes over the banks, of shared memory alone
    bank_conflicts: int = 0  #: passes that conflicts cause, of shared memory alone


class ArrayCounts(Section, frozen=True, kw_only=True):
    """One array, all lines together."""

    space: str  #: global, shared or local
    type: str  #: of its elements, as numpy names it
    shape: tuple[int, ...] | None = None  #: as the program declares it, of shared and local memory; else null
    load: Access  #: what is read
    store: Access  #: what is written
    atomic: Access  #: what atomics read and write at once


class LineCounts(Section, frozen=True, kw_only=True):
    """One line of source, all threads together."""

    file: str  #: where it stands
    line: int  #: its number, from 1
    text: str  #: what it says
    accesses: tuple[Access, ...] = ()  #: to each array, of each kind
    flop: int = 0  #: float operations; an fma is 2
    fma: int = 0  #: additions fed by a product of the same type
    branches: int = 0  #: warps' tests of a condition or a loop
    divergent_branches: int = 0  #: those in which active threads of a warp disagree
    barrier_waits: int = 0  #: warps that arrive at a barrier


class ThreadPlace(Section, frozen=True, kw_only=True):
    """One thread of the launch."""

    block: tuple[int, int, int]  #: its block's x, y, z
    thread: tuple[int, int, int]  #: its own x, y, z in the block


class FaultSection(Section, frozen=True, kw_only=True):
    """One kind of fault between two lines on one array: the first that was met, and how many like it."""

    kind: str  #: shared_race, global_race, block_race, same_value_write, barrier_divergence, out_of_bounds, ...
    file: str  #: of the line
    line: int  #: where the fault was met
    array: str  #: on which array; empty where it is about none
    index: tuple[int, ...]  #: the element
    threads: tuple[ThreadPlace, ...]  #: the one that met it and, in a race, the other
    epoch: int  #: interval between barriers of the block, from 0
    other_file: str = ""  #: of the other line
    other_line: int | None = None  #: a race's other line
    access: str = ""  #: read-write or write-write, of a race
    count: int = 1  #: faults of this kind between these lines
    detail: str = ""  #: what else is to be known
    benign: bool = False  #: no value depends on it


class ScheduleSection(Section, frozen=True, kw_only=True):
    """One order in which the threads were run, and what it did to the result."""

    name: str  #: of the order, as --schedule takes it
    wrong_elements: int  #: of the outputs, against what they ought to be
    max_error: float | None  #: the largest, of a multiplication over |A||B|; null where not finite
    against: str = ""  #: what the outputs were compared with
    worst: bool = False  #: the one that does most harm of those tried
    witness: bool = False  #: it can be written to a file and run again


class ProofSection(Section, frozen=True, kw_only=True):
    """What the run proves beyond itself."""

    holds: str  #: refuted, observed, schedules, contents or shapes: each says all that those before it say
    text: str  #: the same as a sentence
    reasons: tuple[str, ...] = ()  #: why no more than that


class BlocksSection(Section, frozen=True, kw_only=True):
    """How the blocks of the launch were counted."""

    total: int  #: of the launch
    run: int  #: that were run; the others do as one of these does
    how: str  #: every block, or by classes, and why


class ArgumentSection(Section, frozen=True, kw_only=True):
    """One argument of the launch."""

    name: str  #: the kernel's parameter
    type: str  #: of the scalar, or of the elements
    shape: tuple[int, ...] | None = None  #: of an array; null of a scalar


class EmulationSection(Section, frozen=True, kw_only=True):
    """Emulated: one launch run on the CPU, every access counted as the program is written, before any compiler."""

    kernel: str  #: its name
    file: str  #: where it stands
    grid: tuple[int, int, int]  #: blocks along x, y, z
    block: tuple[int, int, int]  #: threads of a block along x, y, z
    arguments: tuple[ArgumentSection, ...]  #: in the kernel's order
    shared_bytes: int  #: of one block
    values: bool  #: whether values were computed, or accesses alone
    blocks: BlocksSection  #: how many were run, and for which others they stand
    global_load: GlobalAccess  #: reads of global memory
    global_store: GlobalAccess  #: writes
    global_atomic: GlobalAccess  #: atomics
    shared_load: SharedAccess  #: reads of shared memory
    shared_store: SharedAccess  #: writes
    shared_atomic: SharedAccess  #: atomics
    local_load: LocalAccess  #: reads of the threads' own arrays
    local_store: LocalAccess  #: writes
    fma: int  #: additions fed by a product of the same float type
    flop: int  #: float operations; an fma is 2
    branches: int  #: warps' tests of a condition or a loop
    divergent_branches: int  #: those in which active threads of a warp disagree
    barrier_waits: int  #: warps that arrive at a barrier
    arrays: dict[str, ArrayCounts]  #: by name
    lines: tuple[LineCounts, ...]  #: in the order of the source
    faults: tuple[FaultSection, ...]  #: empty where none was met
    schedules: tuple[ScheduleSection, ...]  #: orders of threads that were run
    proof: ProofSection | None  #: null where none was tried
    notes: tuple[str, ...] = ()  #: what else is to be said
