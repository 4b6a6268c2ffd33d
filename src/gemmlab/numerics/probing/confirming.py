"""Blocks of random and adversarial vectors: what rules the last candidates out, and what confirms the one left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import Codes
from gemmlab.numerics.probing.backend import Backend, Rows
from gemmlab.numerics.probing.computing import computed, same
from gemmlab.numerics.probing.evidence import Difference, fields
from gemmlab.numerics.probing.numbers import Numbers
from gemmlab.numerics.probing.sieving import Sieve
from gemmlab.numerics.probing.structure import Structure, structure_of
from gemmlab.numerics.probing.vectors import KINDS, Vectors

SIDE = 12  # rows and columns of a block that rules candidates out
ROUNDS = 2 * len(KINDS)
MANY = 32  # candidates that are followed to the end
STEPS = 100_000  # sums that all candidates together may take a block: about 20 ms
CONFIRMING_SIDE = 64
WRONG = 64  # vectors on which a unit failed that the next one must give


def eliminated(backend: Backend, numbers: Numbers, units: list[Unit], seed: int, rounds: int = ROUNDS) -> list[Unit]:
    """The units that give every bit of blocks made to tell them apart; none where there is none.

    Of many that no kind of block tells apart, the first and those like it are followed; the others are looked at when
    all of those are ruled out.
    """
    waiting, followed, idle = units, units, 0
    sieves: list[Sieve] = []
    source: Vectors | None = None
    for turn in range(3 * rounds):
        if source is None or idle == 0:
            source = Vectors(numbers, structure_of(followed[0]), bits_of(followed), backend.hidden, seed + turn)
            source.count = turn
        length = length_of(followed[0], backend, turn)
        sieves.append(asked(backend, *source.block(length, SIDE, SIDE)))
        sums = 1 + length / followed[0].terms + length / 16
        enough = max(8, int(STEPS / (sums * len(followed))))
        left = sieves[-1].left(followed, enough)
        idle = idle + 1 if len(left) == len(followed) else 0
        if not left and len(followed) < len(waiting):
            known = set(map(id, followed))
            left = [unit for unit in waiting if id(unit) not in known]
            for sieve in sieves[::-1]:
                left = sieve.left(left)
            waiting = left
        if not left:
            return []
        if len(left) > MANY and idle >= len(KINDS):
            left, waiting = varied(left), left
        followed = left
        if idle >= rounds or (len(followed) == 1 and idle >= len(KINDS)):
            break
    return followed


def asked(backend: Backend, a: Codes, b: Codes, c: Codes) -> Sieve:
    """The answers to a block, each as an experiment of its own."""
    seen = backend.block(a, b, c)
    m, n = c.shape
    order = np.random.default_rng(m * n).permutation(m * n)
    rows = Rows(np.repeat(a, n, axis=0)[order], np.tile(b.T, (m, 1))[order], c.reshape(-1)[order])
    return Sieve(rows, seen.reshape(-1)[order], (backend.a_format, backend.b_format))


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


class Confirmation(NamedTuple):
    """What came of comparing a unit with its backend."""

    vectors: int
    mismatches: int
    first: Difference | None
    wrong: Sieve | None  #: some of the vectors that differ, with the backend's answers


def confirmed(
    backend: Backend, numbers: Numbers, structure: Structure, unit: Unit, seed: int, count: int
) -> Confirmation:
    """Compare `count` vectors or more."""
    names = (backend.a_format, backend.b_format)
    source = Vectors(numbers, structure, bits_of([unit]), backend.hidden, seed)
    done = wrong = 0
    first: Difference | None = None
    sieve: Sieve | None = None
    turn = 0
    while done < count:
        m = CONFIRMING_SIDE
        a, b, c = source.block(length_of(unit, backend, turn), m, m)
        seen, own = backend.block(a, b, c), computed(unit, a, b, c, names)
        differs = ~same(unit, own, seen)
        if first is None and differs.any():
            i, j = np.argwhere(differs)[:WRONG].T
            sieve = Sieve(Rows(a[i], b.T[j], c[i, j]), seen[i, j], names)
            first = Difference(
                tuple(a[i[0]].tolist()), tuple(b[:, j[0]].tolist()), *(int(each[i[0], j[0]]) for each in (c, seen, own))
            )
        done, wrong, turn = done + c.size, wrong + int(differs.sum()), turn + 1
    return Confirmation(done, wrong, first, sieve)
