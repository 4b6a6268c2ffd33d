"""Program -> Python text of one function that runs blocks in lockstep: statement by statement, all threads of a block.

Threads that take no part in a statement are masked. What all threads share is a scalar; the rest are arrays by thread.
Each access is counted before it is done: where all threads are active and its threads' own part of the address has not
changed, by a table; else from its addresses, see runtime.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep import accesses, linear
from gemmlab.emulator.lockstep.exchanges import exchange
from gemmlab.emulator.lockstep.expressions import Writer
from gemmlab.emulator.lockstep.layout import Layout
from gemmlab.emulator.lockstep.merging import merges
from gemmlab.emulator.lockstep.runtime.places import HOW, RECORD
from gemmlab.emulator.lockstep.steering import Steering, escaping
from gemmlab.emulator.lockstep.tails import settled
from gemmlab.emulator.lockstep.uniform import uniformity
from gemmlab.emulator.lockstep.writing import Active, Region, Surroundings, Text


class Emitter(Steering):
    """Writes the body of the loop over blocks."""

    def __init__(self, program: p.Program, layout: Layout, *, wanted: set[str] | None = None, merge: int = 0) -> None:
        self.program = replace(program, body=settled(program.body))
        super().__init__()
        self.layout, self.wanted = layout, wanted
        self.merges = merges(self.program, merge) if merge else {}
        self.piece: int | None = None
        self.same_as: dict[int, int] = {}
        self.found = uniformity(self.program)
        self.writer = Writer(self.found, layout.names, {name: a.prefix for name, a in layout.arrays.items()})
        self.text = Text()
        self.sizes = 0
        self.at = Surroundings()
        self.places = places_of_variables(self.program.body)
        self.single = {name for name, found in definitions(self.program.body).items() if found == 1}
        self.access = accesses.Accesses(self)

    def whole(self) -> None:
        """Write all of the program, within the loop over blocks."""
        root = Active()
        if any(isinstance(s, p.Return) for s in p.walk(self.program.body)):
            root = self.new_active()
            self.text.put(
                f"{root.threads} = copied({self.pointer(root.mask)}, {root.size}, {self.pointer('ONES')}, sizes, NT)"
            )
        self.at.regions.append(Region("root", root))
        self.body(self.program.body)

    # --- bodies and straight lines ---

    def body(self, body: Sequence[p.Stmt]) -> None:
        """Write statements in order; what follows an exit runs only where somebody is left."""
        with self.apart():
            self.ordered(body)

    def ordered(self, body: Sequence[p.Stmt]) -> None:
        """Write the statements of one body."""
        known = dict(self.at.known)
        bundle: list[p.Stmt] = []
        depth = self.text.depth
        for place, statement in enumerate(body):
            if isinstance(statement, p.Assign | p.Load | p.Store) and not self.alone(statement):
                if self.must_flush(bundle, statement):
                    self.flush(bundle)
                bundle.append(statement)
                self.learn(statement)
                if isinstance(statement, p.Store):
                    self.flush(bundle)
                continue
            self.flush(bundle)
            self.statement(statement)
            self.learn(statement)
            if any(escaping((statement,))):  # what follows is executed less often
                self.piece = None
            if self.may_shrink(statement):
                self.recount(self.active)
                if place + 1 < len(body):
                    self.text.put(f"if {self.active.threads} > 0:")
                    self.text.depth += 1
        self.flush(bundle)
        if self.text.depth != depth and str(self.last_line()).rstrip().endswith(":"):
            self.text.put("pass")
        self.text.depth = depth
        self.at.known = known

    def last_line(self) -> str:
        """The last line so far."""
        lines = [item for item in self.text.tree if isinstance(item, str)]
        return lines[-1] if lines else ""

    def learn(self, statement: p.Stmt) -> None:
        """Remember a definition that holds from here to the end of the body: set once, of what is set once."""
        if not isinstance(statement, p.Assign) or "int" not in statement.value.type:
            return
        if {statement.name, *linear.variables(statement.value)} <= self.single:
            self.at.known[statement.name] = linear.substituted(statement.value, self.at.known)

    def alone(self, statement: p.Assign | p.Load | p.Store) -> bool:
        """Whether a statement is written by itself: one value for all threads."""
        return isinstance(statement, p.Assign | p.Load) and statement.name not in self.found.varying

    def must_flush(self, bundle: list[p.Stmt], statement: p.Stmt) -> bool:
        """Whether a statement's addresses wait for what the bundle sets, or it reads what the bundle stores."""
        if isinstance(statement, p.Load | p.Store):
            set_there = {getattr(s, "name", None) for s in bundle}
            needed = {name for index in self.access.full_index(statement) for name in linear.variables(index)}
            return bool(needed & set_there)
        return False

    def flush(self, bundle: list[p.Stmt]) -> None:
        """Write loads, arithmetic and at most one store at the end as one loop over threads."""
        if not bundle:
            return
        statements, bundle[:] = list(bundle), []
        for statement in statements:
            self.count_execution(statement.site)
        reads = [s for s in statements if isinstance(s, p.Load)]
        where = {}
        for access in statements:
            if isinstance(access, p.Load | p.Store):
                where[access.site] = self.access.reach(access, self.values_of(access))
        for load in reads:
            self.access.shadow_read(load, where[load.site])
        self.writer.scalars = self.scalars_of(statements)
        doing = [s for s in statements if self.is_wanted(s)]
        if doing:
            careful = self.active.full != "True" or bool(reads)
            full = [] if self.active.full == "True" else [self.active.full]
            odd = " | ".join(f"REC[{RECORD * where[s.site].number + HOW}]" for s in reads)
            clean = " and ".join([*full, *([f"({odd}) < 2"] if odd else [])])
            if careful:
                self.text.put(f"if {clean}:")
                self.text.depth += 1
            with self.text.under("for t in range(NT):"):
                self.inner(doing, where, careful=False)
            if careful:
                self.text.depth -= 1
                with self.text.under("else:"), self.text.under("for t in range(NT):"):
                    if self.active.mask:
                        self.text.put(f"if {self.mask()}[t] == 0: continue")
                    self.inner(doing, where, careful=True)
        self.writer.scalars = set()
        for statement in statements:
            if isinstance(statement, p.Store):
                self.access.store(statement, where[statement.site])

    def values_of(self, access: p.Stmt) -> str:
        """The array by thread that holds what a store stores."""
        if not isinstance(access, p.Store):
            return ""
        return self.row(f"X{access.site}", self.layout.placed(access.array).stored)

    def inner(self, statements: Sequence[p.Stmt], where: dict[int, accesses.Reached], *, careful: bool) -> None:
        """What one thread does in a bundle."""
        for statement in statements:
            match statement:
                case p.Assign():
                    self.text.put(f"{self.writer.variable(statement.name)} = {self.writer.text(statement.value)}")
                case p.Load():
                    self.text.put(*self.access.read(statement, where[statement.site], careful=careful))
                case p.Store():
                    value = self.writer.text(statement.value)
                    half = self.program.arrays[statement.array].type == "float16"
                    self.text.put(f"X{statement.site}[t] = {f'single_to_half({value})' if half else value}")

    def is_wanted(self, statement: p.Stmt) -> bool:
        """Whether a value has to be worked out: all are, unless only counts are asked for."""
        if self.wanted is None:
            return True
        return not isinstance(statement, p.Store) and getattr(statement, "name", None) in self.wanted

    def scalars_of(self, statements: Sequence[p.Stmt]) -> set[str]:
        """Variables that live in this bundle alone, set before they are read: one scalar instead of an array."""
        mine = {id(s) for s in statements}
        found: set[str] = set()
        for name in {getattr(s, "name", None) for s in statements} - {None}:
            spots = self.places[str(name)]
            if all(id(s) in mine for s, _ in spots) and spots[0][1] == "set":
                first = spots[0][0]
                if not any(name in linear.variables(e) for e in p.expressions(first)):
                    found.add(str(name))
        # what a definition that is put into later addresses reads must stay at hand
        return found - {name for value in self.at.known.values() for name in linear.variables(value)}

    # --- statements that steer ---

    def statement(self, statement: p.Stmt) -> None:
        """Write one statement that stands by itself."""
        match statement:
            case p.Assign():
                self.count_execution(statement.site)
                self.text.put(f"{self.writer.variable(statement.name)} = {self.writer.text(statement.value)}")
            case p.Load():
                self.count_execution(statement.site)
                self.access.shared_value(statement)
            case p.If():
                self.branch(statement)
            case p.For():
                self.for_loop(statement)
            case p.While():
                self.while_loop(statement)
            case p.Scope():
                self.scope(statement)
            case p.Break() | p.Continue() | p.Return() | p.Leave():
                self.leave(statement)
            case p.Barrier():
                self.barrier(statement)
            case p.Atomic():
                self.count_execution(statement.site)
                self.access.atomic(statement)
            case p.WarpOp():
                self.count_execution(statement.site)
                exchange(self, statement)
            case _:
                raise AssertionError(statement)

    def may_shrink(self, statement: p.Stmt) -> bool:
        """Whether a statement can end a thread's part in the statements behind it."""
        if not self.active.mask:
            return False
        if isinstance(statement, p.Return | p.Leave | p.Break | p.Continue):
            return not self.plain_exit(statement)
        return any(not self.plain_exit(s) for s in escaping((statement,)))


def definitions(body: Sequence[p.Stmt]) -> dict[str, int]:
    """How often each variable is set in the text."""
    found: dict[str, int] = defaultdict(int)
    for statement in p.walk(tuple(body)):
        name = name_set(statement)
        if name:
            found[name] += 1
    return found


def places_of_variables(body: Sequence[p.Stmt]) -> dict[str, list[tuple[p.Stmt, str]]]:
    """Where each variable is set and used, in the order of the text."""
    found: dict[str, list[tuple[p.Stmt, str]]] = defaultdict(list)
    for statement in p.walk(tuple(body)):
        for expression in p.expressions(statement):
            for name in linear.variables(expression):
                found[name].append((statement, "used"))
        name = name_set(statement)
        if name:
            found[name].append((statement, "set"))
    return found


def name_set(statement: p.Stmt) -> str:
    """The variable that a statement sets, empty for none."""
    return str(getattr(statement, "name", None) or "")
