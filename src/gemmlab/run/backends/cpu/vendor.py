"""NumPy's BLAS as a program."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from gemmlab.check import Operands
from gemmlab.check.storage import poison
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError


class NumpyProgram:
    """`numpy.matmul` into D, on copies of the operands."""

    def __init__(self, problem: Gemm) -> None:
        if problem.alpha != 1 or problem.beta != 0 or problem.groups:
            raise GemmlabError("numpy computes D = A @ B alone", "leave --alpha, --beta and --groups out")
        self.problem = problem
        self.sets: list[tuple[Any, Any, Any]] = []
        blas: dict[str, Any] = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[call-overload,index]
        self.environment = {
            "library": f"numpy {np.__version__}, {blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
            "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        }

    def place(self, operands: Operands, copies: int) -> None:
        """Copies of A and B in their own layouts, and as many D."""
        self.sets = [
            (np.copy(operands.a.array, order="K"), np.copy(operands.b.array, order="K"), np.copy(operands.d.array))
            for _ in range(copies)
        ]

    def elapsed(self, order: Sequence[int]) -> float:
        """Seconds by the processor's monotonic clock."""
        sets, multiply = self.sets, np.matmul
        start = time.perf_counter()
        for index in order:
            a, b, d = sets[index]
            multiply(a, b, out=d)
        return time.perf_counter() - start

    def poison(self) -> None:
        """Fill every D again."""
        code = poison(self.problem.d_format)
        for _, _, d in self.sets:
            d[...] = code

    def result(self, copy: int) -> Any:
        """D of a copy."""
        return self.sets[copy][2]


def numpy_program(problem: Gemm) -> NumpyProgram:
    """The program of a multiplication; raises GemmlabError for factors, groups and what numpy does not multiply."""
    return NumpyProgram(problem)
