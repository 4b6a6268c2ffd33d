"""Python functions of int64 and addresses alone -> LLVM's text, in a small part of the time that numba takes.

What they may hold: int64 that wrap, comparisons, `and`, `or`, `not`, `min`, `max`, `if`, `while`, `for` over a range,
memory as pointers.py gives it, and calls of one another. With a single type there is nothing to infer but which names
hold an address, and of what. Whether a function says the same as Python is tested function by function.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from llvmlite import ir

from gemmlab.emulator.lockstep.runtime.numbers import INT, Numbers, TranslationError, Value, number, pointer


class Translation:
    """A module that takes functions, and those that they call."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self.done: dict[tuple[FunctionType, tuple[int, ...]], ir.Function] = {}

    def exported(self, function: FunctionType, symbol: str) -> None:
        """Add a function of numbers alone that others find by its symbol."""
        inner = self.function(function, (0,) * function.__code__.co_argcount)
        outer = self.known(symbol, function.__code__.co_argcount)
        builder = ir.IRBuilder(outer.append_basic_block())
        builder.ret(builder.call(inner, outer.args))

    def known(self, symbol: str, arity: int) -> ir.Function:
        """A function of numbers alone by its symbol, wherever it is."""
        if symbol in self.module.globals:
            return self.module.globals[symbol]
        return ir.Function(self.module, ir.FunctionType(INT, [INT] * arity), symbol)

    def function(self, function: FunctionType, kinds: tuple[int, ...]) -> ir.Function:
        """A function for arguments that are numbers, 0, or addresses of numbers of so many bits."""
        key = function, kinds
        if key not in self.done:
            arguments = [pointer(bits) if bits else INT for bits in kinds]
            name = self.module.get_unique_name(f".{function.__name__}")
            made = self.done[key] = ir.Function(self.module, ir.FunctionType(INT, arguments), name)
            made.linkage = "internal"
            Body(self, function, made, kinds).write()
        return self.done[key]


class Loop(NamedTuple):
    """Where `continue` and `break` lead."""

    again: Any
    out: Any


class Body(Numbers):
    """Writes one function."""

    def __init__(self, whole: Translation, function: FunctionType, made: ir.Function, kinds: tuple[int, ...]) -> None:
        file = Path(function.__code__.co_filename)
        super().__init__(whole, file, functions_of(file)[function.__name__], function.__globals__, made)
        self.loops: list[Loop] = []
        for argument, value, bits in zip(self.tree.args.args, made.args, kinds, strict=True):
            self.set_name(argument.arg, Value(value, bits))

    def write(self) -> None:
        """Write all of it."""
        self.body(self.tree.body)
        if not self.builder.block.is_terminated:
            self.builder.ret(number(0))
        self.entry.branch(self.first)

    def body(self, statements: list[ast.stmt]) -> None:
        """Statements in order, up to one that leaves."""
        for statement in statements:
            if self.builder.block.is_terminated:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """One statement."""
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, [self.value(value) for value in values], strict=True):
                    self.assign(target, value)
            case ast.Assign(targets=[target], value=value):
                self.assign(target, self.value(value))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self.set_name(name, Value(self.operate(node, op, self.number(node.target), self.number(value))))
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                place, bits = self.place(target)
                self.store(place, bits, self.operate(node, op, self.load(place, bits), self.number(value)))
            case ast.If(test=test, body=then, orelse=orelse):
                self.branch(test, then, orelse)
            case ast.While(test=test, body=body, orelse=[]):
                self.while_loop(test, body)
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=args), body=body, orelse=[]
            ):
                self.for_loop(name, args, body)
            case ast.Return():
                self.builder.ret(self.number(node.value) if node.value else number(0))
            case ast.Break():
                self.builder.branch(self.loops[-1].out)
            case ast.Continue():
                self.builder.branch(self.loops[-1].again)
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case _:
                raise self.refused(node)

    def assign(self, target: ast.expr, value: Value) -> None:
        """Set a name or what an address holds."""
        match target:
            case ast.Name(id=name):
                self.set_name(name, value)
            case ast.Subscript() if not value.bits:
                place, bits = self.place(target)
                self.store(place, bits, value.what)
            case _:
                raise self.refused(target)

    def branch(self, test: ast.expr, then: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """An if."""
        yes, no, after = (self.made.append_basic_block() for _ in range(3))
        self.builder.cbranch(self.condition(test), yes, no)
        left = 0
        for block, statements in ((yes, then), (no, orelse)):
            self.builder.position_at_end(block)
            self.body(statements)
            if self.builder.block.is_terminated:
                left += 1
            else:
                self.builder.branch(after)
        self.builder.position_at_end(after)
        if left == 2:
            self.builder.unreachable()

    def while_loop(self, test: ast.expr, body: list[ast.stmt]) -> None:
        """A while."""
        again, inside, out = (self.made.append_basic_block() for _ in range(3))
        self.builder.branch(again)
        self.builder.position_at_end(again)
        self.builder.cbranch(self.condition(test), inside, out)
        self.round(inside, body, Loop(again, out))

    def for_loop(self, name: str, args: list[ast.expr], body: list[ast.stmt]) -> None:
        """A for over a range."""
        given = [self.number(x) for x in args]
        start, stop, step = [number(0), *given, number(1)] if len(given) == 1 else [*given, number(1)][:3]
        count = self.entry.alloca(INT)
        self.builder.store(start, count)
        test, inside, turn, out = (self.made.append_basic_block() for _ in range(4))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        now = self.builder.load(count)
        going = self.builder.icmp_signed("<", now, stop)
        if not isinstance(step, ir.Constant):
            upwards = self.builder.icmp_signed(">", step, number(0))
            going = self.builder.select(upwards, going, self.builder.icmp_signed(">", now, stop))
        self.builder.cbranch(going, inside, out)
        self.builder.position_at_end(turn)
        self.builder.store(self.builder.add(self.builder.load(count), step), count)
        self.builder.branch(test)
        self.builder.position_at_end(inside)
        self.set_name(name, Value(now))
        self.round(inside, body, Loop(turn, out))

    def round(self, inside: Any, body: list[ast.stmt], loop: Loop) -> None:
        """The body of a loop, and on to what follows it."""
        self.builder.position_at_end(inside)
        self.loops.append(loop)
        self.body(body)
        self.loops.pop()
        if not self.builder.block.is_terminated:
            self.builder.branch(loop.again)
        self.builder.position_at_end(loop.out)


@cache
def functions_of(file: Path) -> dict[str, ast.FunctionDef]:
    """The functions of a file by name."""
    return {node.name: node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}


__all__ = ["Translation", "TranslationError"]
