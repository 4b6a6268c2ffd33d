"""One block: its threads run one after the other from wait to wait, and everything they do is written down."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gemmlab.emulator.reference import meeting
from gemmlab.emulator.reference.memory import Array, Storage
from gemmlab.emulator.reference.thread import Position, Thread, Wait
from gemmlab.record import GemmlabError

Triple = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class Access:
    """One thread's load, store or atomic of one element."""

    block: Triple
    thread: Thread
    position: Position
    kind: str
    array: Array
    index: tuple[int, ...]
    byte: int | None  #: in the array's storage; None out of range
    value: Any  #: read or written, of an atomic the new one
    epoch: int
    clock: dict[int, int]
    fresh: bool  #: nobody wrote all of the element before

    @property
    def node(self) -> int:
        """Which place of the syntax tree."""
        return self.position[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """Threads that were let go together from a barrier, or did a warp operation among them."""

    epoch: int  #: that ends with it, of a barrier
    position: Position
    threads: tuple[Thread, ...]

    @property
    def node(self) -> int:
        """Which place of the syntax tree."""
        return self.position[-1]


@dataclass(slots=True)
class Absence:
    """Threads that came to a barrier or warp operation while another did not."""

    node: int
    thread: Thread
    absent: Thread | None
    epoch: int


@dataclass(slots=True, eq=False)
class Steps:
    """How many steps a launch may still take."""

    left: int
    limit: int


@dataclass(eq=False)
class Block:
    """The memory of a block and the record of what its threads did."""

    index: Triple
    grid_size: Triple
    size: Triple
    dynamic_bytes: int
    dynamic_grain: int
    fill: str
    steps: Steps
    on_event: Callable[[Access], None] | None = None
    accesses: list[Access] = field(default_factory=list)
    tests: list[tuple[Position, int, int, bool]] = field(default_factory=list)
    work: dict[tuple[int, str], int] = field(default_factory=dict)
    waits: list[tuple[Position, int, int]] = field(default_factory=list)  #: position, warp, node of each arrival
    meetings: list[Meeting] = field(default_factory=list)
    absences: list[Absence] = field(default_factory=list)
    epoch: int = 0

    def __post_init__(self) -> None:
        self.arrays: dict[Any, Array] = {}
        self.written: set[Any] = set()
        self.buffer = np.zeros(self.dynamic_bytes, np.uint8)
        self.names: dict[str, Any] = {}

    def filled(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """New memory, as the launch wants it found: zeros, or NaN where the type has it."""
        return np.full(shape, np.nan if self.fill == "nan" and dtype.kind == "f" else 0, dtype)

    def shared(self, name: str, key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        """The shared array of a declaration."""
        if key not in self.arrays:
            storage = Storage("shared", ("shared", self.index, key), dtype.itemsize)
            self.arrays[key] = Array(name, self.filled(shape, dtype), storage)
        return self.arrays[key]

    def dynamic(self, name: str, key: Any, dtype: Any) -> Array:
        """All dynamic shared memory, as the declaration sees it."""
        if key not in self.arrays:
            whole = self.buffer[: self.dynamic_bytes // dtype.itemsize * dtype.itemsize].view(dtype)
            if (
                self.fill == "nan"
                and dtype.kind == "f"
                and not any(a.storage.key[0] == "dynamic" for a in self.arrays.values())
            ):
                whole[...] = np.nan
            self.arrays[key] = Array(name, whole, Storage("shared", ("dynamic", self.index), self.dynamic_grain))
        return self.arrays[key]

    def step(self) -> None:
        """One more step of the launch."""
        self.steps.left -= 1
        if self.steps.left < 0:
            raise GemmlabError(
                f"the kernel took more than {self.steps.limit} steps", "a loop may never end; else raise step_limit"
            )

    def access(
        self, thread: Thread, position: Position, kind: str, array: Array, index: Any, placed: Any, value: Any
    ) -> None:
        """Write down what a thread did to memory."""
        self.step()
        byte, fresh = None, False
        if placed is not None:
            byte = array.byte(placed)
            if array.storage.space != "global":
                cells = array.cells(byte)
                fresh = kind != "store" and not self.written.issuperset(cells)
                if kind != "load":
                    self.written.update(cells)
        made = Access(self.index, thread, position, kind, array, index, byte, value, self.epoch, thread.clock, fresh)
        self.accesses.append(made)
        if self.on_event is not None:
            self.on_event(made)

    def run(self, kernel: Callable[..., Generator[Wait, Any, None]], args: tuple[Any, ...]) -> None:
        """Run all threads to their ends."""
        count = self.size[0] * self.size[1] * self.size[2]
        threads = [Thread(self, number) for number in range(count)]
        running = {thread: kernel(thread, *args) for thread in threads}
        waiting: dict[Thread, Wait] = {}
        ready: list[tuple[Thread, Any]] = [(thread, None) for thread in threads]
        while ready:
            for thread, given in ready:
                try:
                    waiting[thread] = running[thread].send(given)
                except StopIteration:
                    continue
                except UnboundLocalError as unset:
                    name = str(unset).partition("'")[2].partition("'")[0]
                    text = f"thread {thread.index} of block {self.index} reads `{name}` before it has a value"
                    raise GemmlabError(text, "assign it on every way") from None
                wait = waiting[thread]
                self.waits.append((wait.position, thread.warp, wait.node))
            ready = meeting.released(self, threads, waiting)
