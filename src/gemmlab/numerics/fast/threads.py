"""Work on rectangles of an output, over threads."""

from __future__ import annotations

from collections.abc import Callable

from gemmlab.chips.machine import usable_threads
from gemmlab.units import ceil_div


def spread(task: Callable[[int, int, int, int], None], rows: int, wide: int, threads: int | None) -> None:
    """Run `task` on rectangles of rows and blocks of columns that cover all, on so many threads; None: all cores."""
    workers = threads or usable_threads()
    if workers == 1 or rows * wide < 8:
        return task(0, rows, 0, wide)
    from concurrent.futures import ThreadPoolExecutor

    down = min(rows, max(1, 4 * workers // wide))
    across = min(wide, ceil_div(4 * workers, down))
    with ThreadPoolExecutor(workers) as pool:
        waits = [
            pool.submit(task, rows * r // down, rows * (r + 1) // down, wide * s // across, wide * (s + 1) // across)
            for s in range(across)
            for r in range(down)
        ]
        for wait in waits:
            wait.result()
    return None
