"""Blocks of random and adversarial vectors: what rules the last candidates out, and what confirms the one left."""

from __future__ import annotations

import numpy as np

from gemmlab.numerics.operands import Codes
from gemmlab.numerics.reveal.backend import Backend
from gemmlab.numerics.reveal.computing import computed, same, way
from gemmlab.numerics.reveal.evidence import Difference, fields
from gemmlab.numerics.reveal.numbers import Numbers
from gemmlab.numerics.reveal.structure import Structure
from gemmlab.numerics.reveal.vectors import KINDS, Vectors
from gemmlab.numerics.unit import Unit

SIDE = 12  # rows and columns of a block that rules candidates out
ROUNDS = 4 * len(KINDS)
MANY = 48  # candidates that every block is computed for
CONFIRMING_SIDE = 64


def eliminated(backend: Backend, numbers: Numbers, structure: Structure, units: list[Unit], seed: int) -> list[Unit]:
    """The units that give every bit of blocks made to tell them apart; all of them where none does.

    Of many, the first and those like it are followed; the others are looked at when all of those are ruled out.
    """
    names = (backend.a_format, backend.b_format)
    waiting = list(units)
    followed, idle = varied(waiting), 0
    blocks: list[tuple[Codes, Codes, Codes, Codes]] = []
    source: Vectors | None = None
    for turn in range(3 * ROUNDS):
        if source is None or idle == 0:
            source = Vectors(numbers, structure, bits_of(followed), backend.hidden, seed + turn)
            source.count = turn
        a, b, c = source.block(length_of(followed[0], backend, turn), SIDE, SIDE)
        blocks.append((a, b, c, backend.block(a, b, c)))
        left = [unit for unit in followed if gives(unit, blocks[-1:], names)]
        idle = idle + 1 if len(left) == len(followed) else 0
        if not left:
            known = set(map(id, followed))
            waiting = [unit for unit in waiting if id(unit) not in known]
            left = varied(waiting := [unit for unit in waiting if gives(unit, blocks[::-1], names)])
        if not left:
            return units
        followed = left
        if idle >= ROUNDS or (len(followed) == 1 and idle >= len(KINDS)):
            break
    return followed


def gives(unit: Unit, blocks: list[tuple[Codes, Codes, Codes, Codes]], names: tuple[str, str]) -> bool:
    """Whether a unit gives every bit of some blocks."""
    return all(
        quickly(unit, a, b, c, names, seen) and bool(same(unit, computed(unit, a, b, c, names), seen).all())
        for a, b, c, seen in blocks
    )


def quickly(unit: Unit, a: Codes, b: Codes, c: Codes, names: tuple[str, str], seen: Codes) -> bool:
    """Whether a unit gives the first outputs, which rules most out where a whole block takes long."""
    if way(unit, names) not in ("stepwise", "plain"):
        return True
    part = slice(0, 2)
    return bool(same(unit, computed(unit, a[part], b[:, part], c[part, part], names), seen[part, part]).all())


def varied(units: list[Unit]) -> list[Unit]:
    """Of many, the first, those that differ from it in one field, and a few others: enough to see what is open."""
    if len(units) <= MANY:
        return units
    chosen = fields(units[0])

    def apart(unit: Unit) -> int:
        other = fields(unit)
        return sum(other.get(name) != value for name, value in chosen.items())

    ordered = sorted(units[1:], key=apart)
    single = [unit for unit in ordered if apart(unit) == 1]
    if len(single) >= MANY:
        return [units[0], *(single[at * (len(single) - 1) // (MANY - 2)] for at in range(MANY - 1))]
    return [units[0], *ordered[: MANY - 1]]


def bits_of(units: list[Unit]) -> list[int]:
    """The bits around which the units differ: those that alignment, rounding and joining keep."""
    found = set()
    for unit in units[:: max(1, len(units) // 8)]:
        found |= {unit.width, unit.width + 1}
        if unit.sum == "aligned":
            found |= {unit.align_bits, unit.align_bits + 1}
        if unit.c == "floor":
            found.add(unit.join_bits)
    return sorted(found)


def length_of(unit: Unit, backend: Backend, turn: int) -> int:
    """How many products the next block has: one, two or three instructions, and a ragged end."""
    if backend.k is not None:
        return backend.k
    return min(unit.k * (1 + turn % 3) + (turn % 2) * (unit.k // 3), 384)


def confirmed(
    backend: Backend, numbers: Numbers, structure: Structure, unit: Unit, seed: int, count: int
) -> tuple[int, int, Difference | None]:
    """(vectors compared, those that differ, the first of them)."""
    names = (backend.a_format, backend.b_format)
    source = Vectors(numbers, structure, bits_of([unit]), backend.hidden, seed)
    done = wrong = 0
    first: Difference | None = None
    turn = 0
    while done < count:
        m = CONFIRMING_SIDE
        a, b, c = source.block(length_of(unit, backend, turn), m, m)
        seen, own = backend.block(a, b, c), computed(unit, a, b, c, names)
        differs = ~same(unit, own, seen)
        if first is None and differs.any():
            i, j = (int(at) for at in np.argwhere(differs)[0])
            first = Difference(
                tuple(a[i].tolist()), tuple(b[:, j].tolist()), int(c[i, j]), int(seen[i, j]), int(own[i, j])
            )
        done, wrong, turn = done + c.size, wrong + int(differs.sum()), turn + 1
    return done, wrong, first
