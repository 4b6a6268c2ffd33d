"""Compiles what the benchmarks of `gemmlab.matmul` will multiply by, on all cores, before anything is timed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

from peak_row import Row
from precompile import made


def kernels_of(torch: Any, rows: Iterable[dict[str, Any]]) -> set[Any]:
    """The kernels that rows will be multiplied by, each given as `Row`'s arguments; a row that is refused has none."""
    from gemmlab.peak.batches import at_once
    from gemmlab.peak.store import chosen, device_of

    device, found = device_of(torch, torch.cuda.current_device()), set()
    for given in rows:
        row = Row(torch, **given, sets=1, device="meta")  # shapes and strides without memory
        (a, b), d = row.operands[0], row.results["ours"][0]
        try:
            found.add(at_once(torch, (a, b, d), row.accuracy, False, partial(chosen, device=device))[2].kernel)
        except (RuntimeError, ValueError):
            continue  # it is told where the row is measured
    return found


def compiled_ahead(torch: Any, rows: Iterable[dict[str, Any]]) -> int:
    """Compile those kernels; how many there are."""
    kernels = kernels_of(torch, rows)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        return len(list(pool.map(tried, kernels)))


def tried(kernel: Any) -> float:
    """Compile a kernel; one that is refused is told where it is used."""
    try:
        return made(kernel)
    except (RuntimeError, ValueError):
        return 0.0
