"""Which of very many units give all answers that were seen: every candidate by compiled code, out at its first miss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from gemmlab.numerics.behaviour import ZEROS, Unit
from gemmlab.numerics.fast import stepwise
from gemmlab.numerics.fast.floats import MODES, Target
from gemmlab.numerics.fast.jit import compiled
from gemmlab.numerics.fast.kinds import JOINS, SUMS, WORD, rules_of, side
from gemmlab.numerics.fast.plan import target_of
from gemmlab.numerics.fast.split import NOTHING, parts
from gemmlab.numerics.operands import Codes, Operand
from gemmlab.numerics.probing.backend import Rows
from gemmlab.numerics.probing.computing import both_nan, rows_computed, same
from gemmlab.numerics.probing.distinct import Reach, merged, reach
from gemmlab.numerics.reference import dot

#: fields in which candidates of one Grid may differ
COLUMNS = (
    "align_bits", "cut", "width", "rounding", "c_rounding", "join_bits", "negative_zero", "zero_sign",
    "product_overflow", "subnormal_outputs", "zero_exponent",
)  # fmt: skip
NAMED = {"cut": MODES, "rounding": MODES, "c_rounding": MODES, "negative_zero": {n: i for i, n in enumerate(ZEROS)}}
Table = npt.NDArray[np.int64]

SOME, FEWEST = 150, 24  # answers that all candidates are held against where none gives every answer
PRODUCTS = 10_000_000  # that they may take of each structure: a few seconds at most
MANY = 64  # of them, the best that are held against all answers


def replaced(unit: Unit, **fields: Any) -> Unit:
    """The unit with other fields."""
    return msgspec.structs.replace(unit, **fields)


def told(unit: Unit, name: str) -> int:
    """A field of COLUMNS as a whole number."""
    if name == "zero_exponent":  # where a zero does not count, the compiled steps have an exponent for it too
        return target_of(unit).zero_exponent
    value = getattr(unit, name)
    return NAMED[name][value] if name in NAMED else int(value)


def field(name: str, word: int) -> Any:
    """The field's value of a whole number that `told` gave."""
    if name in NAMED:
        return next(value for value, number in NAMED[name].items() if number == word)
    if name in ("zero_sign", "product_overflow", "subnormal_outputs"):
        return bool(word)
    if name == "zero_exponent" and word < NOTHING:
        return None
    return int(word)


class Grid:
    """Candidates that differ from one unit in COLUMNS: a row of whole numbers each, in the order of preference."""

    def __init__(self, base: Unit, table: Table) -> None:
        self.base, self.table = base, table

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def over(cls, base: Unit, **choices: Iterable[Any]) -> Grid:
        """All combinations of some fields' values, the last named turning fastest."""
        words = [[NAMED[name][v] if name in NAMED else int(v) for v in choices[name]] for name in choices]
        table = np.empty((int(np.prod([len(each) for each in words])), len(COLUMNS)), np.int64)
        table[:] = [told(base, name) for name in COLUMNS]
        table[:, [COLUMNS.index(name) for name in choices]] = np.array(list(product(*words)), np.int64).reshape(
            len(table), -1
        )
        return cls(base, table)

    def times(self, **choices: Iterable[Any]) -> Grid:
        """Each of the candidates with all combinations of some more fields' values, the last named turning fastest."""
        table = self.table
        for name, values in choices.items():
            words = [NAMED[name][value] if name in NAMED else int(value) for value in values]
            count = len(table)
            table = np.repeat(table, len(words), axis=0)
            table[:, COLUMNS.index(name)] = np.tile(words, count)
        return Grid(self.base, table)

    def column(self, name: str) -> Table:
        """All candidates' values of one field."""
        return np.asarray(self.table[:, COLUMNS.index(name)])

    def kept(self, which: npt.NDArray[Any]) -> Grid:
        """Some of the candidates."""
        return Grid(self.base, self.table[which])

    def units(self) -> Iterator[Unit]:
        """The candidates as units."""
        own = [told(self.base, name) for name in COLUMNS]
        for row in self.table.tolist():
            changed = {
                name: field(name, word) for name, word, old in zip(COLUMNS, row, own, strict=True) if word != old
            }
            yield replaced(self.base, **changed)


