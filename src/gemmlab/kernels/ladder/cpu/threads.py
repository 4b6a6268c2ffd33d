"""Threads: each takes a rectangle of C and shares nothing, so that none waits for another before the end.

Rectangles in a row pack the same rows of A again, those in a column the same columns of B; what that costs decides the
grid. Libraries share the packed panels instead and meet at a barrier for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from gemmlab.units import ceil_div, round_up

PACKED_AS_PRODUCTS = 20  #: an element packed takes about as long as so many products of vectors
WORTH_WAKING = 1 << 21  #: products that take about as long as waking a thread, some 30 microseconds

Rectangle = tuple[slice, slice]


def rectangles(m: int, n: int, k: int, threads: int, step_m: int, step_n: int) -> list[Rectangle]:
    """Rows and columns of C for each of at most `threads` threads, cut at multiples of the steps."""
    useful = max(1, min(threads, m * n * k // WORTH_WAKING))

    def cost(grid: tuple[int, int]) -> int:
        rows, columns = side(m, grid[0], step_m), side(n, grid[1], step_n)
        return rows * columns + PACKED_AS_PRODUCTS * (rows + columns)

    down, across = min(((each, useful // each) for each in range(1, useful + 1)), key=cost)
    rows, columns = side(m, down, step_m), side(n, across, step_n)
    return [
        (slice(i, min(i + rows, m)), slice(j, min(j + columns, n)))
        for i in range(0, m, rows)
        for j in range(0, n, columns)
    ]


def side(size: int, parts: int, step: int) -> int:
    """The longest of `parts` parts of a side, whole steps each."""
    return round_up(ceil_div(size, parts), step)


@cache
def pool(workers: int) -> ThreadPoolExecutor:
    """Threads that stay for all multiplications of the process."""
    return ThreadPoolExecutor(workers)


def together(tasks: Sequence[Callable[[], object]]) -> Callable[[], None]:
    """All tasks as one: the first on the caller's thread, each other on one of its own."""
    first, others = tasks[0], tasks[1:]
    if not others:
        return lambda: (first(), None)[1]
    workers = pool(len(others))

    def run() -> None:
        waits = [workers.submit(task) for task in others]
        first()
        for wait in waits:
            wait.result()

    return run
