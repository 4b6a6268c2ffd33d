"""Arrays as the compiled loops take them: in one dimension, with strides beside, or at the start of a cache line."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

LINE = 64  # bytes of a cache line, and of the widest vector: one that crosses lines is read twice


def flat(matrix: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], int, int]:
    """A matrix's memory from its first element to its last, and elements between two rows and between two columns.

    One compilation so serves every layout, and nothing is copied.
    """
    row, column = (stride // matrix.itemsize for stride in matrix.strides)
    span = (matrix.shape[0] - 1) * row + (matrix.shape[1] - 1) * column + 1
    whole = np.lib.stride_tricks.as_strided(matrix, (span,), (matrix.itemsize,))
    return whole, row, column


def aligned(size: int, dtype: Any) -> npt.NDArray[Any]:
    """An array of `size` elements, not filled, whose first lies at the start of a cache line."""
    kind = np.dtype(dtype)
    room = np.empty(size * kind.itemsize + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size * kind.itemsize].view(kind)


class Workspace:
    """Arrays that all multiplications of a process take in turn, as a library's are: warm, and there once."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[int, str, int, str], npt.NDArray[Any]] = {}

    def array(self, thread: int, purpose: str, size: int, dtype: Any) -> npt.NDArray[Any]:
        """A thread's array for a purpose, the same again for the same size and type."""
        key = (thread, purpose, size, np.dtype(dtype).str)
        if key not in self.arrays:
            self.arrays[key] = aligned(size, dtype)
        return self.arrays[key]