@compiled
def sifted(
    a: stepwise.Side, b: stepwise.Side, c: Table, seen: Table, order: Table, table: Table, ieee: int, whole: int,
    base: stepwise.Rules, to: Target, right: Table,
) -> None:  # fmt: skip
    """right[n] = answers that candidate n gives before its first miss; the row that rules it out is asked earlier next.

    With `ieee` any NaN is as good as any other; with `whole` all answers are counted, not only those before a miss.
    """
    one, run = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for n in range(len(table)):
        fields = table[n]
        rules = stepwise.Rules(
            base.sum, base.join, base.terms, base.groups, base.lanes, fields[0], base.fraction, fields[1], fields[3],
            fields[4], fields[5], base.exact_terms, base.scale_fraction, fields[6], fields[7], fields[8], base.split,
        )  # fmt: skip
        target = Target(
            to.min_exponent, to.mantissa_bits, to.sign, to.infinity, fields[2], to.subnormal_inputs, fields[9],
            fields[10], to.nan_code,
        )  # fmt: skip
        right[n] = 0
        for at in range(len(order)):
            row = order[at]
            one[0], run[0] = row, c[row]
            stepwise.outputs(a, b, one, one, run, rules, target)
            magnitude = to.infinity | (to.infinity - 1)
            both = ieee != 0 and run[0] & magnitude > to.infinity and seen[row] & magnitude > to.infinity
            if run[0] == seen[row] or both:
                right[n] += 1
            elif whole == 0:
                before = at // 2
                order[at], order[before] = order[before], row
                break


