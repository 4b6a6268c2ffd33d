"""The fast road: whether rows and base addresses of A, B and D lie at multiples of 16 bytes."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from gemmlab.formats import bits_of
from gemmlab.problem import Gemm

ROAD_BITS = 128  # what one thread loads at most, and what TMA and cp.async ask of addresses
ROAD_BYTES = ROAD_BITS / 8


class Road(NamedTuple):
    """One operand's alignment."""

    operand: str  #: A, B or D
    bits: int  #: every row starts at a multiple of this many bits, at most 128

    @property
    def fast(self) -> bool:
        """Whether 16-byte loads and TMA are possible."""
        return self.bits >= ROAD_BITS


def roads(problem: Gemm) -> tuple[Road, ...]:
    """The alignment of A, B and D (and of C where it is read, which shares D's).

    A vector, of one row or of one column without gaps, has no stride: only its base counts.
    """
    rows_a, rows_b = problem.a_stored[0], problem.b_stored[0]
    table = (
        ("A", problem.a_format, problem.lda, rows_a, problem.a_offset_bytes),
        ("B", problem.b_format, problem.ldb, rows_b, problem.b_offset_bytes),
        ("D", problem.d_format, problem.ldc, problem.m, problem.c_offset_bytes),
    )
    found = []
    for operand, name, stride, rows, offset in table:
        vector = rows == 1 or stride == 1
        several = problem.batch > 1 or bool(problem.groups)
        apart = (rows * stride if several else 0) if vector else stride
        step = apart * bits_of(name)
        found.append(Road(operand, gcd(step, offset * 8, ROAD_BITS)))
    return tuple(found)


def load_elements(problem: Gemm) -> float:
    """Elements of A that one load can take along the worst of the three operands; 16 bytes' worth on the fast road."""
    worst = min(road.bits for road in roads(problem))
    return max(1.0, worst / bits_of(problem.a_format))
