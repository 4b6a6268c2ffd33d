"""Repeatable noise without a generator's start-up cost: the same numbers on every machine and in every run."""

import numpy as np
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def uniform(count: int, seed: int) -> NDArray[np.float64]:
    """`count` numbers in [0, 1): a counter through the splitmix64 finalizer (Steele, Lea, Flood 2014)."""
    x = (np.arange(count, dtype=np.uint64) + np.uint64(seed) * np.uint64(1 << 32)) * GOLDEN
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) / float(1 << 53)
