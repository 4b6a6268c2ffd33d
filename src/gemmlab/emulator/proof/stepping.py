"""One pass over a program for all blocks at once: what steers threads, and what part the block has in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import (
    Array,
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
)
from gemmlab.emulator.proof.evaluate import floating, number_of
from gemmlab.emulator.proof.joining import Env, merge, refined, rounds_of, settled, widened
from gemmlab.emulator.proof.memory import SECTOR, Memory
from gemmlab.emulator.proof.split import ZERO, Blame, Pins, Split, constant
from gemmlab.emulator.proof.spread import ANY, between

Enter = Callable[[Env], tuple[Env | None, Env | None]]  #: environments inside a loop and behind it, from its head's
ROUNDS = 40  #: passes over a loop until its values must have settled; widening settles them in a few


class Steered(Exception):  # noqa: N818 - an answer, not an error
    """Something other than the launch steers threads, at a line."""

    def __init__(self, blame: Blame, line: Line) -> None:
        self.blame, self.line = blame, line


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """One access as split values: its statement, its index along each axis, elements its view starts at."""

    statement: Load | Store | Atomic
    index: tuple[Split, ...]
    offset: Split


@dataclass(slots=True)
class Exits:
    """Environments in which a loop is left, or goes on, early."""

    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)


class Stepper:
    """Runs a program over split values; gathers pins that steer in `steering`, accesses in `touches`.

    Raises Steered where contents of memory, an atomic's result or another lane's value steer control or an address.
    """

    def __init__(self, program: Program, launch: Launch) -> None:
        self.program, self.pins = program, Pins()
        self.memory = Memory(program, launch, self.pins)
        self.steering: set[int] = set()
        self.touches: dict[int, Touch] = {}
        self.loops: list[Exits] = []
        self.scopes: list[tuple[int, list[Env]]] = []
        self.line = Line(0, 0)

    def run(self) -> None:
        """The whole program; a variable that is read before anything is assigned to it holds zero."""
        self.body(self.program.body, {name: number_of(kind, 0) for name, kind in self.program.variables.items()})

    def value(self, expression: Expr, env: Env) -> Split:
        """What an expression is in an environment."""
        self.memory.evaluate.variables = env
        return self.memory.evaluate(expression)

    def steer(self, value: Split) -> None:
        """What threads do next, or where, depends on the value."""
        if value.blame is not None:
            raise Steered(value.blame, self.line)
        self.steering |= value.pins

    def merged(self, condition: Split | None, *envs: Env | None) -> Env | None:
        """What holds where several ways meet; the first of two is taken where the condition holds."""
        met: Env | None = None
        for env in envs:
            met = env if met is None else met if env is None else merge(self.pins, condition, met, env)
        return met

    def body(self, body: tuple[Stmt, ...], env: Env | None) -> Env | None:
        """The environment behind statements; None where no thread gets there."""
        for statement in body:
            if env is None:
                return None
            self.line = self.program.sites[statement.site].line
            env = self.step(statement, env)
        return env

    def step(self, statement: Stmt, env: Env) -> Env | None:
        """The environment behind one statement."""
        match statement:
            case Assign():
                return {**env, statement.name: self.value(statement.value, env)}
            case Load() | Store() | Atomic():
                return self.access(statement, env)
            case Barrier() | WarpOp():
                return self.exchange(statement, env)
            case If():
                return self.branch(statement, env)
            case For():
                return self.counted(statement, env)
            case While():
                return self.conditional(statement, env)
            case Scope():
                left: list[Env] = []
                self.scopes.append((statement.label, left))
                end = self.body(statement.body, env)
                self.scopes.pop()
                return self.merged(None, end, *left)
            case _:
                self.leave(statement, env)
                return None

    def leave(self, statement: Break | Continue | Return | Leave, env: Env) -> None:
        """Go on elsewhere."""
        match statement:
            case Break():
                self.loops[-1].breaks.append(env)
            case Continue():
                self.loops[-1].continues.append(env)
            case Leave():
                next(left for label, left in reversed(self.scopes) if label == statement.label).append(env)

    def access(self, statement: Load | Store | Atomic, env: Env) -> Env:
        """Memory is read or written: blocks are alike if they go to like places."""
        array = self.program.arrays[statement.array]
        index, offset = tuple(self.value(x, env) for x in statement.index), self.value(array.offset, env)
        self.touches[id(statement)] = Touch(statement, index, offset)
        self.memory.demand(array, index, offset, self.steer)
        if self.memory.base(array).space == "global":
            self.steering |= self.pins.pin(self.memory.address(array, index, offset) % SECTOR)
        else:
            for part in (*index, offset):
                self.steering |= self.pins.pin(part.u)
        if isinstance(statement, Store):
            return self.kept(array, self.value(statement.value, env), env)
        return env if statement.name is None else {**env, statement.name: self.found(statement, array, env)}

    def kept(self, array: Array, value: Split, env: Env) -> Env:
        """Local memory holds what it held, or the value, in all places; no other memory is followed."""
        if array.space != "local" or floating(array.type):
            return env
        name = f"[{array.name}]"
        return {**env, name: self.pins.choose(None, env.get(name, constant(0)), value)}

    def found(self, statement: Load | Atomic, array: Array, env: Env) -> Split:
        """What memory gives."""
        if isinstance(statement, Atomic):
            return Split(ZERO, ANY, blame=Blame("atomic", f"what an atomic found in `{array.name}`", self.line))
        if array.space == "local" and not floating(array.type):
            return env.get(f"[{array.name}]", constant(0))
        return Split(ZERO, ANY, blame=Blame("data", f"what `{array.name}` holds", self.line))

    def exchange(self, statement: Barrier | WarpOp, env: Env) -> Env:
        """Threads wait for each other, and may learn of each other's values."""
        if isinstance(statement, Barrier):
            seen = [] if statement.predicate is None else [self.value(statement.predicate, env)]
            result = self.pins.opaque(seen, between(0, 1024))
        else:
            for x in (statement.mask, statement.lane):
                if x is not None:
                    self.steer(self.pins.opaque([self.value(x, env)]))
            seen = [] if statement.value is None else [self.value(statement.value, env)]
            result = self.pins.opaque(seen)
            if statement.kind.startswith("shfl"):
                result = Split(ZERO, ANY, blame=Blame("warp", "a value from another lane", self.line))
        return env if statement.name is None else {**env, statement.name: result}

    def branch(self, statement: If, env: Env) -> Env | None:
        """Both ways of an If, and what holds where they meet."""
        condition = self.value(statement.condition, env)
        self.steer(condition)
        ways: list[Env | None] = []
        for truth, body in ((True, statement.then), (False, statement.orelse)):
            possible = condition.number is None or bool(condition.number) == truth
            ways.append(self.body(body, refined(self.value, statement.condition, env, truth)) if possible else None)
        return self.merged(condition, *ways)

    def counted(self, statement: For, env: Env) -> Env | None:
        """A For: rounds are alike in blocks whose bounds lie alike."""
        start, stop, step = (self.value(x, env) for x in (statement.start, statement.stop, statement.step))
        self.steer(step)
        self.steering |= self.pins.pin(step.u)
        variable, tests = rounds_of(self.pins, start, stop, step)
        for test in tests:
            self.steer(test)
        if variable is None:
            return env
        return self.settle(lambda head: ({**head, statement.name: variable}, head), statement.body, env)

    def conditional(self, statement: While, env: Env) -> Env | None:
        """A While: its condition steers each round."""

        def enter(head: Env) -> tuple[Env | None, Env | None]:
            tested = self.body(statement.before, head)
            if tested is None:
                return None, None
            self.line = self.program.sites[statement.site].line
            condition = self.value(statement.condition, tested)
            self.steer(condition)
            inside, behind = (refined(self.value, statement.condition, tested, truth) for truth in (True, False))
            if condition.number is not None:
                return (inside, None) if condition.number else (None, behind)
            return inside, behind

        return self.settle(enter, statement.body, env)

    def settle(self, enter: Enter, body: tuple[Stmt, ...], env: Env) -> Env | None:
        """What holds behind a loop: its body is passed over until another round adds nothing."""
        head = env
        for passed in range(ROUNDS):
            self.loops.append(exits := Exits())
            inside, behind = enter(head)
            end = self.body(body, inside)
            self.loops.pop()
            after = self.merged(None, head, end, *exits.continues)
            assert after is not None
            if settled(head, after):
                return self.merged(None, behind, *exits.breaks)
            head = widened(head, after) if passed > 1 else after
        raise Steered(Blame("data", "a loop whose values do not settle", self.line), self.line)
