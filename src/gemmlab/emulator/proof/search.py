"""The search for a shape at which two threads conflict, or one leaves its arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import z3

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Const, Expr, Extent, Line, Param, Program
from gemmlab.emulator.proof.paths import Event, Found, Paths, conflicting
from gemmlab.emulator.proof.relations import DIVIDED, EQUAL, FIXED, FLAT, Relation, Sizes, relations_of, sizes_of
from gemmlab.emulator.proof.shapes import Shapes, listed
from gemmlab.emulator.proof.symbols import Symbols, Term
from gemmlab.emulator.proof.unfolding import Unfolded, unfold


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A formula that must not be satisfiable, and what it would be if it were: of one thread, or of two, or blocks."""

    formula: Term
    what: str
    threads: int = 2
    blocks: int = 1


def search(program: Program, launch: Launch, deadline: float, clock: Callable[[], float]) -> Shapes:
    """The answer for a program: proven, a possible conflict, or what z3 left open."""
    sizes = sizes_of(program, launch)
    symbols = Symbols(launch.block, {e: term for e, (term, _) in sizes.items()} | own_extents(program, launch))
    found, unfolded, rows = unfold(Paths(program, symbols).follow(), sizes)
    asking = Asking(relations_of(program, launch, sizes, symbols) + rows, deadline, clock)
    asking.solver.add(*(least(e, term) for e, (term, _) in sizes.items()), *(g >= 1 for g in symbols.grid.values()))
    asking.solver.add(*(matrix.rows >= 0 for matrix in unfolded))
    asked, beyond = 0, ""
    for question in questions(program, symbols, found):
        asked += 1
        asking.solver.push()
        asking.solver.add(question.formula)
        answer, model = asking.ask()
        where = "" if model is None else f"{question.what}, {example(model, question, sizes, symbols, unfolded)}"
        if answer == z3.sat:
            return Shapes(False, f"a possible {where}", possible=where)
        if answer == z3.unknown:
            return Shapes(False, f"not shown: z3 did not decide in time whether there is a {question.what}")
        beyond = beyond or where
        asking.solver.pop()
    block = "x".join(map(str, launch.block))
    assumptions = tuple(r.words for r in asking.needed)
    if beyond:
        return Shapes(
            False, f"shown only where {listed(assumptions)}; elsewhere a possible {beyond}", assumptions, beyond
        )
    return Shapes(True, f"z3 refutes {asked:,} conflicts of two threads, in blocks of {block}", assumptions)


class Asking:
    """Puts questions to z3 under as few relations as will do; `needed` are those it came to need."""

    def __init__(self, relations: list[Relation], deadline: float, clock: Callable[[], float]) -> None:
        self.relations, self.deadline, self.clock = relations, deadline, clock
        self.needed: list[Relation] = []
        self.solver = z3.Solver()
        self.solver.add(*(z3.Implies(r.label, r.formula) for r in relations))

    def ask(self) -> tuple[Any, Any]:
        """z3's answer; a model of the least shapes where one is possible, or was before relations past FLAT."""
        model = None
        for tier in (None, EQUAL, FLAT, DIVIDED, FIXED):
            premises = [r for r in self.relations if r in self.needed or (tier is not None and r.tier <= tier)]
            left = int(1000 * (self.deadline - self.clock()))
            if left <= 0:
                return z3.unknown, None
            self.solver.set("timeout", left)
            answer = self.solver.check(*(r.label for r in premises))
            if answer == z3.unknown:
                return answer, None
            if answer == z3.unsat:
                self.needed += self.fewest(premises) if tier is not None else []
                return answer, model
            if tier == FLAT:
                model = self.solver.model()
        return answer, model

    def fewest(self, premises: list[Relation]) -> list[Relation]:
        """The further relations that a refutation cannot do without: one where one will do."""
        core = {str(label) for label in self.solver.unsat_core()}
        new = [r for r in premises if r not in self.needed]
        alone = next((r for r in new if self.suffice([r])), None)
        if alone is not None:
            return [alone]
        kept = [r for r in new if str(r.label) in core]
        for relation in list(kept):
            without = [r for r in kept if r is not relation]
            if self.suffice(without):
                kept = without
        return kept

    def suffice(self, relations: list[Relation]) -> bool:
        """Whether the question is refuted under those further relations."""
        return bool(self.solver.check(*(r.label for r in (*self.needed, *relations))) == z3.unsat)


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


def questions(program: Program, symbols: Symbols, found: Found) -> Iterator[Question]:
    """What must not be: a thread absent from a barrier, an index out of range, a conflict of two threads."""
    ranges = symbols.ranges()
    others = [(s, renamed(s)) for s in symbols.of_thread]
    second = [*(z3.substitute(r, *others) for r in ranges), *symbols.together(others)]
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
    second = [*(z3.substitute(r, *others) for r in ranges), *symbols.together(others)]
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


def example(model: Any, question: Question, sizes: Sizes, symbols: Symbols, unfolded: list[Unfolded]) -> str:
    """The shape and the threads of a conflict, in words."""
    shapes: dict[str, list[int]] = {}
    scalars = []
    lengths: dict[Expr, Term] = {Extent(matrix.array, 0): matrix.rows * matrix.width for matrix in unfolded}
    for size, (term, _) in sizes.items():
        value = int(model.eval(lengths.get(size, term), model_completion=True).as_long())
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
