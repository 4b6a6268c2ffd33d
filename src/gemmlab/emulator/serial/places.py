"""Where each array of a program lies, and the text that finds, checks, reads and writes one element of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gemmlab.emulator import program as p
from gemmlab.emulator.launch import stored_arrays
from gemmlab.emulator.serial.expressions import Names, as_int64, cast, plain


@dataclass(frozen=True, slots=True)
class Places:
    """The memory of a program. `shared_with` are global arrays that a launch lays over ones that are stored to."""

    program: p.Program
    shared_with: frozenset[str] = frozenset()

    def base(self, name: str) -> p.Array:
        """The array that holds the elements of that array or view."""
        array = self.program.arrays[name]
        return self.program.arrays[array.base] if array.space == "view" else array

    def stored(self) -> frozenset[str]:
        """Bases that some thread writes; dynamic arrays lie over each other, so one written is all written."""
        found = {self.base(name).name for name in stored_arrays(self.program)} | set(self.shared_with)
        dynamic = {a.name for a in self.program.arrays.values() if a.space == "dynamic"}
        return frozenset(found | dynamic if found & dynamic else found)

    def watched(self, name: str) -> bool:
        """Whether it matters to other threads when an element is touched."""
        base = self.base(name)
        return base.space != "local" and base.name in self.stored()

    def bases(self, *spaces: str) -> tuple[p.Array, ...]:
        """Arrays of those spaces, in the program's order."""
        return tuple(a for a in self.program.arrays.values() if a.space in spaces)

    def dynamic_types(self) -> tuple[str, ...]:
        """The types under which dynamic shared memory is seen."""
        return tuple(sorted({a.type for a in self.bases("dynamic")}))

    def element(self, name: str, index: tuple[p.Expr, ...], names: Names) -> list[str]:
        """Text that sets `at` to where its base counts the element, below 0 where the index is out of range."""
        array = self.program.arrays[name]
        parts = ", ".join(as_int64(part, names) for part in index)
        sides = [self.extent(name, axis, names) for axis in range(len(index))]
        if array.space == "global":
            start, steps = f"start_{plain(name)}", [f"step_{plain(name)}_{axis}" for axis in range(len(index))]
        else:
            start = "0" if array.space != "view" else as_int64(array.offset, names)
            steps = [" * ".join(sides[axis + 1 :]) or "1" for axis in range(len(index))]
        lines = [f"at = place{len(index)}({start}, {parts}, {', '.join([*sides, *steps])})"]
        base = self.base(name)
        if array.space == "view":
            lines.append(f"if at >= {self.extent(base.name, 0, names)}:")
            lines.append("    at = np.int64(-1)")
        if array.space == "view" and base.space == "global":
            lines.append("if at >= 0:")
            lines.append(f"    at = start_{plain(base.name)} + at * step_{plain(base.name)}_0")
        return lines

    def extent(self, name: str, axis: int, names: Names) -> str:
        """Elements along an axis, int64."""
        array = self.program.arrays[name]
        if array.space in ("global", "dynamic"):
            return f"extent_{plain(name)}_{axis}"
        return as_int64(array.extents[axis], names)

    def check(self, name: str, block: int, writes: bool, atomic: bool) -> list[str]:
        """Text that stops before an access where the schedule wants it, and counts it."""
        base = self.base(name)
        place = f"at * {np.dtype(base.type).itemsize} // 8" if base.space == "dynamic" else "at"
        group = "dynamic" if base.space == "dynamic" else plain(base.name)
        kind = 2 if atomic else int(writes)
        return [
            f"    why = admit(control, hold, hot, seen, hot_from + hot_{group} + {place}, {block}, t, {kind})",
            "    if why:",
            "        break",
        ]

    def cell(self, name: str) -> str:
        """The element `at`, as generated code names it."""
        base = self.base(name)
        match base.space:
            case "global":
                return f"g_{plain(base.name)}[at]"
            case "shared":
                return f"m_{plain(base.name)}[slot * {size(base)} + at]"
            case "local":
                return f"m_{plain(base.name)}[t * {size(base)} + at]"
        return f"d_{base.type}[slot * (dynamic_bytes // {np.dtype(base.type).itemsize}) + at]"

    def read(self, name: str) -> str:
        """The element's value."""
        cell = self.cell(name)
        return f"half_to_single({cell})" if self.base(name).type == "float16" else cell

    def write(self, name: str, value: str) -> str:
        """The element takes a value of its type."""
        kind = self.base(name).type
        return f"{self.cell(name)} = {f'single_to_half({value})' if kind == 'float16' else cast(kind, value)}"

    def zero(self, name: str) -> str:
        """What a load out of range gives."""
        return cast(self.base(name).type, "0")


def size(array: p.Array) -> int:
    """Elements of an array of constant extents."""
    return math.prod(int(extent.value) for extent in array.extents if isinstance(extent, p.Const))


def held_as(kind: str) -> np.dtype[np.generic]:
    """The type in which memory keeps values: halves are their bits."""
    return np.dtype("uint16" if kind == "float16" else kind)
