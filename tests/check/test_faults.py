"""Deliberate faults in honest results are found, named, and told from one another."""

import numpy as np
import pytest

from check.honest import FORMATS, unit, write
from gemmlab.check import check_bounds, check_exact, integer_operands, operands, poisoned
from gemmlab.formats import float32_to_tfloat32, get
from gemmlab.problem import Gemm
from gemmlab.record import Record

FLOATS = [name for name in FORMATS if get(name).kind == "float"]


def judged(problem, given, d, **fields):
    return check_bounds(problem, given.a.array, given.b.array, d, given.c.array, unit_roundoff=unit(problem), **fields)


def transposed_tile(problem, given, d):
    d[:16, :16] = d[:16, :16].T.copy()


def dropped_step(problem, given, d):
    a, b = given.a.array[:16, 16:32].astype(float), given.b.array[16:32, :16].astype(float)
    d[:16, :16] = (d[:16, :16].astype(float) - problem.alpha * a @ b).astype(d.dtype)


def stale_c(problem, given, d):
    d[20] = given.c.array[20]


def sign_flip(problem, given, d):
    place = np.unravel_index(np.argmax(np.abs(d.astype(float))), d.shape)
    d[place] = (-d[place].astype(float)).astype(d.dtype)


def row_off_by_one(problem, given, d):
    d[1:] = d[:-1].copy()


def dropped_tile(problem, given, d):
    d[16:32, 16:32] = 0


def last_column_twice(problem, given, d):
    d[:, -1] = d[:, -2]


def beta_ignored(problem, given, d):
    d[...] = (d.astype(float) - problem.beta * given.c.array.astype(float)).astype(d.dtype)


def alpha_ignored(problem, given, d):
    c = problem.beta * given.c.array.astype(float)
    d[...] = ((d.astype(float) - c) / problem.alpha + c).astype(d.dtype)


MUTATIONS = [
    transposed_tile, dropped_step, stale_c, sign_flip, row_off_by_one, dropped_tile, last_column_twice, beta_ignored,
    alpha_ignored,
]  # fmt: skip


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["float64", "float32", "tfloat32", "bfloat16", "float16", "float8_e4m3fn", "int8"])
def test_a_fault_is_found(mutate, name):
    factors = {"alpha": 2.0, "beta": 1.0} if name == "int8" else {"alpha": 1.5, "beta": 0.5}
    problem = Gemm(47, 39, 70, name, **factors)
    given = operands(problem, 4)
    d = write(problem, given)
    honest = judged(problem, given, d)
    assert honest.ok
    assert honest.informative
    mutate(problem, given, d)
    found = judged(problem, given, d)
    assert not found.ok
    assert found.wrong_elements > 0
    assert found.worst.error_over_bound > 1
    assert found.informative


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "float8_e5m2", "int8"])
def test_a_fault_is_found_by_integers(mutate, name):
    problem = Gemm(47, 39, 70, name, alpha=2.0, beta=1.0)
    given = integer_operands(problem, 4)
    d = write(problem, given)
    mutate(problem, given, d)
    found = check_exact(problem, given.a.array, given.b.array, d, given.c.array)
    assert found.wrong_elements > 0


@pytest.mark.parametrize("name", FLOATS)
def test_one_element_off_by_three_bounds_is_named(name):
    from gemmlab.check.bounds import bound_of

    problem = Gemm(20, 18, 40, name, d_format="float64")
    given = operands(problem, 9)
    d = write(problem, given)
    a, b = given.a.array, given.b.array
    if name == "tfloat32":
        a, b = (float32_to_tfloat32(np.ascontiguousarray(part)) for part in (a, b))
    size = np.abs(a.astype(float)) @ np.abs(b.astype(float))
    bound = bound_of(problem, unit(problem), "rne")
    off = bound.before_output(size, 0 * size)[7, 11]
    d[7, 11] = float((a.astype(float) @ b.astype(float))[7, 11]) + 3 * off
    found = check_bounds(problem, a, b, d, unit_roundoff=unit(problem))
    assert (found.wrong_elements, found.worst.index) == (1, (7, 11))
    assert found.worst.error_over_bound == pytest.approx(3, rel=0.02)
    assert float(found.worst.got) == d[7, 11]


@pytest.mark.parametrize("name", FORMATS)
def test_what_nobody_wrote_is_told_from_what_is_wrong(name):
    problem = Gemm(40, 24, 30, name)
    given = operands(problem, 2)
    d = write(problem, given)
    fresh = poisoned(problem).array
    d[5, 3:9] = fresh[5, 3:9]
    d[0, 0] = 0 if float(d[0, 0]) else 1
    found = judged(problem, given, d)
    assert not found.ok
    assert 4 <= found.unwritten_elements <= 7
    if get(problem.d_format).kind == "float":
        assert found.unwritten_elements == 6
    assert judged(problem, given, fresh).unwritten_elements > 0.95 * d.size


def test_nan_left_by_the_user_is_unwritten_a_computed_one_wrong():
    problem = Gemm(6, 6, 6)
    given = operands(problem, 2)
    d = write(problem, given)
    d[2, 2] = np.nan
    d[3, 3] = np.array(0x7FFFFFFF, np.uint32).view(np.float32)
    found = judged(problem, given, d)
    assert (found.unwritten_elements, found.wrong_elements) == (1, 1)
    assert found.worst.index == (3, 3)
    assert (found.worst.got, found.worst.error_over_bound) == ("nan", None)


