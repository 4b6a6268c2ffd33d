"""A kernel on its way to a program: statements whose order is settled and whose types are not yet known.

A draft is made of the program's own statements and expressions; where a type waits for inference it is empty.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType

from gemmlab.emulator.lower.names import Clash, Static, Value
from gemmlab.emulator.lower.refusals import Spot, refusal, shortened, snippet
from gemmlab.emulator.program import Array, Assign, Const, Expr, Line, Site, Stmt, Var
from gemmlab.emulator.source import Source
from gemmlab.record import GemmlabError


@dataclass(slots=True)
class Draft:
    """The whole of one kernel, its device functions among it."""

    files: list[str] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    sources: dict[Line, str] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    declared: dict[int, str] = field(default_factory=dict)  #: shared and local arrays, by the syntax node of each
    used: set[str] = field(default_factory=set)  #: prefixes and names of arrays taken so far
    temporaries: int = 0
    labels: int = 0
    bounds: dict[int, int] = field(default_factory=dict)  #: by a For's site: how many bounds its range was given
    running: list[FunctionType] = field(default_factory=list)  #: functions being inlined, the kernel first
    loaded: dict[FunctionType, Source] = field(default_factory=dict)  #: device functions, each read once

    def file(self, name: str) -> int:
        """The number of a file."""
        if name not in self.files:
            self.files.append(name)
        return self.files.index(name)

    def unused(self, name: str) -> str:
        """A name like that one that nothing has yet: the name itself, name.2, name.3 ..."""
        number, candidate = 1, name
        while candidate in self.used:
            number += 1
            candidate = f"{name}.{number}"
        self.used.add(candidate)
        return candidate


@dataclass(slots=True)
class Frame:
    """One function as it is being lowered: the kernel, or one inlined call of a device function."""

    draft: Draft
    source: Source
    prefix: str = ""  #: before each of its variables' names
    bound: dict[str, Static] = field(default_factory=dict)  #: local names of arrays and tuples
    scalars: dict[str, Expr] = field(default_factory=dict)  #: parameters that stand for an expression
    assigned: Mapping[str, int] = field(default_factory=dict)  #: how often the function assigns each of its own names
    constants: dict[str, Const] = field(default_factory=dict)  #: names that are assigned once, and a constant
    out: list[Stmt] = field(default_factory=list)  #: statements so far of the body at hand
    around: list[dict[str, Static]] = field(default_factory=list)  #: what names meant before each enclosing loop
    hint: str = ""  #: the variable that takes what is being evaluated
    label: int | None = None  #: of a device function's scope
    result: Value | None = None  #: what a device function returns, once that is known

    def name(self, local: str) -> str:
        """The program's name of a local variable."""
        return self.prefix + local

    def array_name(self, otherwise: str) -> str:
        """A name for an array that comes to be: the variable that takes it, under the device function's name."""
        own = self.hint or otherwise
        return own if self.label is None else f"{self.source.name}.{own}"

    def line(self, node: ast.AST) -> Line:
        """Where a node stands."""
        return Line(self.draft.file(self.source.file), getattr(node, "lineno", self.source.tree.lineno))

    def constant(self, value: Value) -> Value:
        """The constant that a variable always holds, where it is one; else the value itself."""
        return self.constants.get(value.name, value) if isinstance(value, Var) else value

    def site(self, node: ast.AST, kind: str, array: str = "") -> int:
        """A new site, for a statement of that kind that a node gives."""
        line = self.line(node)
        self.draft.sources.setdefault(line, self.source.line(line.number))
        self.draft.sites.append(Site(line, kind, array))
        return len(self.draft.sites) - 1

    def temporary(self) -> str:
        """A private variable of no name in the source."""
        self.draft.temporaries += 1
        return f"${self.draft.temporaries}"

    def assign(self, node: ast.AST, name: str, value: Expr) -> Var:
        """Let a variable, by its name in the program, take a value."""
        self.out.append(Assign(self.site(node, "assign"), name, value))
        return Var("", name)

    def refuse(self, node: ast.AST, hint: str, why: str = "is not in the emulator's dialect") -> GemmlabError:
        """The error that points to a node."""
        return refusal(Spot(self.source.file, self.line(node).number, snippet(node)), hint, why)

    def bind(self, node: ast.AST, local: str, meant: Static | None) -> None:
        """Let a local name mean an array or a tuple, or from here on a number where that is None.

        Raises GemmlabError in a loop whose next round would find another meaning than its first.
        """
        for before in self.around:
            if local in before and before[local] != meant:
                raise self.refuse(
                    node,
                    "give each its own name; of two arrays, keep both in one and choose: buffer[stage, i]",
                    f"lets `{local}` mean something else in a loop's next round",
                )
        if meant is None:
            self.bound.pop(local, None)
        else:
            self.bound[local] = meant

    @contextmanager
    def body(self) -> Iterator[list[Stmt]]:
        """Collect the statements lowered meanwhile in a list of their own."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    def join(self, *ends: dict[str, Static], line: int) -> None:
        """What names of arrays and tuples mean where paths meet."""
        self.bound = dict(ends[0])
        for end in ends[1:]:
            for name, meant in end.items():
                if self.bound.setdefault(name, meant) != meant:
                    self.bound[name] = Clash(line)


def line_spot(draft: Draft, line: Line) -> Spot:
    """A line as the place of a refusal, for what is found out after its syntax is gone."""
    return Spot(draft.files[line.file], line.number, shortened(draft.sources.get(line, "")))
