"""What the translation of one function's expressions and statements shares: names, lines, rows, conversions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gemmlab.emulator.reference import rules
from gemmlab.emulator.reference.arithmetic import convert, operation
from gemmlab.emulator.reference.kinds import Kind, Names, Static, TupleKind, of_number
from gemmlab.emulator.reference.translation import THREAD, Translation
from gemmlab.emulator.source import Source
from gemmlab.emulator.tallies import Place
from gemmlab.record import GemmlabError

Typed = tuple[ast.expr, Kind]
Row = tuple[str, Place, ast.expr | None]  #: kind, place, and the array where there is one


class Frame:
    """One function being translated."""

    def __init__(self, program: Translation, source: Source) -> None:
        self.program = program
        self.source = source
        self.env: Names | None = {}
        self.depth = 0  #: of loops
        self.target = ""  #: the name that the expression is assigned to
        self.products: set[str] = set()  #: names that hold a product nobody else reads
        self.row: Row = ("assign", Place(source.file, source.tree.lineno), None)
        self.temporaries = 0
        self.is_kernel = source is program.kernel

    @contextmanager
    def within(self, kind: str, node: Any, array: ast.expr | None = None) -> Iterator[None]:
        """Arithmetic goes to that row meanwhile."""
        row, self.row = self.row, (kind, self.place(node), array)
        yield
        self.row = row

    def refused(self, node: Any, text: str, hint: str) -> GemmlabError:
        """The error for what is not in the dialect, at its line."""
        return GemmlabError(f"{self.source.file}:{node.lineno}: {text}", hint)

    def place(self, node: Any) -> Place:
        """The line of a node."""
        return Place(self.source.file, node.lineno)

    def number(self, kind: str, node: ast.AST) -> int:
        """A new node of the program."""
        return self.program.node(kind, self.place(node))

    def method(self, name: str, number: int, *args: ast.expr) -> ast.expr:
        """A call of the thread: which node, within how many loops, and what it needs."""
        function = ast.Attribute(ast.Name(THREAD, ast.Load()), name, ast.Load())
        return ast.Call(function, [ast.Constant(number), ast.Constant(self.depth), *args], [])

    def known(self, name: str) -> ast.expr:
        """Something the thread knows."""
        return ast.Attribute(ast.Name(THREAD, ast.Load()), name, ast.Load())

    def value(self, node: ast.expr) -> Typed:
        """An expression as a value: numbers known before the run get numba's types."""
        return self.materialised(*self.expression(node))

    def materialised(self, made: ast.expr, kind: Kind) -> Typed:
        """What is known before the run as a value of the run, where it is a number or a tuple of them."""
        if isinstance(kind, Static):
            from gemmlab.emulator.reference.intrinsics import special

            found = special(self, kind.value)
            if found is not None:
                return found
            number = of_number(kind.value)
            if number is not None:
                return self.program.object(rules.dtype(number).type(kind.value)), number
            if isinstance(kind.value, tuple):
                parts = [(self.program.object(v), of_number(v)) for v in kind.value]
                wrapped: list[ast.expr] = [
                    ast.Call(self.program.object(rules.dtype(k).type), [v], []) for v, k in parts
                ]
                return ast.Tuple(wrapped, ast.Load()), TupleKind(tuple(k for _, k in parts))
        return made, kind

    def scalar(self, node: ast.expr) -> Typed:
        """An expression that is a number or a truth value."""
        return self.as_scalar(node, *self.expression(node))

    def as_scalar(self, node: ast.expr, made: ast.expr, kind: Kind) -> Typed:
        """A translated expression that is a number or a truth value."""
        made, kind = self.materialised(made, kind)
        if not rules.is_scalar(kind):
            raise self.refused(node, f"`{ast.unparse(node)}` is no number", "index arrays down to their elements")
        return made, kind

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression as a condition."""
        return self.scalar(node)[0]

    def as_kind(self, value: ast.expr, have: Kind, want: Kind) -> ast.expr:
        """A value of one kind as another."""
        if have == want or want is None:
            return value
        if isinstance(have, TupleKind):
            parts = enumerate(zip(have.items, want.items, strict=True))
            picked = [self.as_kind(ast.Subscript(value, ast.Constant(i), ast.Load()), a, b) for i, (a, b) in parts]
            return ast.Tuple(picked, ast.Load())
        return ast.Call(self.program.object(convert(have, want)), [value], [])

    def expression(self, node: ast.expr) -> Typed:
        """Any expression."""
        handler = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if handler is None:
            raise self.refused(node, f"`{ast.unparse(node)}` is not in the dialect", "")
        return handler(node)  # type: ignore[no-any-return]

    def applied(self, node: Any, function: Any, *operands: Any) -> Typed:
        """An operator on translated operands, which come as value, kind, value, kind."""
        values, kinds = operands[0::2], operands[1::2]
        found = operation(function, *kinds)
        if found is None:
            of = " and ".join(str(kind) for kind in kinds)
            raise self.refused(
                node, f"`{ast.unparse(node)}`: numba has no such operation on {of}", "convert the operands"
            )
        compute, kind = found
        return ast.Call(self.program.object(compute), list(values), []), kind

    def constant(self, node: ast.expr) -> int | None:
        """The value of an expression of ints known before the run; None for others."""
        if isinstance(node, ast.BinOp):
            left, right = self.constant(node.left), self.constant(node.right)
            return None if left is None or right is None else folded_integer(node.op, left, right)
        if isinstance(node, ast.Constant | ast.Name) and not (
            isinstance(node, ast.Name) and node.id in (self.env or {})
        ):
            kind = self.expression(node)[1]
            return kind.value if isinstance(kind, Static) and type(kind.value) is int else None
        return None

    def decided(self, node: ast.expr) -> bool | None:
        """What a condition is known to be before the run; None where it is not."""
        kind = self.expression(node)[1] if isinstance(node, ast.Constant | ast.Name | ast.Attribute) else None
        number = kind.value if isinstance(kind, Static) else self.constant(node)
        return bool(number) if isinstance(number, int | float) else None

    def counted(self, value: ast.expr, flop: int, fma: int = 0) -> ast.expr:
        """A value whose computation is that much float arithmetic of the present row."""
        kind, place, array = self.row
        number = self.program.node(kind, place, flop, fma)
        return self.method("worked", number, value, *([array] if array is not None else []))


def folded_integer(op: ast.operator, left: int, right: int) -> int | None:
    """The value of an operation on two ints known before the run, where it stays one of int64."""
    function: Any = rules.OPERATORS[type(op).__name__]
    if function in (operator.truediv, operator.pow):
        return None
    if (right == 0 and function in (operator.floordiv, operator.mod)) or (
        not 0 <= right < 64 and function in (operator.lshift, operator.rshift)
    ):
        return None
    value = int(function(left, right))
    return value if -(2**63) <= value < 2**63 else None


def literal(node: ast.expr) -> int | None:
    """The value of an expression of whole literals, which Python works out before numba sees it; None for any other."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand)
        return None if inner is None else -inner
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Div | ast.MatMult):
        return None
    left, right = literal(node.left), literal(node.right)
    if left is None or right is None or left.bit_length() > 128:
        return None
    if isinstance(node.op, ast.Pow | ast.LShift | ast.RShift) and not 0 <= right <= 128:
        return None
    if isinstance(node.op, ast.FloorDiv | ast.Mod) and right == 0:
        return None
    function: Any = rules.OPERATORS[type(node.op).__name__]
    return int(function(left, right))