def test_overflow_is_range_not_rounding():
    problem = Gemm(3, 3, 16, "float16", d_format="float16")
    a, b = np.full((3, 16), 100, np.float16), np.full((16, 3), 100, np.float16)
    with np.errstate(over="ignore"):
        d = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    found = check_bounds(problem, a, b, d, unit_roundoff=2.0**-24)
    assert (found.ok, found.range_elements, found.wrong_elements) == (False, 9, 0)
    d[1, 1] = 3
    found = check_bounds(problem, a, b, d, unit_roundoff=2.0**-24)
    assert (found.range_elements, found.wrong_elements) == (8, 1)


def test_a_format_that_overflows_to_nan_is_not_taken_for_unwritten():
    problem = Gemm(2, 2, 16, "float8_e4m3fn", d_format="float8_e4m3fn")
    given = operands(problem, 0)
    given.a.array[...], given.b.array[...] = 16, 16
    given.a.array[1] = 1
    d = write(problem, given)
    found = judged(problem, given, d)
    assert (found.range_elements, found.unwritten_elements, found.wrong_elements) == (2, 0, 0)
    d[1] = poisoned(problem).array[1]
    found = judged(problem, given, d)
    assert (found.range_elements, found.unwritten_elements, found.wrong_elements) == (2, 2, 0)


def test_saturation_is_range_too():
    problem = Gemm(2, 2, 16, "float4_e2m1fn", d_format="float4_e2m1fn")
    given = operands(problem, 0)
    given.a.array[...], given.b.array[...] = 2, 2
    found = judged(problem, given, write(problem, given))
    assert (found.ok, found.range_elements) == (False, 4)


def test_a_kernel_that_reads_c_where_beta_is_zero_spreads_nan():
    problem = Gemm(4, 4, 4)
    given = operands(problem, 0)
    d = write(problem, given)
    assert judged(problem, given, d).ok
    with np.errstate(invalid="ignore"):
        assert not judged(problem, given, d + problem.beta * given.c.array).ok


def test_an_infinity_that_nothing_explains_is_wrong():
    problem = Gemm(3, 3, 16)
    given = operands(problem, 1)
    d = write(problem, given)
    d[0, 1] = np.inf
    assert judged(problem, given, d).wrong_elements == 1


def test_an_accumulator_that_overflows_on_the_way_is_range():
    problem = Gemm(1, 1, 4, "float32")
    a, b = np.array([[3e38, 3e38, -3e38, -3e38]], np.float32), np.ones((4, 1), np.float32)
    found = check_bounds(problem, a, b, np.array([[np.nan]], np.float64) * -1 + np.inf, unit_roundoff=2.0**-24)
    assert (found.range_elements + found.unwritten_elements, found.wrong_elements) == (1, 0)
    found = check_bounds(problem, a, b, np.array([[np.inf]], np.float32), unit_roundoff=2.0**-24)
    assert (found.range_elements, found.wrong_elements) == (1, 0)


def test_underflow_is_range_and_gradual_underflow_rounding():
    problem = Gemm(2, 2, 2, "float32", d_format="float16")
    a, b = np.full((2, 2), 2.0**-10, np.float32), np.full((2, 2), 2.0**-7, np.float32)
    d = np.full((2, 2), 2.0**-16, np.float16)
    assert check_bounds(problem, a, b, d, unit_roundoff=2.0**-24).ok
    d[0, 0] = 0
    found = check_bounds(problem, a, b, d, unit_roundoff=2.0**-24)
    assert (found.ok, found.range_elements, found.wrong_elements) == (False, 1, 0)


def test_a_sum_that_wraps_an_int32_is_range():
    problem = Gemm(1, 1, 1 << 18, "int8")
    a, b = np.full((1, problem.k), 127, np.int8), np.full((problem.k, 1), 127, np.int8)
    d = a.astype(np.int32) @ b.astype(np.int32)
    found = check_bounds(problem, a, b, d, unit_roundoff=0.0)
    assert (found.ok, found.range_elements, found.wrong_elements) == (False, 1, 0)


@pytest.mark.parametrize("left", [0.0, 1e308, -1.0, np.nan, np.inf, -np.inf])
def test_any_verdict_goes_through_json(left):
    problem = Gemm(2, 2, 2, "float64")
    tiny = np.full((2, 2), 1e-150)
    d = tiny @ tiny
    d[1, 0] = left
    record = Record(verdict=check_bounds(problem, tiny, tiny, d, unit_roundoff=2.0**-53))
    assert record.verdict.worst.index == (1, 0)
    assert record.verdict.worst.got == repr(left)
    assert Record.from_json(record.to_json()) == record


def test_infinite_and_nan_operands_make_the_same_specials():
    problem = Gemm(2, 2, 2)
    a, b = np.array([[np.inf, 1], [1, 1]], np.float32), np.array([[1, 0], [1, 1]], np.float32)
    with np.errstate(invalid="ignore"):
        d = a @ b
    assert np.isnan(d[0, 1])
    assert check_bounds(problem, a, b, d, unit_roundoff=2.0**-24).ok
    d[0, 0] = 5
    assert not check_bounds(problem, a, b, d, unit_roundoff=2.0**-24).ok
