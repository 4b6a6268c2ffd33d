"""Packed: five loops cut A and B to the caches around a micro-kernel that keeps its tile of C in registers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit, types
from numba.np.numpy_support import from_dtype

from gemmlab.kernels.ladder.cpu.memory import Workspace, flat
from gemmlab.kernels.ladder.cpu.micro_kernel import micro_kernel, pointer
from gemmlab.kernels.ladder.cpu.packing import packer
from gemmlab.kernels.ladder.cpu.threads import rectangles, together
from gemmlab.kernels.ladder.cpu.tiling import UNROLL, Tiling


@cache
def five_loops(mr: int, nr: int, lanes: int, dtype: np.dtype[Any]) -> Any:
    """The compiled C = A B for one micro-kernel; `mc`, `kc` and `nc` come with the call.

    A, B and C in one dimension with their strides in elements, C's rows without stride: (c, c_row, a, a_row, a_column,
    b, b_row, b_column, m, n, k, mc, kc, nc, block, panel, edge). `block` holds mc x kc of A, `panel` nc x kc of B,
    `edge` mr x nr of C.
    """
    kernel, pack_a, pack_b = micro_kernel(mr, nr, lanes, dtype), packer(mr, lanes, dtype), packer(nr, lanes, dtype)

    @njit(nogil=True)
    def registers(c, c_row, start, block, panel, edge, rows, columns, steps, fresh):
        for j in range(0, columns, nr):
            for i in range(0, rows, mr):
                a, b = pointer(block, i * steps), pointer(panel, j * steps)
                at = start + i * c_row + j
                if i + mr <= rows and j + nr <= columns:
                    kernel(steps, a, b, pointer(c, at), c_row, fresh)
                    continue
                kernel(steps, a, b, pointer(edge, 0), nr, True)
                for row in range(min(mr, rows - i)):
                    for column in range(min(nr, columns - j)):
                        value = edge[row * nr + column]
                        place = at + row * c_row + column
                        c[place] = value if fresh else c[place] + value

    def multiply(c, c_row, a, a_row, a_column, b, b_row, b_column, m, n, k, mc, kc, nc, block, panel, edge):
        for j in range(0, n, nc):
            columns = min(nc, n - j)
            for p in range(0, k, kc):
                steps = min(kc, k - p)
                padded = (steps + UNROLL - 1) // UNROLL * UNROLL
                pack_b(panel, b, p * b_row + j * b_column, b_column, b_row, columns, steps, padded)
                for i in range(0, m, mc):
                    rows = min(mc, m - i)
                    pack_a(block, a, i * a_row + p * a_column, a_row, a_column, rows, steps, padded)
                    registers(c, c_row, i * c_row + j, block, panel, edge, rows, columns, padded, p == 0)

    array, number = types.Array(from_dtype(dtype), 1, "C"), types.int64
    signature = types.void(
        array, number, array, number, number, array, number, number, *[number] * 6, array, array, array
    )
    return njit(signature, nogil=True)(multiply)


def compiled_for(sizes: Tiling, dtype: np.dtype[Any]) -> Any:
    """The loops for a tiling: only its micro-kernel is compiled in, so that other blocks cost no compilation."""
    return five_loops(sizes.mr, sizes.nr, sizes.lanes, dtype)


def prepared(a: Any, b: Any, c: Any, threads: int, sizes: Tiling, workspace: Workspace) -> Callable[[], None]:
    """A function without arguments that sets C to A B; others with the same workspace are to run at other times.

    Two-dimensional arrays of float32 or float64, C's rows without stride.
    """
    (m, n), k = c.shape, a.shape[1]
    loops = compiled_for(sizes, c.dtype)

    def task(thread: int, rows: slice, columns: slice) -> Callable[[], None]:
        own_a, own_b, own_c = a[rows], b[:, columns], c[rows, columns]
        rows_here, columns_here = own_c.shape
        cut = sizes.fitted(rows_here, columns_here, k)
        held = {"block": cut.mc * cut.kc, "panel": cut.nc * cut.kc, "edge": cut.mr * cut.nr}
        arrays = (workspace.array(thread, what, size, c.dtype) for what, size in held.items())
        flat_c, c_row, _ = flat(own_c)
        given = (flat_c, c_row, *flat(own_a), *flat(own_b), rows_here, columns_here, k)
        arguments = (*given, cut.mc, cut.kc, cut.nc, *arrays)
        return lambda: loops(*arguments)

    parts = rectangles(m, n, k, threads, sizes.mr, sizes.nr)
    return together([task(thread, *part) for thread, part in enumerate(parts)])
