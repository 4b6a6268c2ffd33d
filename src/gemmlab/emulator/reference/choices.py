"""Comparisons, `and`, `or` and `x if condition else y`: both sides are computed, or it is a branch.

It is a branch where a side touches memory, calls a device function or asks other threads, which may not happen in vain.
"""

from __future__ import annotations

import ast
from typing import Any

from gemmlab.emulator.reference import rules
from gemmlab.emulator.reference.frame import Frame, Typed
from gemmlab.emulator.reference.kinds import Static, joined


def either(condition: Any, x: Any, y: Any) -> Any:
    """The second or the third value."""
    return x if condition else y


BOTH = {ast.And: lambda x, y: x and y, ast.Or: lambda x, y: x or y}  #: both sides are computed, as they are pure


def is_extent(node: ast.Subscript) -> bool:
    """Whether an expression is an item of some shape."""
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


class Choices(Frame):
    """Translates choices."""

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
