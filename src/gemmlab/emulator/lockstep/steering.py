"""Branches, loops, exits and barriers in generated code: Python's own where all threads go together, else by masks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep.columns import COLUMNS
from gemmlab.emulator.lockstep.expressions import Writer, held
from gemmlab.emulator.lockstep.uniform import Uniformity
from gemmlab.emulator.lockstep.writing import Active, Loop, Region, Rows, Surroundings, Text


class Steering(Rows):
    """The part of the emitter that decides who executes what."""

    program: p.Program
    found: Uniformity
    writer: Writer
    text: Text
    at: Surroundings
    piece: int | None  #: the first site of the piece of text at hand, where it has been counted
    sizes: int  #: masks so far, each with a place for how many threads and warps are in it
    same_as: dict[int, int]  #: sites executed whenever another is

    @abstractmethod
    def body(self, body: Sequence[p.Stmt]) -> None:
        """Write statements in order."""

    @property
    def active(self) -> Active:
        """Who is active at the statement at hand."""
        return self.at.regions[-1].active

    def mask(self) -> str:
        """The mask of who is active, all ones where there is none."""
        return self.active.mask or "ONES"

    def count_execution(self, site: int, active: Active | None = None) -> None:
        """One more execution by all that are active; statements of one straight piece of text share their counters."""
        if active is None and self.piece is not None:
            self.same_as[site] = self.piece
            return
        self.text.put(f"executed(C_address + {8 * COLUMNS * site}, {(active or self.active).size})")
        if active is None:
            self.piece = site

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Statements within are executed by others, or more often, than those around."""
        piece, self.piece = self.piece, None
        yield
        self.piece = piece

    def new_active(self) -> Active:
        """A mask of its own, allocated once."""
        number = self.number()
        self.row(f"m{number}", "uint8")
        self.sizes += 1
        self.allocate(f"n{number} = 0")
        return Active(f"m{number}", f"n{number}", f"(sizes + {16 * self.sizes})", f"(n{number} == NT)")

    def copy(self, to: Active, of: Active) -> None:
        """Make one mask like another."""
        masks = f"{self.pointer(to.mask)}, {to.size}, {self.pointer(of.mask or 'ONES')}, {of.size}"
        self.text.put(f"{to.threads} = copied({masks}, NT)")

    def recount(self, active: Active) -> None:
        """Count anew who is active, after exits."""
        if active.mask:
            self.narrow(active.mask, active)

    def narrow(self, parent: str, child: Active, site: int | None = None) -> None:
        """Count who is active in `child`; a site counts warps in which only a part of `parent` is."""
        splits = "0" if site is None else f"C_address + {8 * COLUMNS * site}"
        masks = f"{self.pointer(parent)}, {self.pointer(child.mask)}"
        self.text.put(f"{child.threads} = narrowed({masks}, NT, {child.size}, {splits})")

    @contextmanager
    def region(self, kind: str, active: Active, label: int = -1) -> Iterator[None]:
        """Statements executed by those of a mask."""
        self.at.regions.append(Region(kind, active, label))
        yield
        self.at.regions.pop()

    @contextmanager
    def loop(self, statement: p.Stmt, *, plain: bool) -> Iterator[None]:
        """A loop with a place open before it; what is known before it holds within where the loop does not set it."""
        assigned = {str(s.name) for s in p.walk((statement,)) if getattr(s, "name", None)}  # type: ignore[union-attr]
        self.at.loops.append(Loop(self.text.open_place(), assigned, plain))
        yield
        self.at.loops.pop()

    # --- branches ---

    def branch(self, statement: p.If) -> None:
        """An if: Python's own where all threads decide alike."""
        self.count_execution(statement.site)
        condition = self.writer.text(statement.condition)
        if statement.site not in self.found.parted:
            with self.text.under(f"if {condition}:"):
                self.body(statement.then)
            if statement.orelse:
                with self.text.under("else:"):
                    self.body(statement.orelse)
            return
        outer, inner = self.active, self.new_active()
        before = f"{outer.mask}[t] != 0 and " if outer.mask else ""
        self.text.put(f"for t in range(NT): {inner.mask}[t] = {before}{condition}")
        self.narrow(self.mask(), inner, statement.site)
        other = self.new_active() if statement.orelse else None
        if other:
            self.text.put(f"for t in range(NT): {other.mask}[t] = {before}{inner.mask}[t] == 0")
            self.recount(other)
        with self.text.under(f"if {inner.threads} > 0:"), self.region("if", inner):
            self.body(statement.then)
        if other:
            with self.text.under(f"if {other.threads} > 0:"), self.region("if", other):
                self.body(statement.orelse)

    def scope(self, statement: p.Scope) -> None:
        """An inlined function; one that all threads leave together, but from within, needs a mask for that too."""
        leaves = any(isinstance(s, p.Leave) and s.label == statement.label for s in p.walk(statement.body))
        if not leaves and statement.site not in self.found.parted:
            self.body(statement.body)
            return
        inner = self.new_active()
        self.copy(inner, self.active)
        with self.region("scope", inner, statement.label):
            self.body(statement.body)

    # --- loops ---

    def stopping(self) -> None:
        """Leave where the launch is to stop, or the block has run too long."""
        self.text.put("if tick(E_address, limit): break")

    def for_loop(self, statement: p.For) -> None:
        """A for: the same rounds for all where its bounds are, else as many as each thread has."""
        if not all(self.found.of(bound) for bound in p.expressions(statement)):
            self.ragged_for(statement)
            return
        number, outer = self.number(), self.active
        start, stop, step = (self.writer.text(bound) for bound in p.expressions(statement))
        walk = f"for i{number} in range({start}, {stop}, {step}):"
        if statement.site not in self.found.parted:
            with self.loop(statement, plain=True):
                with self.text.under(walk):
                    self.stopping()
                    self.count_execution(statement.site, self.active)
                    self.set_round(statement, f"i{number}")
                    self.body(statement.body)
                    self.leave_if_none(statement, outer)
                with self.text.under("else:"):
                    self.count_execution(statement.site, self.active)
            self.pass_stop_on()
            return
        stay, turn = self.new_active(), self.new_active()
        self.copy(stay, outer)
        with self.loop(statement, plain=False), self.region("loop", stay):
            with self.text.under(walk):
                self.stopping()
                self.count_execution(statement.site, self.active)
                self.copy(turn, stay)
                with self.region("round", turn):
                    self.set_round(statement, f"i{number}")
                    self.body(statement.body)
                self.recount(stay)
                self.text.put(f"if {stay.threads} == 0: break")
            self.count_execution(statement.site, self.active)
        self.pass_stop_on()

    def ragged_for(self, statement: p.For) -> None:
        """A for whose bounds threads do not share."""
        number, outer = self.number(), self.active
        for name in "IJH":
            self.row(f"{name}{number}", "int64")
        start, stop, step = (self.writer.text(bound) for bound in p.expressions(statement))
        with self.text.under("for t in range(NT):"):
            self.text.put(f"I{number}[t] = {start}; J{number}[t] = {stop}; H{number}[t] = {step}")
        stay, turn = self.new_active(), self.new_active()
        self.copy(stay, outer)
        with self.loop(statement, plain=False), self.region("loop", stay), self.text.under("while True:"):
            self.stopping()
            going = f"(I{number}[t] < J{number}[t] if H{number}[t] > 0 else I{number}[t] > J{number}[t])"
            self.text.put(f"for t in range(NT): {turn.mask}[t] = {stay.mask}[t] != 0 and H{number}[t] != 0 and {going}")
            self.tested(statement.site, stay, turn)
            with self.text.under("for t in range(NT):"), self.text.under(f"if {turn.mask}[t]:"):
                self.set_round(statement, f"I{number}[t]")
                # the last step may lead past the largest int64 or the smallest: it is not taken
                i, j, h = (f"np.uint64({name}{number}[t])" for name in "IJH")
                last = f"({j} - {i} <= {h} if H{number}[t] > 0 else {i} - {j} <= np.uint64(0) - {h})"
                self.text.put(f"if {last}: H{number}[t] = 0", f"else: I{number}[t] += H{number}[t]")
            with self.region("round", turn):
                self.body(statement.body)
            self.recount(stay)
            self.text.put(f"if {stay.threads} == 0: break")
        self.pass_stop_on()

    def tested(self, site: int, stay: Active, turn: Active) -> None:
        """Count a loop's test, let those stay that passed it, and leave where nobody did."""
        self.count_execution(site, stay)
        self.narrow(stay.mask, turn, site)
        self.copy(stay, turn)
        self.text.put(f"if {turn.threads} == 0: break")

    def set_round(self, statement: p.For, value: str) -> None:
        """Give the loop's variable its value."""
        kind = held(self.program.variables[statement.name])
        value = value if kind == "int64" else f"np.{kind}({value})"
        if statement.name not in self.found.varying or (value.startswith(("I", "np.")) and "[t]" in value):
            self.text.put(f"{self.writer.variable(statement.name)} = {value}")
        else:
            self.text.put(
                "for t in range(NT):", f"    if {self.mask()}[t]: {self.writer.variable(statement.name)} = {value}"
            )

    def while_loop(self, statement: p.While) -> None:
        """A while."""
        outer = self.active
        if statement.site not in self.found.parted:
            with self.loop(statement, plain=True), self.text.under("while True:"):
                self.stopping()
                self.body(statement.before)
                self.leave_if_none(statement, outer)
                self.count_execution(statement.site, self.active)
                self.text.put(f"if not ({self.writer.text(statement.condition)}): break")
                self.body(statement.body)
                self.leave_if_none(statement, outer)
            self.pass_stop_on()
            return
        stay, turn = self.new_active(), self.new_active()
        self.copy(stay, outer)
        with self.loop(statement, plain=False), self.region("loop", stay), self.text.under("while True:"):
            self.stopping()
            self.body(statement.before)
            self.recount(stay)
            condition = self.writer.text(statement.condition)
            self.text.put(f"for t in range(NT): {turn.mask}[t] = {stay.mask}[t] != 0 and {condition}")
            self.tested(statement.site, stay, turn)
            with self.region("round", turn):
                self.body(statement.body)
            self.recount(stay)
            self.text.put(f"if {stay.threads} == 0: break")
        self.pass_stop_on()

    def leave_if_none(self, statement: p.Stmt, active: Active) -> None:
        """Leave a loop that all threads walk together once returns have left nobody."""
        inside = tuple(s for part in p.parts(statement) for s in part)
        if active.mask and any(isinstance(s, p.Return | p.Leave) for s in escaping(inside)):
            self.text.put(f"if {active.threads} == 0: break")

    def pass_stop_on(self) -> None:
        """Leave the loop around too, where this one was stopped."""
        self.text.put("if E[5]: break")

    # --- exits and barriers ---

    def plain_exit(self, statement: p.Stmt) -> bool:
        """Whether a break or continue is Python's own: its loop is one that all walk together."""
        return isinstance(statement, p.Break | p.Continue) and self.at.loops[-1].plain

    def leave(self, statement: p.Stmt) -> None:
        """Take those that are active out of the masks that an exit ends for them."""
        self.count_execution(statement.site)
        if self.plain_exit(statement):
            self.text.put("break" if isinstance(statement, p.Break) else "continue")
            return
        masks = [self.active.mask]
        for region in reversed(self.at.regions):
            if region.active.mask and region.active.mask not in masks:
                masks.append(region.active.mask)
            ended = (
                (isinstance(statement, p.Break) and region.kind == "loop")
                or (isinstance(statement, p.Continue) and region.kind == "round")
                or (isinstance(statement, p.Leave) and region.kind == "scope" and region.label == statement.label)
            )
            if ended:
                break
        clearing = "; ".join(f"{mask}[t] = 0" for mask in reversed(masks))
        self.text.put("for t in range(NT):", f"    if {masks[0]}[t]:", f"        {clearing}")

    def barrier(self, statement: p.Barrier) -> None:
        """All threads of the block meet; a vote among them is one value for all."""
        self.count_execution(statement.site)
        masked = 1 if self.active.mask else 0
        self.text.put(f"barrier({self.pointer(self.mask())}, {masked}, NT, {statement.site}, E_address, F_address)")
        if statement.name is None or statement.predicate is None:
            return
        self.text.put("k = 0")
        with self.text.under("for t in range(NT):"), self.text.under(f"if {self.mask()}[t]:"):
            self.text.put(f"k += 1 if ({self.writer.text(statement.predicate)}) != 0 else 0")
        vote = {"count": "k", "and": f"(1 if k == {self.active.threads} else 0)", "or": "(1 if k > 0 else 0)"}
        kind = held(self.program.variables[statement.name])
        value = f"np.{kind}({vote[statement.kind]})"
        if statement.name in self.found.varying:
            self.text.put(
                "for t in range(NT):", f"    if {self.mask()}[t]: {self.writer.variable(statement.name)} = {value}"
            )
        else:
            self.text.put(f"{self.writer.variable(statement.name)} = {value}")


def escaping(body: Iterable[p.Stmt], loops: int = 0, labels: frozenset[int] = frozenset()) -> Iterator[p.Stmt]:
    """Exits in a body that end more than a loop or scope within it."""
    for statement in body:
        match statement:
            case p.Break() | p.Continue():
                if loops == 0:
                    yield statement
            case p.Return():
                yield statement
            case p.Leave():
                if statement.label not in labels:
                    yield statement
            case _:
                inner = labels | {statement.label} if isinstance(statement, p.Scope) else labels
                deeper = loops + isinstance(statement, p.For | p.While)
                for part in p.parts(statement):
                    yield from escaping(part, deeper, inner)
