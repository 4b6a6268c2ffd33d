"""Operands have their problem's formats, places and structure, and are the same for the same seed."""

import subprocess
import sys
import tracemalloc

import ml_dtypes
import numpy as np
import pytest

from check.honest import FORMATS, random_problem, write
from gemmlab.check import (
    DISTRIBUTIONS,
    check_bounds,
    check_exact,
    dense,
    drawn,
    integer_operands,
    operands,
    poisoned,
)
from gemmlab.formats import dtype_of, names
from gemmlab.problem import BlockScale, Gemm
from gemmlab.record import GemmlabError


@pytest.mark.parametrize("make", [operands, integer_operands])
def test_views_lie_where_the_problem_says(make):
    problem = Gemm(5, 7, 6, "float16", layout="tn", lda=9, ldb=8, ldc=11, batch=3, a_offset_bytes=6, c_offset_bytes=2)
    given = make(problem, 1)
    a, b, c, d = (part.array for part in given)
    assert (a.shape, b.shape, c.shape, d.shape) == ((3, 5, 6), (3, 6, 7), (3, 5, 7), (3, 5, 7))
    flat = given.a.storage
    assert flat.shape == (3 + 3 * 6 * 9,)
    assert a[2, 4, 5] == flat[3 + 2 * 6 * 9 + 5 * 9 + 4]
    assert b[1, 3, 2] == given.b.storage[6 * 8 + 3 * 8 + 2]
    assert d.base is not None
    d[2, 4, 6] = 3
    assert given.d.storage[1 + 2 * 5 * 11 + 4 * 11 + 6] == 3
    assert all(np.shares_memory(part.array, part.storage) for part in given)


def test_gaps_hold_poison():
    problem = Gemm(4, 4, 4, lda=6, ldb=5, ldc=7, a_offset_bytes=8, beta=1.0)
    given = operands(problem, 0)
    assert [int(np.isnan(part.storage).sum()) for part in given] == [2 + 4 * 2, 4, 4 * 3, 4 * 7]
    assert np.isfinite(given.a.array).all()
    assert np.isnan(operands(problem.replace(beta=0.0), 0).c.array).all()


def test_members_of_a_group_stand_one_after_another():
    problem = Gemm.grouped([(2, 3, 4), (5, 3, 2)], "bfloat16", layout="nt")
    given = operands(problem, 0)
    assert [part.shape for part in given.b.array] == [(4, 3), (2, 3)]
    assert given.b.storage.size == 3 * 4 + 3 * 2
    assert np.shares_memory(given.b.array[1], given.b.storage[12:])
    found = check_bounds(problem, given.a.array, given.b.array, write(problem, given), unit_roundoff=2.0**-24)
    assert (found.ok, found.elements) == (True, 2 * 3 + 5 * 3)
    given.d.array[1][4, 2] = 99
    found = check_bounds(problem, given.a.array, given.b.array, given.d.array, unit_roundoff=2.0**-24)
    assert found.worst.index == (1, 4, 2)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_the_same_seed_gives_the_same_and_another_does_not(seed):
    problem = random_problem(seed)
    one, two, three = (operands(problem, each) for each in (seed, seed, seed + 1))
    assert all(x.storage.tobytes() == y.storage.tobytes() for x, y in zip(one, two, strict=True))
    assert problem.m * problem.k < 9 or one.a.storage.tobytes() != three.a.storage.tobytes()


def test_the_streams_are_those_that_were_published():
    given = operands(Gemm(1, 1, 3), 0)
    assert [float(x) for x in given.a.array[0]] == [np.float32(x) for x in (1.764052345967664, 0.4001572083672233,
                                                                          0.9787379841057392)]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in FORMATS if name.startswith(("float", "bfloat"))])
@pytest.mark.parametrize("law", DISTRIBUTIONS)
def test_results_stay_in_range(name, law):
    problem = Gemm(20, 20, 300, name, d_format=name)
    given = operands(problem, 0, law)
    assert np.isfinite(given.a.array.astype(float)).all()
    found = check_bounds(problem, given.a.array, given.b.array, write(problem, given), unit_roundoff=2.0**-24)
    assert found.range_elements == 0


def test_structures_are_in_the_values():
    square = {"m": 12, "n": 5, "k": 12}
    a = operands(Gemm(**square, structure="triangular"), 0).a.array
    assert (a == np.tril(a)).all()
    a = operands(Gemm(**square, structure="symmetric"), 0).a.array
    assert (a == a.T).all()
    a = operands(Gemm(**square, structure="banded", lower_band=2, upper_band=1), 0).a.array
    assert (a == np.tril(np.triu(a, -2), 1)).all()
    assert (np.diagonal(a, -2) != 0).all()
    assert (operands(Gemm(**square, structure="sparse_2_4"), 0).a.array.reshape(12, 3, 4) != 0).sum(2).max() == 2


def test_dense_ignores_what_the_structure_leaves_out():
    stored = np.arange(16.0).reshape(4, 4) + 1
    assert dense(Gemm(4, 4, 4, structure="triangular"), stored)[0].tolist() == [1, 0, 0, 0]
    assert dense(Gemm(4, 4, 4, structure="symmetric"), stored)[0].tolist() == [1, 5, 9, 13]
    stored[0, 3] = np.nan
    assert np.isfinite(dense(Gemm(4, 4, 4, structure="triangular"), stored)).all()
    with pytest.raises(GemmlabError, match="row 0, columns 0 to 3"):
        dense(Gemm(4, 4, 4, structure="sparse_2_4"), stored)


