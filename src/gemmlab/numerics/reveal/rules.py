"""The rules beside the widths: subnormals, zeros, NaN and infinities."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from gemmlab import formats
from gemmlab.numerics.operands import Codes
from gemmlab.numerics.reveal import probes
from gemmlab.numerics.reveal.backend import Backend, Row
from gemmlab.numerics.reveal.candidates import Sieve, replaced
from gemmlab.numerics.reveal.evidence import Evidence
from gemmlab.numerics.reveal.numbers import Numbers
from gemmlab.numerics.unit import Unit

Fields = dict[str, Any]

SWITCHES: dict[str, tuple[Any, Any]] = {
    "subnormal_inputs": (True, False),
    "subnormal_outputs": (True, False),
    "zero_sign": (True, False),
    "product_overflow": (False, True),
    "negative_zero": ("positive", "ieee"),
}
UNSEEN = (-133, -149, -300)  # exponents of a zero that are tried where none shows
TRIED = 24  # units that are tried with all rules before none is said to fit


def ruled(
    backend: Backend, numbers: Numbers, units: list[Unit], evidence: list[Evidence]
) -> tuple[list[Unit], list[Fields]]:
    """The units with the rules that were seen, and other values of those fields that explain them as well."""
    k = backend.k or units[0].k
    names = (backend.a_format, backend.b_format)
    asked = [*probes.subnormals(numbers, backend.hidden), *probes.specials(numbers, k, backend.hidden)]
    small = probes.tiny(numbers, backend.hidden)
    rows = [row for _, row in asked] + [p.row for p in small]
    d = backend.pairs(backend.rows(rows, k))
    for (what, row), code in zip(asked, d.tolist(), strict=False):
        value = formats.decode(code, backend.accumulate)
        shown = f"NaN {code:#x}" if math.isnan(value) else repr(value)
        evidence.append(Evidence("special" if what not in KNOWN else "subnormals", row.words, shown, what))

    def sieve(part: list[Row], seen: Codes) -> Sieve:
        return Sieve(backend.rows(part, k), seen, names)

    special = sieve(rows[: len(asked)], d[: len(asked)])
    below = sieve(rows[len(asked) :], d[len(asked) :])
    nan = nan_rule(backend, d)
    combinations = [dict(zip(SWITCHES, values, strict=True)) | nan for values in product(*SWITCHES.values())]
    # A unit whose width is still open may fit only with a zero that counts: others come first without one.
    for counts, unit in product((False, True), units[:TRIED]):
        left = [fields for fields in combinations if special.passes(replaced(unit, **fields))]
        whole = [
            fields | {"zero_exponent": exponent}
            for fields in left
            for exponent in exponents(unit, fields, below, counts)
        ]
        if whole:
            chosen = whole[0]
            open_ = [each for each in whole[1:] if sum(each[name] != chosen[name] for name in chosen) <= 2]
            if not nan_codes(backend, d):
                open_.append(chosen | {"nan_code": chosen["nan_code"] - 1})
            return [replaced(each, **chosen) for each in units], open_
    evidence.append(Evidence("rules", f"{len(rows)} special rows", "no combination of rules gives every answer",
                             "the nearest is kept"))  # fmt: skip
    best = max(combinations, key=lambda fields: special.agreeing(replaced(units[0], **fields)))
    return [replaced(each, **best) for each in units], []


def exponents(unit: Unit, fields: Fields, below: Sieve, counts: bool) -> list[int | None]:
    """The exponents a zero may count with: a few where it need not count at all, as they then do not show."""
    if below.passes(replaced(unit, **fields)):
        return [each for each in (None, *UNSEEN) if below.passes(replaced(unit, **fields, zero_exponent=each))]
    if not counts:
        return []
    return [each for each in range(0, -320, -1) if below.passes(replaced(unit, **fields, zero_exponent=each))]


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
