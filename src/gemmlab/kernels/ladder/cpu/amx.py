"""AMX: the CPU's matrix unit fed from packed panels, bfloat16 in and float32 sums, without a compiler.

All of A and B that a thread needs is packed once. Then C goes block by block: blocks of A, B and sums stay in L2
together, so that memory is seldom waited for, and the panel of B that a column of blocks shares stays in L1.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, types

from gemmlab.chips.machine import describe
from gemmlab.kernels.ladder.cpu.amx_block import blocks, configuration
from gemmlab.kernels.ladder.cpu.amx_packing import BLOCK, STEP, tile_packer, unpacker
from gemmlab.kernels.ladder.cpu.memory import Workspace, flat
from gemmlab.kernels.ladder.cpu.threads import rectangles, together
from gemmlab.kernels.ladder.cpu.tiling import AMX_SIDE as SIDE
from gemmlab.kernels.ladder.cpu.tiling import Tiling, even
from gemmlab.units import ceil_div

REQUEST = (158, 0x1023, 18)  # arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): Documentation/arch/x86/xstate.rst


@cache
def missing() -> str:
    """Why AMX cannot be used here; empty where it can, and this process may use it from now on."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"{sys.platform} on {platform.machine()} is not Linux on x86-64"
    if lacking := {"amx_tile", "amx_bf16"} - describe().flags:
        return f"this CPU has no {', '.join(sorted(lacking))}"
    if ctypes.CDLL(None).syscall(*REQUEST) != 0:
        return "the kernel does not permit tile data to this process"
    return ""


@cache
def loops_with(product: Any, wide: bool) -> Any:
    """The compiled loops around `product`, one of `amx_block.blocks` or what does the same; C of float32 or bfloat16.

    (c, c_row, panels_a, panels_b, m, n, k, mc, kc, nc, config, sums, edge), panels as packed, C in one dimension.
    """
    unpack, side = unpacker(wide), SIDE

    def multiply(c, c_row, panels_a, panels_b, m, n, k, mc, kc, nc, config, sums, edge):
        steps = (k + side - 1) // side
        panel = steps * STEP
        for j in range(0, n, nc):
            columns = min(nc, n - j)
            for i in range(0, m, mc):
                rows = min(mc, m - i)
                down, across = (rows + side - 1) // side, (columns + side - 1) // side
                for p in range(0, steps, kc // side):
                    product(
                        config, panels_a, i // side * panel + p * STEP, panel,
                        panels_b, j // side * panel + p * STEP, panel,
                        sums, down, across, min(kc // side, steps - p), p == 0,
                    )  # fmt: skip
                unpack(c, c_row, i * c_row + j, sums.view(np.uint32), rows, columns, edge)

    number, words = types.int64, types.Array(types.uint16, 1, "C")
    out = types.Array(types.uint32, 1, "C") if wide else words
    bytes_, floats = types.Array(types.uint8, 1, "C"), types.Array(types.float32, 1, "C")
    signature = types.void(out, number, words, words, *[number] * 6, bytes_, floats, out)
    return njit(signature, nogil=True)(multiply)


def compiled_for(wide: bool, product: Any = blocks) -> Any:
    """The loops for C of float32, where `wide`, or of bfloat16."""
    return loops_with(product, wide)


def prepared(
    a: npt.NDArray[Any], b: npt.NDArray[Any], c: npt.NDArray[Any], threads: int, sizes: Tiling, workspace: Workspace,
    product: Any = blocks,
) -> Callable[[], None]:  # fmt: skip
    """A function without arguments that sets C to A B; others with the same workspace are to run at other times.

    Two-dimensional arrays of bfloat16, C's also of float32, C's rows without stride.
    """
    wide = c.dtype == np.float32
    word, loops = np.uint32 if wide else np.uint16, compiled_for(wide, product)
    pack_a, pack_b = tile_packer(False), tile_packer(True)
    a, b, c = a.view(np.uint16), b.view(np.uint16), c.view(word)
    (whole_m, whole_n), k = c.shape, a.shape[1]
    panel = ceil_div(k, SIDE) * STEP

    def task(thread: int, rows: slice, columns: slice) -> Callable[[], None]:
        own_a, own_b, own_c = a[rows], b[:, columns], c[rows, columns]
        m, n = own_c.shape
        mc, kc, nc = even(m, sizes.mc, SIDE), even(k, sizes.kc, SIDE), even(n, sizes.nc, SIDE)
        (flat_c, c_row, _), (flat_a, a_row, a_column) = flat(own_c), flat(own_a)
        flat_b, b_row, b_column = flat(own_b)
        panels_a, panels_b = (
            workspace.array(thread, name, ceil_div(size, SIDE) * panel, np.uint16)
            for name, size in (("a", m), ("b", n))
        )
        sums = workspace.array(thread, "sums", mc // SIDE * (nc // SIDE) * BLOCK, np.float32)
        config, edge = configuration(), np.empty(16, word)

        def run() -> None:
            pack_a(panels_a, flat_a, a_row, a_column, m, k)
            pack_b(panels_b, flat_b, b_column, b_row, n, k)
            loops(flat_c, c_row, panels_a, panels_b, m, n, k, mc, kc, nc, config, sums, edge)

        return run

    parts = rectangles(whole_m, whole_n, k, threads, SIDE, SIDE)
    return together([task(thread, *part) for thread, part in enumerate(parts)])
