"""The micro-kernel: a tile of C stays in registers while k runs, as LLVM's own vectors, without a compiler.

Accumulators are values that the loop hands to itself, so LLVM keeps each in a register; a local array would not be.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from gemmlab.kernels.ladder.cpu.tiling import UNROLL

I32, I64 = ir.IntType(32), ir.IntType(64)
LINE = 64  # bytes


def whole(value: int) -> Any:
    """A constant index."""
    return ir.Constant(I64, value)


class Emitter:
    """The few instructions that it takes, for one element type and vector width."""

    def __init__(self, builder: Any, itemsize: int, lanes: int) -> None:
        self.b = builder
        self.itemsize = itemsize
        self.element = ir.FloatType() if itemsize == 4 else ir.DoubleType()
        self.vector = ir.VectorType(self.element, lanes)
        self.zero = ir.Constant(self.vector, [0.0] * lanes)
        self.lanes = lanes

    def place(self, pointer: Any, at: Any, columns: int = 0) -> Any:
        """A pointer to the vector that begins `at` + `columns` elements behind another."""
        place = self.b.gep(self.b.gep(pointer, [at]), [whole(columns)])
        return self.b.bitcast(place, self.vector.as_pointer())

    def load(self, place: Any) -> Any:
        """A vector, at any address."""
        loaded = self.b.load(place)
        loaded.align = self.itemsize
        return loaded

    def store(self, value: Any, place: Any) -> None:
        """A vector to memory, at any address."""
        self.b.store(value, place).align = self.itemsize

    def broadcast(self, scalar: Any) -> Any:
        """One element in every lane."""
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.b.insert_element(empty, scalar, ir.Constant(I32, 0))
        return self.b.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes))

    def multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        """X * y + z: rounded once where the processor has an instruction for it, elsewhere no call of a library."""
        name = f"llvm.fmuladd.v{self.lanes}f{8 * self.itemsize}"
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        return self.b.call(cgutils.get_or_insert_function(self.b.module, kind, name), [x, y, z])

    def prefetch(self, place: Any) -> None:
        """Ask for a cache line that will be written."""
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
        function = cgutils.get_or_insert_function(self.b.module, kind, "llvm.prefetch.p0")
        self.b.call(function, [self.b.bitcast(place, byte), *(ir.Constant(I32, each) for each in (1, 3, 1))])


def emit(e: Emitter, mr: int, nr: int, steps: Any, a: Any, b: Any, c: Any, row: Any, fresh: Any) -> None:
    """C's tile gets the product of a panel of A (steps, mr) and one of B (steps, nr), or that added to it.

    `row` elements lie between C's rows; where `fresh`, what C holds is not read.
    """
    build = e.b
    columns = range(0, nr, e.lanes)
    starts = [build.mul(row, whole(i)) for i in range(mr)]
    # C's lines arrive while the loop runs; asked for after it, they would be waited for.
    for start in starts:
        for column in range(0, nr, LINE // e.itemsize):
            e.prefetch(e.place(c, start, column))
    before, loop, done = build.block, build.append_basic_block("steps"), build.append_basic_block("store")
    build.branch(loop)
    build.position_at_end(loop)
    index = build.phi(I64)
    index.add_incoming(whole(0), before)
    first = [[build.phi(e.vector) for _ in columns] for _ in range(mr)]
    tile = first
    for step in range(UNROLL):
        k = build.add(index, whole(step))
        a_at, b_at = build.mul(k, whole(mr)), build.mul(k, whole(nr))
        right = [e.load(e.place(b, b_at, column)) for column in columns]
        next_tile = []
        for i, held in enumerate(tile):
            left = e.broadcast(build.load(build.gep(build.gep(a, [a_at]), [whole(i)])))
            next_tile.append([e.multiply_add(left, each, total) for each, total in zip(right, held, strict=True)])
        tile = next_tile
    following = build.add(index, whole(UNROLL))
    index.add_incoming(following, loop)
    for begun, ended in zip(first, tile, strict=True):
        for phi, value in zip(begun, ended, strict=True):
            phi.add_incoming(e.zero, before)
            phi.add_incoming(value, loop)
    build.cbranch(build.icmp_signed("<", following, steps), loop, done)
    build.position_at_end(done)
    places = [[e.place(c, start, column) for column in columns] for start in starts]
    with build.if_else(fresh) as (new, more):
        for branch, added in ((new, False), (more, True)):
            with branch:
                for values, row_places in zip(tile, places, strict=True):
                    for value, place in zip(values, row_places, strict=True):
                        e.store(build.fadd(e.load(place), value) if added else value, place)


@cache
def micro_kernel(mr: int, nr: int, lanes: int, dtype: np.dtype[Any]) -> Any:
    """`emit` as a function (steps, a, b, c, row, fresh) that numba's functions call with `pointer`s."""
    pointer_type = types.CPointer(from_dtype(dtype))

    @intrinsic
    def kernel(typing: Any, steps: Any, a: Any, b: Any, c: Any, row: Any, fresh: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            emit(Emitter(builder, dtype.itemsize, lanes), mr, nr, *arguments)
            return context.get_dummy_value()

        return types.void(types.int64, pointer_type, pointer_type, pointer_type, types.int64, types.boolean), generate

    return kernel


def pointer_to(typing: Any, array: Any, at: Any) -> Any:
    """A pointer to an element of a one-dimensional array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(context.make_array(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])

    return types.CPointer(array.dtype)(array, types.int64), generate


pointer: Any = intrinsic(pointer_to)
