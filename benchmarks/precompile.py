"""Compiles the kernels that multiplications will need, on all cores, before anything is measured or tested.

    python benchmarks/precompile.py requests.json

The file holds a list of `gemmlab.peak.request.Request`. What is compiled stays in the folder of caches, where
`gemmlab.matmul` finds it. Nothing here needs a GPU.
"""

import argparse
import os
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec

from gemmlab.kernels.nvrtc import kept
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.request import Request
from gemmlab.record import GemmlabError


def kernel_of(request: Request) -> Any:
    """The kernel that is planned; None where the request is refused."""
    try:
        return plan_for(request).kernel
    except GemmlabError:
        return None


def made(kernel: Any) -> float:
    """Compile a kernel; how many seconds it took."""
    begun = time.perf_counter()
    text, headers = kernel.text()
    kept(text, headers=headers)
    return time.perf_counter() - begun


def precompiled(requests: Iterable[Request], processes: int = 0) -> list[float]:
    """Compile what requests need in that many processes, all cores where 0; the seconds of each kernel."""
    given = list(requests)
    count = processes or len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        kernels = {each for each in pool.map(kernel_of, given, chunksize=8) if each is not None}
        # wide tiles take longest: they go first
        order: list[Any] = sorted(kernels, key=lambda each: -getattr(each, "registers_bound", 0))
        return list(pool.map(made, order))


def main() -> None:
    """Compile, and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("requests")
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args()
    requests = msgspec.json.decode(Path(options.requests).read_bytes(), type=list[Request])
    begun = time.perf_counter()
    seconds = precompiled(requests, options.processes)
    print(f"{len(seconds)} kernels of {len(requests)} requests in {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
