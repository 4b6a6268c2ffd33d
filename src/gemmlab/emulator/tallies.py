"""What an emulated launch counts, and the faults it finds: the same from every form that runs a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

THREADS, REQUESTS, PIECES, SPLITS = range(4)
COLUMNS = 4

Thread = tuple[tuple[int, int, int], tuple[int, int, int]]  #: (blockIdx, threadIdx), each x, y, z

SHARED_RACE = "shared_race"  #: threads of a block, one shared element, no barrier between
GLOBAL_RACE = "global_race"  #: threads of a block, one global element, no barrier between
BLOCK_RACE = "block_race"  #: two blocks, one global element; nothing orders blocks
SAME_VALUE = "same_value_write"  #: both write, and equal values: benign
DIVERGENCE = "barrier_divergence"  #: a thread is absent where its block or warp waits for it
OUT_OF_BOUNDS = "out_of_bounds"  #: an index past an extent
UNINITIALISED = "uninitialised_read"  #: shared or local memory that nobody wrote
UNWRITTEN = "unwritten_output"  #: an element of a declared output that nobody wrote
ALIASED = "aliased_shared"  #: two dynamic shared arrays over each other's bytes, one of them written
KINDS = (
    SHARED_RACE,
    GLOBAL_RACE,
    BLOCK_RACE,
    SAME_VALUE,
    DIVERGENCE,
    OUT_OF_BOUNDS,
    UNINITIALISED,
    UNWRITTEN,
    ALIASED,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of source: file name and line number, from 1."""

    file: str
    number: int


@dataclass(frozen=True, slots=True)
class Key:
    """One row of counts: what one line does of one kind to one array (empty where it touches none).

    Kinds: load, store, atomic, if, for, while, barrier, warpop, and assign for all other arithmetic.
    """

    place: Place
    kind: str
    array: str


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one row.

    threads: active threads that executed it (elements of a load, store or atomic; tests of a branch or loop).
    requests: warps with at least one such thread; of a barrier, warps that arrived.
    pieces: 32-byte sectors of global requests, wavefronts of shared ones.
    splits: bank conflicts of shared requests (wavefronts past the first of each phase); of branches and loop tests,
    those in which a warp's active threads disagree.
    flop, fma: float operations of those threads; an fma is 2 FLOP.
    """

    threads: int = 0
    requests: int = 0
    pieces: int = 0
    splits: int = 0
    flop: int = 0
    fma: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.threads + other.threads,
            self.requests + other.requests,
            self.pieces + other.pieces,
            self.splits + other.splits,
            self.flop + other.flop,
            self.fma + other.fma,
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault between two lines on one array: the first that was met, and how many like it.

    `threads` are the one that met the fault and, in a race, the other. `epoch` numbers the barrier intervals of the
    block from 0. `detail` says what else is to be known, such as the shape that an index is out of.
    """

    kind: str
    array: str
    index: tuple[int, ...]
    line: Place
    other_line: Place | None = None
    threads: tuple[Thread, ...] = ()
    epoch: int = 0
    access: str = ""  #: read-write, write-write, or empty
    count: int = 1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of a launch gives: rows of counts, and faults."""

    tallies: Mapping[Key, Tally]
    faults: tuple[Fault, ...] = ()
    blocks: int = 0  #: that were run
    notes: tuple[str, ...] = field(default=())
