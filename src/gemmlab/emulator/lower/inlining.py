"""Device functions, put in where they are called, with lines of their own file."""

from __future__ import annotations

import ast
from collections import Counter
from types import FunctionType

from gemmlab.emulator.lower import expressions, statements
from gemmlab.emulator.lower.cooperation import NOTHING
from gemmlab.emulator.lower.draft import Frame
from gemmlab.emulator.lower.names import ArrayRef, Clash, Group, Object, Path, Value, meaning
from gemmlab.emulator.program import Break, If, Leave, Scope, Stmt, Var, While, walk
from gemmlab.emulator.source import Source, load, python_function


def assigned(tree: ast.FunctionDef) -> Counter[str]:
    """Names that a function assigns somewhere, which are therefore its own, and how often."""
    return Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def inline(f: Frame, node: ast.Call, callee: object) -> Value:
    """The result of a device function's call, its statements lowered before it."""
    function = python_function(callee)
    assert function is not None
    if function is callee:
        raise f.refuse(
            node, f"put @cuda.jit(device=True) on `{function.__name__}`", "calls a function that is none of the GPU's"
        )
    if function in f.draft.running:
        raise f.refuse(node, "write it as a loop", "calls itself again")
    if function not in f.draft.loaded:
        f.draft.loaded[function] = load(callee)
    source = f.draft.loaded[function]
    given = _arguments(f, node, function, source)
    inner = Frame(f.draft, source, f.draft.unused(f"{f.prefix}{source.name}") + ".", assigned=assigned(source.tree))
    inner.label = f.draft.labels = f.draft.labels + 1
    inner.out = f.out
    for name, value in given.items():
        _pass(f, inner, node, name, value)
    f.draft.running.append(function)
    with inner.body() as body:
        statements.run(inner, source.tree.body)
    f.draft.running.pop()
    if inner.result not in (None, NOTHING) and not _leaves(body):
        raise f.refuse(node, f"end `{source.name}` with a return", "returns a value on some paths only")
    if body and isinstance(body[-1], Leave):
        body.pop()
    if any(isinstance(part, Leave) and part.label == inner.label for part in walk(tuple(body))):
        f.out.append(Scope(f.site(node, "scope"), inner.label, tuple(body)))
    else:
        f.out.extend(body)
    return NOTHING if inner.result is None else inner.result


def _arguments(f: Frame, node: ast.Call, function: FunctionType, source: Source) -> dict[str, Value]:
    """What each parameter is given, by name."""
    parameters = source.tree.args
    if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
        raise f.refuse(node, "name every parameter", f"calls `{source.name}`, which takes any number of arguments")
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    defaults = function.__defaults__ or ()
    given: dict[str, Value] = dict(zip(names[len(names) - len(defaults) :], map(meaning, defaults), strict=True))
    if len(node.args) > len(names) or any(keyword.arg not in names for keyword in node.keywords):
        raise f.refuse(node, f"`{source.name}` takes {', '.join(names) or 'nothing'}", "gives arguments it has not")
    for name, item in zip(names, node.args, strict=False):
        given[name] = expressions.value(f, item)
    for keyword in node.keywords:
        given[str(keyword.arg)] = expressions.value(f, keyword.value)
    if missing := [name for name in names if name not in given]:
        raise f.refuse(node, f"give {', '.join(missing)} too", f"calls `{source.name}` without {', '.join(missing)}")
    return given


def _pass(f: Frame, inner: Frame, node: ast.Call, name: str, value: Value) -> None:
    """Give a parameter its value: what is known stays known, what the function changes gets a variable."""
    if isinstance(value, Clash):
        raise expressions.clash(f, node, value)
    if isinstance(value, ArrayRef | Group | Path | Object):
        inner.bound[name] = value
    elif isinstance(value, expressions.SIMPLE) and name not in inner.assigned:
        inner.scalars[name] = value
    else:
        f.assign(node, inner.name(name), value)
        if name not in inner.assigned:
            inner.scalars[name] = Var("", inner.name(name))


def leave(f: Frame, node: ast.Return) -> None:
    """A device function's return: hold the results where every return puts them, and go to the end."""
    assert f.label is not None
    returned = NOTHING if node.value is None else expressions.value(f, node.value)
    held = _held(f, node, returned, "return")
    if f.result is not None and f.result != held:
        raise f.refuse(
            node, "let every return give as many numbers, and the same arrays", "returns something else than before"
        )
    f.result = held
    f.out.append(Leave(f.site(node, "leave"), f.label))


def _held(f: Frame, node: ast.Return, value: Value, name: str) -> Value:
    if isinstance(value, Clash):
        raise expressions.clash(f, node, value)
    if isinstance(value, Group):
        return Group(tuple(_held(f, node, item, f"{name}[{number}]") for number, item in enumerate(value.items)))
    if isinstance(value, ArrayRef | Path | Object):
        return value
    return f.assign(node, f.name(name), value)


def _leaves(body: list[Stmt] | tuple[Stmt, ...]) -> bool:
    """Whether a body never runs to its end."""
    last = body[-1] if body else None
    if isinstance(last, If):
        return _leaves(last.then) and _leaves(last.orelse)
    if isinstance(last, While):
        return bool(getattr(last.condition, "value", False)) and not any(isinstance(p, Break) for p in walk(last.body))
    return isinstance(last, Leave)
