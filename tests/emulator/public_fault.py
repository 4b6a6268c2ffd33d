"""What a public fault is in these tests: a kernel that has it, its mended twin, and what an emulation must say."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Launch:
    """A kernel with its grid, block and arguments, made anew at each call."""

    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Callable[[], tuple[np.ndarray, ...]]
    dynamic_shared_bytes: int = 0


@dataclass(frozen=True)
class Pair:
    """A fault that somebody met and told of, written anew in the numba.cuda dialect.

    `kinds` are the faults that must be named, `also` those that may be beside them. A fault of speed has no kind: then
    `counts` says which figure shows it, in the faulty kernel and in the mended one.
    """

    source: str
    faulty: Launch
    mended: Launch
    answer: Callable[..., np.ndarray]  #: what the mended kernel leaves in its last argument, from all arguments
    kinds: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    counts: tuple[tuple[str, int, int], ...] = ()
    quiet: Launch | None = None  #: the faulty kernel where its fault cannot show, and must not be reported


def whole(rows: int, cols: int, seed: int = 0) -> np.ndarray:
    """A float32 matrix of whole numbers: its products are exact in any order."""
    return np.random.RandomState(seed).randint(-3, 4, (rows, cols)).astype(np.float32)


def product_of(m: int, n: int, k: int) -> Callable[[], tuple[np.ndarray, ...]]:
    """Arguments a, b, c of a multiplication."""
    return lambda: (whole(m, k, 1), whole(k, n, 2), np.zeros((m, n), np.float32))


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The right answer of one."""
    return a @ b
