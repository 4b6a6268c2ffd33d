"""Expressions of a kernel: each becomes one that computes the same through the thread, with its kind."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from gemmlab.emulator.reference import rules
from gemmlab.emulator.reference.arithmetic import operation
from gemmlab.emulator.reference.kinds import ArrayKind, Kind, Names, Static, TupleKind, joined, of_number
from gemmlab.emulator.reference.translation import THREAD, Translation, loaded
from gemmlab.emulator.source import Source, python_function
from gemmlab.emulator.tallies import Place
from gemmlab.record import GemmlabError

Typed = tuple[ast.expr, Kind]
Row = tuple[str, Place, ast.expr | None]  #: kind, place, and the array where there is one


def either(condition: Any, x: Any, y: Any) -> Any:
    """The second or the third value."""
    return x if condition else y


BOTH = {ast.And: lambda x, y: x and y, ast.Or: lambda x, y: x or y}  #: both sides are computed, as they are pure


def is_extent(node: ast.Subscript) -> bool:
    """Whether an expression is an item of some shape."""
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def is_product(node: ast.expr) -> bool:
    """Whether an expression is a multiplication."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


class Expressions:
    """Translates the expressions of one function."""

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
        raise NotImplementedError

    def expression(self, node: ast.expr) -> Typed:
        """Any expression."""
        handler = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if handler is None:
            raise self.refused(node, f"`{ast.unparse(node)}` is not in the dialect", "")
        return handler(node)  # type: ignore[no-any-return]

    def _of_constant(self, node: ast.Constant) -> Typed:
        return self.program.object(node.value), Static(node.value)

    def _of_name(self, node: ast.Name) -> Typed:
        assert self.env is not None
        if node.id in self.env:
            return ast.Name(node.id, ast.Load()), self.env[node.id]
        import builtins

        if node.id in self.source.names or hasattr(builtins, node.id):
            found = self.source.names.get(node.id, getattr(builtins, node.id, None))
            return self.program.object(found), Static(found)
        raise self.refused(node, f"`{node.id}` has no value here, or one of several kinds", "assign it on every way")

    def _of_attribute(self, node: ast.Attribute) -> Typed:
        from gemmlab.emulator.reference.intrinsics import axis

        made, kind = self.expression(node.value)
        whole = rules.kind_of("int64")
        if isinstance(kind, ArrayKind):
            if node.attr == "shape":
                return ast.Attribute(made, "shape", ast.Load()), TupleKind((whole,) * kind.ndim)
            if node.attr == "size":
                return ast.Attribute(made, "size", ast.Load()), whole
            if node.attr == "dtype":
                return self.program.object(kind.element), Static(kind.element)
            if node.attr == "ndim":
                return self.program.object(kind.ndim), Static(kind.ndim)
        if isinstance(kind, Static):
            found = axis(self, kind.value, node.attr)
            if found is not None:
                return found
            if hasattr(kind.value, node.attr):
                value = getattr(kind.value, node.attr)
                return self.program.object(value), Static(value)
        raise self.refused(node, f"`{ast.unparse(node)}` is not in the dialect", "")

    def _of_tuple(self, node: ast.Tuple) -> Typed:
        parts = [self.value(part) for part in node.elts]
        return ast.Tuple([made for made, _ in parts], ast.Load()), TupleKind(tuple(kind for _, kind in parts))

    def _of_unaryop(self, node: ast.UnaryOp) -> Typed:
        made, kind = self.expression(node.operand)
        if isinstance(kind, Static) and isinstance(node.op, ast.USub) and isinstance(kind.value, int | float):
            return self.program.object(-kind.value), Static(-kind.value)
        made, kind = self.as_scalar(node.operand, made, kind)
        return self.applied(node, rules.OPERATORS[type(node.op).__name__], made, kind)

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

    def _of_binop(self, node: ast.BinOp) -> Typed:
        folded = self.constant(node)
        if folded is not None:
            return self.program.object(folded), Static(folded)
        return self.combined(node, node.op, node.left, node.right)

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

    def combined(
        self, node: Any, op: ast.operator, left: ast.expr, right: ast.expr, first: Typed | None = None
    ) -> Typed:
        """A binary operation; `first` is the left operand, where it is translated already."""
        function = rules.OPERATORS[type(op).__name__]
        x, x_kind = first or self.scalar(left)
        y, y_kind = self.scalar(right)
        made, kind = self.applied(node, function, x, x_kind, y, y_kind)
        if not rules.is_float(kind):
            return made, kind
        fed = isinstance(op, ast.Add | ast.Sub) and any(
            of == kind and self.is_single_product(operand) for operand, of in ((left, x_kind), (right, y_kind))
        )
        return self.counted(made, 1, int(fed)), kind

    def is_single_product(self, node: ast.expr) -> bool:
        """Whether an operand is a product, itself or by a name that only this use reads."""
        if isinstance(node, ast.Call):
            called = self.expression(node.func)[1]
            function = python_function(called.value) if isinstance(called, Static) else None
            return function is not None and gives_product(function)
        return is_product(node) or (isinstance(node, ast.Name) and node.id in self.products)

    def counted(self, value: ast.expr, flop: int, fma: int = 0) -> ast.expr:
        """A value whose computation is that much float arithmetic of the present row."""
        kind, place, array = self.row
        number = self.program.node(kind, place, flop, fma)
        return self.method("worked", number, value, *([array] if array is not None else []))

    def _of_compare(self, node: ast.Compare) -> Typed:
        x, x_kind = self.scalar(node.left)
        result: ast.expr | None = None
        for i, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            function = rules.OPERATORS.get(type(op).__name__)
            if function is None:
                raise self.refused(node, f"`{ast.unparse(node)}` is not in the dialect", "compare numbers")
            y, y_kind = self.scalar(right)
            if i < len(node.ops) - 1:  # the next comparison reads it again
                self.temporaries += 1
                held = f"@held{self.temporaries}"
                y = ast.NamedExpr(ast.Name(held, ast.Store()), y)
            test, _ = self.applied(node, function, x, x_kind, y, y_kind)
            result = test if result is None else self.chosen(node, ast.And(), result, test, right)
            if i < len(node.ops) - 1:
                x, x_kind = ast.Name(held, ast.Load()), y_kind
        assert result is not None
        return result, rules.kind_of("bool")

    def _of_boolop(self, node: ast.BoolOp) -> Typed:
        parts = [self.scalar(part) for part in node.values]
        kind = parts[0][1]
        for _, other in parts[1:]:
            kind = joined(kind, other)
        result = self.as_kind(*parts[0], kind)
        for (made, have), operand in zip(parts[1:], node.values[1:], strict=True):
            result = self.chosen(node, node.op, result, self.as_kind(made, have, kind), operand)
        return result, kind

    def chosen(self, node: ast.expr, op: ast.boolop, first: ast.expr, second: ast.expr, operand: ast.expr) -> ast.expr:
        """`first and second`, or `or`: a branch where the second touches memory or calls, else both are computed."""
        if self.is_pure(operand):
            return ast.Call(self.program.object(BOTH[type(op)]), [first, second], [])
        test = self.method("decided", self.number("if", node), first)
        return ast.BoolOp(op, [test, second])

    def is_pure(self, node: ast.expr) -> bool:
        """Whether an expression is arithmetic alone: no element is read, no device function or other thread asked."""
        return not any(
            (isinstance(part, ast.Subscript) and not is_extent(part))
            or (isinstance(part, ast.Call) and self.reaches_out(part))
            for part in ast.walk(node)
        )

    def reaches_out(self, node: ast.Call) -> bool:
        """Whether a call is of a device function, or of one that waits for other threads or changes memory."""
        from gemmlab.emulator.reference.calls import is_arithmetic

        kind = self.expression(node.func)[1]
        return not (isinstance(kind, Static) and is_arithmetic(kind.value))

    def _of_ifexp(self, node: ast.IfExp) -> Typed:
        fixed = self.decided(node.test)
        if fixed is not None:
            return self.value(node.body if fixed else node.orelse)
        condition = self.truth(node.test)
        (x, x_kind), (y, y_kind) = self.value(node.body), self.value(node.orelse)
        kind = joined(x_kind, y_kind)
        if kind is None:
            raise self.refused(node, f"`{ast.unparse(node)}` has values of two kinds", "convert one of them")
        x, y = self.as_kind(x, x_kind, kind), self.as_kind(y, y_kind, kind)
        if self.is_pure(node.body) and self.is_pure(node.orelse):
            return ast.Call(self.program.object(either), [condition, x, y], []), kind
        return ast.IfExp(self.method("test", self.number("if", node), condition), x, y), kind

    def decided(self, node: ast.expr) -> bool | None:
        """What a condition is known to be before the run; None where it is not."""
        kind = self.expression(node)[1] if isinstance(node, ast.Constant | ast.Name | ast.Attribute) else None
        number = kind.value if isinstance(kind, Static) else self.constant(node)
        return bool(number) if isinstance(number, int | float) else None

    def _of_call(self, node: ast.Call) -> Typed:
        from gemmlab.emulator.reference.calls import call

        return call(self, node)

    def _of_subscript(self, node: ast.Subscript) -> Typed:
        made, kind = self.expression(node.value)
        if isinstance(kind, Static) and isinstance(kind.value, tuple):
            made, kind = self.value(node.value)
        if isinstance(kind, TupleKind):
            at = self.expression(node.slice)[1]
            if not (
                isinstance(at, Static) and isinstance(at.value, int) and -len(kind.items) <= at.value < len(kind.items)
            ):
                raise self.refused(
                    node, f"`{ast.unparse(node)}` picks from a tuple", "the place must be a literal in range"
                )
            return ast.Subscript(made, ast.Constant(at.value), ast.Load()), kind.items[at.value]
        if not isinstance(kind, ArrayKind):
            raise self.refused(node, f"`{ast.unparse(node.value)}` is no array", "index arrays and tuples")
        if isinstance(node.slice, ast.Slice):
            return self.view(node, made, kind)
        assert isinstance(kind, ArrayKind)
        with self.within("load", node, self.array_of(node)):
            index, count = self.index(node, kind)
        if count < kind.ndim:
            part = ast.Attribute(made, "part", ast.Load())
            return ast.Call(part, [index], []), ArrayKind(kind.element, kind.ndim - count)
        return self.load_call(node, made, index), kind.element

    def view(self, node: ast.Subscript, made: ast.expr, kind: Kind) -> Typed:
        """A slice of an array of one axis."""
        part = node.slice
        assert isinstance(part, ast.Slice)
        if not (isinstance(kind, ArrayKind) and kind.ndim == 1) or part.step is not None:
            raise self.refused(
                node, f"`{ast.unparse(node)}` is a slice", "slice one axis of one-dimensional arrays, no step"
            )
        name, self.target = self.target, ""
        bounds = [ast.Constant(None) if bound is None else self.scalar(bound)[0] for bound in (part.lower, part.upper)]
        view = ast.Attribute(made, "view", ast.Load())
        return ast.Call(view, [ast.Constant(name), ast.Constant(ast.unparse(part)), *bounds], []), kind

    def array_of(self, node: ast.Subscript) -> ast.expr | None:
        """The array that an element is of, where it has a name."""
        return ast.Name(node.value.id, ast.Load()) if isinstance(node.value, ast.Name) else None

    def element(self, node: ast.Subscript, kind: str) -> tuple[ast.expr, Kind, ast.expr]:
        """The array, its element's type, and the index as a tuple; index arithmetic is the access's."""
        array, of = self.expression(node.value)
        if not isinstance(of, ArrayKind):
            raise self.refused(node, f"`{ast.unparse(node.value)}` is no array", "index arrays")
        with self.within(kind, node, self.array_of(node)):
            index, count = self.index(node, of)
        if count != of.ndim:
            text = f"`{ast.unparse(node)}`: an array of {of.ndim} axes takes {of.ndim} whole numbers"
            raise self.refused(node, text, "index arrays down to their elements")
        return array, of.element, index

    def index(self, node: ast.Subscript, of: ArrayKind) -> tuple[ast.expr, int]:
        """The index of an array as a tuple, and how many axes it is of."""
        index, kind = self.value(node.slice)
        kinds = kind.items if isinstance(kind, TupleKind) else (kind,)
        if len(kinds) > of.ndim or any(not is_whole(kind) for kind in kinds):
            text = f"`{ast.unparse(node)}`: an array of {of.ndim} axes takes {of.ndim} whole numbers"
            raise self.refused(node, text, "index with whole numbers")
        return index if isinstance(kind, TupleKind) else ast.Tuple([index], ast.Load()), len(kinds)

    def load_call(self, node: ast.Subscript, array: ast.expr, index: ast.expr) -> ast.expr:
        """The load of an element."""
        return self.method("load", self.number("load", node), array, index)

    def store(self, node: ast.Subscript, value: ast.expr, kind: Kind) -> ast.expr:
        """The store of a value to an element."""
        array, element, index = self.element(node, "store")
        return self.method("store", self.number("store", node), array, index, self.as_kind(value, kind, element))


def gives_product(function: FunctionType) -> bool:
    """Whether a device function ends with its only return, of a product."""
    tree = loaded(function).tree
    last = tree.body[-1]
    return single_return(tree) and isinstance(last, ast.Return) and last.value is not None and is_product(last.value)


def single_return(tree: ast.FunctionDef) -> bool:
    """Whether a function returns at its end only."""
    return all(node is tree.body[-1] for node in ast.walk(tree) if isinstance(node, ast.Return))


def is_whole(kind: Kind) -> bool:
    """Whether values of a kind may be an index."""
    from numba import types

    return isinstance(kind, types.Integer | types.Boolean)


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
