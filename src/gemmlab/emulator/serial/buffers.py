"""Arguments of a launch as flat memory: where each array starts, and how far apart its elements are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gemmlab.emulator.serial.places import held_as
from gemmlab.record import GemmlabError


@dataclass(frozen=True, slots=True)
class Buffer:
    """The memory from an array's lowest element to its highest; counts are of elements."""

    memory: Any  #: one axis, without gaps, halves as their bits
    start: int
    extents: tuple[int, ...]
    steps: tuple[int, ...]

    def numbers(self) -> list[int]:
        """Start, extents and steps, as generated code takes them."""
        return [self.start, *self.extents, *self.steps]


def buffer_of(name: str, array: Any) -> Buffer:
    """The memory that an array lies in; a copy of it where it is read-only."""
    item = array.dtype.itemsize
    if any(stride % item for stride in array.strides):
        raise GemmlabError(
            f"elements of {name} lie {min(array.strides)} bytes apart, which is no multiple of its type's {item}",
            "pass a contiguous copy: numpy.ascontiguousarray",
        )
    steps = tuple(stride // item for stride in array.strides)
    if array.size == 0:
        return Buffer(np.zeros(1, held_as(array.dtype.name)), 0, array.shape, steps)
    upward = array[tuple(slice(None, None, -1 if step < 0 else 1) for step in steps)]
    reach = [(extent - 1) * abs(step) for extent, step in zip(array.shape, steps, strict=True)]
    memory = np.lib.stride_tricks.as_strided(upward, (1 + sum(reach),), (item,))
    if not array.flags.writeable:
        memory = memory.copy()
    start = sum(length for length, step in zip(reach, steps, strict=True) if step < 0)
    return Buffer(memory.view(held_as(array.dtype.name)), start, array.shape, steps)


def overlapping(names: list[str], arrays: list[Any], stored: frozenset[str]) -> frozenset[str]:
    """Arrays that may share memory with another one that is stored to."""
    return frozenset(
        name
        for name, array in zip(names, arrays, strict=True)
        for other, beside in zip(names, arrays, strict=True)
        if name != other and other in stored and np.may_share_memory(array, beside)
    )
