"""A block of C on AMX: two by two tiles of sixteen by sixteen sums, each tile of A and B loaded once for two products.

Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on AMX: loads between the products that
use them, and four accumulators, for a product's result can be added to only 52 clocks later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BYTE, WORD, NOTHING = ir.IntType(8), ir.IntType(64), ir.VoidType()
TILE = 1024  #: bytes: 16 rows of 64
STEP = 2 * TILE  #: bytes of A, and of B, that a step reads
BLOCK = 4 * TILE  #: bytes of C
ROW = ir.Constant(WORD, 64)
LEFT, RIGHT = (4, 5), (6, 7)  # tiles; 0 to 3 are C's


def configuration() -> npt.NDArray[np.uint8]:
    """The 64 bytes that `ldtilecfg` reads: palette 1, eight tiles of 16 rows of 64 bytes."""
    config = np.zeros(64, np.uint8)
    config[0] = 1
    config[16:32].view(np.uint16)[:] = 64
    config[48:56] = 16
    return config


def call(builder: Any, name: str, *arguments: Any) -> None:
    """One of LLVM's AMX intrinsics, all of which return nothing; Python's integers are tiles."""
    values = [ir.Constant(BYTE, each) if isinstance(each, int) else each for each in arguments]
    kind = ir.FunctionType(NOTHING, [each.type for each in values])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{name}"), values)


def step(builder: Any, a: Any, b: Any) -> None:
    """Four products of two tiles of A and two of B."""

    def load(tile: int, start: Any, half: int) -> None:
        call(builder, "tileloadd64", tile, builder.gep(start, [ir.Constant(WORD, half * TILE)]), ROW)

    load(LEFT[0], a, 0)
    load(RIGHT[0], b, 0)
    call(builder, "tdpbf16ps", 0, LEFT[0], RIGHT[0])
    load(RIGHT[1], b, 1)
    call(builder, "tdpbf16ps", 1, LEFT[0], RIGHT[1])
    load(LEFT[1], a, 1)
    call(builder, "tdpbf16ps", 2, LEFT[1], RIGHT[0])
    call(builder, "tdpbf16ps", 3, LEFT[1], RIGHT[1])


@intrinsic
def blocks(
    typing: Any, config: Any, a: Any, a_start: Any, a_panel: Any, b: Any, b_start: Any, b_panel: Any, c: Any,
    down: Any, across: Any, steps: Any, fresh: Any,
) -> Any:  # fmt: skip
    """`down` x `across` blocks of C, (across, down, 2, 2, 16, 16) of float32, get or, unless `fresh`, add products.

    Of A's and B's panels `steps` steps are read from their starts; all starts and panels in elements.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def data(index: int) -> Any:
            made = context.make_array(signature.args[index])(context, builder, arguments[index])
            return builder.bitcast(made.data, BYTE.as_pointer())

        def ahead(start: Any, elements: Any, size: int) -> Any:
            return builder.gep(start, [builder.mul(elements, ir.Constant(WORD, size))])

        a_start, a_panel, b_start, b_panel, down, across, steps, fresh = (
            arguments[index] for index in (2, 3, 5, 6, 8, 9, 10, 11)
        )
        a, b, c = ahead(data(1), a_start, 2), ahead(data(4), b_start, 2), data(7)
        # Configuration and use stay in one function: no call between them may use tiles for itself.
        call(builder, "ldtilecfg", data(0))
        with cgutils.for_range(builder, across, intp=WORD) as column:
            right = ahead(b, builder.mul(column.index, b_panel), 2)
            with cgutils.for_range(builder, down, intp=WORD) as row:
                left = ahead(a, builder.mul(row.index, a_panel), 2)
                block = ahead(c, builder.add(builder.mul(column.index, down), row.index), BLOCK)
                tiles = [builder.gep(block, [ir.Constant(WORD, tile * TILE)]) for tile in range(4)]
                with builder.if_else(fresh) as (new, more):
                    with new:
                        for tile in range(4):
                            call(builder, "tilezero", tile)
                    with more:
                        for tile, place in enumerate(tiles):
                            call(builder, "tileloadd64", tile, place, ROW)
                with cgutils.for_range(builder, steps, intp=WORD) as along:
                    step(builder, ahead(left, along.index, STEP), ahead(right, along.index, STEP))
                for tile, place in enumerate(tiles):
                    call(builder, "tilestored64", tile, place, ROW)
        call(builder, "tilerelease")
        return context.get_dummy_value()

    number, words = types.int64, types.Array(types.uint16, 1, "C")
    return types.void(
        types.Array(types.uint8, 1, "C"), words, number, number, words, number, number,
        types.Array(types.float32, 1, "C"), number, number, number, types.boolean,
    ), generate  # fmt: skip
