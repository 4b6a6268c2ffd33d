"""The Python source of a kernel: its syntax tree, its file, and the names that it sees."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from gemmlab.record import GemmlabError


@dataclass(frozen=True, slots=True)
class Source:
    """One function as written: line numbers of the tree are those of the file."""

    name: str
    file: str
    tree: ast.FunctionDef
    names: Mapping[str, Any]  #: globals of its module, and over them the variables of functions around it
    lines: tuple[str, ...]  #: of the whole file; line 1 is at 0
    function: FunctionType

    def line(self, number: int) -> str:
        """The text of a line, from 1, without blanks around it."""
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""


def python_function(kernel: object) -> FunctionType | None:
    """The Python function under a kernel object, None where it is no kernel.

    numba's dispatchers keep theirs as `py_func`, the kernels of its simulator as `fn`.
    """
    for candidate in (getattr(kernel, "py_func", None), getattr(kernel, "fn", None), kernel):
        if isinstance(candidate, FunctionType):
            return candidate
    return None


def load(kernel: object) -> Source:
    """The source of a kernel: a numba.cuda dispatcher, a kernel of its simulator, or a plain function.

    Raises GemmlabError for anything else, and for functions whose text is not kept anywhere.
    """
    function = python_function(kernel)
    if function is None:
        raise GemmlabError(f"`{_shown(kernel)}` is no kernel", "give a function under @cuda.jit, or a plain function")
    file = function.__code__.co_filename
    linecache.checkcache(file)
    lines = tuple(linecache.getlines(file, function.__globals__))
    tree = _definition(function, lines)
    if tree is None:
        raise GemmlabError(
            f"the source of `{function.__name__}` is not available: {file} does not hold it",
            "write the kernel as a `def` in a file; text given to exec, lambdas and edited files cannot be read back",
        )
    return Source(function.__name__, file, tree, _visible(function), lines, function)


def _definition(function: FunctionType, lines: tuple[str, ...]) -> ast.FunctionDef | None:
    """The definition in a file that the function's code object came from."""
    if not lines:
        return None
    try:
        module = ast.parse("".join(lines))
    except SyntaxError:
        return None
    first = function.__code__.co_firstlineno
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == function.__code__.co_name:
            starts = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
            if min(starts) == first:
                return node
    return None


def _visible(function: FunctionType) -> dict[str, Any]:
    """Globals, covered by the variables of enclosing functions that this one uses; empty cells are left out."""
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            names.pop(name, None)
    return names


def _shown(value: object, most: int = 60) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[: most - 3] + "..."
