"""Python expressions to draft expressions: memory is read into temporaries on the way, what is left is pure."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from typing import Any

from gemmlab.emulator.lower import calls
from gemmlab.emulator.lower.draft import Frame
from gemmlab.emulator.lower.memory import attribute, subscript
from gemmlab.emulator.lower.names import ArrayRef, Clash, Group, Object, Path, Value, meaning, number
from gemmlab.emulator.lower.refusals import SYNTAX
from gemmlab.emulator.program import (
    Assign,
    Binary,
    Compare,
    Const,
    Expr,
    Extent,
    If,
    Logic,
    Param,
    Select,
    Special,
    Stmt,
    Unary,
    Var,
)

BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not"}
COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
SIMPLE = (Const, Var, Special, Param, Extent)


def value(f: Frame, node: ast.expr) -> Value:
    """What an expression is: a scalar, or something known before anything runs."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise f.refuse(node, SYNTAX.get(type(node), "write it with scalars, arrays and their elements"))
    return handler(f, node)


def scalar(f: Frame, node: ast.expr) -> Expr:
    """An expression that must be one number."""
    return number_of(f, node, value(f, node))


def number_of(f: Frame, node: ast.AST, result: Value) -> Expr:
    """A value already lowered, which must be one number."""
    match result:
        case ArrayRef():
            raise f.refuse(node, "name one element of it, as a[i] or a[i, j]", "is an array where a number is needed")
        case Group():
            raise f.refuse(node, "name one item of it, as t[0]", "is a tuple where a number is needed")
        case Clash():
            raise clash(f, node, result)
        case Path() | Object():
            raise f.refuse(node, "write a number, or call it if it is a function", "is no number")
    return result


def clash(f: Frame, node: ast.AST, meant: Clash) -> Exception:
    """The error for a name whose meaning depends on the path taken."""
    return f.refuse(
        node,
        "give each its own name; of two arrays, keep both in one and choose by its first index",
        f"means something else on another path (see line {meant.line})",
    )


def _name(f: Frame, node: ast.Name) -> Value:
    name = node.id
    if name in f.bound:
        return f.bound[name]
    if name in f.scalars:
        return f.scalars[name]
    if name in f.assigned:
        return Var("", f.name(name))
    if name in f.source.names:
        return meaning(f.source.names[name])
    if hasattr(builtins, name):
        return Path(f"builtins.{name}")
    raise f.refuse(node, "define it in the file, or pass it as an argument", "is not defined")


def _constant(f: Frame, node: ast.Constant) -> Value:
    if (constant := number(node.value)) is not None:
        return constant
    if isinstance(node.value, complex):
        raise f.refuse(node, "keep the real and the imaginary part in two variables")
    if isinstance(node.value, int):
        raise f.refuse(node, "use a float, or two integers", "does not fit into 64 bits")
    return Object(node.value)


def _tuple(f: Frame, node: ast.Tuple) -> Value:
    return Group(tuple(value(f, item) for item in node.elts))


def binary(f: Frame, node: ast.AST, op: ast.operator, x: Expr, y: Expr) -> Expr:
    """An arithmetic operation; whole constants are worked out here, as Python's compiler does."""
    name = BINARY.get(type(op))
    if name is None:
        raise f.refuse(node, "write the product out as a loop over its elements")
    return folded(name, x, y)


def folded(name: str, x: Expr, y: Expr) -> Expr:
    """An operation, worked out where both are int64 constants and the result is one too."""
    match x, y:
        case Const("int64", left), Const("int64", right) if name in _FOLD and _foldable(name, right):
            result = _FOLD[name](left, right)
            if -(2**63) <= result < 2**63:
                return Const("int64", result)
    return Binary("", name, x, y)


def _foldable(name: str, y: float, most: int = 63) -> bool:
    """Whether an operation with that right side is sure to stay whole and short."""
    if name in ("floordiv", "mod"):
        return y != 0
    return name not in ("pow", "lshift", "rshift") or 0 <= y <= most


