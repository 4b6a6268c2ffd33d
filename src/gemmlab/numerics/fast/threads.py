"""Work on rectangles of an output, over threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from gemmlab.chips.machine import usable_threads
from gemmlab.units import ceil_div

MOST_THREADS = 1024  #: more are never started, whatever is asked for
PIECES = 64  #: of a large output at least, so that an interruption does not wait for long
LEAST_ROWS = 16  #: of a piece that is cut for that alone: what it reads of B is read again for the next


def spread(task: Callable[[int, int, int, int], None], rows: int, wide: int, threads: int | None) -> None:
    """Run `task` on rectangles of rows and blocks of columns that cover all, on so many threads; None: all cores.

    An error or an interruption leaves out the rectangles that nobody has begun.
    """
    workers = min(threads or usable_threads(), MOST_THREADS)
    if rows * wide < 8:
        return task(0, rows, 0, wide)
    down, across = 1, 1
    if workers > 1:
        down = min(rows, max(1, 4 * workers // wide))
        across = min(wide, ceil_div(4 * workers, down))
    down = max(down, min(rows // LEAST_ROWS, ceil_div(PIECES, across)))
    rectangles = [
        (rows * r // down, rows * (r + 1) // down, wide * s // across, wide * (s + 1) // across)
        for s in range(across)
        for r in range(down)
    ]
    if workers == 1:
        for rectangle in rectangles:
            task(*rectangle)
        return None
    pool = ThreadPoolExecutor(workers)
    try:
        for wait in [pool.submit(task, *rectangle) for rectangle in rectangles]:
            wait.result()
    finally:
        pool.shutdown(cancel_futures=True)
    return None
