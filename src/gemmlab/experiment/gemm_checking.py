"""Whether what a kernel wrote is the product: within what rounding explains, and bit for bit on integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.check import check_bounds, check_exact
from gemmlab.check.bounds import bound_of
from gemmlab.experiment.gemm_arguments import Filled, Roles
from gemmlab.formats import get
from gemmlab.problem import Gemm
from gemmlab.record import Verdict

Judge = Callable[[Mapping[str, Any]], tuple[int, float | None]]


def within_rounding(problem: Gemm, arguments: Filled) -> Verdict:
    """The result against float64, sums rounded in the problem's accumulator."""
    given = (problem, arguments.a, arguments.b, arguments.result, arguments.addend)
    return check_bounds(*given, unit_roundoff=roundoff_of(problem))


def roundoff_of(problem: Gemm) -> float:
    """Unit roundoff of one addition in the problem's accumulator."""
    form = get(problem.accumulate)
    return 2.0**-form.precision if form.kind == "float" else 0.0


def wrong_cells(problem: Gemm, arguments: Filled, result: Any) -> npt.NDArray[np.bool_]:
    """Which elements of C, (m, n), lie further from float64 than `within_rounding` allows; for alpha 1 and beta 0."""
    a, b = arguments.a.astype(np.float64), arguments.b.astype(np.float64)
    bound = bound_of(problem, roundoff_of(problem), "rne")
    with np.errstate(invalid="ignore", over="ignore"):
        expected, sizes = a @ b, np.abs(a) @ np.abs(b)
        error = bound.before_output(sizes, np.zeros_like(sizes))
        right = np.abs(result.astype(np.float64) - expected) <= bound.with_output(error, expected)
    return np.asarray(~right)


def bit_for_bit(problem: Gemm, arguments: Filled) -> Verdict:
    """The result on integers, of which every partial sum is exact."""
    return check_exact(problem, arguments.a, arguments.b, arguments.result, arguments.addend)


def judge_of(problem: Gemm, parts: Roles, arguments: Filled) -> Judge:
    """What tells of other contents of the arrays how many elements of C are wrong, and the largest relative error."""

    def judge(arrays: Mapping[str, Any]) -> tuple[int, float | None]:
        verdict = within_rounding(problem, replace(arguments, result=matrix(problem, arrays[parts.c])))
        wrong = verdict.wrong_elements + verdict.unwritten_elements + verdict.range_elements
        return wrong, verdict.max_relative_error

    return judge


def matrix(problem: Gemm, c: Any) -> Any:
    """C as (m, n), of an array in two axes or flat with its gaps."""
    if c.ndim == 2:
        return c
    return c[: problem.m * problem.ldc].reshape(problem.m, problem.ldc)[:, : problem.n]
