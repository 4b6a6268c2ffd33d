"""Arrays: which element an index names, shapes, views, and shared and local arrays as they are declared."""

from __future__ import annotations

import ast
from types import ModuleType

from gemmlab.emulator.lower import expressions
from gemmlab.emulator.lower.draft import Frame
from gemmlab.emulator.lower.names import ArrayRef, Clash, Group, Object, Path, Value, meaning, scalar_type
from gemmlab.emulator.lower.types import INTEGERS
from gemmlab.emulator.program import Array, Binary, Compare, Const, Expr, Extent, Load, Select, Special, Var

SPECIALS = {
    f"cuda.{name}.{axis}": f"{name}.{axis}"
    for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")
    for axis in "xyz"
}
SPECIALS["cuda.laneid"] = "laneid"
ZERO = Const("int64", 0)


def attribute(f: Frame, node: ast.Attribute) -> Value:
    """A member of a module, a coordinate of the thread, or what an array says of itself."""
    owner = expressions.value(f, node.value)
    match owner:
        case Path(dotted):
            return _member(f, node, f"{dotted}.{node.attr}")
        case Object(module) if isinstance(module, ModuleType) and hasattr(module, node.attr):
            return meaning(getattr(module, node.attr))
        case ArrayRef():
            return _property(f, node, owner)
        case Clash():
            raise expressions.clash(f, node.value, owner)
    raise f.refuse(node, "use numbers, arrays, math and numba.cuda")


def _member(f: Frame, node: ast.Attribute, dotted: str) -> Value:
    if dotted in SPECIALS:
        return Special("int32", SPECIALS[dotted])
    if dotted == "cuda.warpsize":
        return Const("int32", 32)
    if dotted.startswith("math."):
        import math

        constant = getattr(math, node.attr, None)
        if isinstance(constant, float):
            return Const("float64", constant)
    return Path(dotted)


def shape(f: Frame, ref: ArrayRef) -> tuple[Expr, ...]:
    """Extents of an array along the axes that are still open."""
    return f.draft.arrays[ref.name].extents[len(ref.prefix) :]


def _property(f: Frame, node: ast.Attribute, ref: ArrayRef) -> Value:
    extents = shape(f, ref)
    match node.attr:
        case "shape":
            return Group(extents)
        case "ndim":
            return Const("int64", len(extents))
        case "dtype":
            return Object(f.draft.arrays[ref.name].type)
        case "size":
            total: Expr = Const("int64", 1)
            for extent in extents:
                total = expressions.folded("mul", total, extent) if total != Const("int64", 1) else extent
            return total
        case "T":
            raise f.refuse(node, "swap the indices instead: a[j, i]")
    raise f.refuse(node, "an array has shape, ndim, size and dtype; everything else is done element by element")


def subscript(f: Frame, node: ast.Subscript) -> Value:
    """An element of an array, loaded; a view of a part of it; or an item of a tuple."""
    owner = expressions.value(f, node.value)
    if isinstance(owner, Group):
        return _item(f, node, owner)
    ref = _array(f, node.value, owner)
    if isinstance(node.slice, ast.Slice):
        return _view(f, node, ref, node.slice)
    full = indexed(f, node, ref)
    if shape(f, full):
        return full
    name = f.temporary()
    f.out.append(Load(f.site(node, "load", full.name), name, full.name, full.prefix))
    return Var("", name)


def _item(f: Frame, node: ast.Subscript, group: Group) -> Value:
    index = f.constant(expressions.value(f, node.slice))
    if not isinstance(index, Const) or index.type == "bool" or not -len(group.items) <= index.value < len(group.items):
        raise f.refuse(node, f"index it with a constant from 0 to {len(group.items) - 1}")
    return group.items[int(index.value)]


def _array(f: Frame, node: ast.expr, owner: Value) -> ArrayRef:
    if isinstance(owner, ArrayRef):
        return owner
    if isinstance(owner, Clash):
        raise expressions.clash(f, node, owner)
    if isinstance(owner, Object) and hasattr(owner.value, "__array_interface__"):
        raise f.refuse(node, "pass it to the kernel as an argument", "is an array of the module")
    raise f.refuse(node, "index arrays and tuples only", "is no array")


