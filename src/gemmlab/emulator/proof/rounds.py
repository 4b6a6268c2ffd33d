"""Loops over terms: any round of one without barriers; a round, and the next, of one that holds them."""

from __future__ import annotations

from dataclasses import dataclass

import z3

from gemmlab.emulator.program import (
    Atomic,
    Barrier,
    Continue,
    For,
    If,
    Leave,
    Load,
    Return,
    Scope,
    Stmt,
    Store,
    While,
    walk,
)
from gemmlab.emulator.proof.paths import Env, NotFollowedError, Open, Paths, any_of, joined
from gemmlab.emulator.proof.symbols import Term, Value, number
from gemmlab.emulator.proof.uniform import assigned


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """A For's start, stop and step, as they were at its entry."""

    start: Term
    stop: Term
    step: Term


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """How variables stand at the head of the round numbered `place`, and a For's counter, None of a While.

    `given` holds of them in any round, `first` in the first one only.
    """

    place: Term
    env: Env
    counter: Value
    given: Term
    first: Term


def run_loop(paths: Paths, loop: For | While, mask: Term) -> Term:
    """When a thread gets behind a loop; what is to be shown of its rounds is gathered."""
    barriers = any(isinstance(s, Barrier) for s in walk((loop,)))
    if barriers and not always_waits(loop.body):
        raise NotFollowedError("a round of a loop that may pass no barrier, while others do,", paths.line(loop))
    if isinstance(loop, While) and any(isinstance(s, Barrier | Load | Store | Atomic) for s in walk(loop.before)):
        raise NotFollowedError("memory or a barrier in a loop's condition", paths.line(loop))
    bounds, before, entry = bounds_of(paths, loop), dict(paths.env), paths.open
    paths.breaks.append([])
    head = head_of(paths, loop, bounds, before, barriers)
    mask_here = z3.And(mask, head.place >= 0, head.given)
    if barriers:
        never = z3.Not(tested(paths, loop, bounds, before, bounds.start if bounds else None))
        rounds_with_barriers(paths, loop, bounds, head, entry, mask_here, never)
    else:
        round_of(paths, loop, bounds, head, mask_here)
    for left in paths.breaks.pop():
        paths.open = joined(paths.open, left.open)
    for name in assigned((loop,)):
        paths.env[name] = paths.unknown(name, shared=name in paths.uniform)
    if any(isinstance(s, Return | Leave) for s in walk((loop,))):
        return z3.And(mask, paths.symbols.fresh("stays", False, truth=True))
    return mask


def bounds_of(paths: Paths, loop: For | While) -> Bounds | None:
    """A For's bounds."""
    if isinstance(loop, While):
        return None
    start, stop, step = (paths.value(x) for x in (loop.start, loop.stop, loop.step))
    if start is None or stop is None or step is None:
        raise NotFollowedError("a bound of a loop", paths.line(loop))
    return Bounds(start, stop, step)


def always_waits(body: tuple[Stmt, ...], labels: frozenset[int] = frozenset()) -> bool:
    """Whether each round of a body passes a barrier, unless it leaves the loop; `labels` are of functions inside."""
    for s in body:
        inner = labels | {s.label} if isinstance(s, Scope) else labels
        if isinstance(s, Barrier) or (isinstance(s, Scope) and always_waits(s.body, inner)):
            return True
        if isinstance(s, If) and always_waits(s.then, labels) and always_waits(s.orelse, labels):
            return True
        if any(isinstance(x, Continue) or (isinstance(x, Leave) and x.label in labels) for x in walk((s,))):
            return False
    return False


