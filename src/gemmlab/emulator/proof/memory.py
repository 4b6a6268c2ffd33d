"""Where accesses of a launch go, over all blocks at once, and what blocks must share to go alike."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Array, Expr, Extent, Param, Program
from gemmlab.emulator.proof.evaluate import Evaluator, number_of
from gemmlab.emulator.proof.split import ZERO, Pins, Split, constant, of_parts, of_threads
from gemmlab.emulator.proof.spread import Ints, between, negated

SECTOR = 32  #: bytes


def specials(launch: Launch) -> dict[str, Split]:
    """`threadIdx.x` and its like, as split values over the launch's grid."""
    found = {"laneid": of_threads(between(0, min(32, launch.threads) - 1))}
    for axis, letter in enumerate("xyz"):
        shape = [1, 1, 1]
        shape[2 - axis] = launch.grid[axis]
        found[f"threadIdx.{letter}"] = of_threads(between(0, launch.block[axis] - 1))
        found[f"blockDim.{letter}"] = constant(launch.block[axis])
        found[f"gridDim.{letter}"] = constant(launch.grid[axis])
        found[f"blockIdx.{letter}"] = of_parts(
            np.arange(launch.grid[axis], dtype=np.int64).reshape(shape), between(0, 0)
        )
    return found


class Memory:
    """Extents, strides and addresses of the arrays of a launch."""

    def __init__(self, program: Program, launch: Launch, pins: Pins) -> None:
        self.arrays, self.pins, self.launch = program.arrays, pins, launch
        self.arguments = dict(zip((a.name for a in program.arguments), launch.args, strict=True))
        self.fixed: dict[Expr, Split] = {}
        for a in program.arguments:
            value = self.arguments[a.name]
            if a.ndim is None:
                self.fixed[Param(a.type, a.name)] = number_of(a.type, value)
            else:
                self.fixed |= {Extent(a.name, axis): constant(int(side)) for axis, side in enumerate(value.shape)}
        moving: dict[Expr, Expr] = {}
        self.evaluate = Evaluator(pins, specials(launch), self.fixed, moving)
        for array in program.arrays.values():
            for axis, extent in enumerate(array.extents):
                name = Extent(array.name, axis)
                if array.base and extent != name:
                    moving[name] = extent
                else:
                    self.fixed.setdefault(name, self.own_extent(array, extent))

    def own_extent(self, array: Array, extent: Expr) -> Split:
        """An extent of an array that is no argument."""
        if extent != Extent(array.name, 0):
            return self.evaluate(extent)
        bytes_left = self.launch.dynamic_shared_bytes if array.space == "dynamic" else 0
        return constant(bytes_left // np.dtype(array.type).itemsize)

    def base(self, array: Array) -> Array:
        """The array whose memory it is."""
        return self.arrays[array.base] if array.base else array

    def extent(self, array: Array, axis: int) -> Split:
        """Elements along an axis, of a view as variables stand."""
        return self.evaluate(Extent(array.name, axis))

    def demand(self, array: Array, index: tuple[Split, ...], offset: Split, steer: Callable[[Split], None]) -> None:
        """Have `steer` told what decides whether an index wraps or is out of range."""
        steer(offset)
        for axis, x in enumerate(index):
            steer(x)
            extent = self.extent(array, axis)
            for limit in (constant(0), extent, of_parts(-extent.u, negated(extent.rest), extent.pins, extent.blame)):
                steer(self.pins.compare("lt", x, limit))

    def address(self, array: Array, index: tuple[Split, ...], offset: Split) -> Ints:
        """Bytes that each block's accesses lie past those of the first block; a view is of one axis, as its base is."""
        strides = self.strides(self.base(array))
        address: Ints = sum((x.u * stride for x, stride in zip(index, strides, strict=True)), ZERO)
        return address + offset.u * strides[0]

    def strides(self, array: Array) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis, of an array that is no view."""
        if array.name in self.arguments:
            return tuple(int(s) for s in self.arguments[array.name].strides)
        sides = [int(self.extent(array, axis).hi()) for axis in range(len(array.extents))]
        item = np.dtype(array.type).itemsize
        return tuple(item * math.prod(sides[axis + 1 :]) for axis in range(len(sides)))
