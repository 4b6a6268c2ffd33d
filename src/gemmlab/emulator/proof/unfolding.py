"""Matrices that kernels keep in one axis: `row * n + col` is taken as the place (row, col).

Products of symbols are beyond what z3 decides. Where every access to an array has that form with one `n`, and `col` is
shown to stay in 0..n-1, two indices are equal where rows and columns are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import z3

from gemmlab.emulator.program import Extent
from gemmlab.emulator.proof.paths import Event, Found, Meeting
from gemmlab.emulator.proof.relations import EQUAL, Relation, Sizes, relation
from gemmlab.emulator.proof.symbols import Term


@dataclass(frozen=True, slots=True, eq=False)
class Unfolded:
    """An array taken as rows of `width`: `rows` is a symbol of its own."""

    array: str
    rows: Term
    width: Term


def unfold(found: Found, sizes: Sizes) -> tuple[Found, list[Unfolded], list[Relation]]:
    """The same to be shown, arrays of one axis as matrices where they are used so, and how many rows they may have."""
    unfolded, relations = [], []
    moved: dict[int, Event] = {}
    for name in dict.fromkeys(event.array for event in found.events):
        group = [event for event in found.events if event.array == name]
        places = [place_of(event.index[0], sizes) if len(event.index) == 1 else None for event in group]
        widths = {str(place[2]) for place in places if place is not None}
        if len(widths) != 1 or None in places or Extent(name, 0) not in sizes:
            continue
        width = next(place[2] for place in places if place is not None)
        matrix = Unfolded(name, z3.Int(f"rows of {name}"), width)
        unfolded.append(matrix)
        relations += rows_of(matrix, sizes)
        for event, place in zip(group, places, strict=True):
            if place is not None:
                moved[id(event)] = replace(event, index=place[:2], extents=(matrix.rows, width))

    def now(event: Event) -> Event:
        return moved.get(id(event), event)

    meetings = [Meeting(now(met.one), now(met.other), met.given) for met in found.meetings]
    return Found([now(event) for event in found.events], meetings, found.barriers), unfolded, relations


def place_of(index: Term, sizes: Sizes) -> tuple[Term, Term, Term] | None:
    """Row, column and width of an index that is `row * width + column`, the width a size of the launch."""
    widths = {str(term): term for term, _ in sizes.values()}
    rows: dict[str, list[Term]] = {}
    columns = []
    for part in addends(index):
        factors = list(part.children()) if z3.is_mul(part) else [part]
        found = [factor for factor in factors if str(factor) in widths]
        if not found:
            columns.append(part)
            continue
        width = found[0]
        others = [factor for factor in factors if factor is not width]
        rows.setdefault(str(width), []).append(z3.Product(*others) if others else z3.IntVal(1))
    if len(rows) != 1:
        return None
    (name,) = rows
    return z3.Sum(*rows[name]), z3.Sum(*columns) if columns else z3.IntVal(0), widths[name]


def addends(term: Term) -> list[Term]:
    """The parts of a sum, however it is nested."""
    return [part for child in term.children() for part in addends(child)] if z3.is_add(term) else [term]


def rows_of(matrix: Unfolded, sizes: Sizes) -> list[Relation]:
    """Sizes that are its rows at the launch."""
    extent, length = sizes[Extent(matrix.array, 0)]
    here = {str(term): value for term, value in sizes.values()}
    return [
        relation(f"{extent} == {term} * {matrix.width}", matrix.rows == term, EQUAL)
        for term, value in sizes.values()
        if value * here[str(matrix.width)] == length and str(term) != str(extent)
    ]
