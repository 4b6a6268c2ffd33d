"""Expressions over split values: each operation keeps apart what the block adds, as far as its arithmetic allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

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
from gemmlab.emulator.proof.split import (
    SAFE,
    ZERO,
    Pins,
    Split,
    constant,
    inverted,
    of_parts,
    of_threads,
)
from gemmlab.emulator.proof.spread import (
    ANY,
    LARGEST,
    TRUTHS,
    Spread,
    add,
    between,
    floor_divide,
    modulo,
    multiply,
    negated,
    one,
    pairwise,
    subtract,
)

INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
}
FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "pow": np.power,
    "min": np.fmin,
    "max": np.fmax,
}
ROUNDINGS = ("ceil", "floor", "sqrt", "trunc", "fabs")


def floating(type_name: str) -> bool:
    """Whether a type is of floats."""
    return type_name.startswith("float")


@cache
def limits(type_name: str) -> tuple[int, int]:
    """Least and largest whole number of a type."""
    if type_name == "bool":
        return 0, 1
    info = np.iinfo(type_name)
    return int(info.min), int(info.max)


class Evaluator:
    """Evaluates expressions of one launch.

    `fixed` holds scalars and extents that the launch fixes, `moving` expressions of extents that variables may change.
    """

    def __init__(
        self, pins: Pins, specials: Mapping[str, Split], fixed: Mapping[Expr, Split], moving: Mapping[Expr, Expr]
    ) -> None:
        self.pins, self.specials, self.fixed, self.moving = pins, specials, fixed, moving
        self.variables: Mapping[str, Split] = {}

    def __call__(self, expression: Expr) -> Split:
        """The split value of an expression, its variables as they stand in `variables`."""
        match expression:
            case Const():
                return number_of(expression.type, expression.value)
            case Var():
                return self.variables.get(expression.name, Split(ZERO, ANY))
            case Special():
                return self.specials[expression.name]
            case Param() | Extent():
                known = self.fixed.get(expression)
                return known if known is not None else self(self.moving[expression])
            case Unary():
                return self.unary(expression, self(expression.x))
            case Binary():
                return self.binary(expression, self(expression.x), self(expression.y))
            case Compare():
                return self.compare(expression, self(expression.x), self(expression.y))
            case Logic():
                return self.logic(expression.op, self(expression.x), self(expression.y))
            case Cast():
                return self.cast(expression.type, expression.x.type, self(expression.x))
            case Select():
                return self.pins.choose(self(expression.condition), self(expression.x), self(expression.y))
            case Call():
                return self.call(expression, [self(x) for x in expression.args])
        raise TypeError(expression)

    def fit(self, type_name: str, value: Split) -> Split:
        """The value, or what is left of its parts where it may leave its type and wrap."""
        if floating(type_name):
            return value
        lo, hi = limits(type_name)
        if max(-int(value.u.min()), int(value.u.max())) >= SAFE:
            return self.pins.opaque([value], whole(lo, hi))
        wide = hi >= 2**63 - 1
        if value.rest.finite or not wide:
            return value if value.lo() >= lo and value.hi() <= hi else self.pins.opaque([value], whole(lo, hi))
        return self.pins.opaque([value]) if lo == 0 and math.isfinite(value.rest.lo) and value.lo() < 0 else value

    def unary(self, expression: Unary, x: Split) -> Split:
        """A negation of numbers, bits or truth."""
        if expression.op == "not":
            return inverted(x) if x.yes is not None or x.number is not None else self.pins.opaque([x], TRUTHS)
        if floating(expression.type):
            return known(expression.type, -x.number) if x.number is not None else self.pins.opaque([x])
        if expression.type == "bool":
            return self.pins.opaque([x], TRUTHS)
        opposite = of_parts(-x.u, negated(x.rest), x.pins, x.blame)
        if expression.op == "invert":
            opposite = of_parts(opposite.u, subtract(opposite.rest, one(1)), x.pins, x.blame)
        return self.fit(expression.type, opposite)

    def binary(self, expression: Binary, x: Split, y: Split) -> Split:
        """Arithmetic of two operands of one type."""
        op, type_name = expression.op, expression.type
        if floating(type_name):
            if x.number is not None and y.number is not None and op in FLOATS:
                with np.errstate(all="ignore"):
                    return known(type_name, FLOATS[op](of_type(type_name, x.number), of_type(type_name, y.number)))
            return self.pins.opaque([x, y])
        if type_name == "bool":
            return self.pins.opaque([x, y], TRUTHS)
        return self.fit(type_name, self.whole_binary(op, x, y))

    def whole_binary(self, op: str, x: Split, y: Split) -> Split:
        """An operation on whole numbers, before it may wrap."""
        pins, blame = x.pins | y.pins, x.blame or y.blame
        if op == "add":
            return of_parts(x.u + y.u, add(x.rest, y.rest), pins, blame)
        if op == "sub":
            return of_parts(x.u - y.u, subtract(x.rest, y.rest), pins, blame)
        if op == "mul":
            return self.product(x, y)
        if op in ("min", "max"):
            return self.pins.choose(self.pins.compare("lt" if op == "min" else "gt", x, y), x, y)
        exact = self.exact(op, x, y)
        if exact is not None:
            return exact
        if y.number is not None and y.number >= 0 and y.number < LARGEST:
            found = self.by_constant(op, x, int(y.number))
            if found is not None:
                return found
        if (op == "and" and y.lo() >= 0) or (x.lo() >= 0 and op in ("and", "or", "xor")):
            return self.pins.opaque([x, y], between(0, bits(x, y, op)))
        return self.pins.opaque([x, y])

    def product(self, x: Split, y: Split) -> Split:
        """X * y: a constant scales both parts, blocks' own numbers multiply, all else needs blocks that agree."""
        pins, blame = x.pins | y.pins, x.blame or y.blame
        if x.number is not None:
            x, y = y, x
        reach = max(abs(int(x.u.min())), int(x.u.max()))
        if y.number is not None and reach * abs(int(y.number)) < SAFE:
            return of_parts(x.u * int(y.number), multiply(x.rest, one(int(y.number))), pins, blame)
        if x.uniform and y.uniform and max(-x.lo(), x.hi()) * max(-y.lo(), y.hi()) < SAFE:
            return of_parts((x.u + int(x.rest.lo)) * (y.u + int(y.rest.lo)), one(0), pins, blame)
        if x.alike and y.alike:
            return Split(ZERO, multiply(x.rest, y.rest), pins, blame)
        whole_x, whole_y = whole(x.lo(), x.hi()), whole(y.lo(), y.hi())
        return self.pins.opaque([x, y], multiply(whole_x, whole_y))

    def exact(self, op: str, x: Split, y: Split) -> Split | None:
        """The operation itself, where threads do not matter or blocks do not."""
        if op not in INTEGERS or (op in ("lshift", "rshift") and not (y.lo() >= 0 and y.hi() < 31)):
            return None
        if op in ("floordiv", "mod") and y.lo() <= 0 <= y.hi():
            return None
        if op == "lshift" and max(-x.lo(), x.hi()) >= LARGEST:
            return None
        pins, blame = x.pins | y.pins, x.blame or y.blame
        if x.uniform and y.uniform and max(-x.lo(), x.hi(), -y.lo(), y.hi()) < SAFE:
            return of_parts(INTEGERS[op](x.u + int(x.rest.lo), y.u + int(y.rest.lo)), one(0), pins, blame)
        if x.alike and y.alike:
            rest = pairwise(INTEGERS[op], x.rest, y.rest)
            return None if rest is None else Split(ZERO, rest, pins, blame)
        return None

    def by_constant(self, op: str, x: Split, c: int) -> Split | None:
        """Division, remainder, shifts and masks by a constant: blocks must agree in what the division leaves over."""
        if op == "lshift" and c < 31:
            return self.product(x, constant(1 << c))
        if op == "rshift" and c < 31:
            op, c = "floordiv", 1 << c
        if op == "and" and c & (c + 1) == 0:
            op, c = "mod", c + 1
        if op not in ("floordiv", "mod") or c == 0 or not x.rest.finite:
            return None
        left = x.u % c
        within = add(x.rest, between(0, int(left.max())))
        pins = x.pins | self.pins.pin(left)
        if op == "mod":
            return of_parts(ZERO, modulo(within, c), pins, x.blame)
        return of_parts(x.u // c, floor_divide(within, c), pins, x.blame)

    def compare(self, expression: Compare, x: Split, y: Split) -> Split:
        """A comparison."""
        if floating(expression.x.type):
            if x.number is not None and y.number is not None:
                return of_threads(one(int(FLOAT_TRUTHS[expression.op](x.number, y.number))))
            return self.pins.opaque([x, y], TRUTHS)
        return self.pins.compare(expression.op, x, y)

    def logic(self, op: str, x: Split, y: Split) -> Split:
        """`and` or `or` of truth values."""
        for this, that in ((x, y), (y, x)):
            if this.number is not None:
                return that if bool(this.number) == (op == "and") else this
        result = self.pins.opaque([x, y], TRUTHS)
        if x.yes is None or x.no is None or y.yes is None or y.no is None:
            return result
        yes, no = (x.yes & y.yes, x.no | y.no) if op == "and" else (x.yes | y.yes, x.no & y.no)
        if yes.all() or no.all():
            return of_threads(one(int(yes.all())))
        return Split(ZERO, TRUTHS, result.pins, result.blame, yes, no)

    def cast(self, to: str, source: str, x: Split) -> Split:
        """A conversion; floats keep no parts."""
        if x.number is not None and (floating(to) or floating(source)):
            fits = floating(to) or abs(x.number) < SAFE
            return known(to, x.number) if fits else self.fit(to, Split(ZERO, ANY))
        if floating(to) or floating(source):
            return self.pins.opaque([x]) if floating(to) else self.fit(to, self.pins.opaque([x], whole(*limits(to))))
        if to == "bool":
            return x if source == "bool" else inverted(self.pins.compare("eq", x, constant(0)))
        return self.fit(to, x)

    def call(self, expression: Call, args: list[Split]) -> Split:
        """A function, exact where the launch fixes what it is given."""
        (*_, x) = args
        if len(args) == 1 and x.number is not None:
            if expression.name == "abs":
                return known(expression.type, abs(x.number))
            if expression.name in ROUNDINGS and math.isfinite(x.number) and x.number >= 0:
                return known(expression.type, getattr(math, expression.name)(x.number))
        return self.fit(expression.type, self.pins.opaque(args))


FLOAT_TRUTHS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
}


def of_type(type_name: str, number: Any) -> Any:
    """The number as numpy's scalar of that type."""
    return np.dtype(type_name).type(number)


def known(type_name: str, number: Any) -> Split:
    """A number that the launch fixes, rounded to its type."""
    return number_of(type_name, of_type(type_name, number))


def number_of(type_name: str, number: Any) -> Split:
    """A number of that type that the launch fixes."""
    if floating(type_name):
        return Split(ZERO, ANY, number=None if math.isnan(number) else float(number))
    return constant(int(number))


def whole(lo: int | float, hi: int | float) -> Spread:
    """The set between bounds, all of it where 64 bits or more are between."""
    return ANY if hi - lo >= 2**63 - 1 else between(lo, hi)


def bits(x: Split, y: Split, op: str) -> int | float:
    """Largest result of a bitwise operation of which one side, or for `or` and `xor` both, is not negative."""
    highs = [v.hi() for v in (x, y) if v.lo() >= 0]
    if op == "and":
        return min(highs)
    top = max(highs) if len(highs) == 2 else math.inf
    return top if not math.isfinite(top) else (1 << int(top).bit_length()) - 1
