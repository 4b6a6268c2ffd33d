"""Types of expressions: operands cast to the type they meet in, so that every operation has one."""

from __future__ import annotations

import struct
from collections.abc import Callable

from gemmlab.emulator.lower import types
from gemmlab.emulator.lower.intrinsics import BITWISE, FUNCTIONS, SELECTED, narrowest
from gemmlab.emulator.program import (
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Logic,
    Select,
    Unary,
    Var,
)

Lookup = Callable[[str], str | None]  #: type of a variable as a statement sees it; None where it is not yet known


class MistypedError(Exception):
    """Operands that have no such operation: what holds, and the remedy."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.why, self.hint = why, hint


class UnknownTypeError(Exception):
    """A variable's type is not known yet: inference comes back."""


def cast(kind: str, x: Expr) -> Expr:
    """A value as that type: itself where it has it, a constant converted here and now."""
    if x.type == kind:
        return x
    if isinstance(x, Const) and (constant := _converted(kind, x.value)) is not None:
        return constant
    return Cast(kind, x)


def _converted(kind: str, value: int | float | bool) -> Const | None:
    """A constant in another type, None where that would not keep it and must be done as the machine does it."""
    if kind == "bool":
        return Const(kind, bool(value))
    if types.is_float(kind):
        return _rounded(kind, value) if isinstance(value, float) or abs(value) <= 2**53 else None
    return Const(kind, wrapped(kind, int(value))) if isinstance(value, int) else None


def _rounded(kind: str, value: int | float | bool) -> Const | None:
    form = {"float16": "e", "float32": "f", "float64": "d"}[kind]
    try:
        return Const(kind, struct.unpack(form, struct.pack(form, value))[0])
    except OverflowError:
        return None


def wrapped(kind: str, value: int) -> int:
    """An integer in a type of so many bits: the lowest bits stay."""
    bits = types.width(kind)
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if kind in types.SIGNED and low >> (bits - 1) else low


def typed(x: Expr, lookup: Lookup) -> Expr:
    """An expression with all of its types.

    Raises UnknownTypeError where a variable's type is not known yet, MistypedError where operands have no such form.
    """
    match x:
        case Var(_, name):
            kind = lookup(name)
            if kind is None:
                raise UnknownTypeError
            return Var(kind, name)
        case Unary(_, "not", _):
            return test(x, lookup)
        case Unary(_, op, inner):
            return _unary(op, typed(inner, lookup))
        case Binary(_, op, left, right):
            return _binary(op, typed(left, lookup), typed(right, lookup))
        case Compare(op, left, right):
            return _compare(op, typed(left, lookup), typed(right, lookup))
        case Logic(op, left, right):
            return _logic(op, typed(left, lookup), typed(right, lookup))
        case Cast(kind, inner):
            return cast(kind, typed(inner, lookup))
        case Select(_, condition, left, right):
            return _select(test(condition, lookup), typed(left, lookup), typed(right, lookup))
        case Call(_, name, args):
            return _call(name, [typed(item, lookup) for item in args])
    return x


def test(x: Expr, lookup: Lookup) -> Expr:
    """An expression as a condition: `and`, `or` and `not` of conditions, else whether it is not zero."""
    match x:
        case Logic(op, left, right):
            return Logic(op, test(left, lookup), test(right, lookup))
        case Unary(_, "not", inner):
            return Unary("bool", "not", test(inner, lookup))
    return truth(typed(x, lookup))


def truth(x: Expr) -> Expr:
    """A value as a test: whether it is not zero."""
    return cast("bool", x)


def _unary(op: str, x: Expr) -> Expr:
    if op == "pos":
        return cast("float32" if x.type == "float16" else types.negated(x.type), x)
    kind = types.negated(x.type) if op == "neg" else types.inverted(x.type)
    if kind is None:
        raise MistypedError(f"inverts the bits of {x.type}", "invert integers only, or write `not`")
    return Unary("bool", "not", x) if op == "invert" and kind == "bool" else Unary(kind, op, cast(kind, x))


