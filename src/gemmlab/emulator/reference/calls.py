"""Calls within a kernel: conversions, built-in functions, `math`, numba.cuda's own, and device functions."""

from __future__ import annotations

import ast
import inspect
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gemmlab.emulator.reference import arithmetic, rules
from gemmlab.emulator.reference.expressions import is_product
from gemmlab.emulator.reference.kinds import ArrayKind, Kind, Static, TupleKind, joined
from gemmlab.emulator.source import python_function

if TYPE_CHECKING:
    from gemmlab.emulator.reference.expressions import Expressions
    from gemmlab.emulator.reference.frame import Typed


def call(of: Expressions, node: ast.Call) -> Typed:
    """Any call."""
    from gemmlab.emulator.reference.intrinsics import intrinsic

    target, of.target = of.target, ""
    function = of.expression(node.func)[1]
    if not isinstance(function, Static):
        raise of.refused(node, f"`{ast.unparse(node.func)}` is no function", "")
    called = function.value
    handler = intrinsic(called)
    if handler is not None:
        of.target = target
        made: Typed = handler(of, node)
        return made
    kind = conversion(called)
    if kind is not None:
        return converted(of, node, called, kind)
    if called in (min, max):
        return least(of, node, called)
    if called is len:
        return length(of, node)
    if called is abs or getattr(called, "__module__", "") == "math":
        return mathematics(of, node, called)
    if python_function(called) is not None:
        return device(of, node, called)
    raise of.refused(
        node, f"`{ast.unparse(node.func)}` is not in the dialect", "write it out, or use `math` and numba.cuda"
    )


def is_arithmetic(called: Any) -> bool:
    """Whether a call of that object computes from its arguments alone."""
    from gemmlab.emulator.reference.intrinsics import PURE, intrinsic

    if intrinsic(called) is not None:
        return any(called is getattr(rules.cuda(), name) for name in PURE)
    return python_function(called) is None


def arguments(of: Expressions, node: ast.Call, count: int | None = None) -> list[Typed]:
    """Positional arguments as numbers."""
    if node.keywords or (count is not None and len(node.args) != count):
        raise of.refused(node, f"`{ast.unparse(node)}` has other arguments than numba takes", "see numba's reference")
    return [of.scalar(argument) for argument in node.args]


def conversion(called: Any) -> Kind | None:
    """The type that a call converts to: `float32(x)`, `numba.int8(x)`, `np.float16(x)`, `bool(x)`."""
    from numba import types

    if called in (bool, int, float):
        return rules.kind_of({bool: "bool", int: "int64", float: "float64"}[called])
    if isinstance(called, types.Type) and rules.is_scalar(called):
        return called
    if isinstance(called, type) and issubclass(called, np.number | np.bool_):
        return rules.kind_of(np.dtype(called).name)
    return None


def converted(of: Expressions, node: ast.Call, called: Any, kind: Kind) -> Typed:
    """A conversion; `int` and `float` keep numbers that are so already."""
    from numba import types

    ((value, have),) = arguments(of, node, 1)
    if (called is float and rules.is_float(have)) or (called is int and isinstance(have, types.Integer)):
        kind = have
    return of.as_kind(value, have, kind), kind


def least(of: Expressions, node: ast.Call, called: Any) -> Typed:
    """`min` or `max` of several numbers, in the type that holds all of them."""
    values = arguments(of, node)
    kind = values[0][1]
    for _, other in values[1:]:
        kind = joined(kind, other)
    function = of.program.object(arithmetic.smaller if called is min else arithmetic.larger)
    made = of.as_kind(*values[0], kind)
    for value, have in values[1:]:
        made = ast.Call(function, [made, of.as_kind(value, have, kind)], [])
    return made, kind


def length(of: Expressions, node: ast.Call) -> Typed:
    """`len` of an array."""
    made, kind = of.value(node.args[0])
    if isinstance(kind, TupleKind):
        return of.materialised(made, Static(len(kind.items)))
    if not isinstance(kind, ArrayKind):
        raise of.refused(node, f"`{ast.unparse(node)}` is not of an array", "use len of arrays")
    return ast.Subscript(ast.Attribute(made, "shape", ast.Load()), ast.Constant(0), ast.Load()), rules.kind_of("int64")


def mathematics(of: Expressions, node: ast.Call, called: Any) -> Typed:
    """A function of `math`, or `abs`."""
    if not callable(called) or called is math.fsum:
        raise of.refused(node, f"`{ast.unparse(node)}` is not in the dialect", "")
    values = arguments(of, node)
    found = arithmetic.mathematical(called, *(kind for _, kind in values))
    if found is None:
        kinds = ", ".join(str(kind) for _, kind in values)
        raise of.refused(
            node, f"numba's CUDA target has no `{ast.unparse(node.func)}` of {kinds}", "convert the arguments"
        )
    function, kind = found
    made = ast.Call(of.program.object(function), [value for value, _ in values], [])
    return (of.counted(made, 1) if rules.is_float(kind) and called is not abs else made), kind


def device(of: Expressions, node: ast.Call, called: Any) -> Typed:
    """A call of a device function, with defaults as Python fills them in."""
    function = python_function(called)
    assert function is not None
    parameters = inspect.signature(function).parameters
    given: dict[str, Typed] = dict(zip(parameters, (of.value(a) for a in node.args), strict=False))
    for keyword in node.keywords:
        given[keyword.arg or ""] = of.value(keyword.value)
    for name, parameter in parameters.items():
        if name not in given and parameter.default is not parameter.empty:
            given[name] = of.value(ast.copy_location(ast.Constant(parameter.default), node))
    if set(given) != set(parameters) or len(node.args) > len(parameters):
        raise of.refused(node, f"`{ast.unparse(node)}`: the function takes {', '.join(parameters) or 'nothing'}", "")
    products = frozenset(name for name, argument in zip(parameters, node.args, strict=False) if is_product(argument))
    made = of.program.function(function, tuple(given[name][1] for name in parameters), products)
    values = [given[name][0] for name in parameters]
    number = of.number("call", node)
    return ast.YieldFrom(of.method("call", number, ast.Name(made.name, ast.Load()), *values)), made.result
