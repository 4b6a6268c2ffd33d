"""Lower bounds on traffic: what no schedule of the m*n*k products can go below."""

from __future__ import annotations

from math import sqrt

from gemmlab.formats import bits_of
from gemmlab.problem import Gemm


def compulsory_bytes(problem: Gemm) -> float:
    """Every operand read once and the result written once."""
    return float(problem.compulsory_bytes)


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

    `compulsory`, `tight` (with the leading term attained by a schedule that keeps the result's tile), and
    `hong_kung`, the three-tile schedule's traffic, which is attained and within sqrt(3) of the leading term. Elements
    have A's size.
    """
    size = bits_of(problem.a_format) / 8
    elements = max(3.0, fast_bytes / size)
    work = float(problem.multiply_adds)
    return {
        "compulsory": compulsory_bytes(problem),
        "tight": tight_elements(work, elements) * size,
        "hong_kung": three_tile_elements(work, elements) * size,
    }


def ideal_intensity(side: int, element_bytes: float) -> float:
    """FLOP a byte of a square GEMM whose three matrices move once: n / (1.5 * element size) = n/6 for float32.

    Reads of A and B and the write of C: 2n^3 FLOP over 3n^2 elements.
    """
    return 2 * side**3 / (3 * side**2 * element_bytes)
