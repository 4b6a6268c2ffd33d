"""Which products a unit adds at once, in what order, and when C joins: from what large terms swallow.

Three terms make one experiment: +M, -M and a small u. Where u meets M before -M has cancelled it, u is gone; elsewhere
it survives. Who meets whom is the tree of the sum (Xie et al., FPRev, USENIX ATC 2025, with one small term at a time so
that formats of little range can be asked too). Two small terms beside a large C tell who is added before C sees them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.probing.backend import Backend, Row
from gemmlab.numerics.probing.numbers import Numbers

ADDEND = -1  # the place of C beside k = 0, 1, 2, ..
UNKNOWN, GONE, KEPT = -1, 0, 1

Places = npt.NDArray[np.int64]


class Structure(NamedTuple):
    """One way to bring a sum together."""

    sum: str  #: `fused` or `pairs`
    terms: int
    k: int
    order: str
    c: str  #: `early` or `late`; `floor` where known

    def words(self) -> str:
        """For people."""
        added = "added in pairs" if self.sum == "pairs" else "at once"
        return f"{self.terms} products {added}, {self.k} an instruction, {self.order}, C {self.c}"


def structure_of(unit: Unit) -> Structure:
    """The structure that a unit has."""
    return Structure("pairs" if unit.sum == "pairs" else "fused", unit.terms, unit.k, unit.order, unit.c)


class Answers(NamedTuple):
    """Triples asked, and what became of the small term."""

    i: Places
    j: Places
    x: Places
    seen: Places  #: KEPT, GONE, or UNKNOWN where something else came out
    met: Places  #: (count, 3) of x, y, seen: whether two small terms beside a large C were added together


def triples(k: int, hidden: bool, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """(count, 3) places i, j, x: enough to tell every structure of up to k products an instruction."""
    made: list[tuple[int, int, int]] = []
    for j in range(k):
        made += [
            (0, j, j + 1),
            (0, j, j - 1),
            (0, j, ADDEND),
            (1, j, 0),
            (2, j, 0),
            (0, j, 2),
            (0, j, j + 2),
            (1, j, j + 2),
        ]
        made += [(ADDEND, j, j + 1), (j, j + 1, j + 2), (j, j + 1, j - 1), (j, j + 2, j + 1), (j, j + 1, ADDEND)]
    made += [tuple(rng.choice(np.arange(-1, k), 3, replace=False).tolist()) for _ in range(4 * k)]
    low = 0 if hidden else ADDEND
    kept = [t for t in dict.fromkeys(made) if len(set(t)) == 3 and min(t) >= low and max(t) < k]
    return np.array(kept, np.int64).reshape(-1, 3)


def ask(backend: Backend, numbers: Numbers, k: int, rng: np.random.Generator, fraction: int | None) -> Answers:
    """Ask all triples of k places; with `fraction`, the bits that C keeps, also which small terms meet beside C."""
    places = triples(k, backend.hidden, rng)
    rows = [triple(numbers, *place) for place in places.tolist()]
    pairs = [] if fraction is None or backend.hidden else [(x, y) for x in (0, 1, 2) for y in range(k) if y > x]
    scale = small_beside(numbers, fraction or 0)
    beside = [small_pair(numbers, x, y, scale, fraction or 0) for x, y in pairs]
    d = backend.pairs(backend.rows([*rows, *beside], k))
    unit = numbers.addend(1.0, numbers.bottom)
    seen = np.where(d[: len(rows)] == 0, GONE, np.where(d[: len(rows)] == unit, KEPT, UNKNOWN))
    met = []
    for (x, y), row, found in zip(pairs, beside, d[len(rows) :], strict=True):
        together = numbers.addend(1.0 + 2.0 ** -(fraction or 0), scale)
        met.append((x, y, GONE if found == row.c else KEPT if found == together else UNKNOWN))
    told = np.array([each for each in met if each[2] != UNKNOWN], np.int64).reshape(-1, 3)
    return Answers(places[:, 0], places[:, 1], places[:, 2], seen.astype(np.int64), told)


def triple(numbers: Numbers, i: int, j: int, x: int) -> Row:
    """+M at i, -M at j, the smallest u at x."""
    row: dict[int, tuple[int, int]] = {}
    c = 0
    for place, sign, exponent in ((i, 1.0, numbers.top), (j, -1.0, numbers.top), (x, 1.0, numbers.bottom)):
        if place == ADDEND:
            c = numbers.addend(sign, exponent) or 0
        else:
            row[place] = numbers.product(sign, exponent) or (0, 0)
    return Row(row, c, f"+M at {named(i)}, -M at {named(j)}, u at {named(x)}")


def small_beside(numbers: Numbers, fraction: int) -> int:
    """Exponent of a C for which half its last kept bit is a product."""
    middle = (numbers.top + numbers.bottom) // 2
    lowest = numbers.bottom + fraction + 2
    return min(max(middle, lowest), numbers.top + fraction + 1)


def small_pair(numbers: Numbers, x: int, y: int, scale: int, fraction: int) -> Row:
    """C, and at x and y half of its last kept bit each."""
    half = numbers.product(1.0, scale - fraction - 1) or (0, 0)
    return Row({x: half, y: half}, numbers.addend(1.0, scale) or 0, f"C, and half its last bit at k={x} and k={y}")


def named(place: int) -> str:
    """A place, for people."""
    return "C" if place == ADDEND else f"k={place}"


@lru_cache(maxsize=4096)
def layout(order: str, terms: int, k: int, length: int) -> tuple[Places, Places, Places]:
    """(instruction, lane, group inside its lane) of places 0..length-1, and behind them of C, in all three -1."""
    if order == "quads":
        walk = [at for at in range(k) if at % 4 < 2] + [at for at in range(k) if at % 4 >= 2]
    elif order == "parity":
        walk = [*range(0, k, 2), *range(1, k, 2)]
    else:
        walk = list(range(k))
    seat = np.empty(k, np.int64)
    seat[walk] = np.arange(k)
    place = np.arange(length)
    half = k // 2 if order == "parity" else k
    lane, group = seat[place % k] // half, seat[place % k] % half // terms
    return tuple(np.append(part, -1) for part in (place // k, lane, group))  # type: ignore[return-value]


def predicted(structure: Structure, asked: Answers, inside: bool) -> Places:
    """What becomes of each u: KEPT or GONE.

    `inside`: terms added at once lose what lies far below the largest (aligned sums of few bits); else only a rounded
    sum loses it.
    """
    length = int(max(asked.i.max(), asked.j.max(), asked.x.max())) + 1
    instruction, lane, group = layout(structure.order, structure.terms, structure.k, length)
    i, j, x = asked.i, asked.j, asked.x
    if structure.c == "late":
        apart = (instruction[i] != instruction[j]) | (i == ADDEND) | (j == ADDEND)
        here = instruction[x] == instruction[i]
        lanes = lane[i] != lane[j]
        local = here & (lane[x] == lane[i]) & met_before(group, i, j, x, inside)
        gone = np.where(apart, instruction[x] <= np.maximum(instruction[i], instruction[j]), (lanes & here) | local)
    else:
        chain = np.where(instruction < 0, -1, instruction * (structure.k // structure.terms) + group)
        gone = met_before(chain, i, j, x, inside)
        if structure.sum == "pairs":
            same = (chain[i] == chain[j]) & (i != ADDEND) & (j != ADDEND)
            level = bit_lengths((i % structure.terms) ^ (j % structure.terms))
            under = ((x % structure.terms) ^ (i % structure.terms)) >> level == 0
            gone = np.where(
                same, (chain[x] == chain[i]) & (x != ADDEND) & under, chain[x] <= np.maximum(chain[i], chain[j])
            )
    return np.where(gone, GONE, KEPT)


def met_before(group: Places, i: Places, j: Places, x: Places, inside: bool) -> npt.NDArray[np.bool_]:
    """Whether u in a chain of fused sums meets one of M and -M before, or while, they cancel."""
    last = np.maximum(group[i], group[j])
    if inside:
        return np.asarray(group[x] <= last)
    return np.asarray((group[x] < last) & (group[i] != group[j]))


def bit_lengths(values: Places) -> Places:
    """Bits of each whole number."""
    return np.where(values > 0, np.frexp(values.astype(np.float64))[1], 0).astype(np.int64)


def consistent(structure: Structure, asked: Answers) -> bool:
    """Whether a structure explains every answer that says anything."""
    known = asked.seen != UNKNOWN
    lost = bool((asked.seen == GONE).any())
    if lost and not any((predicted(structure, asked, inside) == asked.seen)[known].all() for inside in (True, False)):
        return False
    x, y, kept = asked.met[:, 0], asked.met[:, 1], asked.met[:, 2] == KEPT
    if not kept.any():
        return True
    instruction, _, group = layout(structure.order, structure.terms, structure.k, int(y.max()) + 1)
    seat = instruction if structure.c == "late" else instruction * (structure.k // structure.terms) + group
    return bool(((seat[x] == seat[y]) == kept).all())


def structures(k: int) -> list[Structure]:
    """Every structure of up to k products an instruction, simple ones first; equal ones stand once."""
    made = [Structure("fused", terms, terms, "ascending", "early") for terms in range(1, k + 1)]
    made += [
        Structure("pairs", terms, terms, "ascending", "early") for terms in (2, 4, 8, 16, 32, 64, 128) if terms <= k
    ]
    for terms in range(1, k + 1):
        for whole in range(terms, k + 1, terms):
            made.append(Structure("fused", terms, whole, "ascending", "late"))
            # Four products in quads are in ascending order; a fused sum across the halves is no hardware's.
            if whole % 4 == 0 and whole > 4 and whole // 2 % terms == 0:
                made += [Structure("fused", terms, whole, "quads", c) for c in ("early", "late")]
            if whole % 2 == 0 and whole // 2 % terms == 0:
                made.append(Structure("fused", terms, whole, "parity", "late"))
    return made


def found(asked: Answers, k: int) -> list[Structure]:
    """The structures that explain all answers; a few of them, spread out, rule most out."""
    some = slice(None, None, max(1, len(asked.seen) // 150))
    few = Answers(asked.i[some], asked.j[some], asked.x[some], asked.seen[some], asked.met)
    return [each for each in structures(k) if consistent(each, few) and consistent(each, asked)]


def nearest(asked: Answers, k: int) -> Structure:
    """The structure that explains most answers."""
    some = slice(None, None, max(1, len(asked.seen) // 300))
    few = Answers(asked.i[some], asked.j[some], asked.x[some], asked.seen[some], asked.met[:0])
    return max(
        structures(k), key=lambda each: max(int((predicted(each, few, how) == few.seen).sum()) for how in (True, False))
    )


def telling(asked: Answers) -> bool:
    """Whether any small term was lost or met another, so that the answers say something."""
    return bool((asked.seen == GONE).any()) or bool((asked.met[:, 2] == KEPT).any())
