"""The tile instructions themselves, as numba functions: one output tile after another, chained over k."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

BYTE, WORD, NOTHING = ir.IntType(8), ir.IntType(64), ir.VoidType()
POINTER = BYTE.as_pointer()
ACCUMULATOR, LEFT, RIGHT = (ir.Constant(BYTE, tile) for tile in range(3))
STRIDE = ir.Constant(WORD, 64)
TILE_BYTES = 1024


def configuration() -> npt.NDArray[np.uint8]:
    """The 64 bytes that `ldtilecfg` reads: palette 1; three tiles of 16 rows of 64 bytes."""
    config = np.zeros(64, np.uint8)
    config[0] = 1
    config[16:22].view(np.uint16)[:] = 64
    config[48:51] = 16
    return config


def called(builder: Any, name: str, arguments: list[Any]) -> None:
    """Call one of LLVM's AMX intrinsics, which all return nothing."""
    kind = ir.FunctionType(NOTHING, [each.type for each in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{name}"), arguments)


def chain_of(instruction: str) -> Any:
    """An intrinsic (config, a, b, c, steps): C's tile in place, plus `steps` products of consecutive tiles."""

    @intrinsic
    def chain(typing_context: Any, config: Any, a: Any, b: Any, c: Any, steps: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            config, a, b, c = (builder.inttoptr(each, POINTER) for each in arguments[:4])
            steps = arguments[4]
            # Configuration and use stay in one function: no call between them may use tiles for itself.
            called(builder, "ldtilecfg", [config])
            called(builder, "tileloadd64", [ACCUMULATOR, c, STRIDE])
            with cgutils.for_range(builder, steps, intp=WORD) as loop:
                at = builder.mul(loop.index, ir.Constant(WORD, TILE_BYTES))
                called(builder, "tileloadd64", [LEFT, builder.gep(a, [at]), STRIDE])
                called(builder, "tileloadd64", [RIGHT, builder.gep(b, [at]), STRIDE])
                called(builder, instruction, [ACCUMULATOR, LEFT, RIGHT])
            called(builder, "tilestored64", [ACCUMULATOR, c, STRIDE])
            called(builder, "tilerelease", [])
            return context.get_dummy_value()

        return types.void(types.uint64, types.uint64, types.uint64, types.uint64, types.int64), generate

    return chain


@cache
def loop_of(instruction: str) -> Any:
    """The numba function that walks all output tiles with that instruction."""
    chain = chain_of(instruction)

    @njit(nogil=True)
    def walk(config: Any, a: Any, b: Any, c: Any, down: int, across: int, steps: int) -> None:
        for i in range(down):
            for j in range(across):
                chain(
                    config,
                    a + np.uint64(i * steps * 1024),
                    b + np.uint64(j * steps * 1024),
                    c + np.uint64((i * across + j) * 1024),
                    steps,
                )

    return walk


def multiplied(
    instruction: str, a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8], c: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """C's tiles plus the products of A's and B's."""
    config = configuration()
    d = c.copy()
    loop_of(instruction)(
        np.uint64(config.ctypes.data), np.uint64(a.ctypes.data), np.uint64(b.ctypes.data), np.uint64(d.ctypes.data),
        c.shape[0], c.shape[1], a.shape[1],
    )  # fmt: skip
    return d
