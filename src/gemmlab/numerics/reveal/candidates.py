"""Every unit that could be the one: enumerated from its structure, ruled out by answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.operands import Codes, Operand
from gemmlab.numerics.reference import dot
from gemmlab.numerics.reveal.backend import TOGETHER, Row, Rows
from gemmlab.numerics.reveal.structure import Structure
from gemmlab.numerics.unit import Unit

ALIGN = range(1, 65)
CUTS = ("rz", "rne", "floor", "rna")
ROUNDINGS = ("rne", "rz", "floor", "rna")
JOINED_FURTHER = range(25)  # bits that a sum joined by floors may keep beyond those of its products

Fields = dict[str, Any]


def replaced(unit: Unit, **fields: Any) -> Unit:
    """The unit with other fields."""
    return msgspec.structs.replace(unit, **fields)


class Sieve:
    """Rows and the answers to them; what rules most candidates out is asked first."""

    def __init__(self, rows: list[Row], seen: Codes, formats_: tuple[str, str]) -> None:
        self.formats = formats_
        self.order = [
            (tuple(row.slots.get(k, (0, 0)) for k in range(max(row.slots, default=0) + 1)), row.c, int(d))
            for row, d in zip(rows, seen, strict=True)
        ]

    def passes(self, unit: Unit, limit: int | None = None) -> bool:
        """Whether the unit answers the first `limit` rows as was seen."""
        for at, row in enumerate(self.order[:limit]):
            if not self.agrees(unit, *row):
                if at > 8:
                    self.order.insert(0, self.order.pop(at))
                return False
        return True

    def left(self, units: Iterable[Unit], limit: int | None = None) -> list[Unit]:
        """The units that pass."""
        return [unit for unit in units if self.passes(unit, limit)]

    def nearest(self, units: Iterable[Unit], rows: int = 60) -> Unit:
        """The unit that gives most of the first answers."""
        return max(units, key=lambda unit: sum(self.agrees(unit, *row) for row in self.order[:rows]))

    def agrees(self, unit: Unit, slots: tuple[tuple[int, int], ...], c: int, seen: int) -> bool:
        """Whether the unit gives one answer."""
        found = dot(unit, [a for a, _ in slots], [b for _, b in slots], c, *self.formats)
        return found == seen or both_nan(unit, found, seen)


def both_nan(unit: Unit, found: int, seen: int) -> bool:
    """Whether a unit that promises no NaN's code gave one where one was seen."""
    if unit.nan != "ieee":
        return False
    form = formats.get(unit.accumulate)
    mask = (1 << (form.bits - 1)) - 1
    return form.kind == "float" and found & mask > form.max_magnitude + 1 and seen & mask > form.max_magnitude + 1


def same(unit: Unit, found: Codes, seen: Codes) -> npt.NDArray[np.bool_]:
    """Where answers agree, a NaN with any NaN if the unit promises no code."""
    equal = np.asarray(found == seen)
    if unit.nan == "ieee":
        form = formats.get(unit.accumulate)
        mask, infinity = found.dtype.type((1 << (form.bits - 1)) - 1), form.max_magnitude + 1
        equal |= ((found & mask) > infinity) & ((seen & mask) > infinity)
    return equal


def computed(unit: Unit, a: Codes, b: Codes, c: Codes, names: tuple[str, str]) -> Codes:
    """Codes (m, n) that a unit gives for a block."""
    from gemmlab.numerics import fast

    left, right = Operand(np.ascontiguousarray(a), names[0]), Operand(np.ascontiguousarray(b), names[1])
    return np.asarray(fast.chain(unit, left, right, np.ascontiguousarray(c), None, 1))


def aligned(base: Unit, structure: Structure) -> Iterator[Unit]:
    """The ways to add at once: every alignment and cut, and exactly; sums rounded as finely as they can be."""
    fields = placed(structure)
    if structure.sum == "pairs":
        yield replaced(base, sum="pairs", align_bits=0, **fields)
        return
    for bits in ALIGN:
        for cut in CUTS:
            yield replaced(base, sum="aligned", align_bits=bits, cut=cut, **fields)
    yield replaced(base, sum="exact", align_bits=0, **fields)
    if structure.c == "early" and structure.order == "ascending":
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


def rows_computed(unit: Unit, rows: Rows, names: tuple[str, str]) -> Codes:
    """Codes (count,) that a unit gives for single experiments, by blocks of which the diagonal is read."""
    d = np.empty_like(rows.c)
    for start in range(0, len(rows.c), TOGETHER):
        chosen = slice(start, start + TOGETHER)
        c = np.repeat(rows.c[chosen][:, None], len(rows.c[chosen]), axis=1)
        d[chosen] = np.diagonal(computed(unit, rows.a[chosen], rows.b[chosen].T, c, names))
    return d
