"""What numba.cuda offers within a kernel, each as a call of the thread."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gemmlab.emulator.reference import arithmetic, rules
from gemmlab.emulator.reference.choices import either
from gemmlab.emulator.reference.kinds import ArrayKind, Kind, Static, TupleKind

if TYPE_CHECKING:
    from gemmlab.emulator.reference.expressions import Expressions
    from gemmlab.emulator.reference.frame import Frame, Typed

Handler = Callable[["Expressions", ast.Call], "Typed"]
EVERY_LANE = 0xFFFFFFFF
POSITIONS = ("threadIdx", "blockIdx", "blockDim", "gridDim")
BITS = {
    "popc": arithmetic.popcount,
    "brev": arithmetic.reversed_bits,
    "clz": arithmetic.leading_zeros,
    "ffs": arithmetic.first_set,
}
BARRIERS = {"syncthreads": "sync", "syncthreads_count": "count", "syncthreads_and": "and", "syncthreads_or": "or"}
SHUFFLES = ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")
#: what a shuffle moves of each type, where that is not int32
EXCHANGED = {
    **dict.fromkeys(("int64", "uint32", "uint64"), "int64"),
    **dict.fromkeys(("float16", "float32"), "float32"),
    "float64": "float64",
}
VOTES = ("ballot_sync", "any_sync", "all_sync", "eq_sync")
ATOMICS = ("add", "sub", "max", "min", "and_", "or_", "xor", "exch", "cas")
PURE = ("grid", "gridsize", "fma", "selp", *BITS)  #: compute from their arguments and the thread's position
WORDS = ("int32", "int64", "uint32", "uint64")
ADDED = (*WORDS, "float32", "float64")  #: what hardware adds, and compares for max and min, atomically
FENCES = ("threadfence", "threadfence_block", "threadfence_system")


def axis(of: Frame, value: Any, name: str) -> Typed | None:
    """`threadIdx.x` and the like; int32."""
    cuda = rules.cuda()

    for position in POSITIONS:
        if value is getattr(cuda, position) and name in ("x", "y", "z"):
            picked = ast.Subscript(of.known(position), ast.Constant("xyz".index(name)), ast.Load())
            return picked, rules.kind_of("int32")
    return None


def special(of: Frame, value: Any) -> Typed | None:
    """`laneid` and `warpsize`; int32."""
    cuda = rules.cuda()

    if value is cuda.laneid:
        return of.known("laneid"), rules.kind_of("int32")
    if value is cuda.warpsize:
        return of.program.object(np.int32(32)), rules.kind_of("int32")
    return None


@cache
def table() -> dict[int, Handler]:
    """How each function of numba.cuda is translated, by the object's identity."""
    cuda = rules.cuda()

    named: dict[Any, Handler] = {
        cuda.grid: grid("grid"),
        cuda.gridsize: grid("gridsize"),
        cuda.shared.array: declared("shared"),
        cuda.local.array: declared("local"),
        cuda.fma: fma,
        cuda.selp: selp,
        cuda.syncwarp: syncwarp,
        cuda.activemask: activemask,
    }
    named |= {getattr(cuda, name): bits(name) for name in BITS}
    named |= {getattr(cuda, name): barrier(kind) for name, kind in BARRIERS.items()}
    named |= {getattr(cuda, name): shuffle(name.removesuffix("_sync")) for name in SHUFFLES}
    named |= {getattr(cuda, name): vote(name.removesuffix("_sync")) for name in VOTES}
    named |= {getattr(cuda.atomic, name): atomic(name.removesuffix("_")) for name in ATOMICS}
    named |= {getattr(cuda, name): fence for name in FENCES}
    return {id(function): handler for function, handler in named.items()}


def intrinsic(value: Any) -> Handler | None:
    """How a function of numba.cuda is translated; None for other functions."""
    return table().get(id(value))


def operands(of: Expressions, node: ast.Call, least: int, most: int | None = None) -> list[ast.expr]:
    """The arguments of a call that takes that many and no keywords."""
    if node.keywords or not least <= len(node.args) <= (least if most is None else most):
        raise of.refused(node, f"`{ast.unparse(node)}` has other arguments than numba takes", "see numba's reference")
    return node.args


