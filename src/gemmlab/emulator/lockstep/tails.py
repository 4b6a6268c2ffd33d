"""Exits turned into ordinary branches where that can be: `if x: return; rest` is `if x: pass; else: rest`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gemmlab.emulator import program as p

Body = tuple[p.Stmt, ...]
IsExit = Callable[[p.Stmt], bool]


def settled(body: Body) -> Body:
    """A kernel's body with returns, and continues and leaves within it, made branches as far as they are at ends."""
    return at_end(within(body), lambda s: isinstance(s, p.Return))


def within(body: Body) -> Body:
    """The same for the loops and scopes in a body."""
    return tuple(inner(statement) for statement in body)


def inner(statement: p.Stmt) -> p.Stmt:
    """The same for one statement's own bodies."""
    match statement:
        case p.If():
            return replace(statement, then=within(statement.then), orelse=within(statement.orelse))
        case p.For():
            return replace(statement, body=at_end(within(statement.body), lambda s: isinstance(s, p.Continue)))
        case p.While():
            body = at_end(within(statement.body), lambda s: isinstance(s, p.Continue))
            return replace(statement, before=within(statement.before), body=body)
        case p.Scope():
            label = statement.label
            own = at_end(within(statement.body), lambda s: isinstance(s, p.Leave) and s.label == label)
            return replace(statement, body=own)
    return statement


def at_end(body: Body, is_exit: IsExit) -> Body:
    """A body behind which nothing comes: an exit at an end is nothing, what follows a branch that exits is its else."""
    out: list[p.Stmt] = []
    for place, statement in enumerate(body):
        rest = body[place + 1 :]
        if is_exit(statement):
            break
        if isinstance(statement, p.If):
            gone, other_gone = ends(statement.then, is_exit), ends(statement.orelse, is_exit)
            if gone or other_gone or not rest:
                then = statement.then if gone else statement.then + rest
                orelse = statement.orelse if other_gone else statement.orelse + rest
                out.append(replace(statement, then=at_end(then, is_exit), orelse=at_end(orelse, is_exit)))
                break
        out.append(statement)
    return tuple(out)


def ends(body: Body, is_exit: IsExit) -> bool:
    """Whether nobody comes out behind a body."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, p.If):
        return ends(last.then, is_exit) and ends(last.orelse, is_exit)
    return is_exit(last)
