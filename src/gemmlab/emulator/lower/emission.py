"""A draft and its types to the program: one variable for each name and type, operands cast, every statement typed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gemmlab.emulator.lower import types
from gemmlab.emulator.lower.draft import Draft, line_spot
from gemmlab.emulator.lower.inference import Types, mistyped
from gemmlab.emulator.lower.operations import cast, typed
from gemmlab.emulator.lower.refusals import refusal
from gemmlab.emulator.lower.webs import Version, assigns
from gemmlab.emulator.program import (
    Array,
    Assign,
    Atomic,
    Barrier,
    Expr,
    For,
    If,
    Load,
    Scope,
    Site,
    Stmt,
    Store,
    Var,
    WarpOp,
    While,
    subexpressions,
)


@dataclass(slots=True)
class Emission:
    """What a draft's statements become."""

    draft: Draft
    types: Types
    variables: dict[str, str] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)  #: by name in the draft, and type
    wanted: dict[int, list[str]] = field(default_factory=dict)  #: by id of a version: types its value is read in

    def name(self, local: str, kind: str) -> str:
        """The program's variable for a name and a type: x, and for further types x.1, x.2."""
        if (local, kind) not in self.names:
            taken = sum(name == local for name, _ in self.names)
            self.names[local, kind] = name = local if not taken else f"{local}.{taken}"
            self.variables[name] = kind
        return self.names[local, kind]

    def kind(self, version: Version) -> str:
        """The type of a version; of one that nothing ever reaches, int64."""
        return self.types.of.get(id(version), "int64")

    def plan(self) -> None:
        """Find for each assignment the types in which its value is read: its own, and those of meetings behind it."""
        into = self.types.webs.operands()
        for version in self.types.webs.versions:
            if version.statement is None:
                continue
            kinds: dict[str, None] = {self.kind(version): None} if version.used else {}
            reached, open_ends = {id(version)}, [version]
            while open_ends:
                for meeting in into.get(id(open_ends.pop()), []):
                    if meeting.needed and id(meeting) not in reached:
                        reached.add(id(meeting))
                        open_ends.append(meeting)
                        if meeting.used:
                            kinds[self.kind(meeting)] = None
            self.wanted[id(version)] = list(kinds) or [self.kind(version)]

    def typed(self, statement: Stmt, x: Expr) -> Expr:
        """An expression of a statement, typed, its variables by their names in the program."""
        return self.renamed(self.types.expression(statement, x))

    def renamed(self, x: Expr) -> Expr:
        """An expression with the program's names of variables."""
        if isinstance(x, Var):
            return Var(x.type, self.name(x.name, x.type))
        changes = {slot: self.renamed(getattr(x, slot)) for slot in ("x", "y", "condition") if hasattr(x, slot)}
        if hasattr(x, "args"):
            changes["args"] = tuple(self.renamed(item) for item in x.args)  # type: ignore[assignment]
        return replace(x, **changes) if changes else x  # type: ignore[arg-type]

    def index(self, statement: Stmt, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """An index, each part of it int64."""
        parts = tuple(self.typed(statement, item) for item in index)
        for part in parts:
            if not types.is_integer(part.type):
                raise mistyped(self.draft, statement, f"indexes with {part.type}", "index with whole numbers: int(x)")
        return tuple(cast("int64", part) for part in parts)

    def body(self, statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A body, each statement of it followed by the casts that later uses need; what never runs is left out."""
        live = [statement for statement in statements if id(statement) in self.types.webs.reached]
        return tuple(part for statement in live for part in self.statement(statement))

    def statement(self, statement: Stmt) -> list[Stmt]:
        """What one statement of the draft becomes."""
        match statement:
            case Assign():
                return self.assign(statement)
            case For():
                return [self.loop(statement)]
            case If():
                test = self.renamed(self.types.condition(statement))
                then, orelse = self.body(statement.then), self.body(statement.orelse)
                return [replace(statement, condition=test, then=then, orelse=orelse)]
            case While():
                before = self.body(statement.before)
                test = self.renamed(self.types.condition(statement))
                return [replace(statement, before=before, condition=test, body=self.body(statement.body))]
            case Scope():
                return [replace(statement, body=self.body(statement.body))]
            case Store():
                value = cast(self.draft.arrays[statement.array].type, self.typed(statement, statement.value))
                return [replace(statement, index=self.index(statement, statement.index), value=value)]
            case Load() | Atomic() | Barrier() | WarpOp():
                return self.taking(statement)
        return [statement]

    def assign(self, statement: Assign) -> list[Stmt]:
        """An assignment, in the type its value has where that is read, else in the one it is read in."""
        version = self.types.webs.made[id(statement)]
        own, kinds = self.kind(version), self.wanted[id(version)]
        first = own if own in kinds or len(kinds) > 1 else kinds[0]
        name = self.name(statement.name, first)
        value = cast(first, self.typed(statement, statement.value))
        return [Assign(statement.site, name, value), *self.copies(statement, version, first)]

    def copies(self, statement: Stmt, version: Version, have: str) -> list[Stmt]:
        """The same value in the other types that it is read in, right behind its assignment."""
        name, made = version.name, list[Stmt]()
        for kind in self.wanted[id(version)]:
            if kind != have:
                self.draft.sites.append(Site(self.draft.sites[statement.site].line, "assign"))
                value = cast(kind, Var(have, self.name(name, have)))
                made.append(Assign(len(self.draft.sites) - 1, self.name(name, kind), value))
        return made

    def loop(self, statement: For) -> For:
        """A counted loop; its bounds pass through the type of its variable, as in numba."""
        version = self.types.webs.made[id(statement)]
        kind = self.kind(version)
        ends = [
            cast("int64", cast(kind, self.typed(statement, x)))
            for x in (statement.start, statement.stop, statement.step)
        ]
        name = self.name(statement.name, kind)
        body = (*self.copies(statement, version, kind), *self.body(statement.body))
        return For(statement.site, name, ends[0], ends[1], ends[2], body)

    def taking(self, statement: Load | Atomic | Barrier | WarpOp) -> list[Stmt]:
        """A statement that takes a value from memory or from other threads into a variable."""
        name, after = None, list[Stmt]()
        if assigns(statement) is not None:
            version = self.types.webs.made[id(statement)]
            kind = self.kind(version)
            name = self.name(version.name, kind)
            after = self.copies(statement, version, kind)
        return [self.operands(statement, name), *after]

    def operands(self, statement: Load | Atomic | Barrier | WarpOp, name: str | None) -> Stmt:
        """The statement with its operands typed, and the variable it takes the value into."""
        match statement:
            case Load():
                assert name is not None
                return replace(statement, name=name, index=self.index(statement, statement.index))
            case Atomic():
                value = self.typed(statement, statement.value)
                compare = self.typed(statement, statement.compare) if statement.compare is not None else None
                index = self.index(statement, statement.index)
                return replace(statement, name=name, index=index, value=value, compare=compare)
            case Barrier():
                predicate = self.typed(statement, statement.predicate) if statement.predicate is not None else None
                return replace(statement, name=name, predicate=predicate)
        return self.exchange(statement, name)

    def exchange(self, statement: WarpOp, name: str | None) -> WarpOp:
        """An exchange of a warp; what is shuffled goes in the type that the hardware moves."""
        mask, value, lane = (
            self.typed(statement, x) if x is not None else None
            for x in (statement.mask, statement.value, statement.lane)
        )
        if value is not None and statement.kind.startswith("shfl"):
            value = cast(self.types.value(statement), value)
        return replace(statement, name=name, mask=mask, value=value, lane=lane)

    def arrays(self) -> dict[str, Array]:
        """The arrays; what extents and offsets of views read was held in variables of one assignment each.

        Those that are made where no thread comes are left out. Raises GemmlabError for a view that ends at a float.
        """
        made = {version.name: version for version in self.types.webs.versions if version.statement is not None}
        finished = {}
        for name, array in self.draft.arrays.items():
            parts = [*array.extents, array.offset]
            read = {x.name for part in parts for x in subexpressions(part) if isinstance(x, Var)}
            if not read <= set(made):
                continue
            known = [typed(part, lambda local: self.kind(made[local])) for part in parts]
            if any(types.is_float(part.type) for part in known):
                raise refusal(line_spot(self.draft, array.line), "slice with whole numbers: int(x)", "cuts at a float")
            done = [cast("int64", self.renamed(part)) for part in known]
            finished[name] = replace(array, extents=tuple(done[:-1]), offset=done[-1])
        return finished
