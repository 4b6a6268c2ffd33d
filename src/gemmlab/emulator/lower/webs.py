"""Which assignments each use of a variable may see: single static assignment on structured code.

numba types every version of a variable apart and lets versions meet where paths join. So does this: a version is one
statement that assigns, or a meeting of versions at a join or at a loop's head. A meeting that no use sees is no
meeting: it constrains no type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
    Load,
    Return,
    Scope,
    Stmt,
    Var,
    WarpOp,
    While,
    expressions,
    subexpressions,
    walk,
)


@dataclass(slots=True, eq=False)
class Version:
    """One assignment of a variable, or a meeting of such."""

    name: str
    statement: Stmt | None  #: that assigns it; None for a meeting
    meets: list[Version] = field(default_factory=list)
    used: bool = False  #: a statement reads this very version
    needed: bool = False  #: some use may see its value


State = dict[str, Version]


@dataclass(slots=True)
class Webs:
    """The versions of a draft."""

    versions: list[Version] = field(default_factory=list)
    made: dict[int, Version] = field(default_factory=dict)  #: by id of the statement that assigns
    seen: dict[tuple[int, str], Version] = field(default_factory=dict)  #: by id of the statement that reads, and name
    reached: set[int] = field(default_factory=set)  #: ids of statements that some thread may come to
    missing: list[tuple[Stmt, str]] = field(default_factory=list)  #: uses that no assignment reaches

    def operands(self) -> dict[int, list[Version]]:
        """For each version, by its id, the meetings that its value goes into."""
        into: dict[int, list[Version]] = {}
        for version in self.versions:
            for met in version.meets:
                into.setdefault(id(met), []).append(version)
        return into


def assigns(statement: Stmt) -> str | None:
    """The variable that a statement assigns itself."""
    if isinstance(statement, Assign | Load | For | Atomic | Barrier | WarpOp):
        return statement.name
    return None


@dataclass(slots=True)
class _Loop:
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


class _Walk:
    """One pass over a draft in the order of its text; a state of None stands where no thread comes."""

    def __init__(self) -> None:
        self.webs = Webs()
        self.loops: list[_Loop] = []
        self.leaving: dict[int, list[State]] = {}

    def body(self, statements: tuple[Stmt, ...], state: State | None) -> State | None:
        for statement in statements:
            if state is None:
                return None
            state = self.statement(statement, state)
        return state

    def statement(self, statement: Stmt, state: State) -> State | None:
        self.webs.reached.add(id(statement))
        if not isinstance(statement, While):
            self.read(statement, expressions(statement), state)
        match statement:
            case If():
                return self.join([self.body(statement.then, dict(state)), self.body(statement.orelse, dict(state))])
            case For() | While():
                return self.loop(statement, state)
            case Scope():
                self.leaving[statement.label] = []
                end = self.body(statement.body, state)
                return self.join([end, *self.leaving.pop(statement.label)])
            case Leave():
                self.leaving[statement.label].append(state)
                return None
            case Break():
                self.loops[-1].breaks.append(state)
                return None
            case Continue():
                self.loops[-1].continues.append(state)
                return None
            case Return():
                return None
        return self.define(statement, state)

    def define(self, statement: Stmt, state: State) -> State:
        name = assigns(statement)
        if name is None:
            return state
        version = self.webs.made[id(statement)] = Version(name, statement)
        self.webs.versions.append(version)
        return {**state, name: version}

    def read(self, statement: Stmt, parts: tuple[Expr, ...], state: State) -> None:
        for name in _variables(parts):
            version = state.get(name)
            if version is None:
                self.webs.missing.append((statement, name))
            else:
                version.used = True
                self.webs.seen[id(statement), name] = version

    def meeting(self, name: str, meets: list[Version]) -> Version:
        version = Version(name, None, meets)
        self.webs.versions.append(version)
        return version

    def join(self, ends: list[State | None]) -> State | None:
        """The state where paths meet; a variable that some of them never assign has the others' versions."""
        live = [end for end in ends if end is not None]
        if not live:
            return None
        joined: State = {}
        for name in dict.fromkeys(name for end in live for name in end):
            versions = list(dict.fromkeys(end[name] for end in live if name in end))
            joined[name] = versions[0] if len(versions) == 1 else self.meeting(name, versions)
        return joined

    def loop(self, statement: For | While, state: State) -> State | None:
        inside = (statement, *walk(statement.body), *(walk(statement.before) if isinstance(statement, While) else ()))
        changed = dict.fromkeys(name for part in inside if (name := assigns(part)) is not None)
        heads = {name: self.meeting(name, [state[name]] if name in state else []) for name in changed}
        head: State | None = {**state, **heads}
        self.loops.append(loop := _Loop())
        if isinstance(statement, While):
            head = self.body(statement.before, head)
            assert head is not None  # a test is an expression: its statements never leave
            self.read(statement, expressions(statement), head)
            end = self.body(statement.body, dict(head))
        else:
            assert head is not None
            end = self.body(statement.body, self.define(statement, head))
        self.loops.pop()
        for back in (end, *loop.continues):
            for name, meeting in heads.items():
                if back is not None and name in back and back[name] is not meeting:
                    meeting.meets.append(back[name])
        forever = isinstance(statement, While) and bool(getattr(statement.condition, "value", False))
        return self.join([None if forever else head, *loop.breaks])


def _variables(parts: tuple[Expr, ...]) -> Iterator[str]:
    for part in parts:
        for expression in subexpressions(part):
            if isinstance(expression, Var):
                yield expression.name


def webs(body: tuple[Stmt, ...]) -> Webs:
    """The versions of every variable of a draft, and which of them each use sees."""
    walking = _Walk()
    walking.body(body, {})
    found = walking.webs
    open_ends = [version for version in found.versions if version.used]
    while open_ends:
        version = open_ends.pop()
        if not version.needed:
            version.needed = True
            open_ends.extend(version.meets)
    return found
