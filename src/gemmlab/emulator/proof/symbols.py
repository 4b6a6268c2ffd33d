"""Expressions of one thread as terms of z3: signed numbers without bound, shapes and places as symbols.

Symbols are of the launch (shapes, scalars, grid), of a block (its place, rounds that its threads share) or of a thread.
Values that are not followed are None: floats read from memory and what is worked out of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from gemmlab.emulator.program import (
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Extent,
    Logic,
    Param,
    Select,
    Special,
    Unary,
    Var,
)

Term = Any  #: a term of z3, which has no types for them
Value = Term | None

COMPARISONS = {
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
}


class Symbols:
    """Makes the symbols of a launch and translates expressions over them."""

    def __init__(self, block: tuple[int, int, int], extents: Mapping[Expr, Term]) -> None:
        self.block = block
        self.launch: dict[Expr, Term] = dict(extents)  #: extents and scalars
        self.grid = {axis: z3.Int(f"gridDim.{axis}") for axis in "xyz"}
        self.of_block: list[Term] = [z3.Int(f"blockIdx.{axis}") for axis in "xyz"]
        self.of_thread: list[Term] = [z3.Int(f"threadIdx.{axis}") for axis in "xyz"]
        self.made = 0
        self.walks: list[tuple[Term, Term, Term]] = []  #: round, steps taken by then together, one step

    def fresh(self, name: str, shared: bool, truth: bool = False) -> Term:
        """A new symbol, of the block where all its threads share it, else of the thread."""
        self.made += 1
        symbol = (z3.Bool if truth else z3.Int)(f"{name}!{self.made}")
        (self.of_block if shared else self.of_thread).append(symbol)
        return symbol

    def walked(self, place: Term, step: Term, shared: bool) -> tuple[Term, Term]:
        """A symbol for `step * place`, a product that would not be linear, and what is known of it by itself.

        Where all threads take the same steps, more is known of two of them: see `together`.
        """
        walked = self.fresh("walked", shared)
        self.walks.append((place, walked, step))
        upwards = z3.And(walked >= 0, z3.Implies(place > 0, walked >= step))
        return walked, z3.And(z3.If(step > 0, upwards, walked <= 0), z3.Implies(place == 0, walked == 0))

    def of_launch(self, term: Term) -> bool:
        """Whether a term is made of the launch's symbols only."""
        if z3.is_const(term):
            return not any(term.eq(symbol) for symbol in (*self.of_block, *self.of_thread))
        return all(self.of_launch(child) for child in term.children())

    def together(self, others: list[tuple[Term, Term]]) -> list[Term]:
        """What rounds say of the ways that two threads walked: the same in the same round, a step more in a later."""
        known = []
        for place, walked, step in self.walks:
            place_2, walked_2, step_2 = (z3.substitute(term, *others) for term in (place, walked, step))
            ordered = [
                z3.Implies(place == place_2, walked == walked_2),
                z3.Implies(place > place_2, walked - walked_2 >= step),
                z3.Implies(place < place_2, walked_2 - walked >= step),
            ]
            known.append(z3.Implies(z3.And(step > 0, step == step_2), z3.And(*ordered)))
        return known

    def ranges(self) -> list[Term]:
        """Where the places of a thread and its block lie."""
        inside = [z3.And(t >= 0, t < side) for t, side in zip(self.of_thread[:3], self.block, strict=True)]
        grid = list(self.grid.values())
        return inside + [z3.And(b >= 0, b < g) for b, g in zip(self.of_block[:3], grid, strict=True)]

    def value(self, e: Expr, env: Mapping[str, Value]) -> Value:
        """The term of an expression."""
        match e:
            case Const():
                return constant(e.type, e.value)
            case Var():
                return env.get(e.name)
            case Special():
                return self.special(e.name)
            case Param() | Extent():
                return self.launch.get(e)
            case Logic() | Compare() | Binary():
                return two(e, self.value(e.x, env), self.value(e.y, env))
            case Unary():
                return one(e, self.value(e.x, env))
            case Cast():
                return cast(e.type, e.x.type, self.value(e.x, env))
            case Select():
                condition, x, y = (self.value(part, env) for part in (e.condition, e.x, e.y))
                return None if condition is None or x is None or y is None else z3.If(condition, x, y)
            case Call():
                return rounded(e, [self.value(x, env) for x in e.args])

    def special(self, name: str) -> Value:
        """A place or a size; the lane is of no use here."""
        if name == "laneid":
            x, y, z = self.of_thread[:3]
            return (x + self.block[0] * (y + self.block[1] * z)) % 32
        what, axis = name.split(".")
        place = "xyz".index(axis)
        if what == "blockDim":
            return z3.IntVal(self.block[place])
        return {"threadIdx": self.of_thread[place], "blockIdx": self.of_block[place], "gridDim": self.grid[axis]}[what]


