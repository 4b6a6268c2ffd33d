"""Blocks: the same three loops over tiles that stay in the cache, each tile's product left to NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemmlab.kernels.ladder.cpu.tiling import BLOCK_SIDE as SIDE


def kernel(a: Any, b: Any, c: Any, side: int = SIDE) -> None:
    """C = A B of two-dimensional arrays in any layout; a tile of C collects the products of tiles along k."""
    m, k = a.shape
    n = b.shape[1]
    product = np.empty((side, side), c.dtype)
    for i in range(0, m, side):
        for j in range(0, n, side):
            total = c[i : i + side, j : j + side]
            total[:] = 0
            here = product[: total.shape[0], : total.shape[1]]
            for p in range(0, k, side):
                np.matmul(a[i : i + side, p : p + side], b[p : p + side, j : j + side], out=here)
                total += here
