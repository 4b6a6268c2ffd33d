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

    def __init__(self, program: p.Program, *, overlapping: bool = False) -> None:
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
            name: Placed(
                a, f"A{i}", i, name in changed or overlapping or a.space in ("shared", "dynamic"), name in atomic
            )
            for i, (name, a) in enumerate(program.arrays.items())
        }
        sizes = {self.arrays[name].itemsize for name in dynamic}
        self.warps_meet = any(isinstance(s, p.WarpOp) and s.kind == "syncwarp" for s in p.walk(program.body))
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

    def counts_atomics(self, placed: Placed) -> bool:
        """Whether its shadows tell atomics apart."""
        if placed.array.space == "dynamic":
            return any(other.atomics for other in self.arrays.values() if other.array.space == "dynamic")
        return placed.atomics

    def parameters(self) -> list[str]:
        """Names of parameters for arguments, in their order, then for shared and local memory, array by array."""
        names: list[str] = []
        for argument in self.program.arguments:
            if argument.ndim is None:
                names.append(f"p_{argument.name}")
                continue
            prefix = self.arrays[argument.name].prefix
            names += [f"{prefix}_{what}" for what in ("at", "o")]
            names += [f"{prefix}_{what}{axis}" for what in "ns" for axis in range(argument.ndim)]
        for placed in self.arrays.values():
            prefix = placed.prefix
            names += {
                "shared": [f"{prefix}_at", f"{prefix}_bytes"],
                "local": [f"{prefix}_at", f"{prefix}_bytes", f"{prefix}_I_at"],
                "dynamic": [f"{prefix}_at"],
            }.get(placed.array.space, [])
        return [*names, *(["D_at"] if self.dynamic else [])]

    @property
    def dynamic(self) -> list[Placed]:
        """Arrays in dynamic shared memory."""
        return [placed for placed in self.arrays.values() if placed.array.space == "dynamic"]

    def extents(self) -> list[str]:
        """Lines that name extents and strides of shared and local memory."""
        lines: list[str] = []
        for placed in self.arrays.values():
            if placed.array.space in ("shared", "local"):
                lines += self.constant_extents(placed)
            if placed.array.space == "dynamic":
                lines += [f"{placed.prefix}_n0 = dynamic // {placed.itemsize}", f"{placed.prefix}_s0 = 1"]
            if not placed.in_global:
                lines.append(f"{placed.prefix}_o = 0")
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

    def clearing(self) -> list[str]:
        """Lines that make shared and local memory as a block finds it: zeros, or all bits set, which is NaN."""
        lines: list[str] = []
        for placed in self.arrays.values():
            prefix, space = placed.prefix, placed.array.space
            if space in ("shared", "local"):
                value = "blank" if "float" in placed.array.type else "0"
                lines.append(f"fill({prefix}_at, {prefix}_bytes, {value})")
            if space == "local":
                lines.append(f"fill({prefix}_I_at, {placed.size} * NT, 0)")
                lines.append(f"LEFTS[{placed.number}] = {placed.size} * NT")
        return [*lines, *(["fill(D_at, dynamic, blank)"] if self.dynamic else [])]