def target(f: Frame, node: ast.Subscript) -> ArrayRef:
    """The element of an array that is written, all of its indices given."""
    if _sliced(node.slice):
        raise f.refuse(node, "write its elements in a loop", "writes many elements at once")
    ref = indexed(f, node, _array(f, node.value, expressions.value(f, node.value)))
    if shape(f, ref):
        raise f.refuse(node, "write its elements in a loop", "is a whole row where one element is needed")
    return ref


def indexed(f: Frame, node: ast.Subscript, ref: ArrayRef) -> ArrayRef:
    """An array with the indices of a subscript added to those that it has."""
    return with_index(f, node, ref, expressions.value(f, node.slice) if not _sliced(node.slice) else _slices(f, node))


def _sliced(index: ast.expr) -> bool:
    return any(isinstance(item, ast.Slice) for item in (index.elts if isinstance(index, ast.Tuple) else [index]))


def _slices(f: Frame, node: ast.Subscript) -> Value:
    raise f.refuse(node, "slice arrays of one axis only; of others, index elements in a loop")


def with_index(f: Frame, node: ast.AST, ref: ArrayRef, index: Value) -> ArrayRef:
    """An array with one index, or a tuple of them, added."""
    items = index.items if isinstance(index, Group) else (index,)
    added = []
    for item in items:
        if isinstance(item, ArrayRef | Group | Path | Object | Clash):
            raise f.refuse(node, "index with whole numbers", "has an index that is no number")
        added.append(
            item if isinstance(item, expressions.SIMPLE) or _plain(item) else f.assign(node, f.temporary(), item)
        )
    axes = len(shape(f, ref))
    if len(added) > axes:
        raise f.refuse(node, f"give {axes} at most", f"has {len(added)} indices, and the array {axes} axes")
    return ArrayRef(ref.name, ref.prefix + tuple(added))


def _plain(index: Expr) -> bool:
    """Whether an index is made of sums and products alone, cheap and free of float arithmetic when written twice."""
    return (
        isinstance(index, Binary)
        and index.op != "truediv"
        and all(isinstance(side, expressions.SIMPLE) or _plain(side) for side in (index.x, index.y))
    )


def _view(f: Frame, node: ast.Subscript, ref: ArrayRef, cut: ast.Slice) -> ArrayRef:
    """A contiguous part of an array of one axis, its ends held inside it as Python holds them."""
    array = f.draft.arrays[ref.name]
    if cut.step is not None:
        raise f.refuse(node, "multiply the index by the step instead")
    if len(array.extents) != 1:
        raise f.refuse(node, "slice arrays of one axis only; of others, index elements in a loop")
    extent = array.extents[0]
    low = _end(f, node, cut.lower, ZERO, extent)
    high = _end(f, node, cut.upper, extent, extent)
    base, offset = (
        (array.base, expressions.folded("add", array.offset, low)) if array.space == "view" else (ref.name, low)
    )
    if isinstance(low, Const) and isinstance(high, Const):
        length: Expr = Const("int64", max(high.value - low.value, 0))
    elif low == ZERO:
        length = high
    else:
        length = Binary("int64", "max", Binary("int64", "sub", high, low), ZERO)
    name = f.array_name("") if f.hint else f"{ref.name}[{ast.unparse(cut)}]"
    return declared(f, node, name, "view", array.type, (length,), base, offset)


