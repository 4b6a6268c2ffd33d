"""Memory of one worker: shared and local arrays, shadows, arrays by thread, and the records of all accesses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator import program as p
from gemmlab.emulator.launch import Launch
from gemmlab.emulator.lockstep.binding import Bound, Shadow, bound
from gemmlab.emulator.lockstep.columns import COLUMNS, REQUESTS
from gemmlab.emulator.lockstep.columns import PIECES as PIECES_COLUMN
from gemmlab.emulator.lockstep.columns import SPLITS as SPLITS_COLUMN
from gemmlab.emulator.lockstep.generate import Generated
from gemmlab.emulator.lockstep.layout import Layout, Placed
from gemmlab.emulator.lockstep.runtime import noting, places
from gemmlab.emulator.lockstep.runtime.requests import SCRATCH
from gemmlab.emulator.lockstep.writing import PARTS

Integers = NDArray[np.int64]

KINDS = {p.Load: places.LOADED, p.Store: places.STORED, p.Atomic: places.CHANGED}


def at(array: NDArray[Any]) -> int:
    """The address of an array."""
    return int(array.ctypes.data)


class State:
    """Everything that one worker keeps to itself."""

    def __init__(self, program: p.Program, launch: Launch, made: Generated) -> None:
        layout = made.layout
        self.program, self.launch, self.layout = program, launch, layout
        self.warps = (launch.threads + 31) // 32
        self.bound: Bound = bound(program, launch, layout)
        x, y, _ = launch.block
        t = np.arange(launch.threads)
        self.threads: Integers = np.array([t % x, t // x % y, t // (x * y)], np.int64)
        self.counters: Integers = np.zeros((max(1, len(program.sites)), COLUMNS), np.int64)
        self.sizes: Integers = np.zeros((made.masks + 1, 2), np.int64)
        self.sizes[0] = launch.threads, self.warps
        self.faults: Integers = np.zeros((noting.ROWS, noting.COLUMNS), np.int64)
        self.epochs: Integers = np.zeros(places.EPOCH_NUMBERS, np.int64)
        self.begin: Integers = np.zeros(launch.blocks, np.int64)
        self.flagged: NDArray[np.uint8] = np.zeros(launch.blocks, np.uint8)
        self.races: Integers = np.zeros(places.KEYS + places.KEY_SLOTS, np.int64)
        self.races[places.FLAGGED] = at(self.flagged)
        self.epochs[places.ERACES] = at(self.races)
        self.groups: dict[int, int] = {}  #: number of each shadow, by where its words are
        self.owners: Integers = np.array(layout.owners() or [-1], np.int64)
        self.room: Integers = np.zeros(SCRATCH, np.int64)
        self.met: Integers = np.zeros(self.warps * (1 + 32 * 32), np.int64)
        self.left: Integers = np.zeros(len(layout.arrays) + 1, np.int64)
        self.own = Own(layout, launch.threads, launch.dynamic_shared_bytes)
        self.scratch = {kind: self.rows(kind, names) for kind, names in made.rows.items()}
        self.scratch.setdefault("int64", np.zeros((1, 32), np.int64))
        self.row_of = {name: (kind, i) for kind, names in made.rows.items() for i, (name, _) in enumerate(names)}
        self.made = made
        self.records: Integers = np.zeros((max(1, len(made.records)), places.RECORD), np.int64)
        for number in range(len(made.records)):
            self.fill_record(number)

    def rows(self, kind: str, names: list[tuple[str, int]]) -> NDArray[Any]:
        """Arrays by thread of one type, one below the other."""
        block = np.zeros((len(names), self.warps * 32), kind)
        for i, (_, first) in enumerate(names):
            block[i] = first
        return block

    def row_at(self, name: str) -> int:
        """The address of an array by thread; 0 for none."""
        if name not in self.row_of:
            return 0
        kind, i = self.row_of[name]
        return at(self.scratch[kind][i])

    def fill_record(self, number: int) -> None:
        """Write what an access knows of its array and of this worker's memory."""
        recorded, r = self.made.records[number], self.records[number]
        array = self.program.arrays[recorded.array]
        placed = self.layout.placed(recorded.array)
        space = placed.array.space
        extents, strides, origin, phase = self.geometry(placed)
        if recorded.merge is not None:
            r[places.WIDE] = recorded.merge.elements.bit_length() - 1
            r[places.SKIP] = 0 if recorded.merge.first else 1
        r[places.DIMS] = len(array.extents)
        r[places.EXTENT : places.EXTENT + len(extents)] = extents
        r[places.STRIDE : places.STRIDE + len(strides)] = strides
        r[places.ORIGIN], r[places.BYTE0] = origin, phase
        r[places.SHIFT] = placed.itemsize.bit_length() - 1
        local, in_global = space == "local", placed.in_global
        r[places.SPACE] = places.IN_LOCAL if local else places.IN_GLOBAL if in_global else places.IN_SHARED
        r[places.KIND] = KINDS[recorded.kind]
        r[places.AT_SITE], r[places.NT], r[places.OWN] = recorded.site, self.launch.threads, recorded.own
        r[places.SPAN] = self.bound.granules[placed.array.name] if in_global else self.layout.span(placed)
        r[places.FLAGS] = self.flags(placed)
        rows = (recorded.lanes, recorded.kept, recorded.each, *PARTS, recorded.memo, recorded.counts)
        r[places.LANES : places.LANES + len(rows)] = [self.row_at(name) for name in rows]
        r[places.ROOM], r[places.EPOCHS], r[places.FAULTS] = at(self.room), at(self.epochs), at(self.faults)
        r[places.MET], r[places.OWNERS] = at(self.met), at(self.owners)
        r[places.VALUES] = self.row_at(recorded.values)
        r[places.LEFT] = at(self.left[placed.number :])
        if placed.array.space == "shared":
            r[places.SHARED] = at(self.own.known[placed.prefix])
        memory, shadow = self.of(placed)
        r[places.MEMORY] = at(memory)
        if local:
            r[places.WRITTEN] = at(self.own.unwritten[placed.prefix])
        elif shadow is not None:
            words = (shadow.written, shadow.read, shadow.atomic)
            r[places.WRITTEN : places.WRITTEN + 3] = [at(word) for word in words]
            r[places.GROUP] = self.groups.setdefault(at(shadow.written), 1 + len(self.groups))

    def geometry(self, placed: Placed) -> tuple[list[int], list[int], int, int]:
        """Extents, strides in elements, first element, and the byte past an aligned address at which memory begins."""
        threads = self.launch.threads
        if placed.in_global:
            array = self.launch.args[[a.name for a in self.program.arguments].index(placed.array.name)]
            strides = [stride // placed.itemsize for stride in array.strides]
            return (
                list(array.shape),
                strides,
                self.bound.origins[placed.array.name],
                self.bound.phases[placed.array.name],
            )
        if placed.array.space == "dynamic":
            return [self.launch.dynamic_shared_bytes // placed.itemsize], [1], 0, 0
        extents = [int(e.value) for e in placed.array.extents if isinstance(e, p.Const)]
        strides = [1]
        for extent in reversed(extents[1:]):
            strides.insert(0, strides[0] * extent)
        scale = threads if placed.array.space == "local" else 1
        return extents, [stride * scale for stride in strides], 0, 0

    def flags(self, placed: Placed) -> int:
        """Which of the shadows there are."""
        flags = [
            (places.GLOBAL, placed.in_global),
            (places.ATOMICS, self.counts_atomics(placed)),
            (places.WARPS, self.layout.warps_meet),
            (places.OWNED, placed.array.space == "dynamic" and self.layout.aliasing),
            (places.VALUED, self.made.valued),
        ]
        return sum(flag for flag, there in flags if there)

    def counts_atomics(self, placed: Placed) -> bool:
        """Whether its shadows tell atomics apart, perhaps those on an array that it overlaps."""
        if not placed.in_global:
            return self.layout.counts_atomics(placed)
        shadow = self.bound.shadows[placed.array.name]
        return len(shadow.atomic) == len(shadow.written)

    def of(self, placed: Placed) -> tuple[NDArray[Any], Shadow | None]:
        """Memory and shadows of an array."""
        if placed.in_global:
            return self.bound.memory[placed.array.name], self.bound.shadows[placed.array.name]
        return self.own.memory[placed.prefix], self.own.shadows.get(self.layout.shadow(placed))

    def arguments(self, limit: int) -> tuple[Any, ...]:
        """Everything behind the blocks' numbers, as the generated function takes it."""
        launch = self.launch
        return (
            *launch.grid,
            *launch.block,
            *(at(axis) for axis in self.threads),
            at(self.counters),
            at(self.sizes),
            at(self.left),
            at(self.epochs),
            at(self.faults),
            at(self.met),
            at(self.records),
            at(self.begin),
            limit,
            255 if launch.fill == "nan" else 0,
            launch.dynamic_shared_bytes,
            *self.bound.arguments,
            *self.own.arguments,
            at(self.scratch["int64"]),
            *(at(self.scratch[kind]) for kind in self.made.rows),
        )

    def counted(self) -> Integers:
        """All counters of sites, those that records hold among them."""
        total = self.counters.copy()
        for site, first in self.made.same_as.items():
            total[site, :PIECES_COLUMN] = total[first, :PIECES_COLUMN]
        for recorded, r in zip(self.made.records, self.records, strict=False):
            total[recorded.site, PIECES_COLUMN] += r[places.PIECES]
            total[recorded.site, SPLITS_COLUMN] += r[places.SPLITS]
            if recorded.merge is not None:
                total[recorded.site, REQUESTS] = r[places.WARPS_SERVED]
        return total


class Own:
    """Shared memory of a block and local memory of its threads."""

    def __init__(self, layout: Layout, threads: int, dynamic_bytes: int) -> None:
        self.memory: dict[str, NDArray[Any]] = {}
        self.shadows: dict[str, Shadow] = {}
        self.known: dict[str, Integers] = {}
        self.unwritten: dict[str, NDArray[np.uint8]] = {}
        self.arguments: list[Any] = []
        room = np.zeros(dynamic_bytes + 16, np.uint8)
        for placed in layout.arrays.values():
            space = placed.array.space
            size = max(placed.size, 1) * (threads if space == "local" else 1)
            if space == "dynamic":
                size = dynamic_bytes // placed.itemsize
                self.memory[placed.prefix] = room[: max(size, 1) * placed.itemsize].view(placed.stored)
            elif space in ("shared", "local"):
                self.memory[placed.prefix] = np.zeros(size, placed.stored)
            else:
                continue
            memory = self.memory[placed.prefix]
            self.arguments += [at(memory)] if space == "dynamic" else [at(memory), memory.nbytes]
            if space == "local":
                self.unwritten[placed.prefix] = np.zeros(size, np.uint8)
                self.arguments.append(at(self.unwritten[placed.prefix]))
            elif space == "shared":
                self.shadows[placed.prefix] = words(size, placed.atomics)
                self.known[placed.prefix] = np.zeros(places.SHARED_RECORD, np.int64)
                self.known[placed.prefix][places.SIZE] = placed.size
        if layout.dynamic:
            self.shadows["D"] = words(dynamic_bytes // layout.granule + 8, any(x.atomics for x in layout.dynamic))
            self.arguments.append(at(room))
            self.room = room  # kept alive


def words(size: int, atomics: bool) -> Shadow:
    """Shadow words of so many elements."""
    return Shadow(np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size if atomics else 1, np.int64))
