"""One's own kernel on the processor: FILE.py:FUNC, called as FUNC(a, b, d) with NumPy arrays.

a (m, k), b (k, n) and d (m, n) are in the problem's formats and layout; of a batch one entry after another. What FUNC
leaves in d is the result; what it returns is ignored. It may be plain Python, numba, or a call of any library.
"""

from __future__ import annotations

import time
from typing import Any

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.cpu.program import CpuProgram, threads_given
from gemmlab.run.own import function_at, require_arguments


def program(problem: Gemm, place: str) -> CpuProgram:
    """The program of the function at FILE.py:FUNC; raises GemmlabError where there is none, and for factors."""
    if problem.alpha != 1 or problem.beta != 0:
        raise GemmlabError("FUNC(a, b, d) computes D = A @ B alone", "leave --alpha and --beta out")
    function = function_at(place)
    require_arguments(function, place, "FUNC(a, b, d), which writes the array d")

    def prepare(a: Any, b: Any, d: Any) -> Any:
        return lambda: function(a, b, d)

    made = CpuProgram(problem, prepare, threads_given(), file=place)
    made.clock = time.perf_counter  # it may start threads of its own, whose time is its time
    made.environment["timed"] = "wall clock"
    return made
