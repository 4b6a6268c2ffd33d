"""float32 on the tensor cores: both operands as two float16 each, and threads for what those cannot say."""

from __future__ import annotations

import ctypes
from typing import Any

from gemmlab.peak.driver import Launch
from gemmlab.peak.multiply import plain_kernel
from gemmlab.peak.stored import Stored
from gemmlab.units import ceil_div, round_up

THREADS_BLOCKS = 528  # four on each SM


class SplitOperand(ctypes.Structure):
    """`Operand` of split.cu."""

    _fields_ = (
        ("x", ctypes.c_void_p),
        ("pieces", ctypes.c_void_p),
        ("inverse", ctypes.c_void_p),
        ("rows", ctypes.c_longlong),
        ("step", ctypes.c_longlong),
        ("along", ctypes.c_longlong),
    )


class Matrix(ctypes.Structure):
    """`Matrix` of threads.cu."""

    _fields_ = (("at", ctypes.c_void_p), ("along_side", ctypes.c_longlong), ("along_k", ctypes.c_longlong))


def split(
    a: Stored, b: Stored, k: int, torch: Any, device: int
) -> tuple[list[Any], tuple[Stored, Stored], tuple[int, int], int, Launch]:
    """Both float32 operands as float16 pieces beside one another along k.

    Returns the buffers, how the pieces lie, the addresses of the inverse scales of A's and B's rows, how far apart the
    pieces are, and the launch. The first four bytes of the first buffer count rows that cannot be said so.
    """
    padded = round_up(k, 64)
    refused = torch.zeros(1, dtype=torch.int32, device=f"cuda:{device}")
    buffers, there, operands = [refused], [], []
    for source, rows in ((a, a.rows if a.along_k else a.columns), (b, b.rows if b.along_k else b.columns)):
        pieces = torch.empty((rows, 2 * padded), dtype=torch.float16, device=f"cuda:{device}")
        inverse = torch.empty(rows, dtype=torch.float32, device=f"cuda:{device}")
        buffers += [pieces, inverse]
        step, along = (source.ld, 1) if source.along_k else (1, source.ld)
        operands.append(SplitOperand(source.address, pieces.data_ptr(), inverse.data_ptr(), rows, step, along))
        there.append(Stored(pieces.data_ptr(), rows, 2 * padded, 2 * padded, 2, along_k=True))
    values = (*operands, ctypes.c_int(k), ctypes.c_int(padded), ctypes.c_void_p(refused.data_ptr()))
    launch = plain_kernel("split", device).prepare((operands[0].rows + operands[1].rows,), 256, values)
    scales = (operands[0].inverse, operands[1].inverse)
    return buffers, (there[0], there[1]), scales, padded, launch


def by_threads(refused: int, a: Stored, b: Stored, d: Stored, sides: tuple[int, int, int], device: int) -> Launch:
    """The launch that multiplies float32 by threads where the number at `refused` is not zero by then."""
    m, n, k = sides
    matrices = [Matrix(each.address, *((each.ld, 1) if each.along_k else (1, each.ld))) for each in (a, b)]
    values = (*matrices, ctypes.c_void_p(d.address), ctypes.c_longlong(d.ld), *map(ctypes.c_int, (m, n, k)))
    grid = (min(ceil_div(m, 64) * ceil_div(n, 64), THREADS_BLOCKS),)
    return plain_kernel("threads", device).prepare(grid, 256, (ctypes.c_void_p(refused), *values))
