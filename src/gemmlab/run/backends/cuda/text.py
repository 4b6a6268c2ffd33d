"""CUDA C++ through NVRTC: compiled when the program is made, launched by the driver."""

from __future__ import annotations

import ctypes
from typing import Any

from gemmlab.kernels.ladder.cuda import TEXTS, Text
from gemmlab.kernels.ladder.cuda.texts import WARP_TILES, warp_tile
from gemmlab.kernels.nvrtc import compiled
from gemmlab.problem import Gemm
from gemmlab.record import unknown_name
from gemmlab.run.backends.cuda.device import called
from gemmlab.run.backends.cuda.program import CudaProgram

TYPES = (ctypes.c_void_p,) * 3 + (ctypes.c_int,) * 6
VECTOR_BYTES = 16


class TextProgram(CudaProgram):
    """A kernel in CUDA C++ with the arguments (a, b, c, m, n, k, lda, ldb, ldc)."""

    def __init__(self, problem: Gemm, text: Text) -> None:
        super().__init__(problem, ("float32",))
        self.text = text
        self.wide = 4 if aligned(problem) else 1
        self.grid = text.grid(problem.m, problem.n)
        made = compiled(text.source(self.wide), architecture(self.device.capability))
        api = self.device.api
        self.module = called(api.cuModuleLoadData(made.code))
        self.function = called(api.cuModuleGetFunction(self.module, b"kernel"))
        if text.dynamic_shared_bytes:
            limit = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            called(api.cuFuncSetAttribute(self.function, limit, text.dynamic_shared_bytes))
        self.environment |= {"compiler": f"NVRTC {made.version}", "registers": str(self.registers())}
        self.environment |= {name.lower(): str(value) for name, value in text.sizes.items()}

    def registers(self) -> int:
        """Registers of a thread."""
        api = self.device.api
        return int(called(api.cuFuncGetAttribute(api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, self.function)))

    def launch(self, number: int) -> None:
        """Put the multiplication of set `number` on the stream."""
        placed, p = self.sets[number], self.problem
        values: tuple[Any, ...] = (placed.a, placed.b, placed.d, p.m, p.n, p.k, p.lda, p.ldb, p.ldc)
        size, stream = self.text.dynamic_shared_bytes, self.device.stream
        launch = self.device.api.cuLaunchKernel
        called(launch(self.function, *self.grid, *self.text.block, size, stream, (values, TYPES), 0))


def architecture(capability: tuple[int, int]) -> str:
    """The compiler's name of a compute capability, with what only Hopper has."""
    return f"sm_{capability[0]}{capability[1]}" + ("a" if capability == (9, 0) else "")


def aligned(problem: Gemm) -> bool:
    """Whether every row of float32 A, B and C begins, and ends, at a multiple of 16 bytes."""
    wide = VECTOR_BYTES // 4
    offsets = (problem.a_offset_bytes, problem.b_offset_bytes, problem.c_offset_bytes)
    lengths = (problem.k, problem.n, problem.lda, problem.ldb, problem.ldc)
    return not any(length % wide for length in lengths) and not any(offset % VECTOR_BYTES for offset in offsets)


def program(problem: Gemm, name: str) -> TextProgram:
    """The program of a rung in CUDA C++; `warp_tile=128x256x8` is the rung with other sizes, of WARP_TILES.

    Raises GemmlabError for an unknown name, another format or layout, and where GPU or packages are missing.
    """
    if name.startswith("warp_tile="):
        sizes = name.partition("=")[2]
        if sizes not in WARP_TILES:
            raise unknown_name("size of warp_tile", sizes, WARP_TILES)
        return TextProgram(problem, warp_tile(WARP_TILES[sizes]))
    if name not in TEXTS:
        raise unknown_name("kernel", name, TEXTS)
    return TextProgram(problem, TEXTS[name])
