"""Honest results pass: every format, any order of summing, layout, structure, batch, group and factor."""

import numpy as np
import pytest

from check.honest import FORMATS, ORDERS, random_problem, unit, write
from gemmlab.check import DISTRIBUTIONS, check_bounds, check_exact, integer_operands, operands
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

LAWS = tuple(DISTRIBUTIONS)


def judged(problem, given, d, **fields):
    return check_bounds(problem, given.a.array, given.b.array, d, given.c.array, unit_roundoff=unit(problem), **fields)


@pytest.mark.parametrize("first", range(0, 500, 50))
def test_no_false_alarm_in_five_hundred(first):
    informative = 0
    for seed in range(first, first + 50):
        problem = random_problem(seed)
        given = operands(problem, seed, LAWS[seed % 3])
        found = judged(problem, given, write(problem, given, ORDERS[seed % 6], seed))
        assert found.ok, (seed, problem, found)
        assert found.max_relative_error <= found.bound or problem.d_format != problem.accumulate, (seed, found)
        informative += found.informative
    assert informative >= 45


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("order", ORDERS)
def test_every_format_in_every_order(name, order):
    problem = Gemm(33, 29, 70, name, layout="nt", lda=72)
    for law in LAWS:
        given = operands(problem, 3, law)
        assert judged(problem, given, write(problem, given, order)).ok


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_integers_are_equal_bit_for_bit_in_every_order(first):
    refused = 0
    for seed in range(first, first + 100):
        problem = random_problem(seed)
        try:
            given = integer_operands(problem, seed)
        except GemmlabError:
            refused += 1
            assert abs(problem.alpha) == 1.3 or problem.beta == 0.7
            continue
        d = write(problem, given, ORDERS[seed % 6], seed)
        found = check_exact(problem, given.a.array, given.b.array, d, given.c.array)
        assert found.ok, (seed, problem, found)
        assert found.max_relative_error == found.bound == 0
    assert refused < 60


@pytest.mark.parametrize("name", FORMATS)
def test_a_long_k_is_exact_too(name):
    problem = Gemm(24, 18, 5000, name)
    given = integer_operands(problem, 1)
    results = [np.array(write(problem, given, order)).astype(float) for order in ("forward", "backward", "split")]
    assert all((each == results[0]).all() for each in results)
    assert check_exact(problem, given.a.array, given.b.array, given.d.array).ok
    assert (results[0] != 0).any()


@pytest.mark.parametrize(("name", "u"), [("float16", 2.0**-11), ("bfloat16", 2.0**-8)])
@pytest.mark.parametrize("order", ["forward", "backward", "shuffled", "split", "pairwise"])
def test_sums_kept_in_sixteen_bits(name, u, order):
    problem = Gemm(12, 11, 30, name, d_format=name, accumulate=name, alpha=0.5, beta=2.0)
    for seed in range(10):
        given = operands(problem, seed, LAWS[seed % 3])
        d = write(problem, given, order)
        assert check_bounds(problem, given.a.array, given.b.array, d, given.c.array, unit_roundoff=u).ok
        given = integer_operands(problem.replace(k=700), seed)
        d = write(problem.replace(k=700), given, order)
        assert check_exact(problem.replace(k=700), given.a.array, given.b.array, d, given.c.array).ok


def test_a_sum_that_begins_with_c_passes():
    problem = Gemm(20, 20, 300, beta=1.0)
    given = operands(problem, 8, "positive")
    c = given.c.array * 0 + np.float32(12345.678)
    d = c.copy()
    for j in range(problem.k):
        d += np.outer(given.a.array[:, j], given.b.array[j]) * np.float32(0.01)
    a = given.a.array.astype(float)
    found = check_bounds(problem, a * np.float32(0.01), given.b.array, d, c, unit_roundoff=2.0**-24)
    assert found.ok
    assert found.max_relative_error > 4 * 2.0**-24


def test_blocks_change_nothing(monkeypatch):
    problem = Gemm(130, 70, 150, "bfloat16", beta=0.5, structure="general")
    given = operands(problem, 5)
    d = write(problem, given)
    whole = judged(problem, given, d)
    monkeypatch.setattr("gemmlab.check.reference.SIDE", 32)
    parts = judged(problem, given, d)
    assert parts.ok
    assert parts.worst.index == whole.worst.index
    assert parts.max_relative_error == pytest.approx(whole.max_relative_error, rel=1e-9)


def test_truncation_passes_with_its_own_unit_only():
    problem = Gemm(8, 8, 400, "float32")
    given = operands(problem, 2, "positive")
    a, b = (part.array.astype(np.float64) for part in (given.a, given.b))
    sums = np.zeros((8, 8))
    for j in range(problem.k):
        sums = chopped(sums + chopped(np.outer(a[:, j], b[j]), 12), 12)
    assert check_bounds(problem, a, b, sums, unit_roundoff=2.0**-11).ok
    assert not check_bounds(problem, a, b, sums, unit_roundoff=2.0**-24).ok


def chopped(values, bits):
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.trunc(np.ldexp(fraction, bits)), exponent - bits)
