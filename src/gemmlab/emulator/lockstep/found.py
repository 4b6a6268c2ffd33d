"""Faults as workers noted them in numbers, made into faults with names, threads and lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator import program as p
from gemmlab.emulator import tallies as t
from gemmlab.emulator.launch import Launch
from gemmlab.emulator.lockstep.layout import Layout
from gemmlab.emulator.lockstep.outcome import place_of
from gemmlab.emulator.lockstep.replay import TOLD, Second
from gemmlab.emulator.lockstep.runtime import noting as r

if TYPE_CHECKING:
    from gemmlab.emulator.lockstep.memory import State

Integers = NDArray[np.int64]


@dataclass
class Findings:
    """What all workers together counted and noted."""

    counters: Integers
    states: list[State]
    crossed: bool  #: blocks of different workers met on an element, which one worker has to tell apart
    unwritten: list[tuple[str, tuple[int, ...], int]]  #: output, first index that nobody wrote, how many
    second: Second | None = None  #: what a second look told of faults between two lines

    @classmethod
    def of(
        cls, states: list[State], layout: Layout, launch: Launch, program: p.Program, outputs: Sequence[str]
    ) -> Findings:
        """Put workers together."""
        counters = np.sum([state.counted() for state in states], axis=0)
        names = [argument.name for argument in program.arguments if argument.ndim is not None]
        crossed = any(met(states, name) for name in names if layout.arrays[name].shadowed)
        missing = [unwritten(states, launch, program, name) for name in outputs]
        return cls(counters, states, crossed, [found for found in missing if found is not None])

    def rows(self) -> Iterator[tuple[State, Integers]]:
        """What was noted, and by which worker; of faults between two lines what the second look says."""
        for state in self.states:
            for row in state.faults[1 : 1 + int(state.faults[0, 0])]:
                if self.second is None or row[r.KIND] not in TOLD:
                    yield state, row
        if self.second is not None:
            yield from self.second.rows


def met(states: list[State], name: str) -> bool:
    """Whether two workers' blocks touched one element of an array, not both reading, not both atomically."""
    for one, other in combinations((state.bound.shadows[name] for state in states), 2):
        if hits(one.written, other.written, other.read, other.atomic):
            return True
        if hits(other.written, one.read, one.atomic) or hits(one.atomic, other.read) or hits(other.atomic, one.read):
            return True
    return False


def hits(marks: Integers, *others: Integers) -> bool:
    """Whether an element is marked in the first and in one of the others."""
    return any(len(marks) == len(other) and bool(np.any((marks != 0) & (other != 0))) for other in others)


def unwritten(
    states: list[State], launch: Launch, program: p.Program, name: str
) -> tuple[str, tuple[int, ...], int] | None:
    """The first element of an output that no worker wrote, and how many there are."""
    place = [argument.name for argument in program.arguments].index(name)
    array: NDArray[Any] = launch.args[place]
    if array.size == 0:
        return None
    touched = np.ones(array.shape, np.bool_)
    for granule in range(states[0].bound.granules[name]):
        touched &= np.logical_or.reduce([written_granule(state, name, array, granule) for state in states])
    missing = int(array.size - np.count_nonzero(touched))
    if missing == 0:
        return None
    first = tuple(int(i) for i in np.unravel_index(int(np.argmin(touched)), array.shape))
    return name, first, missing


