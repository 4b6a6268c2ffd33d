"""Expressions of a program as text that numba compiles. A half is kept as the float32 of the same value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gemmlab.emulator import program as p

OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "and": "&", "or": "|", "xor": "^"}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
BITS = {"popc": "set_bits", "clz": "leading_zeros", "ffs": "first_set", "brev": "reversed_bits"}


class Names(Protocol):
    """What the text calls things that depend on where it stands."""

    def variable(self, name: str) -> str:
        """A private variable."""

    def special(self, name: str) -> str:
        """`threadIdx.x` and its like."""

    def extent(self, array: str, axis: int) -> str:
        """Elements of an array along an axis."""


def plain(name: str) -> str:
    """A name of the program as part of a Python name; names that begin with a digit are no kernel's own."""
    if name.isidentifier() or name[:1].isdigit():
        return name
    return "0" + "".join(c if c.isalnum() or c == "_" else f"_{ord(c):x}_" for c in name)


def kept(kind: str) -> str:
    """The type in which private values of that type are kept."""
    return "float32" if kind == "float16" else kind


def cast(kind: str, text: str) -> str:
    """The text's value, exact in `kind`, as the type in which that is kept."""
    return f"np.{'bool_' if kind == 'bool' else kept(kind)}({text})"


def is_float(kind: str) -> bool:
    """Whether a type's name is that of a float."""
    return kind.startswith("float")


def as_int64(e: p.Expr, names: Names) -> str:
    """An integer as int64."""
    return text_of(e, names) if e.type == "int64" else f"np.int64({text_of(e, names)})"


def width(kind: str) -> int:
    """Bits of a type."""
    return 8 * np.dtype(kind).itemsize


def rounded(kind: str, text: str) -> str:
    """A computed value as `kind`: integers wrap, halves are rounded from what a wider float gave."""
    if kind in ("int64", "uint64", "float32", "float64"):
        return text  # numba computes in these as they are
    return f"round_half({text})" if kind == "float16" else cast(kind, text)


def text_of(e: p.Expr, names: Names) -> str:
    """The expression, in parentheses wherever another may stand around it."""

    def of(part: p.Expr) -> str:
        return text_of(part, names)

    match e:
        case p.Const():
            return constant(e.type, e.value)
        case p.Var():
            return names.variable(e.name)
        case p.Param():
            return f"p_{e.name}"
        case p.Special():
            return names.special(e.name)
        case p.Extent():
            return names.extent(e.array, e.axis)
        case p.Unary():
            return unary(e, of(e.x))
        case p.Binary(x=p.Const(), y=p.Const(), type="int64"):  # Python would fold them, past 64 bits too
            return binary(e, cast("int64", of(e.x)), of(e.y))
        case p.Binary():
            return rounded(e.type, binary(e, of(e.x), of(e.y)))
        case p.Compare():
            return f"({of(e.x)} {COMPARISONS[e.op]} {of(e.y)})"
        case p.Logic():
            return f"({of(e.x)} {e.op} {of(e.y)})"
        case p.Cast():
            return conversion(e.type, e.x.type, of(e.x))
        case p.Select():
            return f"({of(e.x)} if {of(e.condition)} else {of(e.y)})"
        case p.Call():
            return call(e, of)


def constant(kind: str, value: Any) -> str:
    """A literal of that type."""
    if kind == "bool":
        return repr(bool(value))
    if not is_float(kind):
        return f"({int(value)})" if kind == "int64" else cast(kind, repr(int(value)))
    number = float(np.dtype(kind).type(value))
    if math.isnan(number):
        return cast(kind, "np.nan")
    if number in (float("inf"), float("-inf")):
        return cast(kind, "np.inf" if number > 0 else "-np.inf")
    return f"({number!r})" if kind == "float64" else cast(kind, repr(number))


def unary(e: p.Unary, x: str) -> str:
    """`neg`, `invert` or `not`."""
    if e.op == "not":
        return f"(not {x})"
    return rounded(e.type, f"(-{x})" if e.op == "neg" else f"(~{x})")


def binary(e: p.Binary, x: str, y: str) -> str:
    """An operator between two values of one type; the result may still be too wide."""
    unsigned = e.type.startswith("u") or e.type == "bool"
    match e.op:
        case "min" | "max":
            return f"{'smaller' if e.op == 'min' else 'larger'}({x}, {y})"
        case "floordiv" if not is_float(e.type):
            return f"{'quotient' if unsigned else 'signed_quotient'}({x}, {y})"
        case "mod" if not is_float(e.type):
            return f"{'unsigned_remainder' if unsigned else 'remainder'}({x}, {y})"
        case "floordiv" | "mod":
            return f"({x} {'//' if e.op == 'floordiv' else '%'} {y})"
        case "lshift" | "rshift":
            name = "shifted_left" if e.op == "lshift" else f"{'unsigned_' if unsigned else ''}shifted_right"
            return f"{name}({x}, {y}, {width(e.type)})"
    return f"({x} {OPERATORS[e.op]} {y})"


def conversion(to: str, source: str, x: str) -> str:
    """A value of one type as another, as C converts."""
    if to == source:
        return x
    if to == "bool":
        return f"({x} != 0)"
    if to == "float16":
        return f"round_half(np.float64({x}))"
    return cast(to, x)


def call(e: p.Call, of: Callable[[p.Expr], str]) -> str:
    """A function of `math`, or one of a GPU's own."""
    args = [of(arg) for arg in e.args]
    kind = e.args[0].type if e.args else e.type
    if e.name in BITS:
        bits = width(kind)
        return cast(e.type, f"{BITS[e.name]}(np.uint64(np.uint{bits}({args[0]})), {bits})")
    if e.name == "fma":
        if kind == "float16":
            return f"round_half(half_fused({', '.join(args)}))"
        return f"fused({', '.join(args)})"
    if e.name == "abs":
        return cast(e.type, f"abs({args[0]})")
    return rounded(e.type, f"math.{e.name}({', '.join(args)})")
