"""Elements of arrays, rows and slices of them, and items of tuples."""

from __future__ import annotations

import ast

from gemmlab.emulator.reference.frame import Frame, Typed
from gemmlab.emulator.reference.kinds import ArrayKind, Kind, Static, TupleKind


class Elements(Frame):
    """Translates indexing."""

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


def is_whole(kind: Kind) -> bool:
    """Whether values of a kind may be an index."""
    from numba import types

    return isinstance(kind, types.Integer | types.Boolean)
