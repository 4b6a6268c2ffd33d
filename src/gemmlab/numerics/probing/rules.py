"""The rules beside the widths: subnormals, zeros, NaN and infinities."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gemmlab import formats
from gemmlab.numerics.behaviour import ZEROS, Unit
from gemmlab.numerics.operands import Codes
from gemmlab.numerics.probing import probes
from gemmlab.numerics.probing.backend import Backend
from gemmlab.numerics.probing.evidence import Evidence
from gemmlab.numerics.probing.numbers import Numbers
from gemmlab.numerics.probing.sieving import Grid, Sieve, replaced, tabled
from gemmlab.numerics.probing.structure import structure_of

Fields = dict[str, Any]

SWITCHES: dict[str, tuple[Any, ...]] = {
    "subnormal_outputs": (True, False),
    "zero_sign": (True, False),
    "product_overflow": (False, True),
    "negative_zero": ZEROS,
}
UNSEEN = (-133, -149, -300)  # exponents of a zero that are tried where none shows, beside the largest that does not
LOWEST = 320  # the exponents of a zero that are looked at are this many, from 0 down
LONGEST = 256  # products of an instruction whose end zeros of one sign show
TRIED = 24  # units of a structure that are tried with all rules before none is said to fit
SPREAD = 200  # units of a structure that are tried with every exponent of a zero


class Family(NamedTuple):
    """Units of one structure and one reading of operands, and the rules that explain the rest, likeliest first."""

    units: list[Unit]
    rules: list[Fields]
    unseen: Sequence[Fields] = ()  #: the same rules with other exponents of a zero, which nothing told from the first
    lone: Sieve | None = None  #: where the rules are of many units: what each must still give with each of them

    def ruled(self, at: int) -> list[Unit]:
        """The units with one of the rules; none where there are not so many."""
        made = [replaced(unit, **self.rules[at]) for unit in self.units] if at < len(self.rules) else []
        return self.lone.left(made) if self.lone else made


def ruled(
    backend: Backend, numbers: Numbers, units: list[Unit], evidence: list[Evidence], sieves: list[Sieve]
) -> Iterator[list[Family]]:
    """The units by structure, each with the rules that were seen; behind them those of which a zero counts.

    What was asked and seen is added to `evidence` and to `sieves`.
    """
    # Zeros of one sign show where they fill whole instructions of the unit, whichever of the candidates that is.
    lengths = {max(2, unit.k) for unit in units}
    common = math.lcm(*lengths) if math.lcm(*lengths) <= LONGEST else max(lengths)
    k = backend.k or common
    names = (backend.a_format, backend.b_format)
    asked = [*probes.subnormals(numbers, backend.hidden), *probes.specials(numbers, k, backend.hidden),
             *probes.flushed_before(numbers, backend.hidden)]  # fmt: skip
    small = [p.row for p in probes.tiny(numbers, backend.hidden)]
    read = probes.converted(numbers, structure_of(units[0]), k, backend.hidden)
    rows = [*(row for _, row in asked), *read, *small]
    d = backend.pairs(backend.rows(rows, k))
    for (what, row), code in zip(asked, d.tolist(), strict=False):
        value = formats.decode(code, backend.accumulate)
        shown = f"NaN {code:#x}" if math.isnan(value) else repr(value)
        evidence.append(Evidence("special" if what not in KNOWN else "subnormals", row.words, shown, what))
    edge = len(asked)
    special = [Sieve(backend.rows(rows[:edge], k), d[:edge], names)]
    full, whole_k = ending(backend, numbers, k)
    if full != k:
        # One instruction shows what its last addition does, and longer sums what fills one up.
        longer = backend.rows([row for _, row in probes.specials(numbers, full, backend.hidden)], full)
        special.append(Sieve(longer, backend.pairs(longer), names))
    lone = Sieve(backend.rows(rows[edge:], k), d[edge:], names)
    sieves += [*special, lone]
    nan = nan_rule(backend, d)
    if whole_k:
        evidence.append(Evidence("instruction", "products -0, C = -0", f"-0 from {whole_k} products on",
                                 f"filled with +0 to {whole_k} products an instruction"))  # fmt: skip
        units = [ended(unit, whole_k) for unit in units]
    fitted = False
    # A unit whose width is still open may fit only with a zero that counts: others come first without one.
    for exponents in ((), range(0, -LOWEST, -1)):
        made = list(families(units, nan, special, lone, exponents))
        if not made:
            continue
        if read and not fitted:
            seen = dict.fromkeys(rules["read_as"] for each in made for rules in each.rules)
            evidence.append(Evidence("conversion", read[0].words, f"{len(read)} such sums", said(list(seen))))
        fitted = True
        yield made
    if fitted:
        return
    evidence.append(Evidence("rules", f"{len(rows)} special rows", "no combination of rules gives every answer",
                             "the nearest is kept"))  # fmt: skip
    grids = [Grid.over(replaced(units[0], **nan, subnormal_inputs=inputs), **SWITCHES) for inputs in (True, False)]
    best = special[0].nearest(grids)
    kept = nan | {name: getattr(best, name) for name in (*SWITCHES, "subnormal_inputs")}
    yield [Family(units, [kept])]


def families(
    units: list[Unit], nan: Fields, special: list[Sieve], lone: Sieve, exponents: Sequence[int]
) -> Iterator[Family]:
    """Units of one structure each, and one way to read operands, that give lone numbers as they were seen.

    `exponents` are those that a zero may count with; left empty, it does not count.
    """
    structures: dict[Any, list[Unit]] = {}
    for unit in units:
        structures.setdefault((unit.sum, structure_of(unit)), []).append(unit)
    tables = {key: tabled(own).table for key, own in structures.items()}
    for inputs, reading in product((True, False), readings(lone.names)):
        way = nan | {"subnormal_inputs": inputs, "read_as": reading}
        for key, own in structures.items():
            grid = Grid(replaced(own[0], **way), tables[key])
            flushed = lone.passing(grid), lone.passing(grid.times(subnormal_outputs=(False,)))
            fit = flushed[0] | flushed[1]
            if exponents:
                # Those that fit without come before; of the others few exponents fit.
                grid = lone.of(grid.kept(~fit).times(subnormal_outputs=(True, False), zero_exponent=exponents))
                grid = grid.kept(np.arange(len(grid))[:: -(-len(grid) // SPREAD) or 1])
            else:
                grid = grid.kept(fit)
            # Whether sums stay subnormal is one of the rules, which are looked for of each unit by itself.
            told = list(dict.fromkeys(replaced(unit, subnormal_outputs=True) for unit in grid.units()))
            rules: dict[tuple[Any, ...], Fields] = {}
            unseen: list[Fields] = []
            for unit in told if exponents else told[:TRIED]:
                found = passing([*special, lone], Grid.over(unit, **SWITCHES))
                for each in map(ruling, found.units()):
                    rules.setdefault(tuple(each.values()), nan | each)
                if rules and not exponents:
                    unseen = [nan | each for each in not_shown(found, [lone, *special])]
                    break
            if rules and exponents:
                yield Family(own, list(rules.values()), (), lone)
            elif rules:
                yield Family(told, list(rules.values()), unseen)


def ruling(unit: Unit) -> Fields:
    """Those of a unit's fields that are rules."""
    return {name: getattr(unit, name) for name in ("subnormal_inputs", "read_as", *SWITCHES, "zero_exponent")}


