"""A kernel as a Python generator of one thread: memory, arithmetic, tests and waits go through the thread's methods."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import FunctionType
from typing import Any

from gemmlab.emulator.reference.kinds import Kind
from gemmlab.emulator.source import Source, load, python_function
from gemmlab.emulator.tallies import Place
from gemmlab.record import GemmlabError

THREAD = "@thread"  #: no name of a kernel can be like it


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the syntax tree that counts: its row, and what one execution adds to the row's arithmetic."""

    kind: str
    place: Place
    flop: int = 0
    fma: int = 0


@dataclass(frozen=True, slots=True)
class Made:
    """A function translated for arguments of certain kinds."""

    name: str
    result: Kind


@dataclass(eq=False)
class Translation:
    """A kernel and its device functions for arguments of certain kinds.

    `nodes` are numbered so that within one function's body an earlier number runs earlier.
    """

    kernel: Source
    nodes: list[Node] = field(default_factory=list)
    objects: dict[str, Any] = field(default_factory=dict)  #: what generated names stand for
    functions: list[ast.FunctionDef] = field(default_factory=list)
    made: dict[Any, Made] = field(default_factory=dict)
    dynamic: set[int] = field(default_factory=set)  #: item sizes of the dynamic shared arrays
    entry: str = ""
    sources: dict[str, Source] = field(default_factory=dict)  #: by file

    def node(self, kind: str, place: Place, flop: int = 0, fma: int = 0) -> int:
        """The number of a new node."""
        self.nodes.append(Node(kind, place, flop, fma))
        return len(self.nodes) - 1

    def object(self, value: Any) -> ast.expr:
        """An expression that stands for an object."""
        name = f"@{len(self.objects)}"
        self.objects[name] = value
        return ast.Name(name, ast.Load())

    def function(self, function: FunctionType, kinds: tuple[Kind, ...], given: frozenset[str] = frozenset()) -> Made:
        """That function for arguments of those kinds, translated once; `given` names those that are products."""
        from gemmlab.emulator.reference.statements import translate

        key = (function, kinds, given)
        if key not in self.made:
            source = loaded(function)
            self.sources.setdefault(source.file, source)
            name = f"@{function.__name__}.{len(self.made)}"
            self.made[key] = Made(name, None)
            definition, result = translate(self, source, name, kinds, given)
            self.functions.append(definition)
            self.made[key] = Made(name, result)
        found = self.made[key]
        if found.result is None:
            raise GemmlabError(f"`{function.__name__}` calls itself", "write a loop; numba.cuda kernels do not recur")
        return found

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The kernel, to be called with a thread and its arguments; gives a generator."""
        module = ast.Module([*self.functions], [])
        ast.fix_missing_locations(module)
        space = dict(self.objects)
        exec(compile(module, "<reference>", "exec"), space)
        return space[self.entry]  # type: ignore[no-any-return]


@lru_cache(maxsize=256)
def loaded(kernel: object) -> Source:
    """The source of a kernel or device function, read once."""
    return load(kernel)


def translation(kernel: object, kinds: tuple[Kind, ...]) -> Translation:
    """A kernel for arguments of those kinds; raises GemmlabError at the line for what is not in the dialect."""
    loaded(kernel)  # says what is wrong with something that is no kernel
    function = python_function(kernel)
    assert function is not None
    return _translated(function, kinds)


@lru_cache(maxsize=64)
def _translated(function: FunctionType, kinds: tuple[Kind, ...]) -> Translation:
    made = Translation(loaded(function))
    made.entry = made.function(function, kinds).name
    return made
