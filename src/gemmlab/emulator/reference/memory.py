"""Arrays as a thread sees them, and which bytes of which memory each element is."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(slots=True, eq=False)
class Storage:
    """Memory that arrays lie in: one global base array, one shared or local array, or all dynamic shared memory.

    A cell is the largest piece of `grain` bytes that no element of its arrays cuts; faults are found by cells.
    """

    space: str  #: global, shared or local
    key: tuple[Hashable, ...]
    grain: int


@dataclass(slots=True, eq=False)
class Array:
    """An array: its elements where they lie, and how far into the storage they begin, in bytes."""

    name: str
    values: Any
    storage: Storage
    offset: int = 0
    prefix: tuple[int, ...] = ()  #: indices already given, of a row such as a[i]
    whole: str = ""  #: name of the array that this is a slice of, empty where it is none

    @property
    def declared(self) -> str:
        """The name of the array as it was declared."""
        return self.whole or self.name

    @property
    def shape(self) -> tuple[Any, ...]:
        """Elements along each axis, int64."""
        return tuple(map(np.int64, self.values.shape[len(self.prefix) :]))

    @property
    def size(self) -> Any:
        """Elements, int64."""
        return np.int64(np.prod(self.shape, dtype=np.int64))

    def place(self, index: tuple[int, ...]) -> tuple[int, ...] | None:
        """The index counted from the front, a negative one once from the end; None where it is out of range."""
        placed = []
        for i, extent in zip(index, self.values.shape, strict=True):
            inside = i + extent if i < 0 else i
            if not 0 <= inside < extent:
                return None
            placed.append(inside)
        return tuple(placed)

    def byte(self, placed: tuple[int, ...]) -> int:
        """The first byte of an element in the storage."""
        return self.offset + sum(i * int(step) for i, step in zip(placed, self.values.strides, strict=True))

    def cells(self, byte: int) -> tuple[tuple[Hashable, int], ...]:
        """The cells of the element that begins at that byte."""
        grain, key = self.storage.grain, self.storage.key
        return tuple((key, cell) for cell in range(byte // grain, (byte + self.values.itemsize - 1) // grain + 1))

    def part(self, index: tuple[Any, ...]) -> Array:
        """What remains of the array when its first axes are indexed."""
        return replace(self, prefix=(*self.prefix, *map(int, index)))

    def view(self, name: str, cut: str, start: int | None, stop: int | None) -> Array:
        """Elements from start to before stop of an array of one axis, as Python slices; named so, or by the cut."""
        first, last, _ = slice(start, stop).indices(len(self.values))
        values = self.values[first : max(first, last)]
        offset = self.offset + first * self.values.strides[0]
        return Array(name or f"{self.name}[{cut}]", values, self.storage, offset, whole=self.declared)


def root(array: Any) -> Any:
    """The array that owns an array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def address(array: Any) -> int:
    """Where an array's first element lies."""
    return int(array.__array_interface__["data"][0])


def global_arrays(named: dict[str, Any]) -> dict[str, Array]:
    """The arrays of a launch by parameter; those over one base array share its storage."""
    of_base: dict[int, list[Any]] = {}
    for value in named.values():
        of_base.setdefault(id(root(value)), []).append(value)
    storages = {base: Storage("global", ("global", base), grain(views)) for base, views in of_base.items()}
    return {
        name: Array(name, value, storages[id(root(value))], address(value) - address(root(value)))
        for name, value in named.items()
    }


def grain(views: list[Any]) -> int:
    """The element's bytes where all views of a base agree about elements, else 1."""
    size = views[0].itemsize
    steps = [step for view in views for step in (address(view) - address(root(view)), *view.strides)]
    return int(size) if all(v.itemsize == size for v in views) and all(step % size == 0 for step in steps) else 1
