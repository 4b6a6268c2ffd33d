"""The rules beside the widths: subnormals, zeros, NaN and infinities."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gemmlab import formats
from gemmlab.numerics.operands import Codes
from gemmlab.numerics.reveal import probes
from gemmlab.numerics.reveal.backend import Backend
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
ZERO_EXPONENTS = (None, *range(0, -320, -1))
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
        shown = f"NaN {code:#x}" if value != value else repr(value)
        evidence.append(Evidence("special" if what not in KNOWN else "subnormals", row.words, shown, what))
    sieve = Sieve(rows[: len(asked)], d[: len(asked)], names)
    below = Sieve([p.row for p in small], d[len(asked) :], names)
    nan = nan_rule(backend, d)
    combinations = [dict(zip(SWITCHES, values, strict=True)) | nan for values in product(*SWITCHES.values())]
    for unit in units[:TRIED]:
        left = [fields for fields in combinations if sieve.passes(replaced(unit, **fields))]
        whole = [
            fields | {"zero_exponent": exponent}
            for fields in left
            for exponent in ZERO_EXPONENTS
            if below.passes(replaced(unit, **fields, zero_exponent=exponent))
        ]
        if whole:
            chosen = whole[0]
            return [replaced(each, **chosen) for each in units], [
                *whole[1:], *({"nan_code": chosen["nan_code"] ^ 1} for _ in (1,) if not nan_seen(backend, d)),
            ]  # fmt: skip
    evidence.append(Evidence("rules", f"{len(rows)} special rows", "no combination of rules gives every answer", "the "
                             "nearest is kept"))  # fmt: skip
    best = max(combinations, key=lambda fields: sum(sieve.agrees(replaced(units[0], **fields), *row)
                                                    for row in sieve.order))  # fmt: skip
    return [replaced(each, **best) for each in units], []


KNOWN = ("operand", "addend", "sum")


def nan_codes(backend: Backend, d: Codes) -> list[int]:
    """The codes of the NaN among answers, each once."""
    form = formats.get(backend.accumulate)
    mask = d.dtype.type((1 << (form.bits - 1)) - 1)
    return [int(code) for code in np.unique(d[(d & mask) > form.max_magnitude + 1])]


def nan_seen(backend: Backend, d: Codes) -> bool:
    """Whether any answer is NaN."""
    return bool(nan_codes(backend, d))


def nan_rule(backend: Backend, d: Codes) -> Fields:
    """The fields about NaN: one code where all have it; else any."""
    found = nan_codes(backend, d)
    if not found:
        return {"nan": "fixed", "nan_code": (1 << (formats.get(backend.accumulate).bits - 1)) - 1}
    return {"nan": "fixed" if len(found) == 1 else "ieee", "nan_code": found[0]}
