"""Sizes that a part of a lesson can be run at: as asked, or smaller with the same edges."""

from __future__ import annotations

from gemmlab.problem import Gemm
from gemmlab.record import ProblemSection
from gemmlab.units import ceil_div


def capped(problem: Gemm, most: int, tile: tuple[int, int, int] = (1, 1, 1)) -> Gemm:
    """The multiplication with sides of `most` or little more, each leaving the same part of a tile at its edge.

    `most` is a multiple of the tile's sides (m, n, k); sides that are no larger stay as they are.
    """
    sides = zip((problem.m, problem.n, problem.k), tile, strict=True)
    m, n, k = (side if side <= most else most + side % step for side, step in sides)
    return problem.replace(m=m, n=n, k=k)


def halved(problem: Gemm) -> Gemm:
    """The multiplication of half the sides."""
    return problem.replace(m=ceil_div(problem.m, 2), n=ceil_div(problem.n, 2), k=ceil_div(problem.k, 2))


def spelled(problem: Gemm | ProblemSection) -> str:
    """`1024 x 1024 x 512`."""
    return f"{problem.m} x {problem.n} x {problem.k}"
