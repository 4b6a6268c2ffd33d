"""What a kernel does with each parameter, read off its syntax tree: which are arrays, of how many axes, written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Parameter:
    """One parameter of a kernel."""

    name: str
    ndim: int | None = None  #: axes that it is indexed with; None where it is used as a number
    read: bool = False
    written: bool = False

    @property
    def is_array(self) -> bool:
        """It is indexed, or its shape is asked for."""
        return self.ndim is not None


def parameters(kernel: ast.FunctionDef) -> list[Parameter]:
    """The parameters in order. An array that is only handed on to a device function cannot be told from a number."""
    found = {each.arg: Parameter(each.arg) for each in (*kernel.args.posonlyargs, *kernel.args.args)}
    for name, ndim, read, written in uses(kernel):
        if name in found:
            parameter = found[name]
            parameter.ndim = max(parameter.ndim or 0, ndim)
            parameter.read |= read
            parameter.written |= written
    for parameter in found.values():
        if parameter.ndim == 0:  # its shape is asked for as a whole, and it is not indexed here
            parameter.ndim = None
    return list(found.values())


def uses(kernel: ast.FunctionDef) -> Iterator[tuple[str, int, bool, bool]]:
    """Every use of a name as an array: name, axes, whether it is read, whether it is written."""
    added = {id(node.target) for node in ast.walk(kernel) if isinstance(node, ast.AugAssign)}
    for node in ast.walk(kernel):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                stored = isinstance(node.ctx, ast.Store)
                yield name, axes(index), not stored or id(node) in added, stored
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int(i))
            ):
                yield name, i + 1, False, False
            case ast.Assign(
                targets=[ast.Tuple(elts=sides)], value=ast.Attribute(value=ast.Name(id=name), attr="shape")
            ):
                yield name, len(sides), False, False
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="atomic")), args=[ast.Name(id=name), index, *_]):
                yield name, axes(index), True, True


def axes(index: ast.expr) -> int:
    """Axes of an index."""
    return len(index.elts) if isinstance(index, ast.Tuple) else 1
