"""A verdict that could not have seen a fault says so."""

import numpy as np
import pytest

from check.honest import write
from gemmlab.check import check_bounds, check_exact, integer_operands, operands
from gemmlab.problem import Gemm


def judged(problem, given, d, unit=2.0**-24, **fields):
    return check_bounds(problem, given.a.array, given.b.array, d, given.c.array, unit_roundoff=unit, **fields)


def test_ordinary_operands_have_power():
    problem = Gemm(64, 48, 512, "bfloat16", alpha=0.5, beta=2.0)
    given = operands(problem, 0)
    found = judged(problem, given, write(problem, given))
    assert found.informative
    assert found.missed_faults == ()


def test_zeros_prove_nothing():
    problem = Gemm(20, 20, 20)
    found = check_bounds(problem, *(np.zeros((20, 20), np.float32),) * 3, unit_roundoff=2.0**-24)
    assert found.ok
    assert not found.informative
    assert found.missed_faults == ("a step of k dropped", "a tile of D left at zero", "all zeros")


def test_a_tile_of_zeros_alone_is_noticed():
    problem = Gemm(40, 40, 20)
    given = operands(problem, 0)
    given.a.array[16:32] = 0
    assert judged(problem, given, write(problem, given)).missed_faults == ("a tile of D left at zero",)
    assert judged(problem, given, given.d.array, tile=(32, 40, 16)).missed_faults == ()


def test_a_step_of_zeros_alone_is_noticed():
    problem = Gemm(40, 40, 64)
    given = operands(problem, 0)
    given.b.array[48:] = 0
    assert judged(problem, given, write(problem, given)).missed_faults == ("a step of k dropped",)


@pytest.mark.parametrize(("field", "value"), [("alpha", 1 + 1e-6), ("beta", 1e-7)])
def test_a_factor_within_rounding_could_be_ignored(field, value):
    problem = Gemm(32, 32, 64, **{field: value})
    given = operands(problem, 0)
    found = judged(problem, given, write(problem, given))
    assert found.ok
    assert found.missed_faults == (f"{field} ignored",)


def test_a_bound_as_wide_as_the_result_sees_nothing():
    problem = Gemm(32, 32, 1024)
    given = operands(problem, 0)
    d = write(problem, given)
    wide = judged(problem, given, d, unit=2.0**-12)
    assert wide.ok
    assert not wide.informative
    exact = integer_operands(problem, 0)
    assert check_exact(problem, exact.a.array, exact.b.array, write(problem, exact)).informative


def test_what_is_called_informative_would_indeed_be_found():
    problem = Gemm(33, 34, 40, "float16", alpha=1.25, beta=0.75)
    given = operands(problem, 6)
    c = problem.beta * given.c.array.astype(float)
    faults = {"alpha": problem.replace(alpha=1.0), "beta": problem.replace(beta=0.0)}
    for other in faults.values():
        assert judged(problem, given, write(other, given)).wrong_elements
    assert judged(problem, given, np.zeros_like(c, np.float16)).wrong_elements
    d = write(problem, given)
    d[32:, 32:] = 0
    found = judged(problem, given, d)
    assert found.informative
    assert found.wrong_elements


def test_a_wrong_result_does_not_make_a_verdict_less_informative():
    problem = Gemm(33, 34, 40)
    given = operands(problem, 6)
    assert judged(problem, given, given.d.array).informative
