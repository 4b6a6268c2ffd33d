"""A program as flat blocks of text between which a thread may be stopped: what its place in the code is a number of.

Blocks are numbered in the order of the source. A block ends by setting `pc` and starting over, or by breaking off with
the reason why its thread stops. A block that touches memory which threads share does so once, at its start.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmlab.emulator import program as p
from gemmlab.emulator.serial.expressions import Names, as_int64, binary, cast, is_float, rounded, text_of
from gemmlab.emulator.serial.places import Places

ENDED, ACCESS, HELD, FUEL, BARRIER, WARP = range(1, 7)  #: why a thread stops
BARRIERS = ("sync", "count", "and", "or")
WARP_OPS = ("syncwarp", "shfl", "shfl_up", "shfl_down", "shfl_xor", "ballot", "any", "all", "eq", "activemask")


@dataclass(slots=True)
class Block:
    """Text that runs in one go, the loops it stands in, and the site of its access where it makes one."""

    loops: tuple[int, ...]
    lines: list[str] = field(default_factory=list)
    site: int = -1


@dataclass(slots=True)
class Loop:
    """Where `break` and `continue` go."""

    out: int
    again: int


class Blocks:
    """The blocks of a program; `hidden` are private int64 variables beyond its own, `rounds` those that count loops."""

    def __init__(self, program: p.Program, places: Places, names: Names) -> None:
        self.program, self.places, self.names = program, places, names
        self.blocks: list[Block] = [Block(())]
        self.labels: dict[int, int] = {}  # label to block
        self.hidden: list[str] = []
        self.rounds: list[str] = []
        self.inside: tuple[int, ...] = ()
        self.loops: list[Loop] = []
        self.scopes: dict[int, list[int]] = {}
        self.made = 0
        self.body(program.body)
        self.say(f"why = {ENDED}", "break")

    # the text so far

    def say(self, *lines: str) -> None:
        """More text of the current block."""
        self.blocks[-1].lines.extend(lines)

    def label(self) -> int:
        """A place to go to that is not known yet."""
        self.made += 1
        return self.made

    def begin(self, label: int | None = None) -> int:
        """Start the next block, at that label, the one before running into it."""
        label = self.label() if label is None else label
        self.go(label)
        self.blocks.append(Block(self.inside))
        self.labels[label] = len(self.blocks) - 1
        return len(self.blocks) - 1

    def go(self, label: int) -> None:
        """Go on at a label, unless the text has gone elsewhere."""
        if self.blocks[-1].lines[-1:] not in (["continue"], ["break"]):
            self.say(f"pc = @{label}@", "continue")

    def stop(self, why: int) -> None:
        """Stop the thread; it goes on with the next block."""
        label = self.label()
        self.say(f"pc = @{label}@", f"why = {why}", "break")
        self.blocks.append(Block(self.inside))
        self.labels[label] = len(self.blocks) - 1

    def resolved(self) -> list[Block]:
        """The blocks, labels replaced by numbers."""
        for block in self.blocks:
            block.lines = [self.numbered(line) for line in block.lines]
        return self.blocks

    def numbered(self, line: str) -> str:
        """A line whose labels are the numbers of their blocks."""
        pieces = line.split("@")
        return "".join(str(self.labels[int(piece)]) if k % 2 else piece for k, piece in enumerate(pieces))

    def of(self, expression: p.Expr) -> str:
        """The text of an expression."""
        return text_of(expression, self.names)

    def int64(self, expression: p.Expr) -> str:
        """The text of an integer as int64."""
        return as_int64(expression, self.names)

    # statements

    def body(self, statements: tuple[p.Stmt, ...]) -> None:
        """The statements, one behind the other."""
        for statement in statements:
            self.statement(statement)

    def statement(self, s: p.Stmt) -> None:
        """One statement, with all that is within it."""
        match s:
            case p.Assign():
                self.say(f"{self.names.variable(s.name)} = {self.of(s.value)}")
            case p.Load() | p.Store() | p.Atomic():
                self.access(s)
            case p.Barrier():
                self.barrier(s)
            case p.WarpOp():
                self.warp_op(s)
            case p.If():
                self.branch(s)
            case p.For():
                self.counted_loop(s)
            case p.While():
                self.open_loop(s)
            case p.Break():
                self.go(self.loops[-1].out)
            case p.Continue():
                self.go(self.loops[-1].again)
            case p.Return():
                self.say(f"why = {ENDED}", "break")
            case p.Scope():
                end = self.label()
                self.scopes.setdefault(s.label, []).append(end)
                self.body(s.body)
                self.scopes[s.label].pop()
                self.begin(end)
            case p.Leave():
                self.go(self.scopes[s.label][-1])

    def access(self, s: p.Load | p.Store | p.Atomic) -> None:
        """A load, store or atomic: in a block of its own where other threads may see it."""
        watched = self.places.watched(s.array)
        if watched:
            number = self.begin()
            self.blocks[-1].site = s.site
        self.say(*self.places.element(s.array, s.index, self.names), "if at >= 0:")
        if watched:
            self.say(*self.places.check(s.array, number, not isinstance(s, p.Load), isinstance(s, p.Atomic)))
        match s:
            case p.Load():
                name = self.names.variable(s.name)
                self.say(
                    f"    {name} = {self.places.read(s.array)}", "else:", f"    {name} = {self.places.zero(s.array)}"
                )
            case p.Store():
                self.say(f"    {self.places.write(s.array, self.of(s.value))}")
            case p.Atomic():
                self.atomic(s)

    def atomic(self, s: p.Atomic) -> None:
        """Read, change and write in one go."""
        kind = self.program.arrays[s.array].type
        value = self.of(s.value)
        old = f"old_{kind}"
        match s.op:
            case "exch":
                changed = value
            case "cas":
                assert s.compare is not None
                changed = f"({value} if {old} == {self.of(s.compare)} else {old})"
            case _:
                changed = rounded(kind, binary(p.Binary(kind, s.op, s.value, s.value), old, value))
        self.say(f"    {old} = {self.places.read(s.array)}", f"    {self.places.write(s.array, changed)}")
        self.say("else:", f"    {old} = {self.places.zero(s.array)}")
        if s.name is not None:
            self.say(f"{self.names.variable(s.name)} = {self.converted(s.name, old)}")

    def converted(self, name: str, text: str) -> str:
        """A value as the type of that variable."""
        return cast(self.program.variables[name], text)

    def barrier(self, s: p.Barrier) -> None:
        """Wait for the block; each thread gets what was made of all predicates."""
        given = f"np.int64({self.of(s.predicate)} != 0)" if s.predicate is not None else "0"
        self.say(f"wait(threads, t, {given}, {BARRIERS.index(s.kind)}, 0, 0)")
        self.stop(BARRIER)
        if s.name is not None:
            self.say(f"{self.names.variable(s.name)} = {self.converted(s.name, 'threads[GIVEN, t]')}")

    def warp_op(self, s: p.WarpOp) -> None:
        """Wait for lanes of the warp, and take what they made together."""
        kind = s.value.type if s.value is not None else "int64"
        mask = "-1" if s.mask is None else f"np.int64({self.of(s.mask)}) & 0xFFFFFFFF"
        lane = "0" if s.lane is None else f"np.int64({self.of(s.lane)})"
        shuffled, given = s.kind.startswith("shfl"), "0"
        if s.value is not None:
            value = self.of(s.value)
            if shuffled and is_float(kind):
                self.say(f"floats[t] = np.float64({value})")
            else:
                given = f"np.int64({value if shuffled else f'{value} != 0'})"
        self.say(f"wait(threads, t, {given}, {WARP_OPS.index(s.kind)}, {mask}, {lane})")
        self.stop(WARP)
        if s.name is not None:
            result = "floats[t]" if shuffled and is_float(kind) else "threads[GIVEN, t]"
            self.say(f"{self.names.variable(s.name)} = {self.converted(s.name, result)}")

    # control

    def plain(self, statements: tuple[p.Stmt, ...]) -> bool:
        """Whether statements neither stop nor jump, so that they may stand within a block."""
        return all(
            isinstance(s, p.Assign | p.If) or (isinstance(s, p.Load | p.Store) and not self.places.watched(s.array))
            for s in p.walk(statements)
        )

    def branch(self, s: p.If) -> None:
        """Either body, then on."""
        if self.plain(s.then) and self.plain(s.orelse):
            self.inline_branch(s)
            return
        then, other, end = self.label(), self.label(), self.label()
        self.say(f"pc = @{then}@ if {self.of(s.condition)} else @{other if s.orelse else end}@", "continue")
        self.begin(then)
        self.body(s.then)
        self.go(end)
        if s.orelse:
            self.begin(other)
            self.body(s.orelse)
        self.begin(end)

    def inline_branch(self, s: p.If) -> None:
        """A branch within the current block."""
        lines = self.blocks[-1].lines
        self.say(f"if {self.of(s.condition)}:")
        for body in (s.then, s.orelse):
            inner: list[str] = []
            self.blocks[-1].lines = inner
            self.body(body)
            lines.extend(f"    {line}" for line in inner or ["pass"])
            if body is s.then:
                lines.append("else:")
        self.blocks[-1].lines = lines

    def enter(self) -> tuple[int, str]:
        """A new loop's number, and the variable that counts its rounds."""
        number = len(self.rounds)
        self.rounds.append(f"0round{number}")
        count = self.names.variable(f"0round{number}")
        self.say(f"{count} = 0")
        return number, count

    def counted_loop(self, s: p.For) -> None:
        """`for`: how many rounds is known at its start."""
        number, count = self.enter()
        at, left, step = (self.names.variable(f"0{what}{number}") for what in ("at", "left", "step"))
        self.hidden += [f"0{what}{number}" for what in ("at", "left", "step")]
        self.say(f"{at} = {self.int64(s.start)}", f"{step} = {self.int64(s.step)}")
        self.say(f"{left} = trips({at}, {self.int64(s.stop)}, {step})")
        loop = Loop(self.label(), self.label())
        head = self.label()
        outside, self.inside = self.inside, (*self.inside, number)
        self.begin(head)
        self.spend()
        self.leave_unless(f"{left} > 0", loop.out)
        self.say(f"{self.names.variable(s.name)} = {self.converted(s.name, at)}")
        self.loops.append(loop)
        self.body(s.body)
        self.loops.pop()
        self.begin(loop.again)
        self.say(f"{at} += {step}", f"{left} -= 1", f"{count} += 1")
        self.go(head)
        self.inside = outside
        self.begin(loop.out)

    def open_loop(self, s: p.While) -> None:
        """`while`: each round begins with what its condition needs."""
        number, count = self.enter()
        loop = Loop(self.label(), self.label())
        head = self.label()
        outside, self.inside = self.inside, (*self.inside, number)
        self.begin(head)
        self.spend()
        self.body(s.before)
        self.leave_unless(self.of(s.condition), loop.out)
        self.loops.append(loop)
        self.body(s.body)
        self.loops.pop()
        self.begin(loop.again)
        self.say(f"{count} += 1")
        self.go(head)
        self.inside = outside
        self.begin(loop.out)

    def spend(self) -> None:
        """Each round costs a step, so that every loop comes to an end or to the step limit."""
        self.say("if tired(control):", f"    why = {FUEL}", "    break")

    def leave_unless(self, condition: str, out: int) -> None:
        """Go out of a loop."""
        self.say(f"if not ({condition}):", f"    pc = @{out}@", "    continue")
