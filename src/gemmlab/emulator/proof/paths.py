"""What one thread does, as terms: accesses with the conditions they happen under, and which may meet between barriers.

Both threads of a meeting are in the same round of each loop that holds a barrier, or one is a round ahead; of other
loops each is in a round of its own. A loop with barriers is run for a round and for the next, which carries what no
barrier parts across the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import z3

from gemmlab.emulator.program import (
    Assign,
    Atomic,
    Barrier,
    Break,
    Continue,
    Expr,
    For,
    If,
    Leave,
    Line,
    Load,
    Program,
    Return,
    Scope,
    Stmt,
    Store,
    WarpOp,
    While,
    walk,
)
from gemmlab.emulator.proof.symbols import Symbols, Term, Value, number
from gemmlab.emulator.proof.uniform import uniform_names

Env = dict[str, Value]


class NotFollowedError(Exception):
    """Something in a program has no terms here; `what` in words, at a line."""

    def __init__(self, what: str, line: Line) -> None:
        self.what, self.line = what, line


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One access: `mask` is when it happens, for the thread of the symbols."""

    kind: str  #: read, write or atomic
    array: str
    index: tuple[Term, ...]
    extents: tuple[Term, ...]
    mask: Term
    line: Line
    token: int  #: of the second round that it is in, 0 if in none


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """Two accesses that no barrier parts, the first under a further condition."""

    one: Event
    other: Event
    given: Term


