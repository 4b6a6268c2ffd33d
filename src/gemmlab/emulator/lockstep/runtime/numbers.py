"""Expressions of Python functions that hold int64 and addresses alone, as LLVM's text: see translating.py."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import ir
from numba import types

from gemmlab.emulator.lockstep.runtime.pointers import Pointer

if TYPE_CHECKING:
    from gemmlab.emulator.lockstep.runtime.translating import Translation

INT = ir.IntType(64)
BIT = ir.IntType(1)
COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
CHOICES = {"min": "<", "max": ">"}


class Value(NamedTuple):
    """A number, or an address with how many bits a number there has."""

    what: Any
    bits: int = 0


class TranslationError(NotImplementedError):
    """Something that these functions may not hold."""


class Numbers:
    """Writes the expressions of one function, and keeps what its names hold."""

    def __init__(
        self, whole: Translation, file: Path, tree: ast.FunctionDef, names: dict[str, Any], made: ir.Function
    ) -> None:
        self.whole, self.file, self.tree, self.names, self.made = whole, file, tree, names, made
        self.entry = ir.IRBuilder(made.append_basic_block())
        self.builder = ir.IRBuilder(made.append_basic_block())
        self.first = self.builder.block
        self.places: dict[str, Value] = {}

    def refused(self, node: ast.AST) -> TranslationError:
        """The error for something unknown."""
        return TranslationError(
            f"{self.file.name}:{getattr(node, 'lineno', 0)}: no translation of `{ast.unparse(node)}`"
        )

    def set_name(self, name: str, value: Value) -> None:
        """Set a name, which holds a number or an address throughout."""
        if name not in self.places:
            self.places[name] = Value(self.entry.alloca(value.what.type, name=name), value.bits)
        elif self.places[name].bits != value.bits:
            raise TranslationError(f"{self.file.name}: `{name}` holds a number and an address")
        self.builder.store(value.what, self.places[name].what)

    def number(self, node: ast.expr) -> Any:
        """An expression that is no address."""
        value = self.value(node)
        if value.bits:
            raise self.refused(node)
        return value.what

    def value(self, node: ast.expr) -> Value:
        """Any expression."""
        match node:
            case ast.Constant(value=bool() | int() as constant):
                return Value(number(int(constant)))
            case ast.Name(id=name) if name in self.places:
                return Value(self.builder.load(self.places[name].what), self.places[name].bits)
            case ast.Name(id=name) if isinstance(self.names.get(name), int):
                return Value(number(self.names[name]))
            case ast.Subscript():
                return Value(self.load(*self.place(node)))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(node, name, args)
            case ast.BinOp(left=left, op=op, right=right):
                return Value(self.operate(node, op, self.number(left), self.number(right)))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Value(minus(self.builder, self.number(operand)))
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return Value(self.builder.xor(self.number(operand), number(-1)))
            case ast.BoolOp(op=op, values=[first, *rest]):
                return self.either(op, first, rest)
            case ast.IfExp(test=test, body=then, orelse=orelse):
                return self.choice(self.condition(test), lambda: self.value(then), lambda: self.value(orelse))
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return Value(self.builder.zext(self.condition(node), INT))
            case _:
                raise self.refused(node)

    def condition(self, node: ast.expr) -> Any:
        """Whether an expression is true, as a bit."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.builder.not_(self.condition(operand))
            case ast.BoolOp(op=op, values=values):
                return self.all_of(isinstance(op, ast.And), [partial(self.condition, value) for value in values])
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self.compare(node, self.number(left), list(zip(ops, others, strict=True)))
            case _:
                return self.builder.icmp_signed("!=", self.number(node), number(0))

    def compare(self, node: ast.expr, left: Any, rest: list[tuple[ast.cmpop, ast.expr]]) -> Any:
        """A comparison, or a chain of them: each middle is worked out once, and only if it is come to."""
        (op, other), *more = rest
        if type(op) not in COMPARISONS:
            raise self.refused(node)
        right = self.number(other)
        held = self.builder.icmp_signed(COMPARISONS[type(op)], left, right)
        return self.all_of(True, [lambda: held, lambda: self.compare(node, right, more)]) if more else held

    def all_of(self, wanted: bool, tests: list[Callable[[], Any]]) -> Any:
        """Whether all of some bits are set, or else any, each worked out only if those before leave it open."""
        held = tests[0]()
        for test in tests[1:]:
            held = self.choice(held, *both(wanted, lambda test=test: Value(test()), Value(BIT(not wanted)))).what  # type: ignore[misc]
        return held

    def either(self, op: ast.boolop, first: ast.expr, rest: list[ast.expr]) -> Value:
        """`and` and `or`, which give one of their numbers."""
        left = self.value(first)
        if not rest:
            return left
        held = self.builder.icmp_signed("!=", left.what, number(0))
        return self.choice(held, *both(isinstance(op, ast.And), lambda: self.either(op, rest[0], rest[1:]), left))

    def choice(self, held: Any, then: Callable[[], Value], orelse: Callable[[], Value]) -> Value:
        """One of two values, of which only that one is worked out."""
        yes, no, after = (self.made.append_basic_block() for _ in range(3))
        self.builder.cbranch(held, yes, no)
        found = []
        for block, value in ((yes, then), (no, orelse)):
            self.builder.position_at_end(block)
            found.append((value(), self.builder.block))
            self.builder.branch(after)
        self.builder.position_at_end(after)
        (one, _), (another, _) = found
        if one.bits != another.bits:
            raise TranslationError(f"{self.file.name}: `{self.tree.name}` chooses between a number and an address")
        joined = self.builder.phi(one.what.type)
        for chosen, came_from in found:
            joined.add_incoming(chosen.what, came_from)
        return Value(joined, one.bits)

    def operate(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        """Arithmetic on two numbers; division rounds down, by what is above zero."""
        if isinstance(op, ast.FloorDiv | ast.Mod):
            rest = self.builder.srem(left, right)
            below = self.builder.icmp_signed("<", rest, number(0))
            if isinstance(op, ast.Mod):
                return self.builder.select(below, self.builder.add(rest, right), rest)
            return self.builder.sub(self.builder.sdiv(left, right), self.builder.zext(below, INT))
        if type(op) not in OPERATORS:
            raise self.refused(node)
        return getattr(self.builder, OPERATORS[type(op)])(left, right)

    def call(self, node: ast.Call, name: str, args: list[ast.expr]) -> Value:
        """A call of min or max, of what makes an address, or of another function."""
        called = self.names.get(name)
        given = [self.value(x) for x in args]
        if name in CHOICES and called is None and len(given) == 2:
            one, other = (value.what for value in given)
            return Value(self.builder.select(self.builder.icmp_signed(CHOICES[name], other, one), other, one))
        if isinstance(called, Pointer):
            return Value(self.builder.inttoptr(given[0].what, pointer(called.bits)), called.bits)
        if isinstance(called, types.ExternalFunction):
            function = self.whole.known(called.symbol, len(given))
        elif isinstance(called, FunctionType):
            function = self.whole.function(called, tuple(value.bits for value in given))
        else:
            raise self.refused(node)
        return Value(self.builder.call(function, [value.what for value in given]))

    def place(self, node: ast.Subscript) -> tuple[Any, int]:
        """Where an element is, and its bits."""
        base, index = self.value(node.value), self.number(node.slice)
        if not base.bits:
            raise self.refused(node)
        return self.builder.gep(base.what, [index]), base.bits

    def load(self, place: Any, bits: int) -> Any:
        """The number at a place."""
        loaded = self.builder.load(place)
        return loaded if bits == 64 else self.builder.zext(loaded, INT)

    def store(self, place: Any, bits: int, value: Any) -> None:
        """Put a number at a place, as many bits of it as fit."""
        self.builder.store(value if bits == 64 else self.builder.trunc(value, ir.IntType(bits)), place)


def number(value: int) -> ir.Constant:
    """A constant."""
    return ir.Constant(INT, value)


def minus(builder: ir.IRBuilder, value: Any) -> Any:
    """A number below zero; of a constant, a constant."""
    return number(-value.constant) if isinstance(value, ir.Constant) else builder.neg(value)


def pointer(bits: int) -> ir.PointerType:
    """The type of an address of numbers of so many bits."""
    return ir.IntType(bits).as_pointer()


def both(wanted: bool, test: Callable[[], Value], known: Value) -> list[Callable[[], Value]]:
    """What to go on with after a bit: the test where the bit is as wanted, else what is known."""
    return [test, lambda: known] if wanted else [lambda: known, test]
