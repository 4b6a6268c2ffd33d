"""The search for a shape at which two threads conflict, or one leaves its arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import z3

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Const, Expr, Extent, Line, Param, Program
from gemmlab.emulator.proof.paths import Event, Found, Paths, conflicting
from gemmlab.emulator.proof.shapes import Shapes
from gemmlab.emulator.proof.symbols import Symbols, Term


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A formula that must not be satisfiable, and what it would be if it were: of one thread, or of two, or blocks."""

    formula: Term
    what: str
    threads: int = 2
    blocks: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """Two sizes that are equal at the launch, or one and its value there: a premise that a proof may come to need."""

    label: Term
    formula: Term
    words: str
    fixes: bool  #: an integer argument, or an axis of the grid, to its value


def search(program: Program, launch: Launch, deadline: float, clock: Callable[[], float]) -> Shapes:
    """The answer for a program: proven, a possible conflict, or what z3 left open."""
    sizes = sizes_of(program, launch)
    symbols = Symbols(launch.block, {e: term for e, (term, _) in sizes.items()} | own_extents(program, launch))
    found = Paths(program, symbols).follow()
    relations = relations_of(sizes) + flat_axes(symbols, launch)
    solver = z3.Solver()
    solver.add(*(least(e, term) for e, (term, _) in sizes.items()), *(g >= 1 for g in symbols.grid.values()))
    solver.add(*(z3.Implies(r.label, r.formula) for r in relations))
    needed: list[Relation] = []
    asked = 0
    for question in questions(program, symbols, found):
        asked += 1
        solver.push()
        solver.add(question.formula)
        answer, needed = ask(solver, relations, needed, deadline, clock)
        if answer == z3.sat:
            where = example(solver.model(), question, sizes, symbols)
            return Shapes(False, f"a possible {question.what}, {where}", possible=f"{question.what}, {where}")
        if answer == z3.unknown:
            return Shapes(False, f"not shown: z3 did not decide in time whether there is a {question.what}")
        solver.pop()
    block = "x".join(map(str, launch.block))
    why = f"z3 refutes {asked:,} conflicts of two threads at any extents and grid, in blocks of {block}"
    return Shapes(True, why, tuple(r.words for r in needed))


def ask(
    solver: Any, relations: list[Relation], needed: list[Relation], deadline: float, clock: Callable[[], float]
) -> tuple[Any, list[Relation]]:
    """z3's answer, and the relations needed so far: as few as will do, values of arguments last."""
    answer = z3.unknown
    free = [r for r in relations if not r.fixes]
    for premises in (needed, free, relations):
        left = int(1000 * (deadline - clock()))
        if left <= 0:
            return z3.unknown, needed
        solver.set("timeout", left)
        answer = solver.check(*(r.label for r in {*needed, *premises}))
        if answer == z3.unsat:
            return answer, needed if premises is needed else needed + fewest(solver, premises, needed)
        if answer == z3.unknown:
            break
    return answer, needed


def fewest(solver: Any, premises: list[Relation], needed: list[Relation]) -> list[Relation]:
    """The further relations that a refutation cannot do without: one where one will do."""
    core = {str(label) for label in solver.unsat_core()}

    def suffice(relations: list[Relation]) -> bool:
        return bool(solver.check(*(r.label for r in (*needed, *relations))) == z3.unsat)

    alone = next((r for r in premises if r not in needed and suffice([r])), None)
    if alone is not None:
        return [alone]
    kept = [r for r in premises if str(r.label) in core and r not in needed]
    for relation in list(kept):
        without = [r for r in kept if r is not relation]
        if suffice(without):
            kept = without
    return kept


def sizes_of(program: Program, launch: Launch) -> dict[Expr, tuple[Term, int]]:
    """Extents of arguments and integer arguments: their symbols, and their values at the launch."""
    sizes: dict[Expr, tuple[Term, int]] = {}
    for argument, value in zip(program.arguments, launch.args, strict=True):
        if argument.ndim is not None:
            for axis, side in enumerate(value.shape):
                sizes[Extent(argument.name, axis)] = z3.Int(f"{argument.name}.shape[{axis}]"), int(side)
        elif argument.type == "bool":
            continue
        elif "int" in argument.type:
            sizes[Param(argument.type, argument.name)] = z3.Int(argument.name), int(value)
    return sizes


