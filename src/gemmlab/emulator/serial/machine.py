"""All that a run of a launch keeps in memory, as the arrays that generated code takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemmlab.emulator.launch import Launch, bytes_of, static_bytes
from gemmlab.emulator.program import Program
from gemmlab.emulator.serial import runtime_state as r
from gemmlab.emulator.serial.buffers import Buffer, buffer_of, overlapping
from gemmlab.emulator.serial.emit import Form, form_of, watched_groups
from gemmlab.emulator.serial.places import Places, held_as, size
from gemmlab.record import GemmlabError

MOST_BYTES = 1 << 30  #: of threads that run at once
SLICE = 4_000_000  #: steps, some tenths of a second, after which an interrupt is heard


class Machine:
    """The threads of `together` blocks, their memory, and the launch's arguments."""

    def __init__(self, program: Program, launch: Launch, together: int = 1) -> None:
        given = [(a.name, v) for a, v in zip(program.arguments, launch.args, strict=True) if a.ndim is not None]
        names, arrays = [name for name, _ in given], [value for _, value in given]
        shared_with = overlapping(names, arrays, Places(program).stored())
        self.program, self.launch = program, launch
        self.overlap = bool(shared_with)
        self.form: Form = form_of(program, shared_with)
        self.together = min(together, launch.blocks)
        self.buffers: dict[str, Buffer] = {name: buffer_of(name, array) for name, array in given}
        team = self.together * launch.threads
        self.refuse_too_large(team)
        self.control = np.zeros(r.CONTROLS, np.int64)
        self.threads = np.zeros((r.THREAD_ROWS, team), np.int64)
        self.floats = np.zeros(2 * team, np.float64)
        self.slots = np.zeros((4, self.together), np.int64)
        self.order = np.arange(launch.threads, dtype=np.int64)
        self.changes = np.zeros(1, np.int64)
        self.only = np.zeros(0, np.int64)
        self.script = np.zeros((0, 2), np.int64)
        self.hold = np.zeros(len(self.form.blocks), np.uint8)
        self.hot = np.zeros(1, np.uint8)
        self.seen = np.full((2, 1), -1, np.int64)
        self.loops, self.stops = tables(self.form)
        self.groups: dict[str, int] = {}  #: elements of each memory that threads share
        self.private = {kind: np.zeros((max(1, self.form.stride(kind)), team), kind) for kind in self.form.kinds}
        self.memory = {
            a.name: np.zeros(size(a) * (team if a.space == "local" else self.together), held_as(a.type))
            for a in self.form.places.bases("shared", "local")
        }
        self.dynamic_bytes = -(-launch.dynamic_shared_bytes // 16) * 16
        self.dynamic = np.zeros(self.dynamic_bytes * self.together, np.uint8)
        self.shapes = self.described()
        self.set_control()

    def refuse_too_large(self, team: int) -> None:
        """Raise GemmlabError where the threads that run at once have more memory than there may be."""
        places = self.form.places
        each = 8 * (r.THREAD_ROWS + len(self.form.slots)) + sum(bytes_of(a) for a in places.bases("local"))
        needed = team * each + self.together * (static_bytes(self.program) + self.launch.dynamic_shared_bytes)
        if needed > MOST_BYTES:
            raise GemmlabError(
                f"{self.together} blocks of {self.launch.threads} threads at once need {needed >> 20} MiB",
                f"at most {MOST_BYTES >> 20} MiB: together=1, or fewer threads",
            )

    def set_control(self) -> None:
        """What does not depend on the schedule."""
        c, launch = self.control, self.launch
        c[:] = 0
        c[r.THREADS], c[r.TOGETHER], c[r.BLOCKS] = launch.threads, self.together, launch.blocks
        c[r.GRID_X : r.GRID_Z + 1] = launch.grid
        c[r.BLOCK_X : r.BLOCK_Z + 1] = launch.block
        c[r.FILL] = launch.fill == "nan"
        c[r.CURRENT] = -1
        c[r.EVERYWHERE] = c[r.EPOCHS] = 1

    def watch(self, epochs: int = 1) -> None:
        """Note which shared elements threads touch and write, in as many barrier intervals apart."""
        elements = max(1, sum(self.groups.values()))
        self.control[r.WATCHING], self.control[r.EPOCHS], self.control[r.ELEMENTS] = 1, epochs, elements
        self.hot, self.seen = np.zeros(epochs * elements, np.uint8), np.full((2, epochs * elements), -1, np.int64)

    def written(self) -> dict[str, Any]:
        """Of each global array that is stored to, which of its elements some thread wrote while being watched."""
        marks = (self.seen[1].reshape(self.control[r.EPOCHS], -1) >= 0).any(axis=0)
        found, start = {}, 0
        for name, elements in self.groups.items():
            buffer = self.buffers.get(name)
            if buffer is not None and buffer.extents and min(buffer.extents) > 0:
                here = marks[start + buffer.start : start + elements]
                found[name] = np.lib.stride_tricks.as_strided(here, buffer.extents, buffer.steps)
            start += elements
        return found

    def refill(self) -> None:
        """Shared and local memory as it is before anything is written."""
        dynamic = self.form.places.bases("dynamic")
        views = [(array.type, self.memory[array.name]) for array in self.form.places.bases("shared", "local")]
        views += [(dynamic[0].type, self.dynamic.view(held_as(dynamic[0].type)))] if dynamic else []
        for kind, memory in views:
            poison = np.float16(np.nan).view(np.uint16) if kind == "float16" else np.nan
            memory[:] = poison if self.launch.fill == "nan" and kind.startswith("float") else 0

    def described(self) -> Any:
        """Extents, strides and places of arrays, in the order in which generated code reads them."""
        places = self.form.places
        numbers = [self.dynamic_bytes]
        for buffer in self.buffers.values():
            numbers += buffer.numbers()
        dynamic = self.launch.dynamic_shared_bytes
        numbers += [dynamic // np.dtype(a.type).itemsize for a in places.bases("dynamic")]
        start = 0
        for name in watched_groups(self.program, places):
            self.groups[name] = self.elements(name)
            numbers.append(start)
            start += self.groups[name]
        return np.array(numbers, np.int64)

    def elements(self, name: str) -> int:
        """Elements of a memory that threads share, each block's own told apart; dynamic memory in 8-byte words."""
        if name == "dynamic":
            return self.dynamic_bytes // 8
        if name in self.buffers:
            return len(self.buffers[name].memory)
        return size(self.program.arrays[name])

    def arguments(self) -> list[Any]:
        """What the generated function takes, in its order."""
        places = self.form.places
        return [
            *(self.control, self.threads, self.floats, self.slots, self.order, self.changes, self.only, self.script),
            *(self.loops, self.stops, self.hold, self.hot, self.seen, self.shapes),
            *self.private.values(),
            *self.memory.values(),
            *(self.dynamic.view(held_as(kind)) for kind in places.dynamic_types()),
            *(buffer.memory for buffer in self.buffers.values()),
            *(v for a, v in zip(self.program.arguments, self.launch.args, strict=True) if a.ndim is None),
        ]


def tables(form: Form) -> tuple[Any, Any]:
    """Of each block of code: the loops it stands in, outermost first, and whether it makes an access."""
    deepest = max((len(block.loops) for block in form.blocks), default=0)
    loops = np.full((len(form.blocks), max(1, deepest)), -1, np.int64)
    for number, block in enumerate(form.blocks):
        loops[number, : len(block.loops)] = block.loops
    return loops, np.array([block.site >= 0 for block in form.blocks], np.uint8)
