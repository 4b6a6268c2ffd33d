"""Lower bounds on traffic: what no schedule of the m*n*k products can go below."""

from __future__ import annotations

from math import sqrt

from gemmlab.formats import bits_of
from gemmlab.problem import Gemm

LEAST_ELEMENTS = 3.0  # of fast memory: one of A, B and C each, without which nothing can be multiplied


def tight_elements(multiply_adds: float, fast_elements: float) -> float:
    """2*mnk/sqrt(S) - 2*S: the tight bound on elements moved with a fast memory of S elements.

    Smith, Lowery, Langou and van de Geijn (2017), arXiv 1702.02017; negative where everything fits, so never below 0.
    """
    return max(0.0, 2 * multiply_adds / sqrt(fast_elements) - 2 * fast_elements)


def three_tile_elements(multiply_adds: float, fast_elements: float) -> float:
    """2*mnk/T with T = sqrt(S/3): what three square tiles in fast memory move; within sqrt(3) of the tight bound.

    The schedule behind Hong and Kung's Omega(n^3 / sqrt(S)) (1981).
    """
    return 2 * multiply_adds / sqrt(fast_elements / 3)


def lower_bounds(problem: Gemm, fast_bytes: float) -> dict[str, float]:
    """Bytes that any algorithm doing all m*n*k products moves past a memory of `fast_bytes`; not Strassen's.

    `compulsory`: every operand read once and the result written once. `tight`: its leading term is attained by a
    schedule that keeps the result's tile. `hong_kung`: what the three-tile schedule moves, which is attained and within
    sqrt(3) of the leading term; it bounds that schedule alone. Elements have A's size.
    """
    size = bits_of(problem.a_format) / 8
    elements = max(LEAST_ELEMENTS, fast_bytes / size)
    work = float(problem.multiply_adds)
    return {
        "compulsory": float(problem.compulsory_bytes),
        "tight": tight_elements(work, elements) * size,
        "hong_kung": three_tile_elements(work, elements) * size,
    }