def own_extents(program: Program, launch: Launch) -> dict[Expr, Term]:
    """Extents of shared and local arrays, which are those of the launch, and boolean arguments."""
    known: dict[Expr, Term] = {}
    for array in program.arrays.values():
        for axis, extent in enumerate(array.extents):
            if isinstance(extent, Const):
                known[Extent(array.name, axis)] = z3.IntVal(int(extent.value))
            elif array.space == "dynamic":
                known[Extent(array.name, axis)] = z3.IntVal(launch.dynamic_shared_bytes // item_bytes(array.type))
    for argument in program.arguments:
        if argument.ndim is None and argument.type == "bool":
            known[Param("bool", argument.name)] = z3.Bool(argument.name)
    return known


def item_bytes(type_name: str) -> int:
    """Bytes of one element."""
    import numpy as np

    return int(np.dtype(type_name).itemsize)


def least(size: Expr, term: Term) -> Term:
    """Extents are 1 at least, integer arguments 0."""
    return term >= (1 if isinstance(size, Extent) else 0)


def relations_of(sizes: dict[Expr, tuple[Term, int]]) -> list[Relation]:
    """What is equal at the launch."""
    found = []
    for (one, here), (other, there) in combinations(sizes.values(), 2):
        if here == there:
            found.append(Relation(z3.Bool(f"{one} = {other}"), one == other, f"{one} == {other}", False))
    for size, (term, here) in sizes.items():
        if isinstance(size, Param):
            found.append(Relation(z3.Bool(f"{term} as here"), term == here, f"{term} == {here}", True))
    return found


def flat_axes(symbols: Symbols, launch: Launch) -> list[Relation]:
    """Axes of the grid that have one block at the launch: most kernels take them to have no more."""
    axes = zip("xyz", launch.grid, strict=True)
    terms = [(axis, symbols.grid[axis]) for axis, side in axes if side == 1]
    return [Relation(z3.Bool(f"one {axis}"), term == 1, f"gridDim.{axis} == 1", True) for axis, term in terms]


def questions(program: Program, symbols: Symbols, found: Found) -> Iterator[Question]:
    """What must not be: a thread absent from a barrier, an index out of range, a conflict of two threads."""
    ranges = symbols.ranges()
    others = [(s, renamed(s)) for s in symbols.of_thread]
    second = [z3.substitute(r, *others) for r in ranges]
    apart = z3.Or(*(s != t for s, t in others[:3]))
    for mask, line in found.barriers:
        absent = z3.Not(z3.substitute(mask, *others))
        yield Question(z3.And(*ranges, *second, mask, absent), f"thread absent from the barrier at {at(program, line)}")
    for event in found.events:
        for index, extent in zip(event.index, event.extents, strict=True) if event.token == 0 else ():
            what = f"index of `{event.array}` out of range at {at(program, event.line)}"
            yield Question(z3.And(*ranges, event.mask, z3.Or(index < 0, index >= extent)), what, threads=1)
    for met in found.meetings:
        both = met_at(met.one, met.other, others)
        yield Question(z3.And(*ranges, *second, apart, met.given, both), race(program, met.one, met.other, "race"))
    yield from between_blocks(program, symbols, found)


def between_blocks(program: Program, symbols: Symbols, found: Found) -> Iterator[Question]:
    """Conflicts of threads of two blocks on arrays in global memory."""
    ranges = symbols.ranges()
    others = [(s, renamed(s)) for s in (*symbols.of_block, *symbols.of_thread)]
    second = [z3.substitute(r, *others) for r in ranges]
    apart = z3.Or(*(s != t for s, t in others[:3]))
    events = [e for e in found.events if e.token == 0 and program.arrays[e.array].space == "global"]
    for place, one in enumerate(events):
        for other in events[place:]:
            if one.array == other.array and conflicting(one, other):
                both = met_at(one, other, others)
                what = race(program, one, other, "race between blocks")
                yield Question(z3.And(*ranges, *second, apart, both), what, blocks=2)


def renamed(symbol: Term) -> Term:
    """The second thread's symbol."""
    return z3.Const(f"{symbol}'", symbol.sort())


def met_at(one: Event, other: Event, others: list[tuple[Term, Term]]) -> Term:
    """Both accesses happen, the other by the second thread, and to one element."""
    theirs = [z3.substitute(i, *others) for i in other.index]
    return z3.And(
        one.mask, z3.substitute(other.mask, *others), *(i == j for i, j in zip(one.index, theirs, strict=True))
    )


def race(program: Program, one: Event, other: Event, what: str) -> str:
    """A race in words."""
    lines = at(program, one.line)
    if other.line != one.line:
        lines = f"{lines} and {at(program, other.line)}"
    return f"{what} on `{one.array}` at {lines}"


def at(program: Program, line: Line) -> str:
    """A line in words."""
    return f"line {line.number}" + (f" of {program.files[line.file]}" if line.file else "")


def example(model: Any, question: Question, sizes: dict[Expr, tuple[Term, int]], symbols: Symbols) -> str:
    """The shape and the threads of a conflict, in words."""
    shapes: dict[str, list[int]] = {}
    scalars = []
    for size, (term, _) in sizes.items():
        value = int(model.eval(term, model_completion=True).as_long())
        if isinstance(size, Extent):
            shapes.setdefault(size.array, []).append(value)
        else:
            scalars.append(f"{term} = {value}")
    sides = [
        f"{name}.shape = ({', '.join(map(str, shape))}{',' * (len(shape) == 1)})" for name, shape in shapes.items()
    ]
    thread, block = symbols.of_thread[:3], symbols.of_block[:3]
    who = f"thread {placed(model, thread)} of block {placed(model, block)}"
    if question.threads == 2:
        others = block if question.blocks == 1 else [renamed(s) for s in block]
        who += f" and thread {placed(model, [renamed(s) for s in thread])} of block {placed(model, others)}"
    return f"as of {who}, with {', '.join(sides + scalars)}"


def placed(model: Any, symbols: list[Term]) -> str:
    """The place of a thread or block."""
    return f"({', '.join(str(model.eval(s, model_completion=True)) for s in symbols)})"