def written_granule(state: State, name: str, array: NDArray[Any], granule: int) -> NDArray[np.bool_]:
    """For each element whether a worker's blocks wrote that granule of it."""
    shadow, span = state.bound.shadows[name], state.bound.granules[name]
    touched = np.zeros(array.shape, np.bool_)
    for words in (shadow.written, shadow.atomic):
        if len(words) > 1 or array.size == 1:
            strides = tuple(stride // array.itemsize * words.itemsize * span for stride in array.strides)
            first = words[state.bound.origins[name] * span + granule :]
            touched |= np.lib.stride_tricks.as_strided(first, array.shape, strides, writeable=False) != 0
    return touched


def faults_of(program: p.Program, layout: Layout, launch: Launch, found: Findings) -> tuple[t.Fault, ...]:
    """All faults: races first, in the order of their lines, then elements never written."""
    rows: dict[tuple[Any, ...], t.Fault] = {}
    for state, row in found.rows():
        fault = named(program, layout, launch, state, row)
        if found.second is not None and row[r.KIND] in TOLD:
            fault = replace(fault, detail=found.second.limits)
        key = (fault.kind, fault.array, frozenset((fault.line, fault.other_line)), fault.access)
        old = rows.get(key)
        if old is None:
            rows[key] = fault
        else:
            first = min((old, fault), key=lambda f: (f.threads[0][0][::-1], f.epoch) if f.threads else ((0,), 0))
            rows[key] = replace(first, count=old.count + fault.count)
    listed = sorted(rows.values(), key=lambda f: (t.KINDS.index(f.kind), f.line.file, f.line.number))
    for name, index, missing in found.unwritten:
        line = t.Place(program.files[0], program.arrays[name].line.number)
        listed.append(t.Fault(t.UNWRITTEN, name, index, line, count=missing))
    return tuple(listed)


NAMES = {
    r.BLOCKS: t.BLOCK_RACE,
    r.SAME: t.SAME_VALUE,
    r.DIVERGED: t.DIVERGENCE,
    r.ABSENT_LANE: t.DIVERGENCE,
    r.BOUNDS: t.OUT_OF_BOUNDS,
    r.UNINITIALISED: t.UNINITIALISED,
    r.ALIASED: t.ALIASED,
}
RACING = (r.RACE, r.BLOCKS, r.SAME)


def named(program: p.Program, layout: Layout, launch: Launch, state: State, row: Integers) -> t.Fault:
    """One noted row as a fault."""
    kind, site, other = int(row[r.KIND]), int(row[r.AT]), int(row[r.OTHER_AT])
    array = program.sites[site].array
    space = layout.placed(array).array.space if array else ""
    name = NAMES.get(kind, t.GLOBAL_RACE if space == "global" else t.SHARED_RACE)
    block = int(row[r.BLOCK])
    threads = [thread(launch, block, int(row[r.THREAD]))]
    if int(row[r.OTHER_THREAD]) >= 0 and kind != r.BOUNDS:
        threads.append(thread(launch, block_of(state, int(row[r.OTHER_EPOCH]), block), int(row[r.OTHER_THREAD])))
    return t.Fault(
        name,
        array,
        index_of(program, layout, launch, state, row),
        place_of(program, site),
        place_of(program, other) if other >= 0 else None,
        tuple(threads),
        int(row[r.EPOCH_IN_BLOCK]),
        access(program, kind, site, other),
        int(row[r.TIMES]),
        detail(program, launch, layout, kind, array),
    )


def access(program: p.Program, kind: int, site: int, other: int) -> str:
    """read-write or write-write, of a race; atomics count as writes."""
    if kind not in RACING or other < 0:
        return ""
    reads = [program.sites[s].kind == "load" for s in (site, other)]
    return "read-write" if any(reads) else "write-write"


def thread(launch: Launch, block: int, number: int) -> t.Thread:
    """(blockIdx, threadIdx) of a block and a thread by number."""
    return axes(block, launch.grid), axes(number, launch.block)


def axes(number: int, sides: tuple[int, int, int]) -> tuple[int, int, int]:
    """x, y, z of a number that counts x fastest."""
    return number % sides[0], number // sides[0] % sides[1], number // (sides[0] * sides[1])


def block_of(state: State, epoch: int, own: int) -> int:
    """The block that ran a worker's epoch."""
    if epoch <= 0:
        return own
    begun = np.flatnonzero((state.begin > 0) & (state.begin <= epoch))
    return int(begun[np.argmax(state.begin[begun])]) if len(begun) else own


def index_of(program: p.Program, layout: Layout, launch: Launch, state: State, row: Integers) -> tuple[int, ...]:
    """The index that a fault is about, in the array as the program names it."""
    kind, array = int(row[r.KIND]), program.sites[int(row[r.AT])].array
    if kind in (r.DIVERGED, r.ABSENT_LANE) or not array:
        return ()
    if kind == r.BOUNDS:
        return tuple(int(row[r.I0 + axis]) for axis in range(len(program.arrays[array].extents)))
    placed = layout.placed(array)
    element = int(row[r.ELEMENT])
    if placed.in_global:
        place = [argument.name for argument in program.arguments].index(placed.array.name)
        name = placed.array.name
        return position(element // state.bound.granules[name] - state.bound.origins[name], launch.args[place])
    if placed.array.space == "dynamic":
        return (element // layout.span(placed),)
    shape = [int(extent.value) for extent in placed.array.extents if isinstance(extent, p.Const)]
    return tuple(int(i) for i in np.unravel_index(element, shape))


def position(elements: int, array: NDArray[Any]) -> tuple[int, ...]:
    """The index of the element that lies so many elements past the first."""
    index = [0] * array.ndim
    left = elements
    for axis in sorted(range(array.ndim), key=lambda a: -abs(array.strides[a])):
        stride = array.strides[axis] // array.itemsize
        if stride and array.shape[axis] > 1:
            index[axis] = max(0, min(array.shape[axis] - 1, left // stride if stride > 0 else -(left // -stride)))
            left -= index[axis] * stride
    return tuple(index)


def detail(program: p.Program, launch: Launch, layout: Layout, kind: int, array: str) -> str:
    """What else is to be known."""
    if kind == r.BOUNDS:
        place = {a.name: value for a, value in zip(program.arguments, launch.args, strict=True)}
        if array in place:
            return f"shape {tuple(place[array].shape)}"
        extents = [str(e.value) if isinstance(e, p.Const) else "?" for e in program.arrays[array].extents]
        return f"shape ({', '.join(extents)}{',' if len(extents) == 1 else ''})"
    if kind == r.ABSENT_LANE:
        return "a lane that the member mask names is not there, or names others"
    return ""


__all__ = ["Findings", "faults_of"]
