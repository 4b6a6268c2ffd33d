"""Which values all threads of a block share, so that a scalar stands for all of them, and where threads part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from gemmlab.emulator import program as p

Path = tuple[object, ...]


@dataclass
class Uniformity:
    """What is the same in all active threads of a block."""

    varying: set[str] = field(default_factory=set)  #: variables that may differ between threads
    parted: set[int] = field(default_factory=set)  #: sites of ifs, loops and scopes within which threads may be absent

    def of(self, expression: p.Expr) -> bool:
        """Whether an expression has one value in all active threads."""
        for part in p.subexpressions(expression):
            if isinstance(part, p.Var) and part.name in self.varying:
                return False
            if isinstance(part, p.Special) and (part.name.startswith("threadIdx") or part.name == "laneid"):
                return False
        return True


def uniformity(program: p.Program) -> Uniformity:
    """Find what is uniform: everything is taken to be, then what cannot be is marked until nothing changes."""
    found = Uniformity()
    while True:
        before = (len(found.varying), len(found.parted))
        Round(program, found).run()
        if (len(found.varying), len(found.parted)) == before:
            return found


class Round:
    """One pass over the program that marks what the last pass's marks make impossible."""

    def __init__(self, program: p.Program, found: Uniformity) -> None:
        self.program, self.found = program, found
        self.defined: dict[str, set[Path]] = defaultdict(set)
        self.used: dict[str, set[Path]] = defaultdict(set)

    def run(self) -> None:
        """Mark variables and constructs."""
        self.body(self.program.body, ())
        for name, paths in self.defined.items():
            common = shared_prefix([*paths, *self.used[name]])
            if any(path != common for path in paths):
                self.found.varying.add(name)

    def body(self, body: tuple[p.Stmt, ...], path: Path) -> None:
        """Mark statements that stand under these parting constructs."""
        for statement in body:
            self.statement(statement, path)

    def statement(self, statement: p.Stmt, path: Path) -> None:
        """Mark one statement that stands under these parting constructs."""
        loop = isinstance(statement, p.For | p.While)
        inside = path
        if isinstance(statement, p.If):
            if not self.found.of(statement.condition):
                self.found.parted.add(statement.site)
        elif (loop and (not self.steered_alike(statement) or self.ragged(statement))) or (
            isinstance(statement, p.Scope) and self.ragged(statement)
        ):
            self.found.parted.add(statement.site)
        parts = statement.site in self.found.parted
        if parts:
            inside = (*path, statement.site)
        for expression in p.expressions(statement):
            # a loop's own test is taken by those within it, round after round
            self.uses(expression, inside if isinstance(statement, p.While) else path)
        self.defines(statement, inside)
        if isinstance(statement, p.If):
            self.body(statement.then, (*inside, "then") if parts else inside)
            self.body(statement.orelse, (*inside, "else") if parts else inside)
        else:
            for part in p.parts(statement):
                self.body(part, inside)
        if parts and loop and any(isinstance(s, p.Continue) for s in within(statement)):
            # those who skip the rest of a round meet the others in the next: what a round sets may differ there
            for inner in within(statement):
                name = getattr(inner, "name", None)
                if name and not isinstance(inner, p.For):
                    self.found.varying.add(name)

    def steered_alike(self, loop: p.Stmt) -> bool:
        """Whether all threads take the same rounds of a loop."""
        return all(self.found.of(expression) for expression in p.expressions(loop))

    def ragged(self, outer: p.Stmt) -> bool:
        """Whether threads may leave a loop or scope apart: an exit within stands under a parting construct."""
        return any(self.exits(p.parts(outer), 0, frozenset(), False))

    def exits(
        self, bodies: tuple[tuple[p.Stmt, ...], ...], loops: int, labels: frozenset[int], parting: bool
    ) -> Iterator[bool]:
        """For each exit that leaves the outermost construct: whether others may stay when a thread takes it."""
        for statement in (s for body in bodies for s in body):
            match statement:
                case p.Break() | p.Continue():
                    if loops == 0:
                        yield parting
                case p.Return():
                    yield parting
                case p.Leave():
                    if statement.label not in labels:
                        yield parting
                case _:
                    yield from self.exits(
                        p.parts(statement),
                        loops + isinstance(statement, p.For | p.While),
                        labels | {statement.label} if isinstance(statement, p.Scope) else labels,
                        parting or statement.site in self.found.parted,
                    )

    def uses(self, expression: p.Expr, path: Path) -> None:
        """Note where variables are used."""
        for part in p.subexpressions(expression):
            if isinstance(part, p.Var):
                self.used[part.name].add(path)

    def defines(self, statement: p.Stmt, path: Path) -> None:
        """Note where a statement sets a variable, and whether its value may differ between threads."""
        name = getattr(statement, "name", None)
        if not name:
            return
        self.defined[name].add(path)
        match statement:
            case p.Assign() | p.For():
                alike = all(self.found.of(expression) for expression in p.expressions(statement))
            case p.Load():
                local = self.program.arrays[statement.array].space == "local"
                alike = not local and all(self.found.of(index) for index in self.whole_index(statement))
            case p.Barrier():
                alike = True
            case _:
                alike = False
        if not alike:
            self.found.varying.add(name)

    def whole_index(self, load: p.Load) -> tuple[p.Expr, ...]:
        """Every expression that the address of a load depends on."""
        array = self.program.arrays[load.array]
        if array.space == "view":
            if self.program.arrays[array.base].space == "local":
                return (p.Special("int32", "laneid"),)
            return (*load.index, array.offset, *array.extents)
        return load.index


def within(statement: p.Stmt) -> Iterator[p.Stmt]:
    """All statements within one."""
    return p.walk(tuple(s for body in p.parts(statement) for s in body))


def shared_prefix(paths: list[Path]) -> Path:
    """The longest beginning that all paths have."""
    common = paths[0]
    for path in paths[1:]:
        length = 0
        while length < min(len(common), len(path)) and common[length] == path[length]:
            length += 1
        common = common[:length]
    return common
