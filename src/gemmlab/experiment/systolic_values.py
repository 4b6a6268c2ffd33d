"""Values through the grid of registers: random operands in, every element of the result checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab.check import check_bounds, check_exact
from gemmlab.experiment.gemm_checking import roundoff_of
from gemmlab.experiment.unit_operands import numbers, require_room
from gemmlab.formats import encode_array, get
from gemmlab.numerics.operands import typed
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, SystolicSection, Verdict
from gemmlab.systolic import Array, Grid


class Multiplied(NamedTuple):
    """What the grid made of random operands."""

    d: npt.NDArray[Any]  #: (m, n) in D's format
    section: SystolicSection  #: what the grid counted
    verdict: Verdict | None  #: None where integers left the accumulator, which the section tells


def drawn(problem: Gemm, seed: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """A of (m, k) and B of (k, n) in the problem's formats: whole numbers over their range, or normal ones."""
    require_room((problem.m, problem.n, problem.k))
    random = np.random.RandomState(seed)
    sides = ((problem.a_format, (problem.m, problem.k)), (problem.b_format, (problem.k, problem.n)))
    a, b = (typed(encode_array(numbers(name, size, "normal", random), name), name) for name, size in sides)
    return a, b


def multiplied(problem: Gemm, array: Array, seed: int) -> Multiplied:
    """The grid run to its end on random operands; raises GemmlabError for formats that no PE can add."""
    a, b = drawn(problem, seed)
    sums, section = Grid(problem, array, (a, b)).run()
    d = sums if problem.d_format == problem.accumulate else stored(sums, problem.d_format)
    return Multiplied(d, section, judged(problem, a, b, d, section))


def stored(sums: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """The sums rounded to nearest in D's format."""
    return typed(encode_array(sums.astype(np.float64), name), name)


def judged(problem: Gemm, a: Any, b: Any, d: Any, section: SystolicSection) -> Verdict | None:
    """Whether D is the product: bit for bit of integers, within what rounding explains of floats."""
    if get(problem.accumulate).kind != "int":
        return check_bounds(problem, a, b, d, unit_roundoff=roundoff_of(problem))
    if section.overflow is not None and section.overflow.outputs:
        return None
    try:
        return check_exact(problem, a, b, d)
    except GemmlabError:  # partial sums leave the range, though no output does
        return None
