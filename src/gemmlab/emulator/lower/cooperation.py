"""What threads do together: barriers, exchanges within a warp, atomics."""

from __future__ import annotations

import ast
from collections.abc import Callable

from gemmlab.emulator.lower import calls, expressions, memory
from gemmlab.emulator.lower.draft import Frame
from gemmlab.emulator.lower.intrinsics import ATOMICS, BARRIERS, SHUFFLES, VOTES
from gemmlab.emulator.lower.names import ArrayRef, Object, Value
from gemmlab.emulator.program import Atomic, Barrier, Call, Cast, Const, Expr, Var, WarpOp

NOTHING = Object(None)
_EVERY_LANE = Const("int32", -1)


def _sync(f: Frame, node: ast.Call) -> Value:
    calls.arguments(f, node, 0)
    f.out.append(Barrier(f.site(node, "barrier"), "sync"))
    return NOTHING


def _counted(kind: str) -> Callable[[Frame, ast.Call], Value]:
    def handler(f: Frame, node: ast.Call) -> Value:
        (predicate,) = calls.arguments(f, node, 1)
        name = f.temporary()
        f.out.append(Barrier(f.site(node, "barrier"), kind, name, Call("int32", "predicate", (predicate,))))
        return Var("", name)

    return handler


def _syncwarp(f: Frame, node: ast.Call) -> Value:
    mask = _mask(calls.arguments(f, node, 1)[0]) if node.args else _EVERY_LANE
    f.out.append(WarpOp(f.site(node, "warpop"), "syncwarp", None, mask))
    return NOTHING


def _mask(mask: Expr) -> Expr:
    """A member mask in 32 bits; 0xffffffff and -1 are the same."""
    return Cast("int32", mask)


def _shuffle(kind: str) -> Callable[[Frame, ast.Call], Value]:
    def handler(f: Frame, node: ast.Call) -> Value:
        mask, value, lane = calls.arguments(f, node, 3)
        name = f.temporary()
        f.out.append(WarpOp(f.site(node, "warpop"), kind, name, _mask(mask), value, Cast("int32", lane)))
        return Var("", name)

    return handler


def _vote(kind: str) -> Callable[[Frame, ast.Call], Value]:
    def handler(f: Frame, node: ast.Call) -> Value:
        mask, value = calls.arguments(f, node, 2)
        name = f.temporary()
        f.out.append(WarpOp(f.site(node, "warpop"), kind, name, _mask(mask), Cast("bool", value)))
        return Var("", name)

    return handler


def _activemask(f: Frame, node: ast.Call) -> Value:
    calls.arguments(f, node, 0)
    name = f.temporary()
    f.out.append(WarpOp(f.site(node, "warpop"), "activemask", name, None))
    return Var("", name)


def _atomic(member: str) -> Callable[[Frame, ast.Call], Value]:
    op, kinds = ATOMICS[member]
    count = 4 if op == "cas" else 3

    def handler(f: Frame, node: ast.Call) -> Value:
        given = calls.plain(f, node)
        if len(given) != count:
            what = "array, index, old, value" if op == "cas" else "array, index, value"
            raise f.refuse(node, f"write cuda.atomic.{member}({what})", f"has {len(given)} arguments")
        owner = expressions.value(f, given[0])
        if not isinstance(owner, ArrayRef):
            raise f.refuse(given[0], "give an array and an index", "is no array")
        ref = memory.with_index(f, node, owner, expressions.value(f, given[1]))
        if memory.shape(f, ref):
            raise f.refuse(node, "give an index for each axis, as a tuple", "names no single element")
        kind = f.draft.arrays[ref.name].type
        if kind not in kinds:
            raise f.refuse(node, f"arrays of {', '.join(kinds)} have it", f"has no form for {kind}")
        values = [Cast(kind, expressions.scalar(f, item)) for item in given[2:]]
        name = f.temporary()
        compare = values[0] if op == "cas" else None
        f.out.append(Atomic(f.site(node, "atomic", ref.name), name, op, ref.name, ref.prefix, values[-1], compare))
        return Var("", name)

    return handler


COOPERATION: dict[str, Callable[[Frame, ast.Call], Value]] = {
    "cuda.syncthreads": _sync,
    "cuda.syncwarp": _syncwarp,
    "cuda.activemask": _activemask,
    **{dotted: _counted(kind) for dotted, kind in BARRIERS.items()},
    **{dotted: _shuffle(kind) for dotted, kind in SHUFFLES.items()},
    **{dotted: _vote(kind) for dotted, (kind, _) in VOTES.items()},
    **{f"cuda.atomic.{member}": _atomic(member) for member in ATOMICS},
}
