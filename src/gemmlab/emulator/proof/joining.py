"""Where ways of a program part and meet: what conditions say of variables, what rounds a loop takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gemmlab.emulator.program import Cast, Compare, Expr, Logic, Unary, Var
from gemmlab.emulator.proof.evaluate import floating
from gemmlab.emulator.proof.split import Pins, Split
from gemmlab.emulator.proof.spread import ANY, LISTED, Spread, clipped, combed, listing, widen

Env = dict[str, Split]
NEGATED = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def merge(pins: Pins, condition: Split | None, x: Env, y: Env) -> Env:
    """What holds where two ways meet; a variable that one way lacks is the other's."""
    met = {**y, **x}
    for name in x.keys() & y.keys():
        if x[name] is not y[name]:
            met[name] = pins.choose(condition, x[name], y[name])
    return met


def settled(before: Env, after: Env) -> bool:
    """Whether another round of a loop adds nothing."""
    return before.keys() == after.keys() and all(v is after[n] or v.same(after[n]) for n, v in before.items())


def widened(before: Env, after: Env) -> Env:
    """What a loop's next round starts from, so that rounds come to an end."""
    return {n: replace(v, rest=widen(before[n].rest, v.rest)) if n in before else v for n, v in after.items()}


def refined(value: Callable[[Expr, Env], Split], condition: Expr, env: Env, truth: bool) -> Env:
    """The environment where a condition holds, or does not: variables it compares have bounds there."""
    match condition:
        case Unary(op="not"):
            return refined(value, condition.x, env, not truth)
        case Logic() if (condition.op == "and") == truth:
            return refined(value, condition.y, refined(value, condition.x, env, truth), truth)
        case Compare() if not floating(condition.x.type):
            op = condition.op if truth else NEGATED[condition.op]
            env = bounded(value, condition.x, op, condition.y, env)
            return bounded(value, condition.y, MIRRORED[op], condition.x, env)
    return env


def bounded(value: Callable[[Expr, Env], Split], x: Expr, op: str, y: Expr, env: Env) -> Env:
    """The environment where `x op y` holds, if `x` is a variable, converted or not."""
    name = x
    while isinstance(name, Cast):
        name = name.x
    if not isinstance(name, Var) or name.name not in env:
        return env
    held, limit = env[name.name], value(y, env)
    if value(x, env) is not held:
        return env
    apart = limit.u - held.u
    lo, hi = -math.inf, math.inf
    if op in ("lt", "le", "eq"):
        hi = int(apart.max()) + limit.rest.hi - (op == "lt")
    if op in ("gt", "ge", "eq"):
        lo = int(apart.min()) + limit.rest.lo + (op == "gt")
    rest = clipped(held.rest, lo, hi)
    return env if rest is held.rest else {**env, name.name: replace(held, rest=rest)}


def rounds_of(pins: Pins, start: Split, stop: Split, step: Split) -> tuple[Split | None, list[Split]]:
    """The variable of a range in its rounds, None if there are none, and the tests that end them."""
    held = replace(start, pins=start.pins | step.pins, number=None)
    if step.number is None or not step.number:
        held = replace(held, rest=ANY)
        return held, [pins.compare(op, held, stop) for op in ("lt", "gt")]
    by, apart = int(step.number), stop.u - start.u
    if by > 0:
        last = int(apart.max()) + stop.rest.hi - 1
        rounds, tested = (combed(start.rest, by, max(start.rest.hi, top)) for top in (last, last + by))
        empty, op = last < start.rest.lo, "lt"
    else:
        last = int(apart.min()) + stop.rest.lo + 1
        rounds, tested = (Spread(min(start.rest.lo, end), start.rest.hi) for end in (last, last + by))
        empty, op = last > start.rest.hi, "gt"
    steps = listed_rounds(start.rest, last, by)
    if steps is not None and not empty:
        rounds, tested = clipped(steps, rounds.lo, last) if by > 0 else clipped(steps, last, rounds.hi), steps
    test = pins.compare(op, replace(held, rest=start.rest if empty else tested), stop)
    return None if empty else replace(held, rest=rounds), [test]


def listed_rounds(first: Spread, last: int | float, by: int) -> Spread | None:
    """Every number of `first` plus steps, one past the last round included, if they are few."""
    if first.listed is None or not math.isfinite(last):
        return None
    count = (int(last) - int(first.lo if by > 0 else first.hi)) // by + 2
    if count * first.listed.size > LISTED:
        return None
    return listing((first.listed[:, None] + by * np.arange(max(count, 1))[None, :]).ravel())
