"""Shared-memory loads that a compiler turns into one wide load: of neighbours, where it knows they are aligned.

Counts are those of the program as written. A compiler that unrolls a loop merges loads of neighbours in a row into one
of 8 or 16 bytes; with a width asked for, the first of each group is counted at that width and the others not at all.
Global loads are left alone: nothing tells a compiler that an argument is aligned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep.linear import variables

WIDTHS = (8, 16)  #: bytes that a merged load may have


@dataclass(frozen=True)
class Merge:
    """A load in a group of `elements`: counted if it is the first, or in rounds of a loop that begin a group."""

    elements: int
    first: bool = True
    turn: str = ""  #: the loop's variable, empty for a group in straight text


def merges(program: p.Program, width: int) -> dict[int, Merge]:
    """The loads that loads of up to `width` bytes take together, by site."""
    found: dict[int, Merge] = {}
    for body, loop in bodies(program.body, None):
        found |= in_loop(program, body, loop, width) if loop is not None else {}
        found |= in_a_row(program, body, width, found)
    return found


def bodies(body: tuple[p.Stmt, ...], loop: p.For | None) -> Iterator[tuple[tuple[p.Stmt, ...], p.For | None]]:
    """Every body, with the loop of which it is a round."""
    yield body, loop
    for statement in body:
        for part in p.parts(statement):
            yield from bodies(part, statement if isinstance(statement, p.For) else None)


def rowwise(program: p.Program, load: p.Load, width: int) -> int:
    """How many elements in a row a wide load of this array may take: rows must start at multiples of it; 1 for none."""
    array = program.arrays[load.array]
    if array.space != "shared":
        return 1
    row = array.extents[-1]
    size = np.dtype(array.type).itemsize
    for elements in (width // size, width // size // 2):
        if elements > 1 and isinstance(row, p.Const) and (len(array.extents) == 1 or row.value % elements == 0):
            return elements
    return 1


def in_loop(program: p.Program, body: tuple[p.Stmt, ...], loop: p.For, width: int) -> dict[int, Merge]:
    """Loads at the loop's own variable, which a compiler unrolls the loop for."""
    bounds = (loop.start, loop.stop, loop.step)
    if not all(isinstance(bound, p.Const) for bound in bounds) or loop.step.value != 1:  # type: ignore[union-attr]
        return {}
    start, stop = int(loop.start.value), int(loop.stop.value)  # type: ignore[union-attr]
    changing = {s.array for s in p.walk(body) if isinstance(s, p.Store | p.Atomic)}
    if any(isinstance(s, p.Barrier | p.Break | p.Continue | p.Return | p.Leave) for s in p.walk(body)):
        return {}
    found = {}
    for load in body:
        if not isinstance(load, p.Load) or load.array in changing:
            continue
        elements = rowwise(program, load, width)
        *others, last = load.index
        core, shift = constant_part(last)
        alone = core == loop_variable(core, loop.name) and not any(loop.name in variables(x) for x in others)
        if elements > 1 and alone and (start + shift) % elements == 0 and (stop - start) % elements == 0:
            found[load.site] = Merge(elements, turn=loop.name)
    return found


def loop_variable(core: p.Expr | None, name: str) -> p.Expr | None:
    """The expression itself where it is that variable and nothing else."""
    inner = core.x if isinstance(core, p.Cast) else core
    return core if isinstance(inner, p.Var) and inner.name == name else None


def in_a_row(program: p.Program, body: tuple[p.Stmt, ...], width: int, taken: dict[int, Merge]) -> dict[int, Merge]:
    """Loads that stand one behind another in straight text, of elements that lie one behind another."""
    found: dict[int, Merge] = {}
    run: list[p.Load] = []
    for statement in (*body, None):
        if isinstance(statement, p.Load) and statement.site not in taken:
            run.append(statement)
        elif not isinstance(statement, p.Assign | p.Load):
            found |= grouped(program, run, width)
            run = []
    return found


def grouped(program: p.Program, run: list[p.Load], width: int) -> dict[int, Merge]:
    """Groups among loads with nothing but arithmetic between them."""
    rows: dict[object, dict[int, p.Load]] = {}
    for load in run:
        core, shift = constant_part(load.index[-1])
        rows.setdefault((load.array, load.index[:-1], core), {}).setdefault(shift, load)
    found: dict[int, Merge] = {}
    for (_, _, core), loads in rows.items():  # type: ignore[misc]
        for shift in sorted(loads):
            elements = 1 if loads[shift].site in found else rowwise(program, loads[shift], width)
            while elements > 1:
                group = [loads[shift + i] for i in range(elements) if shift + i in loads]
                if len(group) == elements and shift % elements == 0 and multiple(core, elements):
                    found |= {load.site: Merge(elements, first=i == 0) for i, load in enumerate(group)}
                    break
                elements //= 2
    return found


def constant_part(expression: p.Expr) -> tuple[p.Expr | None, int]:
    """(rest, constant) that add up to the expression; no rest is None."""
    match expression:
        case p.Const():
            return None, int(expression.value)
        case p.Binary(op="add", x=x, y=p.Const() as y) | p.Binary(op="add", x=p.Const() as y, y=x):
            core, shift = constant_part(x)
            return core, shift + int(y.value)
    return expression, 0


def multiple(expression: p.Expr | None, of: int) -> bool:
    """Whether an expression is a multiple of a number, as far as the text tells."""
    match expression:
        case None:
            return True
        case p.Const():
            return int(expression.value) % of == 0
        case p.Cast():
            return multiple(expression.x, of)
        case p.Binary(op="mul"):
            return multiple(expression.x, of) or multiple(expression.y, of)
        case p.Binary(op="add" | "sub"):
            return multiple(expression.x, of) and multiple(expression.y, of)
    return False
