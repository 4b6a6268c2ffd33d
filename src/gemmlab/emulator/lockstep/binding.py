"""The arrays of a launch as generated code takes them: flat memory, an origin, extents, strides, and shadows."""

from __future__ import annotations

import mmap
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from gemmlab.emulator import program as p
from gemmlab.emulator.launch import Launch
from gemmlab.emulator.lockstep.layout import Layout, Placed
from gemmlab.record import GemmlabError

Integers = NDArray[np.int64]


@dataclass
class Shadow:
    """Words of plain writes, plain reads and atomics of a piece of memory; empty where no race is possible."""

    written: Integers
    read: Integers
    atomic: Integers


@dataclass
class Bound:
    """One worker's arguments, and by array: memory, shadows, its first element in memory, where memory begins."""

    arguments: tuple[Any, ...]
    memory: dict[str, NDArray[Any]]
    shadows: dict[str, Shadow]
    origins: dict[str, int]
    phases: dict[str, int]  #: bytes past an aligned address
    granules: dict[str, int]  #: shadow words of an element


def bound(program: p.Program, launch: Launch, layout: Layout) -> Bound:
    """Make the arguments for one worker; raises GemmlabError for strides that are no whole elements."""
    named = [(a.name, value) for a, value in zip(program.arguments, launch.args, strict=True) if a.ndim is not None]
    spans = joined([(name, value, layout.arrays[name]) for name, value in named])
    made = Bound((), {}, {}, {}, {}, {})
    arguments: list[Any] = []
    for argument, value in zip(program.arguments, launch.args, strict=True):
        if argument.ndim is None:
            arguments.append(np.float32(value) if argument.type == "float16" else value)
            continue
        placed, span = layout.arrays[argument.name], spans[argument.name]
        origin = (address(value) - span.start) // placed.itemsize
        arguments += [address(span.memory), origin, *value.shape]
        arguments += [stride // placed.itemsize for stride in value.strides]
        made.memory[argument.name], made.shadows[argument.name] = span.memory, span.shadow
        made.origins[argument.name], made.phases[argument.name] = origin, span.phase
        made.granules[argument.name] = span.granules
    made.arguments = tuple(arguments)
    return made


@dataclass
class Span:
    """Memory that one or several overlapping arrays lie in."""

    start: int
    memory: NDArray[Any]
    phase: int  #: bytes from an aligned address to its start
    shadow: Shadow
    granules: int  #: shadow words of an element


def address(array: NDArray[Any]) -> int:
    """The address of an array's element of index zero."""
    return int(array.__array_interface__["data"][0])


def joined(arrays: list[tuple[str, NDArray[Any], Placed]]) -> dict[str, Span]:
    """The span of each array: its own, or one that all arrays share that overlap, whatever their types."""
    found: dict[str, Span] = {}
    groups: list[list[tuple[str, NDArray[Any], Placed]]] = []
    for item in arrays:
        check(item[0], item[1], item[2])
        near = [group for group in groups if any(overlap(item, other) for other in group)]
        groups = [group for group in groups if group not in near] + [[item, *(x for group in near for x in group)]]
    for group in groups:
        found |= spans_of(group)
    return found


def overlap(one: tuple[str, NDArray[Any], Placed], other: tuple[str, NDArray[Any], Placed]) -> bool:
    """Whether two arrays share bytes."""
    if 0 in (one[1].size, other[1].size):
        return False
    (low, high), (other_low, other_high) = byte_bounds(one[1]), byte_bounds(other[1])
    return bool(low < other_high and other_low < high)


def check(name: str, array: NDArray[Any], placed: Placed) -> None:
    """Raise GemmlabError for an array whose elements are not at whole elements' distances, aligned."""
    if any(stride % placed.itemsize for stride in array.strides) or address(array) % placed.itemsize:
        raise GemmlabError(
            f"array `{name}`, strides {array.strides} bytes, does not lie at whole elements of {placed.itemsize} bytes",
            "a GPU cannot read it either: pass a copy",
        )


def spans_of(group: list[tuple[str, NDArray[Any], Placed]]) -> dict[str, Span]:
    """The memory from the first byte of any array of a group to the last, as elements of each array's type."""
    bounds = [byte_bounds(array) for _, array, _ in group]
    sizes = [placed.itemsize for _, _, placed in group]
    granule, widest = min(sizes), max(sizes)
    start, end = min(low for low, _ in bounds) // widest * widest, max(high for _, high in bounds)
    _, first, _ = min(group, key=lambda item: byte_bounds(item[1])[0])
    shadowed = any(item[2].shadowed for item in group)
    needed = (shadowed, shadowed, any(item[2].atomics for item in group))
    granules = -(-max(0, end - start) // granule)
    shadow = Shadow(*(lazily(granules if there else 1) for there in needed))
    kept = [item[1] for item in group]
    phase = (start - owner_address(first)) % 256
    return {
        name: Span(
            start,
            flat(start, max(0, end - start) // placed.itemsize, np.dtype(placed.stored), kept),
            phase,
            shadow,
            placed.itemsize // granule,
        )
        for name, _, placed in group
    }


def lazily(size: int) -> Integers:
    """So many zeros, which take memory where they are touched: counting one block of a huge launch touches few."""
    if size < LARGE or not sys.platform.startswith("linux"):
        return np.zeros(size, np.int64)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    return np.frombuffer(mmap.mmap(-1, 8 * size, flags=flags), np.int64)


NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  #: of Linux, which Python names from 3.13 on
LARGE = 1 << 24  #: elements from which on memory is not asked for in advance


class Memory:
    """A piece of memory, as numpy takes it."""

    def __init__(self, start: int, size: int, dtype: np.dtype[Any], kept: tuple[NDArray[Any], ...]) -> None:
        self.__array_interface__ = {"data": (start, False), "shape": (size,), "typestr": dtype.str, "version": 3}
        self.kept = kept


def flat(start: int, size: int, dtype: np.dtype[Any], group: list[NDArray[Any]]) -> NDArray[Any]:
    """That memory as one array, which keeps the arrays it lies in alive."""
    if size == 0:
        return np.zeros(1, dtype)

    return np.asarray(Memory(start, size, dtype, tuple(group)))


def owner_address(array: NDArray[Any]) -> int:
    """Where the allocation that an array is a view of begins: 256-byte aligned on a GPU."""
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    return byte_bounds(base)[0] if base.size else address(base)