Open = tuple[tuple[Event, Term], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Exit:
    """Where a loop or an inlined function is left: when, with which variables, what being open."""

    mask: Term
    env: Env
    open: Open


@dataclass(slots=True)
class Found:
    """What is to be shown: indices in bounds, threads together at barriers, no conflict of those that meet."""

    events: list[Event] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    barriers: list[tuple[Term, Line]] = field(default_factory=list)


class Paths:
    """Follows a program; gathers what is to be shown in `found`. Raises NotFollowedError."""

    def __init__(self, program: Program, symbols: Symbols) -> None:
        self.program, self.symbols = program, symbols
        self.uniform = uniform_names(program)
        self.found = Found()
        self.env: Env = {}
        self.open: Open = ()
        self.token = self.tokens = 0
        self.silent = False
        self.breaks: list[list[Exit]] = []
        self.continues: list[list[Exit]] = []
        self.scopes: list[tuple[int, list[Exit]]] = []

    def follow(self) -> Found:
        """The whole program."""
        self.body(self.program.body, z3.BoolVal(True))
        return self.found

    def line(self, statement: Stmt) -> Line:
        """The line of a statement."""
        return self.program.sites[statement.site].line

    def value(self, expression: Expr) -> Value:
        """The term of an expression as variables stand."""
        return self.symbols.value(expression, self.env)

    def body(self, body: tuple[Stmt, ...], mask: Term) -> Term:
        """When a thread gets behind statements."""
        for statement in body:
            mask = self.step(statement, mask)
            if z3.is_false(mask):
                break
        return mask

    def step(self, statement: Stmt, mask: Term) -> Term:
        """When a thread gets behind one statement."""
        match statement:
            case Assign():
                self.env[statement.name] = self.value(statement.value)
            case Load() | Store() | Atomic():
                self.access(statement, mask)
            case Barrier():
                self.barrier(statement, mask)
            case WarpOp():
                self.warp(statement)
            case If():
                return self.branch(statement, mask)
            case For() | While():
                return self.loop(statement, mask)
            case Scope():
                return self.scope(statement, mask)
            case _:
                return self.leave(statement, mask)
        return mask

    def leave(self, statement: Stmt, mask: Term) -> Term:
        """A thread goes on elsewhere, with its variables and what is open."""
        here = Exit(mask, dict(self.env), self.open)
        match statement:
            case Break():
                self.breaks[-1].append(here)
            case Continue():
                self.continues[-1].append(here)
            case Leave():
                next(exits for label, exits in reversed(self.scopes) if label == statement.label).append(here)
        return z3.BoolVal(False)

    def scope(self, statement: Scope, mask: Term) -> Term:
        """An inlined function: its threads meet behind it, but for those that left more than it."""
        exits: list[Exit] = []
        self.scopes.append((statement.label, exits))
        end = self.body(statement.body, mask)
        self.scopes.pop()
        in_loop = any(isinstance(s, Leave) for loop in walk(statement.body) if isinstance(loop, For | While)
                      for s in walk((loop,)))  # fmt: skip
        self.rejoin(end, exits, vague=in_loop)
        gone = any(isinstance(s, Return | Break | Continue) for s in walk(statement.body))
        return any_of(end, *(left.mask for left in exits)) if gone else mask

    def rejoin(self, end: Term, exits: list[Exit], vague: bool = False) -> None:
        """Variables and open accesses where threads that went on elsewhere meet those that did not.

        `vague` where the round in which one left is not known: then variables that differ are not.
        """
        if z3.is_false(end) and exits:
            self.env, self.open = dict(exits[0].env), exits[0].open
            exits = exits[1:]
        for left in exits:
            self.open = joined(self.open, left.open)
            for name in self.env.keys() & left.env.keys():
                now, then = self.env[name], left.env[name]
                same = now is then or (now is not None and then is not None and now.eq(then))
                if not same:
                    self.env[name] = self.unknown(name) if vague else either(left.mask, then, now)

    def unknown(self, name: str, shared: bool = False) -> Value:
        """A value of that variable's type of which nothing is known; floats are not followed at all."""
        kind = self.program.variables.get(name, "float32")
        if kind.startswith("float"):
            return None
        return self.symbols.fresh(name, shared, truth=kind == "bool")

    def access(self, statement: Load | Store | Atomic, mask: Term) -> None:
        """An access meets those that are open, and is open from here on."""
        array = self.program.arrays[statement.array]
        if array.space == "view":
            raise NotFollowedError(f"`{array.name}`, a view of `{array.base}`,", self.line(statement))
        index = tuple(self.value(x) for x in statement.index)
        if any(x is None for x in index):
            raise NotFollowedError(f"an index of `{array.name}`", self.line(statement))
        extents = tuple(self.symbols.launch[extent] for extent in extent_names(self.program, array.name))
        index = tuple(wrapped(x, extent) for x, extent in zip(index, extents, strict=True))
        kind = {Load: "read", Store: "write", Atomic: "atomic"}[type(statement)]
        event = Event(kind, array.name, index, extents, mask, self.line(statement), self.token)
        if not self.silent:
            self.note(event, array.space)
        if not isinstance(statement, Store) and statement.name is not None:
            self.env[statement.name] = self.unknown(statement.name)

    def note(self, event: Event, space: str) -> None:
        """Gather an access and whom it meets; accesses of a second round among themselves are known from the first."""
        self.found.events.append(event)
        if space == "local":
            return
        truth = z3.BoolVal(True)
        self.open += ((event, truth),)
        for other, given in self.open:
            if other.array == event.array and conflicting(other, event) and not self.token == other.token != 0:
                self.found.meetings.append(Meeting(other, event, given))

    def barrier(self, statement: Barrier, mask: Term) -> None:
        """Nothing is open behind a barrier that all threads come to, which is to be shown."""
        if not self.silent:
            self.found.barriers.append((mask, self.line(statement)))
        self.open = ()
        if statement.name is not None:
            self.env[statement.name] = self.unknown(statement.name, shared=True)

    def warp(self, statement: WarpOp) -> None:
        """Values of other lanes are unknown; an order among lanes only is not followed."""
        if statement.kind == "syncwarp":
            raise NotFollowedError("the order that syncwarp gives lanes", self.line(statement))
        if statement.name is not None:
            self.env[statement.name] = self.unknown(statement.name)

    def branch(self, statement: If, mask: Term) -> Term:
        """Both ways of an If. With a barrier inside, a block goes one way, and its ways do not meet."""
        condition = self.value(statement.condition)
        if condition is None:
            condition = self.symbols.fresh("condition", False, truth=True)
        env, entry = dict(self.env), self.open
        parted = any(isinstance(s, Barrier) for s in walk((statement,)))
        then = self.body(statement.then, z3.And(mask, condition))
        then_env, then_open = self.env, self.open
        self.env = env
        if parted:
            self.open = entry
        orelse = self.body(statement.orelse, z3.And(mask, z3.Not(condition)))
        if parted:
            self.open = joined(self.open, then_open)
        if z3.is_false(orelse):
            self.env = then_env
        elif not z3.is_false(then):
            self.env = {name: either(condition, then_env.get(name), self.env.get(name)) for name in then_env | self.env}
        leaves = any(isinstance(s, Break | Continue | Return | Leave) for s in walk((statement,)))
        return any_of(then, orelse) if leaves else mask

    def loop(self, statement: For | While, mask: Term) -> Term:
        """A loop, in rounds that threads share if it holds barriers."""
        from gemmlab.emulator.proof.rounds import run_loop

        return run_loop(self, statement, mask)


def extent_names(program: Program, name: str) -> list[Expr]:
    """The extents of an array as symbols know them."""
    from gemmlab.emulator.program import Extent

    return [Extent(name, axis) for axis in range(len(program.arrays[name].extents))]


def joined(one: Open, other: Open) -> Open:
    """What is open where two ways meet."""
    kept = {(id(event), id(given)) for event, given in one}
    return one + tuple(pair for pair in other if (id(pair[0]), id(pair[1])) not in kept)


def any_of(*masks: Term) -> Term:
    """Whether one of them holds; false by itself where none can."""
    possible = [mask for mask in masks if not z3.is_false(mask)]
    return z3.BoolVal(False) if not possible else possible[0] if len(possible) == 1 else z3.Or(*possible)


def conflicting(one: Event, other: Event) -> bool:
    """Whether two accesses to one element race if nothing orders them."""
    kinds = {one.kind, other.kind}
    return kinds not in ({"read"}, {"atomic"})


def wrapped(index: Any, extent: Term) -> Term:
    """An index that counts from the end, from the beginning."""
    value = number(index)
    return index + extent if value is not None and value < 0 else index


def either(condition: Term, x: Value, y: Value) -> Value:
    """A variable where two ways meet."""
    if x is None or y is None:
        return None
    return x if x is y or x.eq(y) else z3.If(condition, x, y)