_RULES: dict[str, Callable[[str, str], str | None]] = {
    **dict.fromkeys(("add", "sub", "mul"), types.arithmetic),
    "truediv": types.division,
    **dict.fromkeys(("floordiv", "mod"), types.flooring),
    "pow": types.power,
    **dict.fromkeys(("and", "or", "xor"), types.bitwise),
    **dict.fromkeys(("lshift", "rshift"), lambda x, y: None if types.is_float(y) else types.shift(x)),
    **dict.fromkeys(("min", "max"), types.meeting),
}


def _binary(op: str, x: Expr, y: Expr) -> Expr:
    kind = _RULES[op](x.type, y.type)
    if kind is None:
        raise MistypedError(
            f"works on the bits of {x.type} and {y.type}", "use it on integers; cast with int(x) before"
        )
    return Binary(kind, op, cast(kind, x), cast(kind, y))


def _compare(op: str, x: Expr, y: Expr) -> Expr:
    kind = types.comparing(x.type, y.type)
    return Compare(op, cast(kind, x), cast(kind, y))


def _logic(op: str, x: Expr, y: Expr) -> Expr:
    """`x and y` is one of the two in Python: a test where both are tests, else chosen."""
    if x.type == y.type == "bool":
        return Logic(op, x, y)
    return _select(truth(x), y, x) if op == "and" else _select(truth(x), x, y)


def _select(condition: Expr, x: Expr, y: Expr) -> Expr:
    kind = types.meeting(x.type, y.type)
    return Select(kind, condition, cast(kind, x), cast(kind, y))


def _call(name: str, args: list[Expr]) -> Expr:
    if name in ("min", "max"):
        return _extreme(name, args)
    if name == "pow":
        return _math_pow(*args)
    if name in ("int", "float", "truth"):
        return cast(_as_builtin(name, args[0].type), args[0])
    if name == "predicate":
        return _predicate(args[0])
    if name == "selp":
        return _selected(*args)
    function = FUNCTIONS[name]
    if name in BITWISE and any(types.is_float(item.type) for item in args):
        raise MistypedError(f"counts the bits of {args[0].type}", "give it an integer")
    given, kind = function.typing(*(item.type for item in args))
    return Call(kind, name, tuple(cast(given, item) for item in args))


def _predicate(x: Expr) -> Expr:
    """What a barrier counts: numba has it for integers alone."""
    if not types.is_integer(x.type):
        raise MistypedError(f"counts {x.type} at a barrier, which numba has for integers only", "write int32(x)")
    return cast("int32", x)


def _selected(condition: Expr, x: Expr, y: Expr) -> Expr:
    if x.type != y.type or x.type not in SELECTED:
        raise MistypedError(f"selects among {x.type} and {y.type}", "give both one type of 16, 32 or 64 bits")
    return Select(x.type, truth(condition), x, y)


def _as_builtin(name: str, kind: str) -> str:
    """What int(x), float(x) and bool(x) give: numba keeps integers under int and floats under float."""
    if name == "truth":
        return "bool"
    if name == "int":
        return kind if types.is_integer(kind) else "int64"
    return kind if types.is_float(kind) else "float64"


def _extreme(name: str, args: list[Expr]) -> Expr:
    if any(item.type == "float16" for item in args):
        raise MistypedError(f"takes the {name} of float16", "write it with `if`, or on float32(x)")
    kind = args[0].type
    for item in args[1:]:
        kind = types.meeting(kind, item.type)
    result = cast(kind, args[0])
    for item in args[1:]:
        result = Binary(kind, name, result, cast(kind, item))
    return result


def _math_pow(x: Expr, y: Expr) -> Expr:
    """math.pow, always of floats."""
    kind = narrowest(x.type) if y.type in ("int8", "int16", "int32") else narrowest(x.type, y.type)
    return Binary(kind, "pow", cast(kind, x), cast(kind, y))