def head_of(paths: Paths, loop: For | While, bounds: Bounds | None, before: Env, shared: bool) -> Head:
    """The head of some round: variables that grow by a constant each round are known there, others only at first."""
    truth = z3.BoolVal(True)
    place = paths.symbols.fresh("round", shared)
    unknown = {name: paths.unknown(name, shared and name in paths.uniform) for name in sorted(assigned((loop,)))}
    counter, given, first = counter_of(paths, bounds, place, shared)
    after = silently(paths, loop, bounds, Head(place, {**before, **unknown}, counter, truth, truth))
    env: Env = {**before, **unknown}
    for name, symbol in unknown.items():
        initial, end = before.get(name), after.get(name)
        if symbol is None or initial is None or z3.is_bool(symbol):
            continue
        grows = None if end is None else z3.simplify(end - symbol)
        if grows is not None and z3.is_int_value(grows):
            env[name] = initial + grows * place
        elif grows is not None and paths.symbols.of_launch(grows):
            walked, known = paths.symbols.walked(place, grows, shared)
            env[name], given = initial + walked, z3.And(given, known)
        else:
            first.append(symbol == initial)
    return Head(place, env, counter, given, z3.And(*first))


def counter_of(paths: Paths, bounds: Bounds | None, place: Term, shared: bool) -> tuple[Value, Term, list[Term]]:
    """A For's counter in the round `place`, what is known of it in any round, and in the first one.

    Where the step is no constant, a product with the round would not be linear: a symbol stands for it.
    """
    first, truth = [place == 0], z3.BoolVal(True)
    if bounds is None:
        return None, truth, first
    step = number(bounds.step)
    if step is not None:
        return z3.simplify(bounds.start + step * place), truth, first
    walked, known = paths.symbols.walked(place, bounds.step, shared)
    return bounds.start + walked, known, first


def silently(paths: Paths, loop: For | While, bounds: Bounds | None, head: Head) -> Env:
    """Variables at a round's end, nothing gathered."""
    silent, kept, env = paths.silent, paths.open, paths.env
    paths.silent = True
    round_of(paths, loop, bounds, head, z3.BoolVal(True))
    after = paths.env
    paths.silent, paths.open, paths.env = silent, kept, env
    return after


def round_of(paths: Paths, loop: For | While, bounds: Bounds | None, head: Head, mask: Term) -> Term:
    """One round from its head on: when a thread gets to its end."""
    paths.env = dict(head.env)
    test = tested(paths, loop, bounds, head.env, head.counter)
    if isinstance(loop, For):
        paths.env[loop.name] = head.counter
    paths.continues.append([])
    end = paths.body(loop.body, z3.And(mask, test))
    continues = paths.continues.pop()
    paths.rejoin(end, continues)
    return any_of(end, *(left.mask for left in continues))


def tested(paths: Paths, loop: For | While, bounds: Bounds | None, env: Env, counter: Value) -> Term:
    """The test at a round's head; leaves variables as they are behind it."""
    if bounds is not None:
        step = number(bounds.step)
        if step is not None:
            return counter < bounds.stop if step > 0 else counter > bounds.stop
        return z3.If(bounds.step > 0, counter < bounds.stop, counter > bounds.stop)
    assert isinstance(loop, While)
    paths.env = dict(env)
    paths.body(loop.before, z3.BoolVal(True))
    condition = paths.value(loop.condition)
    return paths.symbols.fresh("condition", False, truth=True) if condition is None else condition


def rounds_with_barriers(
    paths: Paths, loop: For | While, bounds: Bounds | None, head: Head, entry: Open, mask: Term, never: Term
) -> None:
    """A round, the next, and what stays open behind the loop: of before it, if it has no round, and of its last."""
    paths.open = tuple((event, z3.And(given, head.first)) for event, given in entry)
    end = round_of(paths, loop, bounds, head, mask)
    last = paths.open
    counter = None if bounds is None else z3.simplify(head.counter + bounds.step)
    following = Head(head.place + 1, next_env(paths, head), counter, z3.BoolVal(True), z3.BoolVal(False))
    token = paths.token
    paths.tokens += 1
    paths.token = paths.tokens
    round_of(paths, loop, bounds, following, end)
    paths.token = token
    paths.open = tuple((event, z3.And(given, never)) for event, given in entry) + last


def next_env(paths: Paths, head: Head) -> Env:
    """Variables at the next round's head: as the round left them, or by their growth."""
    grown = {}
    for name, term in head.env.items():
        moved = None if term is None else z3.substitute(term, (head.place, head.place + 1))
        grown[name] = moved if moved is not None and not moved.eq(term) else paths.env.get(name)
    return grown
