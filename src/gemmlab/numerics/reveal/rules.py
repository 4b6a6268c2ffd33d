"""The rules beside the widths: subnormals, zeros, NaN and infinities."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gemmlab import formats
from gemmlab.numerics.operands import Codes
from gemmlab.numerics.reveal import probes
from gemmlab.numerics.reveal.backend import Backend
from gemmlab.numerics.reveal.evidence import Evidence
from gemmlab.numerics.reveal.numbers import Numbers
from gemmlab.numerics.reveal.sieving import Grid, Sieve, replaced
from gemmlab.numerics.reveal.structure import structure_of
from gemmlab.numerics.unit import ZEROS, Unit

Fields = dict[str, Any]

SWITCHES: dict[str, tuple[Any, ...]] = {
    "subnormal_outputs": (True, False),
    "zero_sign": (True, False),
    "product_overflow": (False, True),
    "negative_zero": ZEROS,
}
UNSEEN = (-133, -149, -300)  # exponents of a zero that are tried where none shows
LONGEST = 256
FILLED = 64  # products of -0 that fill instructions whose length has not shown
TRIED = 24  # units that are tried with all rules before none is said to fit


class Family(NamedTuple):
    """Units of one structure, and the rules that explain what was seen of special values, the likeliest first."""

    units: list[Unit]
    rules: list[Fields]

    def ruled(self, at: int) -> list[Unit]:
        """The units with one of the rules; none where there are not so many."""
        return [replaced(unit, **self.rules[at]) for unit in self.units] if at < len(self.rules) else []


def ruled(backend: Backend, numbers: Numbers, units: list[Unit], evidence: list[Evidence]) -> list[Family]:
    """The units by structure, each with the rules that were seen."""
    # Zeros of one sign show where they fill whole instructions of the unit, whichever of the candidates that is.
    lengths = {max(2, unit.k) for unit in units}
    common = math.lcm(*lengths) if math.lcm(*lengths) <= LONGEST else max(lengths)
    k = backend.k or common
    full = math.lcm(common, FILLED) if backend.k is None and math.lcm(common, FILLED) <= LONGEST else k
    names = (backend.a_format, backend.b_format)
    asked = [*probes.subnormals(numbers, backend.hidden), *probes.specials(numbers, k, backend.hidden)]
    small = [p.row for p in probes.tiny(numbers, backend.hidden)]
    read = probes.converted(numbers, structure_of(units[0]), k, backend.hidden)
    rows = [*(row for _, row in asked), *read, *small]
    d = backend.pairs(backend.rows(rows, k))
    for (what, row), code in zip(asked, d.tolist(), strict=False):
        value = formats.decode(code, backend.accumulate)
        shown = f"NaN {code:#x}" if math.isnan(value) else repr(value)
        evidence.append(Evidence("special" if what not in KNOWN else "subnormals", row.words, shown, what))
    edge = len(rows) - len(small)
    special = [Sieve(backend.rows(rows[:edge], k), d[:edge], names)]
    if full != k:
        # One instruction shows what its last addition does, and longer sums what fills one up.
        longer = backend.rows([row for _, row in probes.specials(numbers, full, backend.hidden)], full)
        special.append(Sieve(longer, backend.pairs(longer), names))
    below = Sieve(backend.rows(small, k), d[edge:], names)
    nan = nan_rule(backend, d)
    whole_k = ending(backend, numbers, full)
    if whole_k:
        evidence.append(Evidence("instruction", "products -0, C = -0", f"-0 from {whole_k} products on",
                                 f"filled with +0 to {whole_k} products an instruction"))  # fmt: skip
        units = [ended(unit, whole_k) for unit in units]
    families: dict[Any, list[Unit]] = {}
    for unit in units:
        families.setdefault((unit.sum, structure_of(unit)), []).append(unit)
    # A unit whose width is still open may fit only with a zero that counts: others come first without one.
    for counts in (False, True):
        made = []
        for each in families.values():
            fits = (fitting(replaced(unit, **nan), special, below, counts, readings(names)) for unit in each[:TRIED])
            whole = next((rules for rules in fits if rules), [])
            made += [Family(each, [nan | rules for rules in whole])] if whole else []
        if made:
            if read:
                seen = dict.fromkeys(rules["read_as"] for each in made for rules in each.rules)
                evidence.append(Evidence("conversion", read[0].words, f"{len(read)} such sums", said(list(seen))))
            return made
    evidence.append(Evidence("rules", f"{len(rows)} special rows", "no combination of rules gives every answer",
                             "the nearest is kept"))  # fmt: skip
    grids = [Grid.over(replaced(units[0], **nan, subnormal_inputs=inputs), **SWITCHES) for inputs in (True, False)]
    best = special[0].nearest(grids)
    kept = nan | {name: getattr(best, name) for name in (*SWITCHES, "subnormal_inputs")}
    return [Family(units, [kept])]


def ending(backend: Backend, numbers: Numbers, k: int) -> int | None:
    """Products of an instruction, from zeros that fill one up: -0 stays where all are -0. None where it never does."""
    if backend.hidden or backend.k is not None:
        return None
    lengths: list[int] = [k, *range(1, k)]
    for length in lengths:
        row = dict(probes.specials(numbers, length, False)).get("negative zeros everywhere")
        if row is None or int(backend.pairs(backend.rows([row], length))[0]) != row.c:
            if length == k:
                return None
        elif length != k:
            return length
    return k


def ended(unit: Unit, whole: int) -> Unit:
    """The unit with instructions of that length, where its structure leaves them open."""
    free = unit.c == "early" and unit.order == "ascending" and whole % unit.terms == 0
    return replaced(unit, instruction_k=whole) if free else unit


def fitting(unit: Unit, special: list[Sieve], below: Sieve, counts: bool, readings: tuple[str, ...]) -> list[Fields]:
    """The rules with which a unit gives every answer; with `counts` also those of which a zero counts with an exponent.

    Where none need count, a few exponents stand for those that do not show either.
    """
    found = []
    for inputs, reading in product((True, False), readings):
        grid = passing(special, Grid.over(replaced(unit, subnormal_inputs=inputs, read_as=reading), **SWITCHES))
        without = below.passing(grid)
        for chosen in grid.kept(without | counts).units():
            shows = not below.passes(chosen)
            exponents = range(0, -320, -1) if shows else UNSEEN
            tried = passing([below, *special], Grid.over(chosen, zero_exponent=exponents))
            found += [] if shows else [chosen]
            found += list(tried.units())
    names = ("subnormal_inputs", "read_as", *SWITCHES, "zero_exponent")
    return [{name: getattr(each, name) for name in names} for each in found]


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
