"""Where the arrays of a program are in generated code: their names, strides, and the shadows beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gemmlab.emulator import program as p

STORED = {"float16": "uint16", "bool": "bool_"}  #: how memory of a type is held where not by its own name


@dataclass(frozen=True)
class Placed:
    """One array: `prefix` begins the names of its memory and strides in generated code."""

    array: p.Array
    prefix: str
    number: int
    shadowed: bool  #: races on it are looked for
    atomics: bool  #: some statement changes it atomically

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.array.type).itemsize

    @property
    def stored(self) -> str:
        """The numpy type of its memory."""
        return STORED.get(self.array.type, self.array.type)

    @property
    def size(self) -> int:
        """Elements of a shared or local array."""
        return math.prod(extent.value for extent in self.array.extents if isinstance(extent, p.Const))  # type: ignore[misc]

    @property
    def in_global(self) -> bool:
        """Whether it is an argument."""
        return self.array.space == "global"


class Layout:
    """The arrays of one program."""

    def __init__(self, program: p.Program) -> None:
        self.program = program
        self.names = {
            name: f"{i}_{''.join(c if c.isalnum() else '_' for c in name)}" for i, name in enumerate(program.variables)
        }
        changed = {self.base_of(s.array) for s in p.walk(program.body) if isinstance(s, p.Store | p.Atomic)}
        atomic = {self.base_of(s.array) for s in p.walk(program.body) if isinstance(s, p.Atomic)}
        dynamic = {name for name, a in program.arrays.items() if a.space == "dynamic"}
        if dynamic & atomic:
            atomic |= dynamic
        self.arrays = {
            name: Placed(a, f"A{i}", i, name in changed or a.space in ("shared", "dynamic"), name in atomic)
            for i, (name, a) in enumerate(program.arrays.items())
        }
        sizes = {self.arrays[name].itemsize for name in dynamic}
        self.granule = min(sizes, default=1)  #: bytes of a shadow word of dynamic shared memory
        self.aliasing = len(dynamic) > 1

    def base_of(self, name: str) -> str:
        """The array that a view looks into, or the array itself."""
        return self.program.arrays[name].base or name

    def placed(self, name: str) -> Placed:
        """The array that holds the elements of an array or view."""
        return self.arrays[self.base_of(name)]

    def span(self, placed: Placed) -> int:
        """Shadow words of one element."""
        return placed.itemsize // self.granule if placed.array.space == "dynamic" else 1

    def shadow(self, placed: Placed) -> str:
        """The beginning of its shadows' names; dynamic arrays share theirs."""
        return "D" if placed.array.space == "dynamic" else placed.prefix

    def owners(self) -> list[int]:
        """For each site, the number of the dynamic array it touches, -1 for none."""
        found = [-1] * len(self.program.sites)
        for s in p.walk(self.program.body):
            if isinstance(s, p.Load | p.Store | p.Atomic):
                placed = self.placed(s.array)
                if placed.array.space == "dynamic":
                    found[s.site] = placed.number
        return found

    def parameters(self) -> list[str]:
        """Names of the generated function's parameters that stand for arguments, in the order of `arguments`."""
        names: list[str] = []
        for argument in self.program.arguments:
            if argument.ndim is None:
                names.append(f"p_{argument.name}")
                continue
            prefix = self.arrays[argument.name].prefix
            names += [f"{prefix}_m", f"{prefix}_o", f"{prefix}_b"]
            names += [f"{prefix}_{what}{axis}" for what in "ns" for axis in range(argument.ndim)]
            names += [f"{prefix}_W", f"{prefix}_R", f"{prefix}_A"]
        return names

    def allocations(self) -> list[str]:
        """Lines that make shared and local memory, and their shadows."""
        lines: list[str] = []
        for placed in self.arrays.values():
            prefix, space = placed.prefix, placed.array.space
            if space in ("shared", "local"):
                stride = 1 if space == "shared" else "NT"
                lines.append(f"{prefix}_m = np.zeros({max(placed.size, 1)} * {stride}, np.{placed.stored})")
                lines += self.constant_extents(placed)
            if space == "shared":
                lines += self.words(prefix, str(placed.size), placed.atomics)
            if space == "local":
                lines += [f"{prefix}_I = np.zeros({max(placed.size, 1)} * NT, np.uint8)"]
        dynamic = [placed for placed in self.arrays.values() if placed.array.space == "dynamic"]
        if dynamic:
            lines.append("D_m = np.zeros(dynamic + 8, np.uint8)")
            lines += self.words("D", f"(dynamic // {self.granule} + 8)", any(placed.atomics for placed in dynamic))
        for placed in dynamic:
            prefix, size = placed.prefix, placed.itemsize
            lines += [
                f"{prefix}_n0 = dynamic // {size}",
                f"{prefix}_m = D_m[: {prefix}_n0 * {size}].view(np.{placed.stored})",
                f"{prefix}_s0 = 1",
            ]
        return lines

    def constant_extents(self, placed: Placed) -> list[str]:
        """Extents and row-major strides of an array whose shape is known."""
        lines, stride = [], 1
        for axis in reversed(range(len(placed.array.extents))):
            extent = placed.array.extents[axis]
            assert isinstance(extent, p.Const)
            lines.append(f"{placed.prefix}_n{axis} = {extent.value}; {placed.prefix}_s{axis} = {stride}")
            stride *= int(extent.value)
        return lines

    @staticmethod
    def words(prefix: str, size: str, atomics: bool) -> list[str]:
        """Shadow words of shared memory."""
        lines = [f"{prefix}_{what} = np.zeros({size}, np.int64)" for what in "WR"]
        return [*lines, f"{prefix}_A = np.zeros({size if atomics else 0}, np.int64)"]

    def clearing(self) -> list[str]:
        """Lines that make shared and local memory as a block finds it."""
        lines: list[str] = []
        for placed in self.arrays.values():
            prefix, space = placed.prefix, placed.array.space
            if space in ("shared", "local"):
                lines.append(f"{prefix}_m[:] = {filling(placed)}")
            if space == "local":
                lines += [f"{prefix}_I[:] = 0", f"{prefix}_left = {placed.size} * NT"]
        if any(placed.array.space == "dynamic" for placed in self.arrays.values()):
            lines.append("D_m[:] = np.uint8(255) if fill else np.uint8(0)")  # all ones are a NaN of every float type
        return lines


def filling(placed: Placed) -> str:
    """What memory of that type holds before it is written: zeros, or NaN if asked for and there is one."""
    if placed.array.type == "float16":
        return "np.uint16(0x7e00) if fill else np.uint16(0)"
    if "float" in placed.array.type:
        return f"np.{placed.stored}(np.nan) if fill else np.{placed.stored}(0)"
    return "False" if placed.array.type == "bool" else f"np.{placed.stored}(0)"