def grid(name: str) -> Handler:
    """`grid(n)` or `gridsize(n)`: one int64, or a tuple of them."""

    def handler(of: Expressions, node: ast.Call) -> Typed:
        (count,) = operands(of, node, 1)
        axes = of.expression(count)[1]
        if not isinstance(axes, Static) or axes.value not in (1, 2, 3):
            raise of.refused(node, f"`{ast.unparse(node)}`: axes are 1, 2 or 3", "write the number")
        all_three, whole = of.known(name), rules.kind_of("int64")
        if axes.value == 1:
            return ast.Subscript(all_three, ast.Constant(0), ast.Load()), whole
        cut = ast.Slice(None, ast.Constant(axes.value), None)
        return ast.Subscript(all_three, cut, ast.Load()), TupleKind((whole,) * axes.value)

    return handler


def declared(space: str) -> Handler:
    """`shared.array(shape, dtype)` or `local.array(shape, dtype)`."""

    def handler(of: Expressions, node: ast.Call) -> Typed:
        given = dict(zip(("shape", "dtype"), node.args, strict=False)) | {k.arg or "": k.value for k in node.keywords}
        if not {"shape", "dtype"} <= set(given):
            raise of.refused(node, f"`{ast.unparse(node)}` lacks its shape or dtype", "write array(shape, dtype)")
        shape, element = evaluated(of, given["shape"]), of.expression(given["dtype"])[1]
        element = element.value if isinstance(element, Static) else None
        from gemmlab.emulator.reference.calls import conversion

        kind = conversion(element)
        sides = shape if isinstance(shape, tuple) else (shape,)
        if kind is None or any(isinstance(side, bool) or not isinstance(side, int | np.integer) for side in sides):
            raise of.refused(
                node, f"`{ast.unparse(node)}` is not of a constant shape and a number type", "use constants"
            )
        dtype = rules.dtype(kind)
        key = (of.source.file, of.source.name, node.lineno, node.col_offset)
        dynamic = space == "shared" and tuple(sides) == (0,)
        if dynamic:
            of.program.dynamic.add(dtype.itemsize)
        pieces = named(of), key, tuple(int(side) for side in sides), dtype
        method = "dynamic" if dynamic else space
        return of.method(method, 0, *map(of.program.object, pieces)), ArrayKind(kind, len(sides))

    return handler


def named(of: Expressions) -> str:
    """The name of the array being declared; those of a device function carry its name."""
    name, of.target = of.target, ""
    return name if of.is_kernel else f"{of.source.name}.{name}"


def evaluated(of: Expressions, node: ast.expr) -> Any:
    """The value of an expression of constants; None where it is none."""
    try:
        code = compile(ast.Expression(node), of.source.file, "eval")
        return eval(code, dict(of.source.names))
    except Exception:
        return None


def fma(of: Expressions, node: ast.Call) -> Typed:
    """`fma(x, y, z)`: one rounding."""
    cuda = rules.cuda()

    values = [of.scalar(argument) for argument in operands(of, node, 3)]
    found = rules.signature(cuda.fma, *(kind for _, kind in values))
    if found is None:
        raise of.refused(node, f"numba has no `{ast.unparse(node)}` of these types", "convert to float32 or float64")
    made = [of.as_kind(value, have, want) for (value, have), want in zip(values, found.args, strict=True)]
    return of.counted(ast.Call(of.program.object(arithmetic.fused), made, []), 2, 1), found.return_type


def selp(of: Expressions, node: ast.Call) -> Typed:
    """`selp(condition, x, y)`: both are evaluated."""
    (test, _), (x, kind), (y, other) = (of.scalar(argument) for argument in operands(of, node, 3))
    if kind != other:
        raise of.refused(node, f"`{ast.unparse(node)}` chooses between {kind} and {other}", "convert one of them")
    return ast.Call(of.program.object(either), [test, x, y], []), kind


