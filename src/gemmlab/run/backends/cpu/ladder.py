"""The rungs of the CPU's ladder as programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.cpu.program import CpuProgram, Prepare, require, threads_given

FLOATS = ("float32", "float64")


def compiled(kernel: Any) -> Prepare:
    """The `prepare` of a numba function of three matrices, compiled for their layouts."""
    from numba import typeof

    def prepare(a: Any, b: Any, d: Any) -> Any:
        kernel.compile(tuple(typeof(each) for each in (a, b, d)))  # type: ignore[no-untyped-call]
        return lambda: kernel(a, b, d)

    return prepare


def naive(problem: Gemm) -> CpuProgram:
    """Three loops, i j k; raises GemmlabError for other formats and factors."""
    require(problem, FLOATS)
    from gemmlab.kernels.ladder.cpu.naive import kernel

    return CpuProgram(problem, compiled(kernel), 1)


def ikj(problem: Gemm) -> CpuProgram:
    """Three loops, i k j; raises GemmlabError for other formats and factors."""
    require(problem, FLOATS)
    from gemmlab.kernels.ladder.cpu.ikj import kernel

    return CpuProgram(problem, compiled(kernel), 1)


def blocks(problem: Gemm) -> CpuProgram:
    """Tiles that NumPy multiplies; raises GemmlabError for other formats and factors."""
    require(problem, FLOATS)
    from gemmlab.kernels.ladder.cpu.blocks import kernel
    from gemmlab.kernels.ladder.cpu.tiling import BLOCK_SIDE
    from gemmlab.run.backends.cpu.openblas import described

    def prepare(a: Any, b: Any, d: Any) -> Any:
        return lambda: kernel(a, b, d)

    return CpuProgram(problem, prepare, threads_given(), tile=f"{BLOCK_SIDE}x{BLOCK_SIDE}x{BLOCK_SIDE}", **described())


def packed(problem: Gemm) -> CpuProgram:
    """Packed panels around a micro-kernel in registers; raises GemmlabError for other formats and factors."""
    require(problem, FLOATS)
    from gemmlab.kernels.ladder.cpu.memory import Workspace
    from gemmlab.kernels.ladder.cpu.packed import compiled_for, prepared
    from gemmlab.kernels.ladder.cpu.tiling import tiling

    threads, kind, space = threads_given(), np.dtype(problem.a_format), Workspace()
    sizes = tiling(kind.itemsize, threads)
    compiled_for(sizes, kind)
    return CpuProgram(problem, lambda a, b, d: prepared(a, b, d, threads, sizes, space), threads, tiling=str(sizes))


def amx(problem: Gemm) -> CpuProgram:
    """bfloat16 on AMX; raises GemmlabError where the CPU has none, and for other formats and factors."""
    require(problem, ("bfloat16",), ("bfloat16", "float32"))
    from gemmlab.kernels.ladder.cpu.amx import compiled_for, missing, prepared
    from gemmlab.kernels.ladder.cpu.memory import Workspace
    from gemmlab.kernels.ladder.cpu.tiling import amx_tiling

    if missing():
        raise GemmlabError(f"no AMX: {missing()}", "--kernel packed --format float32 runs on any CPU")
    threads, sizes, space = threads_given(), amx_tiling(), Workspace()
    compiled_for(problem.d_format == "float32")
    return CpuProgram(problem, lambda a, b, d: prepared(a, b, d, threads, sizes, space), threads, tiling=str(sizes))
