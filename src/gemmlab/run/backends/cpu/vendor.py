"""The libraries that rungs are measured against: NumPy's BLAS, and torch's."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.cpu.openblas import described
from gemmlab.run.backends.cpu.program import CpuProgram, require, threads_given


def numpy_program(problem: Gemm) -> CpuProgram:
    """`numpy.matmul`; raises GemmlabError for formats and factors that it does not have."""
    require(problem, ("float32", "float64"))

    def prepare(a: Any, b: Any, d: Any) -> Any:
        return lambda: np.matmul(a, b, out=d)

    return CpuProgram(problem, prepare, threads_given(), **described())


def torch_program(problem: Gemm) -> CpuProgram:
    """`torch.mm`; raises GemmlabError where torch is not installed, and for formats and factors that it lacks."""
    require(problem, ("float32", "float64", "bfloat16"))
    try:
        import torch
    except ImportError:
        raise GemmlabError("torch is not installed", 'pip install "gemmlab[torch]"') from None
    threads = threads_given()
    torch.set_num_threads(threads)
    kind = getattr(torch, problem.a_format)

    def tensor(array: Any) -> Any:
        words = array.view(np.int16) if problem.a_format == "bfloat16" else array
        return torch.from_numpy(words).view(kind)

    def prepare(a: Any, b: Any, d: Any) -> Any:
        left, right, out = tensor(a), tensor(b), tensor(d)
        return lambda: torch.mm(left, right, out=out)

    return CpuProgram(
        problem, prepare, threads,
        library=f"torch {torch.__version__}", instructions=torch.backends.cpu.get_cpu_capability(),
    )  # fmt: skip