def bits(name: str) -> Handler:
    """`popc brev clz ffs`."""

    def handler(of: Expressions, node: ast.Call) -> Typed:
        cuda = rules.cuda()

        (argument,) = operands(of, node, 1)
        value, have = of.scalar(argument)
        found = rules.signature(getattr(cuda, name), have)
        if found is None:
            raise of.refused(node, f"numba has no `{ast.unparse(node)}` of {have}", "convert to an integer type")
        made = ast.Call(of.program.object(BITS[name]), [of.as_kind(value, have, found.args[0])], [])
        return made, found.return_type

    return handler


def waits(of: Expressions, node: ast.Call, row: str, kind: str, *args: ast.expr) -> ast.expr:
    """The thread waits for others and goes on with what they all gave."""
    return ast.Yield(of.method("waits", of.number(row, node), ast.Constant(kind), *args))


def barrier(kind: str) -> Handler:
    """`syncthreads` and those with a predicate; int32."""

    def handler(of: Expressions, node: ast.Call) -> Typed:
        args = operands(of, node, 0 if kind == "sync" else 1)
        if kind == "sync":
            return waits(of, node, "barrier", kind), Static(None)
        whole = rules.kind_of("int32")
        with of.within("barrier", node):
            predicate, have = of.scalar(args[0])
        if not is_integer(have):
            raise of.refused(node, f"numba has no `{ast.unparse(node)}` of {have}", "convert it: int32(x)")
        return waits(of, node, "barrier", kind, of.program.object(None), of.as_kind(predicate, have, whole)), whole

    return handler


def is_integer(kind: Kind) -> bool:
    """Whether a type is of whole numbers; bool is not."""
    from numba import types

    return isinstance(kind, types.Integer)


def syncwarp(of: Expressions, node: ast.Call) -> Typed:
    """`syncwarp()` or `syncwarp(mask)`."""
    args = operands(of, node, 0, 1)
    mask = of.scalar(args[0])[0] if args else of.program.object(EVERY_LANE)
    return waits(of, node, "warpop", "syncwarp", mask), Static(None)


def activemask(of: Expressions, node: ast.Call) -> Typed:
    """`activemask()`; uint32."""
    operands(of, node, 0)
    return waits(of, node, "warpop", "activemask"), rules.kind_of("uint32")


def shuffle(kind: str) -> Handler:
    """`shfl_sync(mask, value, lane)` and its family, in the type that the hardware's exchange takes."""

    def handler(of: Expressions, node: ast.Call) -> Typed:
        with of.within("warpop", node):
            (mask, _), (value, have), (lane, _) = (of.scalar(argument) for argument in operands(of, node, 3))
        want = rules.kind_of(EXCHANGED.get(rules.dtype(have).name, "int32"))
        return waits(of, node, "warpop", kind, mask, of.as_kind(value, have, want), lane), want

    return handler


def vote(kind: str) -> Handler:
    """`ballot_sync` (int32), `any_sync`, `all_sync`, `eq_sync` (bool) of a predicate."""

    def handler(of: Expressions, node: ast.Call) -> Typed:
        with of.within("warpop", node):
            (mask, _), (value, _) = (of.scalar(argument) for argument in operands(of, node, 2))
        return waits(of, node, "warpop", kind, mask, value), rules.kind_of("int32" if kind == "ballot" else "bool")

    return handler


def atomic(op: str) -> Handler:
    """`atomic.add(array, index, value)` and its family, `cas` with the expected value before; the old value."""

    def handler(of: Expressions, node: ast.Call) -> Typed:
        args = operands(of, node, 4 if op == "cas" else 3)
        element = ast.copy_location(ast.Subscript(args[0], args[1], ast.Load()), node)
        array, kind, index = of.element(element, "atomic")
        offered = ADDED if op in ("add", "sub", "max", "min") else WORDS
        if rules.dtype(kind).name not in offered:
            raise of.refused(node, f"numba has no atomic {op} of {kind}", f"use an array of {', '.join(offered)}")
        with of.within("atomic", node, of.array_of(element)):
            values = [of.as_kind(*of.scalar(argument), kind) for argument in args[2:]]
        number = of.number("atomic", node)
        return of.method("atomic", number, ast.Constant(op), array, index, *reversed(values)), kind

    return handler


def fence(of: Expressions, node: ast.Call) -> Typed:
    """`threadfence` and the like: memory here is in order already."""
    operands(of, node, 0)
    return of.program.object(None), Static(None)