@pytest.mark.parametrize("name", [name for name in names() if name != "float8_e8m0fnu"])
def test_every_format_has_a_type_that_holds_it(name):
    if not hasattr(ml_dtypes, name) and not hasattr(np, name) and name != "tfloat32":
        pytest.skip(f"ml_dtypes {ml_dtypes.__version__} has no type {name}")
    assert dtype_of(name).itemsize >= 1
    given = operands(Gemm(3, 3, 4, name), 0)
    assert given.a.array.dtype == dtype_of(name)
    assert poisoned(Gemm(2, 2, 2, d_format=name)).array.shape == (2, 2)


SMALL = Gemm(2, 2, 2)
GOOD = np.ones((2, 2), np.float32)
REFUSED = [
    (lambda: check_bounds(SMALL, GOOD, GOOD, GOOD[:1], unit_roundoff=0.0), "D is 1 x 2, not 2 x 2"),
    (lambda: check_bounds(SMALL, GOOD[0], GOOD, GOOD, unit_roundoff=0.0), "A is 2, not 2 x 2"),
    (lambda: check_bounds(SMALL, GOOD * 1j, GOOD, GOOD, unit_roundoff=0.0), "complex"),
    (lambda: check_bounds(SMALL, GOOD, GOOD, GOOD, unit_roundoff=1.5), "unit_roundoff=1.5"),
    (lambda: check_bounds(SMALL, GOOD, GOOD, GOOD, unit_roundoff=float("nan")), "unit_roundoff=nan"),
    (lambda: check_bounds(SMALL, GOOD, GOOD, GOOD, unit_roundoff=0.3), "2 roundings with unit 0.3"),
    (lambda: check_bounds(SMALL, GOOD, GOOD, GOOD, unit_roundoff=0.0, output_rounding="up"), "unknown rounding `up`"),
    (lambda: check_bounds(SMALL, GOOD, GOOD, GOOD, unit_roundoff=0.0, tile=(0, 1, 1)), "tile"),
    (lambda: check_bounds(SMALL.replace(beta=1.0), GOOD, GOOD, GOOD, unit_roundoff=0.0), "there is no C"),
    (lambda: check_bounds(SMALL.replace(epilogue="relu"), GOOD, GOOD, GOOD, unit_roundoff=0.0), "epilogue `relu`"),
    (lambda: check_bounds(SMALL.replace(scale=BlockScale()), GOOD, GOOD, GOOD, unit_roundoff=0.0), "block scales"),
    (
        lambda: check_bounds(SMALL.replace(batch=3), [GOOD] * 2, [GOOD] * 3, [GOOD] * 3, unit_roundoff=0.0),
        "A has 2 matrices",
    ),
    (lambda: check_bounds(Gemm.grouped([(2, 2, 2)] * 2), GOOD[0, 0], GOOD, GOOD, unit_roundoff=0.0), "A is"),
    (lambda: check_exact(SMALL, GOOD * 0.5, GOOD, GOOD), "A holds more than integers"),
    (lambda: check_exact(SMALL, GOOD * 2.0**14, GOOD * 2.0**14, GOOD), "not exact in float32"),
    (lambda: integer_operands(SMALL.replace(alpha=0.1)), "alpha=0.1"),
    (lambda: integer_operands(SMALL.replace(beta=1 / 3)), "beta=0.333"),
    (lambda: integer_operands(Gemm(2, 2, 2, "int8", alpha=0.5)), "alpha=0.5"),
    (lambda: integer_operands(Gemm(2, 2, 2, "uint8", d_format="uint8", alpha=-1.0)), "no negative result"),
    (lambda: integer_operands(Gemm(2, 2, 2, "float8_e8m0fnu")), "float8_e8m0fnu holds no zero"),
    (lambda: operands(SMALL, 0, "cauchy"), "unknown distribution `cauchy`"),
    (lambda: operands(SMALL.replace(a_offset_bytes=3), 0), "a_offset_bytes=3"),
]


@pytest.mark.parametrize(("make", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_cannot_be_checked_is_refused_in_words(make, said):
    with pytest.raises(GemmlabError, match=said.replace("(", r"\(")):
        make()


def test_importing_the_part_loads_no_numpy():
    code = "import sys, gemmlab.check; assert 'numpy' not in sys.modules and 'ml_dtypes' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["float32", "float8_e4m3fn", "int8"])
def test_rounding_some_rows_at_a_time_changes_nothing(name, monkeypatch):
    problem = Gemm(7, 5, 9, name, layout="nt")
    whole = operands(problem, 3)
    monkeypatch.setattr(drawn, "ROUNDED_AT_ONCE", 10)
    parts = operands(problem, 3)
    assert all(one.storage.tobytes() == other.storage.tobytes() for one, other in zip(whole, parts, strict=True))


def test_drawing_takes_little_more_than_the_largest_matrix_in_float64(monkeypatch):
    monkeypatch.setattr(drawn, "ROUNDED_AT_ONCE", 10_000)
    tracemalloc.start()
    operands(Gemm(1, 3000, 1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3e6 * (8 + 4) + 2e6