def literal(node: ast.expr) -> int | None:
    """The value of an expression of whole literals, as Python's compiler works it out; None for any other."""
    match node:
        case ast.Constant(value) if type(value) is int:
            return value
        case ast.UnaryOp(ast.USub(), operand):
            inner = literal(operand)
            return None if inner is None else -inner
        case ast.BinOp(left, op, right):
            x, y = literal(left), literal(right)
            name = BINARY.get(type(op), "")
            if x is not None and y is not None and name in _FOLD and _foldable(name, y, 128) and x.bit_length() <= 128:
                return int(_FOLD[name](x, y))
    return None


def _binary(f: Frame, node: ast.BinOp) -> Value:
    if (whole := literal(node)) is not None:
        if (constant := number(whole)) is None:
            raise f.refuse(node, "use a float, or two integers", "does not fit into 64 bits")
        return constant
    x = value(f, node.left)
    y = value(f, node.right)
    if isinstance(x, Group) and isinstance(y, Group) and isinstance(node.op, ast.Add):
        return Group(x.items + y.items)
    return binary(f, node, node.op, number_of(f, node.left, x), number_of(f, node.right, y))


def _unary(f: Frame, node: ast.UnaryOp) -> Value:
    x, op = scalar(f, node.operand), UNARY[type(node.op)]
    if isinstance(x, Const) and op == "neg" and (x.type == "float64" or x.value == 2**63):
        return Const("float64" if x.type == "float64" else "int64", -x.value)
    if isinstance(x, Const) and op == "neg" and x.type == "int64" and x.value != -(2**63):
        return Const("int64", -x.value)
    return Unary("", op, x)


def _compare(f: Frame, node: ast.Compare) -> Value:
    left, result = scalar(f, node.left), None
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        if type(op) not in COMPARE:
            raise f.refuse(node, "compare numbers with < <= > >= == !=")
        with f.body() as statements:
            right = scalar(f, right_node)
            if right_node is not node.comparators[-1] and not isinstance(right, SIMPLE):
                right = f.assign(node, f.temporary(), right)
        test = Compare(COMPARE[type(op)], left, right)
        result = _also(f, node, "and", result, statements, test) if result is not None else _now(f, statements, test)
        left = right
    assert result is not None
    return result


def _now(f: Frame, statements: list[Stmt], result: Expr) -> Expr:
    f.out.extend(statements)
    return result


def _also(f: Frame, node: ast.AST, op: str, so_far: Expr, statements: list[Stmt], then: Expr) -> Expr:
    """`so_far and then`, or `or`: a branch where `then` needs statements of its own, which may not run in vain."""
    if not statements:
        return Logic(op, so_far, then)
    held = f.assign(node, f.temporary(), so_far)
    with f.body() as inner:
        inner.extend(statements)
        f.assign(node, held.name, then)
    runs = held if op == "and" else Unary("", "not", held)
    f.out.append(If(f.site(node, "if"), runs, tuple(inner), ()))
    return held


def _logic(f: Frame, node: ast.BoolOp) -> Value:
    op = "and" if isinstance(node.op, ast.And) else "or"
    result = scalar(f, node.values[0])
    for item in node.values[1:]:
        with f.body() as statements:
            then = scalar(f, item)
        result = _also(f, node, op, result, statements, then)
    return result


def _conditional(f: Frame, node: ast.IfExp) -> Value:
    test = scalar(f, node.test)
    if isinstance(test, Const):
        return value(f, node.body if test.value else node.orelse)
    with f.body() as then:
        x = scalar(f, node.body)
    with f.body() as orelse:
        y = scalar(f, node.orelse)
    if not then and not orelse:
        return Select("", test, x, y)
    name = f.temporary()
    then.append(Assign(f.site(node.body, "assign"), name, x))
    orelse.append(Assign(f.site(node.orelse, "assign"), name, y))
    f.out.append(If(f.site(node, "if"), test, tuple(then), tuple(orelse)))
    return Var("", name)


_HANDLERS: dict[type[ast.expr], Callable[[Frame, Any], Value]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Tuple: _tuple,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _conditional,
    ast.Call: calls.call,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
}
