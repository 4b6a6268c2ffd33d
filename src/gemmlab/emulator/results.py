"""What one emulated launch gives: its counts by memory, by array and by line; its faults; what it proves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gemmlab.emulator import summing
from gemmlab.emulator.program import Program
from gemmlab.emulator.tallies import KINDS, SAME_VALUE, Fault, Outcome
from gemmlab.record import (
    ArgumentSection,
    ArrayCounts,
    BlocksSection,
    EmulationSection,
    GemmlabError,
    GlobalAccess,
    LineCounts,
    LocalAccess,
    ProofSection,
    Record,
    ScheduleSection,
    SharedAccess,
    Verdict,
)

if TYPE_CHECKING:
    from gemmlab.emulator.tracing import Trace


@dataclass(frozen=True, slots=True)
class Launched:
    """What was run: the kernel and the launch as a report tells them."""

    kernel: str
    file: str  #: where the kernel stands, as its program has it
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[ArgumentSection, ...]
    spaces: Mapping[str, str]  #: global, shared or local, by array
    types: Mapping[str, str]  #: of its elements, by array
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  #: of arrays that the program declares
    texts: Mapping[tuple[str, int], str] = field(default_factory=dict)  #: of each line, by file and number
    shared_bytes: int = 0
    values: bool = True
    shown: Mapping[str, str] = field(default_factory=dict)  #: how a file is called in reports

    def called(self, file: str) -> str:
        """A file's name in reports."""
        return self.shown.get(file, file)


@dataclass(frozen=True)
class Emulation:
    """One launch: its counts, faults, schedules, proof, and the verdict on its result.

    Attributes are those of a Record's `emulation`: `global_load.sectors`, `shared_load.wavefronts`, `fma`,
    `arrays["a"].load.requests`, `lines`, `faults`. Elements are those that active threads ask for, bytes follow from
    the arrays' types. All of it is counted as the program is written, before any compiler or cache.
    """

    launched: Launched
    outcome: Outcome
    blocks: BlocksSection
    schedules: tuple[ScheduleSection, ...] = ()
    proof: ProofSection | None = None
    verdict: Verdict | None = None  #: on the result of a multiplication, where one was checked
    witness: Any = None  #: the worst order of threads that was found, which `schedule=` runs again
    program: Program | None = field(default=None, compare=False)  #: the kernel as it was understood
    trace: Trace | None = field(default=None, compare=False)  #: of one block, where it was asked for

    @cached_property
    def lines(self) -> tuple[LineCounts, ...]:
        """Counts of each source line that executes anything, in order."""
        return summing.lines(self.launched, self.outcome.tallies)

    @cached_property
    def arrays(self) -> dict[str, ArrayCounts]:
        """Counts of each array, by the kernel's name for it."""
        return summing.arrays(self.launched, self.outcome.tallies)

    @property
    def global_load(self) -> GlobalAccess:
        """Reads of global memory: elements, bytes, requests, sectors."""
        return summing.global_access(self.lines, "load")

    @property
    def global_store(self) -> GlobalAccess:
        """Writes of global memory."""
        return summing.global_access(self.lines, "store")

    @property
    def global_atomic(self) -> GlobalAccess:
        """Atomics on global memory."""
        return summing.global_access(self.lines, "atomic")

    @property
    def shared_load(self) -> SharedAccess:
        """Reads of shared memory: elements, bytes, requests, wavefronts, bank_conflicts."""
        return summing.shared_access(self.lines, "load")

    @property
    def shared_store(self) -> SharedAccess:
        """Writes of shared memory."""
        return summing.shared_access(self.lines, "store")

    @property
    def shared_atomic(self) -> SharedAccess:
        """Atomics on shared memory."""
        return summing.shared_access(self.lines, "atomic")

    @property
    def local_load(self) -> LocalAccess:
        """Reads of arrays that each thread has for itself: elements, bytes."""
        return summing.local_access(self.lines, "load")

    @property
    def local_store(self) -> LocalAccess:
        """Writes of them."""
        return summing.local_access(self.lines, "store")

    @property
    def flop(self) -> int:
        """Float operations of active threads; an fma is 2."""
        return sum(line.flop for line in self.lines)

    @property
    def fma(self) -> int:
        """Additions fed by a product of the same float type."""
        return sum(line.fma for line in self.lines)

    @property
    def branches(self) -> int:
        """Warps' tests of conditions and loops."""
        return sum(line.branches for line in self.lines)

    @property
    def divergent_branches(self) -> int:
        """Tests in which active threads of a warp disagree."""
        return sum(line.divergent_branches for line in self.lines)

    @property
    def barrier_waits(self) -> int:
        """Warps that arrive at a barrier."""
        return sum(line.barrier_waits for line in self.lines)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong, the first of each kind between two lines, races before the rest; benign writes too."""
        return tuple(sorted(self.outcome.faults, key=lambda fault: KINDS.index(fault.kind)))

    @property
    def ok(self) -> bool:
        """No fault but benign ones, and no wrong element in the result that was checked, under any schedule tried."""
        faults = any(fault.kind != SAME_VALUE for fault in self.faults)
        wrong = self.verdict is not None and not self.verdict.ok
        return not faults and not wrong and not any(tried.wrong_elements for tried in self.schedules)

    def line(self, number: int, file: str = "") -> LineCounts:
        """Counts of the line with that number, in the kernel's file unless another is named; raises GemmlabError."""
        wanted = file or self.launched.called(self.launched.file)
        for line in self.lines:
            if line.line == number and line.file == wanted:
                return line
        known = ", ".join(str(line.line) for line in self.lines if line.file == wanted)
        raise GemmlabError(f"line {number} of {wanted} executes nothing that is counted", f"lines that do: {known}")

    def with_verdict(self, verdict: Verdict) -> Emulation:
        """The same with a verdict on the result."""
        return replace(self, verdict=verdict)

    def to_section(self) -> EmulationSection:
        """The Record's `emulation`."""
        launched = self.launched
        return EmulationSection(
            kernel=launched.kernel,
            file=launched.called(launched.file),
            grid=launched.grid,
            block=launched.block,
            arguments=launched.arguments,
            shared_bytes=launched.shared_bytes,
            values=launched.values,
            blocks=self.blocks,
            global_load=self.global_load,
            global_store=self.global_store,
            global_atomic=self.global_atomic,
            shared_load=self.shared_load,
            shared_store=self.shared_store,
            shared_atomic=self.shared_atomic,
            local_load=self.local_load,
            local_store=self.local_store,
            fma=self.fma,
            flop=self.flop,
            branches=self.branches,
            divergent_branches=self.divergent_branches,
            barrier_waits=self.barrier_waits,
            arrays=self.arrays,
            lines=self.lines,
            faults=tuple(summing.fault(each, launched.called) for each in self.faults),
            schedules=self.schedules,
            proof=self.proof,
            notes=self.outcome.notes,
        )

    def to_record(self) -> Record:
        """A Record that holds this emulation and its verdict."""
        return Record(emulation=self.to_section(), verdict=self.verdict)

    def __str__(self) -> str:
        return summing.summary(self)

    __repr__ = __str__
