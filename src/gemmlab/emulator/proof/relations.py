"""Relations between sizes that hold at a launch: premises that a proof for all shapes may come to need."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import z3

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Const, Expr, Extent, Param, Program
from gemmlab.emulator.proof.symbols import Symbols, Term

EQUAL, FLAT, DIVIDED, FIXED = range(4)  #: how much a relation takes away from `all shapes`, the least first

Sizes = dict[Expr, tuple[Term, int]]  #: symbol and value at the launch


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """One relation: `label` switches it on in a solver."""

    label: Term
    formula: Term
    words: str
    tier: int


def relation(words: str, formula: Term, tier: int) -> Relation:
    """A relation under a label of its own."""
    return Relation(z3.Bool(f"given {words}"), formula, words, tier)


def sizes_of(program: Program, launch: Launch) -> Sizes:
    """Extents of arguments and integer arguments: their symbols, and their values at the launch."""
    sizes: Sizes = {}
    for argument, value in zip(program.arguments, launch.args, strict=True):
        if argument.ndim is not None:
            for axis, side in enumerate(value.shape):
                sizes[Extent(argument.name, axis)] = z3.Int(f"{argument.name}.shape[{axis}]"), int(side)
        elif "int" in argument.type:
            sizes[Param(argument.type, argument.name)] = z3.Int(argument.name), int(value)
    return sizes


def relations_of(program: Program, launch: Launch, sizes: Sizes, symbols: Symbols) -> list[Relation]:
    """Every relation that holds at the launch and that kernels are written for."""
    return [
        *equal(sizes),
        *flat(launch, symbols),
        *divided(program, launch, sizes),
        *covered(launch, sizes, symbols),
        *fixed(sizes),
    ]


def equal(sizes: Sizes) -> list[Relation]:
    """Sizes that are equal: inner extents of a product, or an extent and the argument that gives it."""
    pairs = combinations(sizes.values(), 2)
    return [relation(f"{one} == {other}", one == other, EQUAL) for (one, x), (other, y) in pairs if x == y]


def divided(program: Program, launch: Launch, sizes: Sizes) -> list[Relation]:
    """Extents that are whole tiles, by the sides of blocks and of shared arrays."""
    tiles = set(launch.block)
    for array in program.arrays.values():
        if array.space == "shared":
            tiles |= {int(extent.value) for extent in array.extents if isinstance(extent, Const)}
    return [
        relation(f"{term} % {tile} == 0", term % tile == 0, DIVIDED)
        for size, (term, here) in sizes.items()
        for tile in sorted(tiles - {1})
        if isinstance(size, Extent) and here and here % tile == 0
    ]


def covered(launch: Launch, sizes: Sizes, symbols: Symbols) -> list[Relation]:
    """Extents that the grid covers with nothing to spare."""
    return [
        relation(f"{term} == {here // side} * gridDim.{axis}", term == here // side * symbols.grid[axis], DIVIDED)
        for size, (term, here) in sizes.items()
        for axis, side in zip("xyz", launch.grid, strict=True)
        if isinstance(size, Extent) and here and side > 1 and here % side == 0
    ]


def flat(launch: Launch, symbols: Symbols) -> list[Relation]:
    """Axes of the grid of one block, which most kernels take to have no more."""
    axes = [axis for axis, side in zip("zyx", reversed(launch.grid), strict=True) if side == 1]
    return [relation(f"gridDim.{axis} == 1", symbols.grid[axis] == 1, FLAT) for axis in axes]


def fixed(sizes: Sizes) -> list[Relation]:
    """Integer arguments at their values."""
    params = [(term, here) for size, (term, here) in sizes.items() if isinstance(size, Param)]
    return [relation(f"{term} == {here}", term == here, FIXED) for term, here in params]
