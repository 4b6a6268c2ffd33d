"""Python statements to draft statements."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gemmlab.emulator.lower import expressions, inlining, memory
from gemmlab.emulator.lower.draft import Frame
from gemmlab.emulator.lower.names import ArrayRef, Clash, Group, Object, Path, Static, Value
from gemmlab.emulator.lower.refusals import SYNTAX
from gemmlab.emulator.program import (
    Atomic,
    Barrier,
    Break,
    Const,
    Continue,
    Expr,
    For,
    If,
    Leave,
    Load,
    Return,
    Stmt,
    Store,
    Var,
    WarpOp,
    While,
    subexpressions,
)

_ENDS = (Return, Leave, Break, Continue)
_NAMING = (Load, Atomic, Barrier, WarpOp)


def run(f: Frame, body: list[ast.stmt]) -> None:
    """Lower a body's statements; what stands behind a return, break or continue never runs and is left out."""
    for node in body:
        statement(f, node)
        if f.out and isinstance(f.out[-1], _ENDS):
            return


def statement(f: Frame, node: ast.stmt) -> None:
    """Lower one statement."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise f.refuse(node, SYNTAX.get(type(node), "write it with assignments, if, for and while"))
    handler(f, node)


def _expression(f: Frame, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return
    result = expressions.value(f, node.value)
    last = f.out[-1] if f.out else None
    if isinstance(result, Var) and isinstance(last, Atomic | WarpOp | Barrier) and last.name == result.name:
        f.out[-1] = replace(last, name=None)


def _assign(f: Frame, node: ast.Assign) -> None:
    result = _evaluated(f, node.targets[0], node.value)
    if len(node.targets) > 1 and not isinstance(result, Const | ArrayRef | Group | Path | Object | Clash):
        result = f.assign(node, f.temporary(), result)
    for target in node.targets:
        _give(f, node, target, result)


def _evaluated(f: Frame, target: ast.expr, node: ast.expr) -> Value:
    """A value on its way to a target, whose name an array that comes to be takes."""
    if isinstance(target, ast.Tuple) and isinstance(node, ast.Tuple) and len(target.elts) == len(node.elts):
        return Group(tuple(_evaluated(f, *pair) for pair in zip(target.elts, node.elts, strict=True)))
    f.hint = target.id if isinstance(target, ast.Name) else ""
    result = expressions.value(f, node)
    f.hint = ""
    return result


def _annotated(f: Frame, node: ast.AnnAssign) -> None:
    if node.value is not None:
        _give(f, node, node.target, _evaluated(f, node.target, node.value))


def _give(f: Frame, node: ast.stmt, target: ast.expr, result: Value) -> None:
    """Let a target take a value."""
    match target:
        case ast.Name():
            _give_name(f, node, target.id, result)
        case ast.Tuple() | ast.List():
            _give_each(f, node, target, result)
        case ast.Subscript():
            value = expressions.number_of(f, node, result)
            ref = memory.target(f, target)
            f.out.append(Store(f.site(node, "store", ref.name), ref.name, ref.prefix, value))
        case _:
            raise f.refuse(target, SYNTAX.get(type(target), "assign to variables and to elements of arrays"))


def _give_name(f: Frame, node: ast.stmt, local: str, result: Value) -> None:
    match result:
        case Clash():
            raise expressions.clash(f, node, result)
        case ArrayRef():
            f.bind(node, local, ArrayRef(result.name, tuple(held(f, node, item) for item in result.prefix)))
        case Group():
            f.bind(node, local, _held_group(f, node, local, result))
        case Path() | Object():
            f.bind(node, local, result)
        case _:
            f.bind(node, local, None)
            if isinstance(result, Const) and f.assigned[local] == 1:
                f.constants[f.name(local)] = result
            _give_number(f, node, f.name(local), result)


def _give_number(f: Frame, node: ast.stmt, name: str, value: Expr) -> None:
    """Assign, or let the statement that has just made the value name it so itself."""
    last = f.out[-1] if f.out else None
    if isinstance(value, Var) and isinstance(last, _NAMING) and last.name == value.name and value.name.startswith("$"):
        f.out[-1] = replace(last, name=name)
    else:
        f.assign(node, name, value)


def held(f: Frame, node: ast.AST, value: Expr) -> Expr:
    """A value that stays as it is now, whatever becomes of the variables in it."""
    if isinstance(value, expressions.SIMPLE) and not isinstance(value, Var):
        return value
    return f.assign(node, f.temporary(), value)


def _held_group(f: Frame, node: ast.stmt, local: str, group: Group) -> Static:
    """A tuple in a variable: each number in it a variable of its own, all read before any is assigned."""
    changed = {f.name(local)}
    ready = [_safe(f, node, item, changed) for item in group.items]
    items: list[Value] = []
    for number, item in enumerate(ready):
        part = f"{local}[{number}]"
        if isinstance(item, ArrayRef | Path | Object):
            items.append(item)
        elif isinstance(item, Group):
            items.append(_held_group(f, node, part, item))
        else:
            items.append(f.assign(node, f.name(part), expressions.number_of(f, node, item)))
    return Group(tuple(items))


def _give_each(f: Frame, node: ast.stmt, target: ast.Tuple | ast.List, result: Value) -> None:
    """Unpack a tuple; values that a target before them would change are held first, as in x, y = y, x."""
    if not isinstance(result, Group):
        raise f.refuse(node, "unpack a tuple, as in `m, n = a.shape`", "unpacks what is no tuple")
    if any(isinstance(item, ast.Starred) for item in target.elts):
        raise f.refuse(target, SYNTAX[ast.Starred])
    if len(target.elts) != len(result.items):
        raise f.refuse(node, "give one name for each", f"unpacks {len(result.items)} items into {len(target.elts)}")
    changed = {
        f.name(item.id) for item in ast.walk(target) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    }
    items = [_safe(f, node, item, changed) for item in result.items]
    for place, item in zip(target.elts, items, strict=True):
        _give(f, node, place, item)


def _safe(f: Frame, node: ast.stmt, item: Value, changed: set[str]) -> Value:
    """A value that assignments to those variables leave as it is; an item of a tuple goes by the tuple's name."""
    if isinstance(item, Group):
        return Group(tuple(_safe(f, node, part, changed) for part in item.items))
    if isinstance(item, ArrayRef | Path | Object | Clash):
        return item
    reads = {part.name.partition("[")[0] for part in subexpressions(item) if isinstance(part, Var)}
    return f.assign(node, f.temporary(), item) if reads & changed else item


