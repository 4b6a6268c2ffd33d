"""Candidates held against answers by compiled code, beside the plain reference that answers one row at a time."""

import msgspec
import numpy as np
import pytest

from gemmlab import formats, numerics
from gemmlab.formats.array import code_type
from gemmlab.numerics.probing.backend import Rows
from gemmlab.numerics.probing.computing import both_nan
from gemmlab.numerics.probing.sieving import COLUMNS, Grid, Sieve, tabled, together
from gemmlab.numerics.reference import dot
from gemmlab.record import GemmlabError

ROWS = 24


def any_rows(unit, names, seed):
    """Rows of any codes, sparse ones and ones whose significands are short."""
    rng = np.random.default_rng(seed)
    made = []
    for name, shape in ((names[0], (ROWS, 11)), (names[1], (ROWS, 11)), (unit.accumulate, (ROWS,))):
        form = formats.get(name)
        codes = rng.integers(0, 1 << form.storage_bits, shape, dtype=np.uint64)
        if name != unit.accumulate:
            codes *= rng.random(shape) < 0.5
        made.append(codes.astype(code_type(form)))
    return Rows(*made)


def neighbours(unit):
    """The unit with one field changed at a time, to what is valid."""
    changes = {
        "align_bits": (unit.align_bits - 1, unit.align_bits + 2), "cut": ("rne", "floor", "rna"),
        "width": (unit.width - 1, unit.width - 4),
        "rounding": ("rne", "rz", "floor", "rna"),
        "c_rounding": ("rz", "floor"), "join_bits": (unit.join_bits + 1,),
        "negative_zero": ("positive", "ieee", "rounded"),
        "zero_sign": (not unit.zero_sign,), "product_overflow": (not unit.product_overflow,),
        "subnormal_outputs": (not unit.subnormal_outputs,), "subnormal_inputs": (not unit.subnormal_inputs,),
        "zero_exponent": (None, -20, -133), "terms": (1, 2), "nan": ("ieee",),
    }  # fmt: skip
    made = [unit]
    for field, values in changes.items():
        for value in values:
            try:
                made.append(msgspec.structs.replace(unit, **{field: value}))
            except GemmlabError:
                continue
    return made


@pytest.mark.parametrize(
    "name",
    [
        "hopper.wgmma.float8_e4m3fn", "hopper.mma.float8_e4m3fn", "hopper.mma.float16.float16", "cdna3.mfma.bfloat16",
        "cdna3.mfma.float8_e4m3fnuz", "cdna2.mfma.float16", "amx.tdp.bfloat16", "cpu.fma.float32", "cuda.fma.float64",
    ],
)  # fmt: skip
def test_what_passes_is_what_the_reference_answers(name):
    unit = numerics.unit(name)
    names = (unit.a_formats[0], unit.b_formats[-1])
    rows = any_rows(unit, names, len(name))
    units = neighbours(unit)
    plain = {}
    for at, each in enumerate(units):
        answers = [
            dot(each, a, b, c, *names)
            for a, b, c in zip(rows.a.tolist(), rows.b.tolist(), rows.c.tolist(), strict=True)
        ]
        plain[at] = np.array(answers, rows.c.dtype)
    seen = plain[0]
    agree = [
        np.array([x == y or both_nan(each, int(x), int(y)) for x, y in zip(plain[at], seen, strict=True)])
        for at, each in enumerate(units)
    ]
    sieve = Sieve(rows, seen, names)
    assert sieve.left(units) == [each for each, equal in zip(units, agree, strict=True) if equal.all()]
    for ats in together(units).values():
        counted = sieve.right(tabled([units[at] for at in ats]), sieve.order, True)
        assert counted.tolist() == [int(agree[at].sum()) for at in ats]


def few_terms(unit, names, seed):
    """Rows of at most three products, exponents near one another, so that wide alignments cut nothing."""
    rng = np.random.default_rng(seed)
    made = []
    for name, shape in ((names[0], (ROWS, 9)), (names[1], (ROWS, 9)), (unit.accumulate, (ROWS,))):
        values = np.ldexp(1 + rng.integers(0, 4, shape) / 4, rng.integers(-2, 3, shape)) * rng.choice([-1, 1], shape)
        values *= rng.random(shape) < 0.4
        made.append(formats.encode_array(values, name))
    return Rows(*made)


@pytest.mark.parametrize(
    "name", ["hopper.mma.float16.float16", "hopper.mma.float8_e4m3fn", "cdna3.mfma.bfloat16", "ada.mma.float8_e5m2"]
)
@pytest.mark.parametrize("high", [False, True])
def test_candidates_that_cut_nothing_are_counted_as_the_one_held_for_them(name, high, monkeypatch):
    unit = numerics.unit(name)
    names = (unit.a_formats[0], unit.b_formats[-1])
    rows = few_terms(unit, names, len(name))
    if high:  # C about the largest number, where sums overflow
        rows = rows._replace(c=rows.c + np.where(rows.c != 0, formats.encode(2.0**14, unit.accumulate) & 0x7FFF, 0))
        rows = rows._replace(c=rows.c.astype(code_type(formats.get(unit.accumulate))))
    joined = {"join_bits": (50,)} if unit.c == "floor" else {}
    choices = {"align_bits": range(1, 49), "cut": ("rz", "rne", "floor", "rna"), "rounding": ("rne", "floor")}
    grid = Grid.over(unit, **choices, zero_exponent=(-8000, 3), **joined)
    seen = np.array([dot(unit, a, b, c, *names) for a, b, c in zip(*(each.tolist() for each in rows), strict=True)])
    sieve = Sieve(rows, seen.astype(rows.c.dtype), names)
    merged, _ = sieve.distinct(grid)
    counted = sieve.right(grid, sieve.order, True)
    monkeypatch.setattr(Sieve, "distinct", lambda _, grid: (grid, np.arange(len(grid))))
    assert counted.tolist() == sieve.right(grid, sieve.order, True).tolist()
    assert len(merged) < len(grid)
    assert len(set(counted.tolist())) > 1


def test_a_grid_is_its_units_in_their_order():
    unit = numerics.unit("cdna3.mfma.float16")
    grid = Grid.over(unit, align_bits=(24, 25), rounding=("rne", "rz"), zero_exponent=(-8000, -133))
    units = list(grid.units())
    assert [(each.align_bits, each.rounding, each.zero_exponent) for each in units[:3]] == [
        (24, "rne", None),
        (24, "rne", -133),
        (24, "rz", None),
    ]
    assert tabled(units).table.tolist() == grid.table.tolist()
    assert set(COLUMNS) <= set(unit.__struct_fields__)
