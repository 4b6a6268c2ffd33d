"""Block scales and 2:4 metadata: small data beside A and B, stored tile by tile as tensor cores read it.

A tile's scales (or metadata) are contiguous and begin at a sector: a program asks for them in one request a step of k.
A scale whose block two tiles share is asked for by both.
"""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.count.traffic import Traffic, packed, together
from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div


class Alike(NamedTuple):
    """So many tiles along one axis that each meet so many scale blocks."""

    tiles: int
    blocks: int


def floor_sum(count: int, step: int, start: int, divisor: int) -> int:
    """Sum of floor((start + i * step) / divisor) for i below count, by Euclid's steps; all arguments at least 0."""
    total = 0
    while count > 0:
        total += (step // divisor) * (count * (count - 1) // 2) + (start // divisor) * count
        step, start = step % divisor, start % divisor
        highest = step * count + start
        if highest < divisor:
            break
        count, start, divisor, step = highest // divisor, highest % divisor, step, divisor
    return total


def meetings(total: int, tile: int, scale: int) -> list[Alike]:
    """How many scale blocks each tile along an axis meets: one of two numbers, and the ragged last tile its own."""
    whole, rest = divmod(total, tile)
    alike = []
    least = (tile - 1) // scale + 1
    overhang = (tile - 1) % scale
    more = floor_sum(whole, tile, overhang, scale) - floor_sum(whole, tile, 0, scale)
    alike += [Alike(whole - more, least), Alike(more, least + 1)]
    if rest:
        alike.append(Alike(1, (total - 1) // scale - whole * tile // scale + 1))
    return [each for each in alike if each.tiles]


def scale_traffic(problem: Gemm, kernel: Kernel) -> Traffic:
    """Block scales of A's tile and of B's tile, each once a program and step of k."""
    if problem.scale is None:
        return Traffic()
    if problem.structure not in ("general", "sparse_2_4"):
        raise GemmlabError(
            f"block scales of a {problem.structure} A cannot be counted", "leave out --scale, or a general A"
        )
    bits = bits_of(problem.scale.format)
    along_k = meetings(problem.k, kernel.block_k, problem.scale.block_k)
    programs = (ceil_div(problem.m, kernel.block_m), ceil_div(problem.n, kernel.block_n))
    parts = []
    for side, block, scale, repeats in (
        (problem.m, kernel.block_m, problem.scale.block_m, programs[1]),
        (problem.n, kernel.block_n, problem.scale.block_n, programs[0]),
    ):
        for across in meetings(side, block, scale):
            for down in along_k:
                numbers = across.blocks * down.blocks
                parts.append(packed(across.tiles * down.tiles * repeats * problem.batch, numbers, numbers * bits))
    return together(parts)


def metadata_traffic(problem: Gemm, kernel: Kernel) -> Traffic:
    """Positions of the kept elements of a 2:4 sparse A, 2 bits each: no elements of the multiplication, but bytes."""
    if problem.structure != "sparse_2_4":
        return Traffic()
    repeats = ceil_div(problem.n, kernel.block_n) * problem.batch
    parts = []
    for down in meetings(problem.m, kernel.block_m, 1):
        for along in meetings(problem.k, kernel.block_k, 1):
            # a scale block of one element: `blocks` is the tile's in-range length
            parts.append(packed(down.tiles * along.tiles * repeats, 0, down.blocks * along.blocks))
    return together(parts)