def _end(f: Frame, node: ast.AST, given: ast.expr | None, default: Expr, extent: Expr) -> Expr:
    """One end of a slice, between 0 and the extent; held in a variable where it may change later."""
    if given is None:
        return default
    end = expressions.scalar(f, given)
    if isinstance(end, Const) and end.type not in INTEGERS:
        raise f.refuse(given, "slice with whole numbers", "is no place to cut at")
    if isinstance(end, Const) and end.value >= 0:
        if isinstance(extent, Const):
            return Const("int64", min(end.value, extent.value))
        return end if end == ZERO else Binary("int64", "min", end, extent)
    if isinstance(end, Const):
        if isinstance(extent, Const):
            return Const("int64", max(extent.value + end.value, 0))
        return Binary("int64", "max", Binary("int64", "add", extent, end), ZERO)
    if not isinstance(end, expressions.SIMPLE) or isinstance(end, Var):
        end = f.assign(node, f.temporary(), end)
    counted = Select("", Compare("lt", end, ZERO), Binary("", "add", end, extent), end)  # from the end, as an index is
    return Binary("", "max", Binary("", "min", counted, extent), ZERO)


def declared(
    f: Frame,
    node: ast.AST,
    name: str,
    space: str,
    kind: str,
    extents: tuple[Expr, ...],
    base: str = "",
    offset: Expr = ZERO,
) -> ArrayRef:
    """Enter a new array in the draft, by that name or one like it."""
    unique, line = f.draft.unused(name), f.line(node)
    f.draft.sources.setdefault(line, f.source.line(line.number))
    f.draft.arrays[unique] = Array(unique, space, kind, extents, line, base, offset)
    return ArrayRef(unique)


def declare(f: Frame, node: ast.Call, space: str, name: str) -> ArrayRef:
    """`cuda.shared.array(shape, dtype)` or `cuda.local.array(shape, dtype)`, to be known by a name.

    A declaration is one array, however often a device function that has it is called.
    """
    arguments = dict(zip(("shape", "dtype"), node.args, strict=False))
    arguments.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
    if set(arguments) - {"alignment"} != {"shape", "dtype"} or len(node.args) > 3:
        raise f.refuse(node, f"write cuda.{space}.array(shape, dtype)")
    if id(node) in f.draft.declared:
        return ArrayRef(f.draft.declared[id(node)])
    kind = element_type(f, arguments["dtype"])
    sides = expressions.value(f, arguments["shape"])
    given = sides.items if isinstance(sides, Group) else (sides,)
    nodes = arguments["shape"].elts if isinstance(arguments["shape"], ast.Tuple) else [arguments["shape"]] * len(given)
    extents = [_side(f, *pair) for pair in zip(nodes, given, strict=True)]
    if not 1 <= len(extents) <= 3:
        raise f.refuse(node, "one to three axes", f"has {len(extents)} axes")
    if extents == [ZERO] and space == "shared":
        ref = declared(f, node, name, "dynamic", kind, ())
        f.draft.arrays[ref.name] = Array(ref.name, "dynamic", kind, (Extent(ref.name, 0),), f.line(node))
    elif ZERO in extents:
        raise f.refuse(node, "every side at least 1; shared.array(0, dtype) alone is sized by the launch", "is empty")
    else:
        ref = declared(f, node, name, space, kind, tuple(extents))
    f.draft.declared[id(node)] = ref.name
    return ref


def _side(f: Frame, node: ast.expr, side: Value) -> Const:
    """One extent of a declared array, a whole number known before the launch; numba takes names and literals only."""
    side = f.constant(side)
    if isinstance(node, ast.BinOp) and any(isinstance(part, ast.Name) for part in ast.walk(node)):
        raise f.refuse(node, "work it out above the kernel, as WIDTH = TILE + 1", "is no shape to numba")
    if isinstance(side, Const) and isinstance(side.value, int) and side.type != "bool" and side.value >= 0:
        return Const("int64", side.value)
    raise f.refuse(
        node,
        "use whole numbers or names of the module, as TILE = 16 above the kernel; a size of the launch needs "
        "cuda.shared.array(0, dtype)",
        "is no shape known before the launch",
    )


def element_type(f: Frame, node: ast.expr) -> str:
    """The element type that a declaration names."""
    meant = expressions.value(f, node)
    kind = None
    if isinstance(meant, Object):
        kind = scalar_type(meant.value)
    if kind is None:
        raise f.refuse(
            node,
            "numpy's or numba's bool, int8 to int64, uint8 to uint64, float16 to float64",
            "is no element type here",
        )
    return kind
