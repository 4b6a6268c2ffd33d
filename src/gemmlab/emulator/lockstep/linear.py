"""An index as a part that all threads share plus a part of each thread's own, so that the latter is worked out once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gemmlab.emulator import program as p

LARGEST = 60  # nodes of an expression that definitions are put into; past it the variable stays a variable

Uniform = Callable[[p.Expr], bool]


def split(expression: p.Expr, uniform: Uniform) -> tuple[p.Expr | None, p.Expr | None]:
    """(shared, own): an int64 expression equals their sum modulo 2^64; None stands for zero."""
    if uniform(expression):
        return expression, None
    match expression:
        case p.Unary(type="int64", op="neg"):
            shared, own = split(expression.x, uniform)
            return negated(shared), negated(own)
        case p.Binary(type="int64", op="add" | "sub"):
            (shared, own), (other_shared, other_own) = split(expression.x, uniform), split(expression.y, uniform)
            return joined(expression.op, shared, other_shared), joined(expression.op, own, other_own)
        case p.Binary(type="int64", op="mul"):
            for factor, rest in ((expression.x, expression.y), (expression.y, expression.x)):
                if uniform(factor):
                    return tuple(scaled(factor, part) for part in split(rest, uniform))  # type: ignore[return-value]
    return None, expression


def negated(x: p.Expr | None) -> p.Expr | None:
    """-x."""
    return None if x is None else p.Unary("int64", "neg", x)


def scaled(factor: p.Expr, x: p.Expr | None) -> p.Expr | None:
    """Factor * x."""
    return None if x is None else p.Binary("int64", "mul", factor, x)


def joined(op: str, x: p.Expr | None, y: p.Expr | None) -> p.Expr | None:
    """X + y or x - y."""
    if y is None:
        return x
    if x is None:
        return y if op == "add" else negated(y)
    return p.Binary("int64", op, x, y)


def substituted(expression: p.Expr, known: Mapping[str, p.Expr]) -> p.Expr:
    """The expression with variables replaced by their definitions, where it stays small."""
    whole = replaced(expression, known)
    return whole if sum(1 for _ in p.subexpressions(whole)) <= LARGEST else expression


def replaced(expression: p.Expr, known: Mapping[str, p.Expr]) -> p.Expr:
    """The expression with variables replaced by their definitions."""
    match expression:
        case p.Var():
            return known.get(expression.name, expression)
        case p.Unary():
            return p.Unary(expression.type, expression.op, replaced(expression.x, known))
        case p.Cast():
            inner = replaced(expression.x, known)
            return inner if inner.type == expression.type else p.Cast(expression.type, inner)
        case p.Binary():
            return p.Binary(
                expression.type, expression.op, replaced(expression.x, known), replaced(expression.y, known)
            )
    return expression


def variables(expression: p.Expr) -> set[str]:
    """Names of the variables in an expression."""
    return {part.name for part in p.subexpressions(expression) if isinstance(part, p.Var)}
