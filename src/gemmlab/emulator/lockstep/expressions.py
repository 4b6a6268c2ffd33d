"""Expressions as Python text that numba compiles: scalars for what all threads share, elements [t] for the rest."""

from __future__ import annotations

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep.uniform import Uniformity
from gemmlab.emulator.serial.expressions import constant, kept, text_of

STORAGE = {"bool": "bool_"}


def held(kind: str) -> str:
    """The numpy type that holds a private variable of that type; a float16 is a float32 of few digits."""
    return STORAGE.get(kind, kept(kind))


class Writer:
    """Writes expressions; `scalars` are variables that one thread loop holds for itself."""

    def __init__(self, found: Uniformity, names: dict[str, str], arrays: dict[str, str]) -> None:
        self.found, self.names, self.arrays = found, names, arrays
        self.scalars: set[str] = set()

    def text(self, expression: p.Expr) -> str:
        """The expression as Python text, of the type that holds its type."""
        return text_of(expression, self)

    def variable(self, name: str) -> str:
        """A variable, where thread `t` is at hand."""
        if name in self.scalars:
            return f"s{self.names[name]}"
        return f"v{self.names[name]}[t]" if name in self.found.varying else f"u{self.names[name]}"

    def special(self, name: str) -> str:
        """A special register."""
        where, _, axis = name.partition(".")
        if where == "threadIdx":
            return f"t{axis}[t]"
        return "(t & 31)" if where == "laneid" else f"{where}_{axis}"

    def extent(self, array: str, axis: int) -> str:
        """Elements of an array along an axis."""
        return f"{self.arrays[array]}_n{axis}"


__all__ = ["Writer", "constant", "held"]
