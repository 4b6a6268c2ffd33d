"""What all programs on the processor share: operands at addresses of their own, multiplications in turn, a clock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.check import Operands
from gemmlab.check.storage import Stored, poison
from gemmlab.chips.machine import describe, usable_threads
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

Array = npt.NDArray[Any]
Prepare = Callable[[Array, Array, Array], Callable[[], object]]
ALIGNMENT = 256  #: bytes: what an operand's offset is counted from
FINE_S = 1e-6  #: resolution of a clock that tells the time of one multiplication


class CpuProgram:
    """A kernel on the processor; `prepare(a, b, d)`, of matrices, gives a function that sets D to A B."""

    def __init__(self, problem: Gemm, prepare: Prepare, threads: int, **environment: str) -> None:
        self.problem, self.prepare = problem, prepare
        self.runs: list[list[Callable[[], object]]] = []
        self.made: list[tuple[Array, list[Array]]] = []  #: of each copy, D's storage and matrices
        # What others do on the machine is no part of a thread's own time; several threads have none in common.
        own = threads == 1 and time.get_clock_info("thread_time").resolution <= FINE_S
        self.clock = time.thread_time if own else time.perf_counter
        self.environment = {
            "device": describe().model,
            "threads": str(threads),
            "timed": "CPU time of the one thread" if own else "wall clock",
            **environment,
        }

    def place(self, operands: Operands, copies: int) -> None:
        """A, B and D as they are stored, gaps and all, for each copy."""
        self.runs, self.made = [], []
        for _ in range(copies):
            (_, a), (_, b), (storage, d) = (duplicate(each) for each in (operands.a, operands.b, operands.d))
            self.runs.append([self.prepare(*each) for each in zip(a, b, d, strict=True)])
            self.made.append((storage, d))
        self.poison()

    def elapsed(self, order: Sequence[int]) -> float:
        """Seconds by the clock that `environment` names."""
        runs = [run for index in order for run in self.runs[index]]
        start = self.clock()
        for run in runs:
            run()
        return self.clock() - start

    def poison(self) -> None:
        """Fill every D again."""
        for storage, _ in self.made:
            storage[...] = poison(self.problem.d_format)

    def result(self, copy: int) -> Any:
        """D of a copy; a tuple of members for groups."""
        _, matrices = self.made[copy]
        if self.problem.groups:
            return tuple(matrices)
        return np.stack(matrices) if self.problem.batch > 1 else matrices[0]


def duplicate(stored: Stored) -> tuple[Array, list[Array]]:
    """A storage's copy, aligned as GPUs' allocators do, and the same matrices as views of it."""
    size = stored.storage.nbytes
    room = np.empty(size + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    copy = room[start : start + size].view(stored.storage.dtype)
    copy[...] = stored.storage
    first = stored.storage.ctypes.data
    return copy, [
        np.ndarray(each.shape, each.dtype, room, start + each.ctypes.data - first, each.strides)
        for each in stored.matrices
    ]


def threads_given() -> int:
    """Threads that a program may use: OMP_NUM_THREADS, which libraries read too; else all that the process has."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(int(asked), usable_threads())) if asked.isdigit() else usable_threads()


def require(problem: Gemm, formats: Sequence[str], d_formats: Sequence[str] = ()) -> None:
    """Raise GemmlabError for what a program that computes D = A B in these formats cannot do; D's is A's otherwise."""
    given, d_formats = problem.a_format, d_formats or (problem.a_format,)
    if given not in formats or problem.b_format != given:
        raise GemmlabError(f"it does not multiply {given} by {problem.b_format}", f"--format {', '.join(formats)}")
    if problem.d_format not in d_formats:
        raise GemmlabError(f"it does not write {problem.d_format}", f"D in {' or '.join(d_formats)}")
    sums = "float64" if given == "float64" else "float32"
    if problem.accumulate != sums:
        raise GemmlabError(f"it does not sum in {problem.accumulate}", f"--accumulate {sums}")
    if problem.alpha != 1 or problem.beta != 0 or problem.epilogue or problem.scale is not None:
        raise GemmlabError("it computes D = A @ B alone", "leave alpha, beta, the epilogue and block scales out")
