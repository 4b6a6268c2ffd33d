"""A program as text, one statement a line, for debugging and tests."""

from __future__ import annotations

from collections.abc import Iterator

from gemmlab.emulator.program import (
    Assign,
    Atomic,
    Barrier,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Extent,
    For,
    If,
    Leave,
    Load,
    Logic,
    Param,
    Program,
    Scope,
    Select,
    Special,
    Stmt,
    Store,
    Unary,
    Var,
    WarpOp,
    While,
)

_SIGNS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"},
    **{"lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="},
    **{"neg": "-", "invert": "~", "not": "not "},
}


def listing(program: Program) -> str:
    """The whole program as text."""
    arrays = [
        f"{array.space} {array.name}: {array.type}[{', '.join(map(expression, array.extents))}]"
        + (f" = {array.base} + {expression(array.offset)}" if array.base else "")
        for array in program.arrays.values()
    ]
    variables = [f"{name}: {kind}" for name, kind in program.variables.items()]
    return "\n".join([f"kernel {program.name}", *arrays, *variables, *_body(program.body, "")])


def _body(body: tuple[Stmt, ...], indent: str) -> Iterator[str]:
    for statement in body:
        yield from (indent + line for line in _statement(statement))


def _inner(head: str, body: tuple[Stmt, ...]) -> Iterator[str]:
    yield head
    yield from _body(body, "    ")


def _statement(s: Stmt) -> Iterator[str]:
    match s:
        case If():
            yield from _inner(f"if {expression(s.condition)}:", s.then)
            if s.orelse:
                yield from _inner("else:", s.orelse)
        case For():
            yield from _inner(
                f"for {s.name} in range({', '.join(map(expression, (s.start, s.stop, s.step)))}):", s.body
            )
        case While():
            yield from _inner("while:", s.before)
            yield from _inner(f"  {expression(s.condition)}:", s.body)
        case Scope():
            yield from _inner(f"scope {s.label}:", s.body)
        case _:
            yield _simple(s)


def _simple(s: Stmt) -> str:
    match s:
        case Assign():
            return f"{s.name} = {expression(s.value)}"
        case Load():
            return f"{s.name} = {s.array}[{', '.join(map(expression, s.index))}]"
        case Store():
            return f"{s.array}[{', '.join(map(expression, s.index))}] = {expression(s.value)}"
        case Atomic():
            given = [f"{s.array}[{', '.join(map(expression, s.index))}]", *_some(s.compare, s.value)]
            return f"{_to(s.name)}atomic {s.op}({', '.join(given)})"
        case Barrier():
            return f"{_to(s.name)}barrier {s.kind}({', '.join(_some(s.predicate))})"
        case WarpOp():
            return f"{_to(s.name)}{s.kind}({', '.join(_some(s.mask, s.value, s.lane))})"
        case Leave():
            return f"leave {s.label}"
    return type(s).__name__.lower()


def _to(name: str | None) -> str:
    return f"{name} = " if name else ""


def _some(*given: Expr | None) -> list[str]:
    return [expression(x) for x in given if x is not None]


def expression(x: Expr) -> str:
    """One expression as text; operations in parentheses, casts as calls of the type."""
    match x:
        case Const():
            return f"{x.type}({x.value})" if x.type not in ("int64", "float64", "bool") else str(x.value)
        case Var() | Special() | Param():
            return x.name
        case Extent():
            return f"{x.array}.shape[{x.axis}]"
        case Unary():
            return f"{_SIGNS[x.op]}{expression(x.x)}"
        case Binary() | Compare() | Logic():
            if x.op in ("min", "max"):
                return f"{x.op}({expression(x.x)}, {expression(x.y)})"
            sign = x.op if isinstance(x, Logic) else _SIGNS[x.op]
            return f"({expression(x.x)} {sign} {expression(x.y)})"
        case Cast():
            return f"{x.type}({expression(x.x)})"
        case Select():
            return f"({expression(x.x)} if {expression(x.condition)} else {expression(x.y)})"
        case Call():
            return f"{x.name}({', '.join(map(expression, x.args))})"
