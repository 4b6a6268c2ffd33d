"""What steers threads besides the launch: contents of arrays, results of atomics, values of other lanes.

Control dependence needs no following here: a branch on such a value is itself a steering by it, and it is the question
whether there is one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gemmlab.emulator.program import (
    Assign,
    Atomic,
    Barrier,
    Expr,
    For,
    If,
    Line,
    Load,
    Program,
    Stmt,
    Store,
    Var,
    WarpOp,
    While,
    expressions,
    subexpressions,
    walk,
)

SUMS = frozenset({"add", "sub"})
ORDERED = frozenset({"exch", "cas"})  #: atomics that leave behind what came last


@dataclass(frozen=True, slots=True)
class Steer:
    """A line that steers threads by `data`, `atomic` or `warp`; `what` says by what of them, `how` what it steers."""

    kind: str
    line: Line
    what: str
    how: str


@dataclass(frozen=True, slots=True)
class Taint:
    """What steers threads of a program, in its order, and where the order of atomics shows in results."""

    steers: tuple[Steer, ...]
    orders: tuple[str, ...]  #: in words
    rounding: tuple[str, ...]  #: arrays whose float sums depend on the order of their atomics, in rounding only

    def first(self, kind: str) -> Steer | None:
        """The first line that steers by that kind."""
        return next((steer for steer in self.steers if steer.kind == kind), None)


Marks = dict[str, str]  #: kind: what it is, in words


def taint(program: Program) -> Taint:
    """What steers the threads of a program, whatever the launch."""
    marks = spread_marks(program)
    steers = []
    for statement in walk(program.body):
        for how, expression in steering(program, statement):
            line = program.sites[statement.site].line
            steers += [Steer(kind, line, what, how) for kind, what in of_expression(expression, marks).items()]
    orders, rounding = order(program)
    return Taint(tuple(steers), orders, rounding)


def steering(program: Program, statement: Stmt) -> Iterator[tuple[str, Expr]]:
    """Expressions of a statement that decide what threads do or where."""
    match statement:
        case Load() | Store() | Atomic():
            array = program.arrays[statement.array]
            yield from ((f"an index of `{array.name}`", x) for x in (*statement.index, array.offset, *array.extents))
        case If():
            yield "a branch", statement.condition
        case While() | For():
            yield from (("a loop", x) for x in expressions(statement))
        case WarpOp():
            yield from (("which lanes exchange", x) for x in (statement.mask, statement.lane) if x is not None)


def of_expression(expression: Expr, marks: dict[str, Marks]) -> Marks:
    """Marks of the variables in an expression."""
    found: Marks = {}
    for part in subexpressions(expression):
        if isinstance(part, Var):
            found = {**marks.get(part.name, {}), **found}
    return found


def spread_marks(program: Program) -> dict[str, Marks]:
    """Marks of each variable, and of each array by its name in brackets: followed until nothing new is marked."""
    marks: dict[str, Marks] = defaultdict(dict)
    mixed = mixed_atomics(program)
    grew = True
    while grew:
        grew = False
        for statement in walk(program.body):
            for name, new in marked(program, statement, marks, mixed):
                grew = grew or not new.keys() <= marks[name].keys()
                marks[name] = {**new, **marks[name]}
    return marks


def marked(
    program: Program, statement: Stmt, marks: dict[str, Marks], mixed: frozenset[str]
) -> Iterator[tuple[str, Marks]]:
    """What a statement marks: a variable, or an array's contents."""
    match statement:
        case Assign():
            yield statement.name, of_expression(statement.value, marks)
        case Load():
            yield statement.name, contents(program, statement.array, marks)
        case Store():
            yield held(program, statement.array), of_expression(statement.value, marks)
        case Atomic():
            memory, own = base(program, statement.array), of_expression(statement.value, marks)
            result = {"atomic": f"what an atomic found in `{memory}`"}
            if statement.name is not None:
                yield statement.name, {**result, **contents(program, statement.array, marks)}
            yield held(program, statement.array), own
            if memory in mixed:
                yield held(program, statement.array), {"atomic": f"what atomics left in `{memory}`"}
        case WarpOp() if statement.name is not None:
            own = of_expression(statement.value, marks) if statement.value is not None else {}
            yield statement.name, {"warp": f"what `{statement.kind}` gives", **own}
        case Barrier() if statement.name is not None and statement.predicate is not None:
            yield statement.name, of_expression(statement.predicate, marks)


def base(program: Program, name: str) -> str:
    """The array whose memory an array or view is; all of dynamic shared memory goes by its first array."""
    found = program.arrays[program.arrays[name].base or name]
    if found.space == "dynamic":
        return next(array.name for array in program.arrays.values() if array.space == "dynamic")
    return found.name


def held(program: Program, name: str) -> str:
    """The name under which contents of an array are marked."""
    return f"[{base(program, name)}]"


def contents(program: Program, name: str, marks: dict[str, Marks]) -> Marks:
    """Marks of what an array holds: arguments hold data, other memory what is stored there."""
    memory = program.arrays[base(program, name)]
    own = {"data": f"what `{memory.name}` holds"} if memory.space == "global" else {}
    return {**own, **marks[held(program, name)]}


def mixed_atomics(program: Program) -> frozenset[str]:
    """Arrays in which the order of atomics shows: sums of floats, last values, kinds that do not commute."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for statement in walk(program.body):
        if isinstance(statement, Atomic):
            memory = base(program, statement.array)
            kinds[memory].add("sum" if statement.op in SUMS else statement.op)
            if statement.op in ORDERED or (statement.op in SUMS and program.arrays[memory].type.startswith("float")):
                kinds[memory].add("order")
    return frozenset(memory for memory, found in kinds.items() if len(found) > 1)


def order(program: Program) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where results depend on the order of atomics: in words, and arrays that depend on it in rounding only."""
    used = {part.name for s in walk(program.body) for e in expressions(s) for part in subexpressions(e)
            if isinstance(part, Var)}  # fmt: skip
    words: dict[str, None] = {}
    rounding: dict[str, None] = {}
    operations: dict[str, set[str]] = defaultdict(set)
    for statement in walk(program.body):
        if not isinstance(statement, Atomic):
            continue
        memory = base(program, statement.array)
        operations[memory].add("sum" if statement.op in SUMS else statement.op)
        if statement.name in used:
            words[f"what atomics on `{memory}` return"] = None
        if statement.op in ORDERED:
            words[f"what atomics leave in `{memory}`"] = None
        elif statement.op in SUMS and program.arrays[memory].type.startswith("float"):
            rounding[memory] = None
    words |= {f"what atomics leave in `{memory}`": None for memory, ops in operations.items() if len(ops) > 1}
    return tuple(words), tuple(rounding)