def constant(type_name: str, value: float | bool) -> Value:
    """A literal; floats only where they are whole."""
    if type_name == "bool":
        return z3.BoolVal(bool(value))
    if type_name.startswith("float"):
        return z3.RealVal(int(value)) if abs(value) < 2**53 and value == int(value) else None
    return z3.IntVal(int(value))


def number(term: Value) -> int | None:
    """The whole number that a term is, if it is one."""
    if term is None:
        return None
    term = z3.simplify(term)
    return int(term.as_long()) if z3.is_int_value(term) else None


def one(e: Unary, x: Value) -> Value:
    """A unary operation."""
    if x is None:
        return None
    if e.op == "not":
        return z3.Not(x)
    if e.type == "bool":
        return None
    result = -x if e.op == "neg" else -x - 1
    return narrowed(e.type, result) if e.type.startswith("uint") else result


def two(e: Logic | Compare | Binary, x: Value, y: Value) -> Value:
    """A binary operation."""
    if x is None or y is None:
        return None
    if isinstance(e, Logic):
        return z3.And(x, y) if e.op == "and" else z3.Or(x, y)
    if isinstance(e, Compare):
        if z3.is_bool(x) and e.op not in ("eq", "ne"):
            return None
        return COMPARISONS[e.op](x, y)
    if e.type == "bool":
        return None
    result = arithmetic(e.op, e.type, x, y)
    return narrowed(e.type, result) if result is not None and e.type.startswith("uint") else result


def arithmetic(op: str, type_name: str, x: Term, y: Term) -> Value:
    """Arithmetic on numbers; a float stays one only where it is exact up to 2^53."""
    if type_name in ("float16", "float32"):
        return None
    match op:
        case "add":
            return x + y
        case "sub":
            return x - y
        case "mul":
            return x * y
        case "min":
            return z3.If(y < x, y, x)
        case "max":
            return z3.If(y > x, y, x)
        case "truediv":
            return x / y if z3.is_rational_value(y) and y.as_fraction() != 0 else None
    return None if type_name == "float64" else by_constant(op, x, number(y))


def by_constant(op: str, x: Term, y: int | None) -> Value:
    """Division, remainder, shifts and masks by a constant above zero, where z3's division rounds down too."""
    if y is None or y < 0:
        return None
    if op == "lshift" and y < 63:
        return x * (1 << y)
    if op == "rshift" and y < 63:
        return x / (1 << y)
    if op == "and" and y & (y + 1) == 0:
        return x % (y + 1)
    if y > 0 and op in ("floordiv", "mod"):
        return x / y if op == "floordiv" else x % y
    return None


def cast(to: str, source: str, x: Value) -> Value:
    """A conversion; it cuts whole numbers as C does."""
    if x is None:
        return None
    if to == "bool":
        return x if source == "bool" else x != 0
    if source == "bool":
        x, source = z3.If(x, z3.IntVal(1), z3.IntVal(0)), to if "int" in to else "int64"
    floats = to.startswith("float"), z3.is_real(x)
    if floats == (True, False):
        return z3.ToReal(x) if to == "float64" else None
    if floats == (False, True):
        return z3.If(x >= 0, z3.ToInt(x), -z3.ToInt(-x))
    if floats == (True, True):
        return x if to == "float64" else None
    return narrowed(to, x) if bits_of(to) < bits_of(source) or to[0] != source[0] else x


def bits_of(type_name: str) -> int:
    """Bits of a type of whole numbers."""
    return int(type_name.lstrip("uint"))


def narrowed(to: str, x: Term) -> Term:
    """A whole number as a type holds it that may be too small for it."""
    size = 1 << bits_of(to)
    return x % size if to.startswith("u") else (x + size // 2) % size - size // 2


def rounded(e: Call, args: list[Value]) -> Value:
    """Roundings up and down, and what is positive."""
    x = args[0]
    if len(args) != 1 or x is None:
        return None
    if e.name in ("ceil", "floor") and z3.is_real(x):
        whole = z3.ToInt(x) if e.name == "floor" else -z3.ToInt(-x)
        return z3.ToReal(whole) if e.type.startswith("float") else whole
    return z3.If(x >= 0, x, -x) if e.name in ("abs", "fabs") else None