class Sieve:
    """Experiments and the answers to them, against which candidates are held."""

    def __init__(self, rows: Rows, seen: Codes, names: tuple[str, str]) -> None:
        self.rows, self.seen, self.names = rows, seen, names
        self.order = np.arange(len(seen))
        self.sides: dict[tuple[Any, ...], Sides] = {}
        self.reaches: dict[tuple[Any, ...], Reach | None] = {}

    def left(self, units: list[Unit], most: int | None = None) -> list[Unit]:
        """The units that pass, in their order; held against `most` of the answers where that is said."""
        good = np.zeros(len(units), bool)
        for ats in together(units).values():
            good[ats] = self.passing(tabled([units[at] for at in ats]), most)
        return [unit for at, unit in enumerate(units) if good[at]]

    def passes(self, unit: Unit) -> bool:
        """Whether the unit answers everything as was seen."""
        return bool(self.passing(tabled([unit]))[0])

    def of(self, grid: Grid) -> Grid:
        """The candidates that pass."""
        return grid.kept(self.passing(grid))

    def passing(self, grid: Grid, most: int | None = None) -> npt.NDArray[np.bool_]:
        """Of each candidate, whether it answers everything as was seen."""
        order = self.order[:most]
        return np.asarray(self.right(grid, order, False) == len(order))

    def nearest(self, grids: list[Grid]) -> Unit:
        """The unit that gives most answers, of those that do best on some of them."""
        best = []
        most = max(len(grid) * grid.base.k for grid in grids)
        some = self.order[:: max(1, len(self.order) // min(SOME, max(FEWEST, PRODUCTS // most)))]
        for grid in grids:
            good = self.right(grid, some, True)
            chosen = np.argsort(-good, kind="stable")[:MANY]
            best.append((grid.kept(chosen), good[chosen]))
        least = np.sort(np.concatenate([good for _, good in best]))[::-1][:MANY][-1]
        left = [grid.kept(good >= least) for grid, good in best]
        counts = [self.right(grid, self.order, True) for grid in left]
        first = max(range(len(left)), key=lambda at: counts[at].max(initial=-1))
        return next(left[first].kept(np.array([int(counts[first].argmax())])).units())

    def right(self, grid: Grid, order: Table, whole: bool) -> Table:
        """Of each candidate, how many answers it gives: all, or without `whole` those before its first miss."""
        if not len(grid) or not len(order):
            return np.zeros(len(grid), np.int64)
        grid, places = self.distinct(grid)
        found = np.zeros(len(grid), np.int64)
        left, right, rules, narrow = self.prepared(grid)
        some = np.zeros(int(narrow.sum()), np.int64)
        c, seen = (codes.astype(np.int64) for codes in (self.rows.c, self.seen))
        sifted(
            left, right, c, seen, order, grid.table[narrow], int(grid.base.nan == "ieee"), int(whole), rules,
            target_of(grid.base), some,
        )  # fmt: skip
        found[narrow] = some
        for at in np.flatnonzero(~narrow):
            unit = next(grid.kept(np.array([at])).units())
            found[at] = self.plainly(unit, order) if whole or self.agrees(unit, int(order[0])) else 0
        return np.asarray(found[places])

    def distinct(self, grid: Grid) -> tuple[Grid, Table]:
        """The candidates without those that nothing here tells from another, and each one's place among them."""
        if grid.base.sum != "aligned":
            return grid, np.arange(len(grid))
        own, _, fraction = self.of_side(grid.base)
        late = grid.base.c == "late"
        key = (late, grid.base.subnormal_inputs, grid.base.read_as)
        if key not in self.reaches:
            c = None if late else self.rows.c
            self.reaches[key] = reach(own.a, own.b, fraction, c, grid.base.accumulate, grid.base.subnormal_inputs)
        between = self.reaches[key]
        if between is None:
            return grid, np.arange(len(grid))
        deep = np.maximum(np.maximum(between.highest, grid.column("zero_exponent")) - between.lowest, 1)
        table, places = merged(grid.table, COLUMNS.index("align_bits"), COLUMNS.index("cut"), deep)
        return Grid(grid.base, table), places

    def plainly(self, unit: Unit, order: Table) -> int:
        """How many answers a unit gives whose numbers are too wide for compiled steps."""
        a, b, c = (codes[order] for codes in self.rows)
        return int(same(unit, rows_computed(unit, a, b, c, self.names), self.seen[order]).sum())

    def agrees(self, unit: Unit, at: int) -> bool:
        """Whether the unit gives one answer."""
        a, b, c, seen = self.rows.a[at].tolist(), self.rows.b[at].tolist(), int(self.rows.c[at]), int(self.seen[at])
        found = dot(unit, a, b, c, *self.names)
        return found == seen or both_nan(unit, found, seen)

    def of_side(self, unit: Unit) -> tuple[Sides, stepwise.Rules, int]:
        """Both operands as a unit's sums take them, what compiled steps need, and bits below a product's point."""
        key = (unit.order, unit.terms, unit.k, unit.subnormal_inputs, unit.read_as)
        if key not in self.sides:
            self.sides[key] = sides(unit, self.rows, self.names)
        # An exact sum late in C is a unit for every structure; what it lacks is filled in here and by the grid.
        rules = rules_of(replaced(unit, sum="exact", align_bits=0, c="late", join_bits=0), *self.names, "")
        assert rules is not None
        return self.sides[key], rules, rules.fraction - self.sides[key].spare

    def prepared(self, grid: Grid) -> tuple[stepwise.Side, stepwise.Side, stepwise.Rules, npt.NDArray[np.bool_]]:
        """What compiled steps need, and which candidates' numbers are narrow enough for them."""
        unit = grid.base
        own, rules, fraction = self.of_side(unit)
        wide = np.full(len(grid), own.largest.bit_length(), np.int64)
        if unit.c == "floor":
            bits, joined = grid.column("align_bits"), grid.column("join_bits")
            wide += unit.k.bit_length() + np.maximum(bits - fraction, 0) + joined - bits + 12
        split = unit.sum == "exact" and own.largest >= WORD
        rules = rules._replace(sum=SUMS[unit.sum], join=JOINS[unit.c], fraction=fraction, split=int(split))
        return own.a, own.b, rules, (wide < WORD.bit_length()) | split


class Sides(NamedTuple):
    """Both operands of some experiments, zero bits that all significands end in left out."""

    a: stepwise.Side
    b: stepwise.Side
    spare: int  #: how many those were, of both
    largest: int  #: product of significands


def sides(unit: Unit, rows: Rows, names: tuple[str, str]) -> Sides:
    """Both operands in the unit's order: experiments use far shorter significands than float64 holds."""
    found, spare, largest = [], 0, 1
    for codes, name in ((rows.a, names[0]), (rows.b, names[1])):
        own = side(unit, parts(Operand(codes, name), unit.subnormal_inputs, unit.read_as), None)
        used = int(np.bitwise_or.reduce(np.abs(own.significands), axis=None))
        zeros = (used & -used).bit_length() - 1 if used else 0
        significands = own.significands >> zeros
        largest *= max(1, int(np.abs(significands).max(initial=0)))
        found.append(own._replace(significands=significands))
        spare += zeros
    return Sides(found[0], found[1], spare, largest)


def together(units: list[Unit]) -> dict[Any, list[int]]:
    """Places of units that differ in COLUMNS alone."""
    groups: dict[Any, list[int]] = {}
    for at, unit in enumerate(units):
        key = (unit.sum, unit.terms, unit.k, unit.order, unit.c, unit.subnormal_inputs, unit.read_as, unit.nan)
        groups.setdefault((*key, unit.nan_code), []).append(at)
    return groups


def tabled(units: list[Unit]) -> Grid:
    """Units that differ in COLUMNS alone as a grid."""
    return Grid(units[0], np.array([[told(unit, name) for name in COLUMNS] for unit in units], np.int64))
