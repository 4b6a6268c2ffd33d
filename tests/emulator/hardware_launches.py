"""What the kernels of benchmarks/counter_kernels.py ask of memory, worked out from their patterns alone.

Running over a thousand launches would take long; test_hardware.py runs one of each kernel, to show that it asks this.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

SLOTS = 1088
DATA, WHERE, OUT, OLD, SHARED = 0, 1, 2, 3, -1  # an argument by its place, or shared memory
PARTS = {"float2": 2, "float4": 4}  # values that make an element of a kernel in CUDA C++
SINGLE_STEP = {
    "three_point": ([(0, -1), (0, 0), (0, 1)], {"add": 2}),
    "multiply": ([(0, 0), (1, 0)], {"mul": 1}),
    "axpy": ([(0, None), (1, 0), (2, 0)], {"fma": 1}),
}  # loads, by argument and distance from the thread's own element (none: element 0), and float operations


@dataclass
class Asked:
    """One load, store or atomic by all threads: their first bytes, below zero of those that take no part."""

    kind: str
    shared: bool
    bytes: np.ndarray
    size: int


class Launch:
    """A launch of a case: threads in order, block after block."""

    def __init__(self, case) -> None:
        self.case, self.pieces, self.kernel = case, case.pieces(), case.kernel
        self.block = int(np.prod(case.block))
        self.t = np.arange(self.block * int(np.prod(case.grid)))
        self.parts = PARTS.get(case.kernel.rpartition("_")[2], 1)

    def asked(self, kind: str, argument: int, element: np.ndarray, active: np.ndarray | bool = True) -> Asked:
        """An access to those elements."""
        piece = self.pieces[max(argument, DATA)]
        size = piece.host.itemsize * (self.parts if argument != WHERE else 1)
        start = piece.host.ctypes.data - piece.base.ctypes.data if argument != SHARED else 0
        return Asked(kind, argument == SHARED, np.where(active, start + element * size, -1), size)

    def all_asked(self) -> Iterator[Asked]:
        """Every access."""
        if self.kernel in ("copy_2d", "transpose_2d"):
            yield from self.plane(turned=self.kernel == "transpose_2d")
        elif self.kernel in ("row_sums", "column_sums"):
            yield from self.sums(by_row=self.kernel == "row_sums")
        elif self.kernel in SINGLE_STEP:
            on, last = self.active(), len(self.pieces) - 1
            for argument, distance in SINGLE_STEP[self.kernel][0]:
                yield self.asked("load", argument, 0 * self.t if distance is None else self.t + distance, on)
            yield self.asked("store", last, self.t, on)
        else:
            yield from self.by_pattern()

    def by_pattern(self) -> Iterator[Asked]:
        """Kernels that load, store or change atomically where their second argument says, in either memory."""
        where = self.pieces[WHERE].host.astype(np.int64)
        on = where >= 0
        shared, storing = "shared" in self.kernel, "store" in self.kernel
        if shared:
            yield from self.all_slots(DATA, SHARED)
        yield self.asked("load", WHERE, self.t)
        if "atomic" in self.kernel:
            yield self.asked("load", DATA, self.t, on)
            yield self.asked("atomic", SHARED if shared else OUT, where, on)
            if shared or len(self.pieces) > OLD:
                yield self.asked("store", OUT if shared else OLD, self.t, on)
            return
        yield self.asked("load", SHARED if shared and not storing else DATA, self.t if storing else where, on)
        yield self.asked("store", SHARED if shared and storing else OUT, where if storing else self.t, on)
        if shared and storing:
            yield from self.all_slots(SHARED, OUT)

    def all_slots(self, source: int, target: int) -> Iterator[Asked]:
        """Shared memory is filled or written out, the threads of a block side by side."""
        for start in range(0, SLOTS, self.block):
            i = start + self.t % self.block
            yield self.asked("load", source, i, i < SLOTS)
            yield self.asked("store", target, i, i < SLOTS)

    def plane(self, *, turned: bool) -> Iterator[Asked]:
        """Each thread moves one element of a matrix, into its place or that of the transpose."""
        data, out = (piece.host for piece in self.pieces)
        (wide, high), (rows, cols) = self.case.block, data.shape
        block, inside = np.divmod(self.t, self.block)
        x, y = block % self.case.grid[0] * wide + inside % wide, block // self.case.grid[0] * high + inside // wide
        on = (y < rows) & (x < cols)
        yield self.asked("load", 0, y * (data.strides[0] // data.itemsize) + x, on)
        yield self.asked("store", 1, x * out.shape[1] + y if turned else y * out.shape[1] + x, on)

    def sums(self, *, by_row: bool) -> Iterator[Asked]:
        """Each thread adds up a row, or a column, onto an element."""
        rows, cols = self.pieces[0].host.shape
        lines, length = (rows, cols) if by_row else (cols, rows)
        on = self.t < lines
        yield self.asked("load", 1, self.t, on)
        for i in range(length):
            yield self.asked("load", 0, self.t * cols + i if by_row else i * cols + self.t, on)
        yield self.asked("store", 1, self.t, on)

    def active(self) -> np.ndarray:
        """Threads that have an element to work out."""
        count = len(self.pieces[-1].host)
        return (self.t > 0) & (self.t < count - 1) if self.kernel == "three_point" else self.t < count

    def float_operations(self) -> dict[str, int]:
        """Float operations of all threads."""
        if self.kernel in ("row_sums", "column_sums"):
            return {"add": self.pieces[0].host.size}
        return {op: times * int(self.active().sum()) for op, times in SINGLE_STEP[self.kernel][1].items()}
