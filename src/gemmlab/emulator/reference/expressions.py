"""Expressions of a kernel: each becomes one that computes the same through the thread, with its kind."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from gemmlab.emulator.reference import rules
from gemmlab.emulator.reference.choices import Choices
from gemmlab.emulator.reference.elements import Elements
from gemmlab.emulator.reference.frame import Typed, literal
from gemmlab.emulator.reference.kinds import ArrayKind, Static, TupleKind
from gemmlab.emulator.reference.translation import loaded
from gemmlab.emulator.source import python_function


def is_product(node: ast.expr) -> bool:
    """Whether an expression is a multiplication."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


class Expressions(Choices, Elements):
    """Translates the expressions of one function."""

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

    def _of_binop(self, node: ast.BinOp) -> Typed:
        whole = literal(node)
        if whole is not None and not -(2**63) <= whole < 2**64:
            raise self.refused(node, f"`{ast.unparse(node)}` does not fit into 64 bits", "use a float, or two integers")
        folded = self.constant(node) if whole is None else whole
        if folded is not None:
            return self.program.object(folded), Static(folded)
        return self.combined(node, node.op, node.left, node.right)

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

    def _of_call(self, node: ast.Call) -> Typed:
        from gemmlab.emulator.reference.calls import call

        return call(self, node)


def gives_product(function: FunctionType) -> bool:
    """Whether a device function ends with its only return, of a product."""
    tree = loaded(function).tree
    last = tree.body[-1]
    return single_return(tree) and isinstance(last, ast.Return) and last.value is not None and is_product(last.value)


def single_return(tree: ast.FunctionDef) -> bool:
    """Whether a function returns at its end only."""
    return all(node is tree.body[-1] for node in ast.walk(tree) if isinstance(node, ast.Return))
