"""numba.cuda kernels on a GPU through numba-cuda: the very objects that the emulator runs, and one's own."""

from __future__ import annotations

import importlib.metadata
import os
from typing import Any

import numpy as np

from gemmlab.kernels.ladder import RUNGS, load
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.run.backends.cuda.device import EXTRA, called
from gemmlab.run.backends.cuda.program import CudaProgram
from gemmlab.run.own import function_at, require_arguments

Sizes = tuple[int, int, int]
MOST_THREADS = 1024  # of a block, on every compute capability


def numba_cuda() -> tuple[Any, str]:
    """`numba.cuda` as numba-cuda has it, and its version; raises GemmlabError where that is not installed."""
    try:
        version = importlib.metadata.version("numba-cuda")
    except importlib.metadata.PackageNotFoundError:
        raise GemmlabError("numba-cuda is not installed", EXTRA) from None
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack  # numba-cuda asks for it; NumPy 2.5 has it no more
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # small grids are asked for
    from numba import cuda

    return cuda, version


class Words:
    """Memory that numba takes as an array."""

    def __init__(self, address: int, shape: tuple[int, int], ld: int, dtype: Any) -> None:
        kind = np.dtype(dtype)
        strides = None if ld == shape[1] else (ld * kind.itemsize, kind.itemsize)
        self.__cuda_array_interface__ = {
            "shape": shape,
            "strides": strides,
            "typestr": kind.str,
            "data": (address, False),
            "version": 3,
        }


class NumbaProgram(CudaProgram):
    """A numba.cuda kernel with the arguments (a, b, c), 2-d arrays."""

    def __init__(self, problem: Gemm, kernel: Any, grid: Sizes, block: Sizes, *, zeroed: bool = False) -> None:
        super().__init__(problem, ("float32",))
        self.cuda, version = numba_cuda()
        self.zeroed = zeroed
        self.ready = kernel[grid, block, self.cuda.external_stream(int(self.device.stream))]
        self.arrays: list[tuple[Any, Any, Any]] = []
        self.environment |= {"compiler": f"numba-cuda {version}", "block": "x".join(map(str, block))}

    def place(self, operands: Any, copies: int) -> None:
        """As any program does, and the arrays that numba sees."""
        super().place(operands, copies)
        p = self.problem
        self.arrays = [
            tuple(
                self.cuda.as_cuda_array(Words(address, shape, ld, np.float32))
                for address, shape, ld in (
                    (each.a, (p.m, p.k), p.lda),
                    (each.b, (p.k, p.n), p.ldb),
                    (each.d, (p.m, p.n), p.ldc),
                )
            )
            for each in self.sets
        ]

    def launch(self, number: int) -> None:
        """Put the multiplication of set `number` on the stream, D zeroed before it where the kernel adds to it."""
        if self.zeroed:
            p, api, stream = self.problem, self.device.api, self.device.stream
            called(api.cuMemsetD2D32Async(self.sets[number].d, p.ldc * 4, 0, p.n, p.m, stream))
        self.ready(*self.arrays[number])


def own(problem: Gemm, place: str) -> NumbaProgram:
    """The program of one's own kernel, `FILE.py:FUNC`, with `;block=32x8` and `;grid=4x2` behind where they are given.

    FUNC is under numba's @cuda.jit and takes (a, b, c), 2-d float32 arrays; threads and blocks along x cover n, along y
    m, as `gemmlab emulate` launches it: without a block 16x16, without a grid as many as cover C. Raises GemmlabError
    for a file or function that there is not, what is no kernel of three arguments, sizes that are none, and where GPU
    or packages are missing.
    """
    numba_cuda()
    where, *options = place.split(";")
    sizes = {"block": (16, 16, 1)} | dict(size_of(option) for option in options)
    block = sizes["block"]
    grid = sizes.get("grid", (-(-problem.n // block[0]), -(-problem.m // block[1]), 1))
    return NumbaProgram(problem, kernel_of(where), grid, block)


def kernel_of(where: str) -> Any:
    """The kernel that `FILE.py:FUNC` names; raises GemmlabError where that is none, or not one of (a, b, c)."""
    kernel = function_at(where)
    if not hasattr(kernel, "py_func") or not hasattr(kernel, "__getitem__"):
        path, _, name = where.rpartition(":")
        raise GemmlabError(
            f"`{name}` of {os.path.basename(path)} is no kernel, but of type {type(kernel).__name__}",
            "put numba's @cuda.jit on it, or choose --backend triton or cpu, where FUNC is a plain function",
        )
    require_arguments(kernel.py_func, where, "a kernel of (a, b, c), 2-d arrays of float32")
    return kernel


def size_of(option: str) -> tuple[str, Sizes]:
    """`block=32x8` as a name and three sides; raises GemmlabError."""
    name, _, text = option.partition("=")
    sides = text.split("x")
    if (
        name not in ("block", "grid")
        or len(sides) > 3
        or not all(s.isascii() and s.isdigit() and int(s) for s in sides)
    ):
        raise GemmlabError(f"`{option}` is no block or grid", "block=16x16, grid=64x64")
    x, y, z = (*map(int, sides), 1, 1)[:3]
    if name == "block" and x * y * z > MOST_THREADS:
        raise GemmlabError(f"`{option}` is {x * y * z:,} threads", f"at most {MOST_THREADS:,} in a block, as 32x32")
    return name, (x, y, z)


def program(problem: Gemm, name: str) -> NumbaProgram:
    """The program of a rung; raises GemmlabError for an unknown one and where GPU or packages are missing."""
    if name not in RUNGS:
        raise unknown_name("kernel", name, RUNGS)
    numba_cuda()
    rung = RUNGS[name]
    return NumbaProgram(problem, load(rung.source), *rung.launch(problem.m, problem.n), zeroed=rung.parts > 1)
