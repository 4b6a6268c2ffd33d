"""The corpus of shapes that Stream-K was measured on, as a sample anyone can draw again."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gemmlab.problem.checks import side, whole
from gemmlab.problem.gemm import Gemm
from gemmlab.problem.shape import Shape
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

CORPUS = 32_824  # shapes in the paper
SMALLEST, LARGEST = 128, 8192
MASK = (1 << 64) - 1


def uniform(seed: int) -> Iterator[float]:
    """Numbers in [0, 1) that depend on the seed alone, on every machine: SplitMix64 (Steele, Lea, Flood, 2014)."""
    state = seed & MASK
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield ((z ^ (z >> 31)) >> 11) / (1 << 53)


def stream_k_shapes(count: int = 200, seed: int = 0, multiple: int = 1, format: str = "float16") -> list[Shape]:
    """Shapes whose m, n and k are log-uniform in 128..8192, drawn one after another from the seed.

    The paper's own 32,824 shapes are not published; this is a sample of the same distribution (Osama et al., Stream-K,
    PPoPP 2023, section 6). The first shapes of a longer sample are those of a shorter one. `multiple` rounds each side
    to a multiple of it, within the range. Raises GemmlabError for a multiple past the range.
    """
    steps = side("multiple", multiple)
    low, high = ceil_div(SMALLEST, steps) * steps, LARGEST // steps * steps
    if low > high:
        raise GemmlabError(f"multiple={steps} has no multiple in {SMALLEST}..{LARGEST}", "a smaller one has")
    draws = uniform(whole("seed", seed))
    sides = (min(max(round(log_uniform(draw) / steps) * steps, low), high) for draw in draws)
    return [
        Shape(Gemm(next(sides), next(sides), next(sides), format), name=f"sample {index}")
        for index in range(side("count", count))
    ]


def log_uniform(draw: float) -> float:
    """A number in 128..8192 whose logarithm is as far along as the draw is in 0..1."""
    return math.exp(math.log(SMALLEST) + draw * math.log(LARGEST / SMALLEST))
