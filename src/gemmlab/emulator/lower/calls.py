"""Calls: which of the dialect's functions is meant, and what it becomes."""

from __future__ import annotations

import ast
from collections.abc import Callable

from gemmlab.emulator.lower import expressions, inlining, memory
from gemmlab.emulator.lower.cooperation import COOPERATION
from gemmlab.emulator.lower.draft import Frame
from gemmlab.emulator.lower.intrinsics import CALLS, FUNCTIONS, INSTEAD
from gemmlab.emulator.lower.names import ArrayRef, Clash, Group, Object, Path, Value, scalar_type
from gemmlab.emulator.lower.types import TYPES
from gemmlab.emulator.program import Binary, Call, Cast, Const, Expr, Special
from gemmlab.emulator.source import python_function

_AXES = "xyz"


def call(f: Frame, node: ast.Call) -> Value:
    """The result of a call."""
    callee = expressions.value(f, node.func)
    if isinstance(callee, Path):
        return _member(f, node, callee.dotted)
    if isinstance(callee, Object):
        kind = scalar_type(callee.value)
        if kind is not None and not isinstance(callee.value, str):
            return Cast(kind, _only(f, node))
        if python_function(callee.value) is not None:
            return inlining.inline(f, node, callee.value)
    if isinstance(callee, Clash):
        raise expressions.clash(f, node.func, callee)
    raise f.refuse(node, _remedy(callee))


def _remedy(callee: Value) -> str:
    if isinstance(callee, Object):
        module = getattr(callee.value, "__module__", None) or type(callee.value).__module__
        name = getattr(callee.value, "__name__", "")
        if module.startswith("numpy"):
            return f"use math.{name} on single numbers" if f"math.{name}" in CALLS else "write the loop over elements"
    if isinstance(callee, ArrayRef):
        return "index an array with [ ]"
    return "call functions of math and numba.cuda, and those under @cuda.jit(device=True)"


def _member(f: Frame, node: ast.Call, dotted: str) -> Value:
    handler = _SPECIAL.get(dotted) or COOPERATION.get(dotted)
    if handler is not None:
        return handler(f, node)
    if dotted in CALLS:
        name = CALLS[dotted]
        return Call("", name, arguments(f, node, FUNCTIONS[name].arity))
    if dotted in INSTEAD:
        raise f.refuse(node, INSTEAD[dotted])
    if dotted.startswith("cuda.cg."):
        raise f.refuse(node, "cooperative groups are not modelled: use cuda.syncthreads() and cuda.syncwarp()")
    if dotted.startswith("cuda.fp16."):
        raise f.refuse(node, "use operators and functions of math: they work on float16")
    if dotted.startswith("cuda.libdevice."):
        raise f.refuse(node, "use the function of math")
    raise f.refuse(node, "call functions of math and numba.cuda, and those under @cuda.jit(device=True)")


def plain(f: Frame, node: ast.Call) -> list[ast.expr]:
    """Arguments of a call that takes them by position only."""
    if node.keywords:
        raise f.refuse(node, "give the arguments by position")
    return node.args


def arguments(f: Frame, node: ast.Call, count: int) -> tuple[Expr, ...]:
    """So many numbers, given by position."""
    given = plain(f, node)
    if len(given) != count:
        raise f.refuse(node, f"give {count}", f"has {len(given)} argument{'s' * (len(given) != 1)}")
    return tuple(expressions.scalar(f, item) for item in given)


def _only(f: Frame, node: ast.Call) -> Expr:
    return arguments(f, node, 1)[0]


def _dimensions(f: Frame, node: ast.Call) -> int:
    given = f.constant(_only(f, node))
    if not isinstance(given, Const) or given.type != "int64" or given.value not in (1, 2, 3):
        raise f.refuse(node, "write the number of axes: 1, 2 or 3", "needs 1, 2 or 3")
    return int(given.value)


def _wide(name: str) -> Expr:
    return Cast("int64", Special("int32", name))


def _grid(f: Frame, node: ast.Call) -> Value:
    """cuda.grid: int64, as numba computes it."""
    axes = [
        Binary(
            "int64",
            "add",
            Binary("int64", "mul", _wide(f"blockIdx.{a}"), _wide(f"blockDim.{a}")),
            _wide(f"threadIdx.{a}"),
        )
        for a in _AXES[: _dimensions(f, node)]
    ]
    return axes[0] if len(axes) == 1 else Group(tuple(axes))


def _gridsize(f: Frame, node: ast.Call) -> Value:
    axes = [
        Binary("int64", "mul", _wide(f"blockDim.{a}"), _wide(f"gridDim.{a}")) for a in _AXES[: _dimensions(f, node)]
    ]
    return axes[0] if len(axes) == 1 else Group(tuple(axes))


def _len(f: Frame, node: ast.Call) -> Value:
    given = plain(f, node)
    what = expressions.value(f, given[0]) if len(given) == 1 else None
    if isinstance(what, Group):
        return Const("int64", len(what.items))
    if isinstance(what, ArrayRef):
        return memory.shape(f, what)[0]
    raise f.refuse(node, "give one array or tuple")


def _extreme(op: str) -> Callable[[Frame, ast.Call], Value]:
    def handler(f: Frame, node: ast.Call) -> Value:
        given = plain(f, node)
        if len(given) == 1 and isinstance(group := expressions.value(f, given[0]), Group):
            items = [expressions.number_of(f, node, item) for item in group.items]
        else:
            items = [expressions.scalar(f, item) for item in given]
        if len(items) < 2:
            raise f.refuse(node, "give at least two numbers")
        return Call("", op, tuple(items))

    return handler


def _cast(name: str) -> Callable[[Frame, ast.Call], Value]:
    return lambda f, node: Call("", name, (_only(f, node),))


def _to_type(kind: str) -> Callable[[Frame, ast.Call], Value]:
    return lambda f, node: Cast(kind, _only(f, node))


def _selp(f: Frame, node: ast.Call) -> Value:
    return Call("", "selp", arguments(f, node, 3))


def _pow(f: Frame, node: ast.Call) -> Value:
    x, y = arguments(f, node, 2)
    return Binary("", "pow", x, y)


def _math_pow(f: Frame, node: ast.Call) -> Value:
    return Call("", "pow", arguments(f, node, 2))


def _declare(space: str) -> Callable[[Frame, ast.Call], Value]:
    return lambda f, node: memory.declare(f, node, space, f.array_name(f"{space}@{node.lineno}"))


_SPECIAL: dict[str, Callable[[Frame, ast.Call], Value]] = {
    "cuda.grid": _grid,
    "cuda.gridsize": _gridsize,
    "cuda.selp": _selp,
    "cuda.shared.array": _declare("shared"),
    "cuda.local.array": _declare("local"),
    "math.pow": _math_pow,
    "builtins.pow": _pow,
    "builtins.len": _len,
    "builtins.min": _extreme("min"),
    "builtins.max": _extreme("max"),
    "builtins.int": _cast("int"),
    "builtins.float": _cast("float"),
    "builtins.bool": _cast("truth"),
    **{f"cuda.{kind}": _to_type(kind) for kind in TYPES},
}