def _augmented(f: Frame, node: ast.AugAssign) -> None:
    """`x += y`, and `a[i] += y`, whose index is worked out once."""
    if isinstance(node.target, ast.Subscript):
        ref = memory.target(f, node.target)
        name = f.temporary()
        f.out.append(Load(f.site(node, "load", ref.name), name, ref.name, ref.prefix))
        value = expressions.binary(f, node, node.op, Var("", name), expressions.scalar(f, node.value))
        f.out.append(Store(f.site(node, "store", ref.name), ref.name, ref.prefix, value))
        return
    if not isinstance(node.target, ast.Name):
        raise f.refuse(node.target, "assign to variables and to elements of arrays")
    before = expressions.scalar(f, ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
    after = expressions.binary(f, node, node.op, before, expressions.scalar(f, node.value))
    _give_name(f, node, node.target.id, after)


def _if(f: Frame, node: ast.If) -> None:
    """A branch; where the test is a constant, the side that runs alone."""
    test = expressions.scalar(f, node.test)
    if isinstance(test, Const):
        run(f, node.body if test.value else node.orelse)
        return
    before = dict(f.bound)
    with f.body() as then:
        run(f, node.body)
    after_then, f.bound = f.bound, before
    with f.body() as orelse:
        run(f, node.orelse)
    f.out.append(If(f.site(node, "if"), test, tuple(then), tuple(orelse)))
    ends = [
        bound for bound, body in ((after_then, then), (f.bound, orelse)) if not (body and isinstance(body[-1], _ENDS))
    ]
    f.join(*(ends or [before]), line=node.lineno)


def _loop_body(f: Frame, body: list[ast.stmt]) -> tuple[Stmt, ...]:
    f.around.append(dict(f.bound))
    with f.body() as statements:
        run(f, body)
    f.around.pop()
    return tuple(statements)


def _for(f: Frame, node: ast.For) -> None:
    if node.orelse:
        raise f.refuse(
            node.orelse[0], "set a variable before `break` and test it behind the loop", "stands in a loop's else"
        )
    if not isinstance(node.target, ast.Name):
        raise f.refuse(node.target, "name one variable, and work out others in the loop")
    bounds = _range(f, node)
    start, stop, step = {1: (memory.ZERO, *bounds, Const("int64", 1)), 2: (*bounds, Const("int64", 1)), 3: bounds}[
        len(bounds)
    ]
    if isinstance(step, Const) and step.value == 0:
        raise f.refuse(node.iter, "step by 1, -1 ...", "has step 0")
    site = f.site(node, "for")
    f.draft.bounds[site] = len(bounds)
    f.bind(node, node.target.id, None)
    f.out.append(For(site, f.name(node.target.id), start, stop, step, _loop_body(f, node.body)))


def _range(f: Frame, node: ast.For) -> tuple[Expr, ...]:
    over = node.iter
    if isinstance(over, ast.Call) and expressions.value(f, over.func) == Path("builtins.range"):
        if not over.keywords and 1 <= len(over.args) <= 3:
            return tuple(expressions.scalar(f, item) for item in over.args)
        raise f.refuse(over, "write range(stop), range(start, stop) or range(start, stop, step)")
    raise f.refuse(over, "loop over range(...), and index what you loop over", "cannot be looped over here")


def _while(f: Frame, node: ast.While) -> None:
    if node.orelse:
        raise f.refuse(
            node.orelse[0], "set a variable before `break` and test it behind the loop", "stands in a loop's else"
        )
    with f.body() as before:
        test = expressions.scalar(f, node.test)
    site = f.site(node, "while")
    f.out.append(While(site, tuple(before), test, _loop_body(f, node.body)))


def _break(f: Frame, node: ast.Break) -> None:
    f.out.append(Break(f.site(node, "break")))


def _continue(f: Frame, node: ast.Continue) -> None:
    f.out.append(Continue(f.site(node, "continue")))


def _return(f: Frame, node: ast.Return) -> None:
    if f.label is not None:
        inlining.leave(f, node)
        return
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        raise f.refuse(node, "write the result to an array", "returns a value from a kernel")
    f.out.append(Return(f.site(node, "return")))


_HANDLERS: dict[type[ast.stmt], Callable[[Frame, Any], None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Return: _return,
    ast.Pass: lambda f, node: None,
}
