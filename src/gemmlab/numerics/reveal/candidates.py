"""Every unit that could be the one: enumerated from its structure, ruled out by answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np

from gemmlab import formats
from gemmlab.numerics.operands import Codes
from gemmlab.numerics.reference import dot
from gemmlab.numerics.reveal.backend import Rows
from gemmlab.numerics.reveal.computing import both_nan, rows_computed, same
from gemmlab.numerics.reveal.structure import Structure
from gemmlab.numerics.unit import Unit

ALIGN = range(1, 49)
CUTS = ("rz", "rne", "floor", "rna")
ROUNDINGS = ("rne", "rz", "floor", "rna")
JOINED_FURTHER = range(25)  # bits that a sum joined by floors may keep beyond those of its products
ONE_BY_ONE = 24  # rows that a candidate answers one at a time before it answers all

Fields = dict[str, Any]


def replaced(unit: Unit, **fields: Any) -> Unit:
    """The unit with other fields."""
    return msgspec.structs.replace(unit, **fields)


class Sieve:
    """Rows and the answers to them; what rules most candidates out is asked first."""

    def __init__(self, rows: Rows, seen: Codes, names: tuple[str, str]) -> None:
        self.rows, self.seen, self.names = rows, seen, names
        self.first = [self.listed(at) for at in range(min(ONE_BY_ONE, len(seen)))]

    def passes(self, unit: Unit) -> bool:
        """Whether the unit answers everything as was seen."""
        for row in self.first:
            if not self.agrees(unit, *row):
                return False
        wrong = ~same(unit, rows_computed(unit, *self.rows, self.names), self.seen)
        if wrong.any():
            self.first = [self.listed(int(np.argmax(wrong))), *self.first[: ONE_BY_ONE - 1]]
        return not wrong.any()

    def listed(self, at: int) -> tuple[list[int], list[int], int, int]:
        """One row and its answer as plain numbers."""
        return self.rows.a[at].tolist(), self.rows.b[at].tolist(), int(self.rows.c[at]), int(self.seen[at])

    def left(self, units: Iterable[Unit]) -> list[Unit]:
        """The units that pass."""
        return [unit for unit in units if self.passes(unit)]

    def agreeing(self, unit: Unit) -> int:
        """How many answers the unit gives."""
        return int(same(unit, rows_computed(unit, *self.rows, self.names), self.seen).sum())

    def nearest(self, units: Iterable[Unit]) -> Unit:
        """The unit that gives most of the first answers."""
        return max(units, key=lambda unit: sum(self.agrees(unit, *row) for row in self.first))

    def agrees(self, unit: Unit, a: list[int], b: list[int], c: int, seen: int) -> bool:
        """Whether the unit gives one answer."""
        found = dot(unit, a, b, c, *self.names)
        return found == seen or both_nan(unit, found, seen)


def aligned(base: Unit, structure: Structure) -> Iterator[Unit]:
    """The ways to add at once: every alignment and cut, and exactly; sums rounded as finely as they can be."""
    fields = placed(structure)
    if structure.sum == "pairs":
        yield replaced(base, sum="pairs", align_bits=0, **fields)
        return
    yield replaced(base, sum="exact", align_bits=0, **fields)
    for bits in ALIGN:
        for cut in CUTS:
            yield replaced(base, sum="aligned", align_bits=bits, cut=cut, **fields)
    if structure.c == "early" and structure.order == "ascending" and structure.terms > 1:
        for bits in range(8, 41):
            for cut in ("rz", "floor"):
                floor: Fields = {"align_bits": bits, "cut": cut, "join_bits": bits + 8}
                yield replaced(base, **fields | floor | {"c": "floor"})
                if structure.terms % 2 == 0:
                    halves = {"terms": structure.terms // 2, "order": "parity", "c": "floor"}
                    yield replaced(base, **fields | floor | halves)


def placed(structure: Structure) -> Fields:
    """A structure as a unit's fields."""
    return {
        "terms": structure.terms, "instruction_k": structure.k, "order": structure.order, "c": structure.c,
    }  # fmt: skip


def rounded(unit: Unit, kept: int | None, c_seen: bool) -> Iterator[Unit]:
    """Every width and rounding, given that a sum was seen to keep `kept` fraction bits."""
    whole = formats.get(unit.accumulate).mantissa_bits
    for width in range(whole, 0, -1):
        bits = min(unit.align_bits, width) if unit.sum == "aligned" else width
        # C late passes through an addition that knows no alignment.
        if kept is not None and kept not in ({width} if unit.c == "late" and c_seen else {bits, width}):
            continue
        for rounding in ROUNDINGS:
            if unit.c == "floor":
                for more in JOINED_FURTHER:
                    yield replaced(unit, width=width, rounding=rounding, join_bits=unit.align_bits + more)
            elif unit.c == "late":
                for other in ROUNDINGS:
                    yield replaced(unit, width=width, rounding=rounding, c_rounding=other)
            else:
                yield replaced(unit, width=width, rounding=rounding)