def not_shown(grid: Grid, sieves: list[Sieve]) -> list[Fields]:
    """Rules with exponents of a zero that give the same answers: the largest such, and a few that stand for others."""
    found: list[Fields] = []
    for unit in grid.units():
        at = list(Grid.over(unit, zero_exponent=range(0, -LOWEST, -1)).units())
        # A zero that counts with less cuts less.
        least = bisect_left(at, True, key=lambda each: all(sieve.passes(each) for sieve in sieves))
        some = dict.fromkeys([least, *(-each for each in UNSEEN if -each > least)])
        found += [ruling(at[below]) for below in some if below < LOWEST and all(s.passes(at[below]) for s in sieves)]
    return found


def ending(backend: Backend, numbers: Numbers, k: int) -> tuple[int, int | None]:
    """A length that fills instructions, and products of one, from zeros: -0 stays where all are -0 and none fills up.

    `k` fills whole instructions of every candidate, but where C joins first and k ascends, longer ones look the same.
    """
    if backend.hidden or backend.k is not None:
        return k, None

    def stays(length: int) -> bool:
        row = dict(probes.specials(numbers, length, False)).get("negative zeros everywhere")
        return row is not None and int(backend.pairs(backend.rows([row], length))[0]) == row.c

    # Together the longest power of two, and the length with most divisors, are whole instructions of nearly all units.
    many = list(range(k, LONGEST + 1, k)) or [k]
    most = max(many, key=lambda length: sum(length % at == 0 for at in range(1, length + 1)))
    fills = dict.fromkeys([LONGEST] * (LONGEST % k == 0) + [most])
    for length in fills:
        if stays(length):
            return length, next(at for at in range(1, length + 1) if length % at == 0 and stays(at))
    return next(iter(fills)), None


def ended(unit: Unit, whole: int) -> Unit:
    """The unit with instructions of that length, where its structure leaves them open."""
    free = unit.c == "early" and unit.order == "ascending" and whole % unit.terms == 0
    return replaced(unit, instruction_k=whole) if free else unit


def passing(sieves: list[Sieve], grid: Grid) -> Grid:
    """The candidates that pass all sieves."""
    for sieve in sieves:
        grid = sieve.of(grid)
    return grid


def readings(names: tuple[str, str]) -> tuple[str, ...]:
    """Formats that operands may be converted to first: of 8 bits and fewer, those of 16."""
    small = all(formats.get(name).bits <= 8 for name in names)
    return ("", "float16", "bfloat16") if small else ("",)


def said(readings: list[str]) -> str:
    """How operands are read, for people."""
    return " or ".join(f"read as {each}" if each else "read as they are" for each in readings)


KNOWN = ("operand", "addend", "sum")


def nan_codes(backend: Backend, d: Codes) -> list[int]:
    """The codes of the NaN among answers, each once."""
    form = formats.get(backend.accumulate)
    mask = d.dtype.type((1 << (form.bits - 1)) - 1)
    return [int(code) for code in np.unique(d[(d & mask) > form.max_magnitude + 1])]


def nan_rule(backend: Backend, d: Codes) -> Fields:
    """The fields about NaN: one code where all have it; else any."""
    found = nan_codes(backend, d)
    if not found:
        return {"nan": "fixed", "nan_code": (1 << (formats.get(backend.accumulate).bits - 1)) - 1}
    return {"nan": "fixed" if len(found) == 1 else "ieee", "nan_code": found[0]}
