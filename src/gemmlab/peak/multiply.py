"""D = A B of torch's tensors on a GPU: what lies off the road is repacked, then one kernel multiplies."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from gemmlab.kernels.nvrtc import kept
from gemmlab.peak.driver import Kernel, Launch, tensor_map
from gemmlab.peak.engine import FOLDER, Engine
from gemmlab.peak.stored import Stored
from gemmlab.units import ceil_div, round_up

REPACK_WARPS = 8  # of a block, a piece of a row each: `WARPS` of repack.cu
PIECE_BYTES = 2048  # of a row, at most: 16 times `PIECE`
ROW_BYTES = 128  # to which rows are padded: whole cache lines


class Problem(ctypes.Structure):
    """`Problem` of gemm.cu."""

    _fields_ = (
        ("m", ctypes.c_int),
        ("n", ctypes.c_int),
        ("k", ctypes.c_int),
        ("group_m", ctypes.c_int),
        ("d", ctypes.c_void_p),
        ("ldd", ctypes.c_longlong),
        ("row_scale", ctypes.c_void_p),
        ("column_scale", ctypes.c_void_p),
        ("shares", ctypes.c_void_p),
        ("arrived", ctypes.c_void_p),
        *((name, ctypes.c_int) for name in ("batch", "a_several", "b_several")),
        ("d_step", ctypes.c_longlong),
    )


def engine_code(engine: Engine) -> bytes:
    """Machine code of an engine."""
    text, headers = engine.text()
    return kept(text, headers=headers)


@lru_cache(maxsize=256)
def engine_kernel(engine: Engine, device: int) -> Kernel:
    """The compiled kernel of an engine on a device, whose context is current."""
    return Kernel(engine_code(engine), "gemm", engine.shared_bytes, wide_clusters=engine.parts > 8)


@lru_cache(maxsize=256)
def adds_kernel(engine: Engine, device: int, shared_bytes: int) -> Kernel:
    """The kernel that adds an engine's sums later, each block with so much shared memory beside its own."""
    text, headers = engine.adds_text()
    return Kernel(kept(text, headers=headers), "adds", shared_bytes)


@lru_cache(maxsize=16)
def repack_kernel(device: int, batched: bool) -> Kernel:
    """The kernel of repack.cu on a device, whose context is current."""
    text, headers = repack_text(batched)
    return Kernel(kept(text, headers=headers), "repack")


def repack_text(batched: bool = False) -> tuple[str, dict[str, str]]:
    """The text of repack.cu behind its macro, and the header that it includes by name."""
    text, shift = ((FOLDER / name).read_text(encoding="utf-8") for name in ("repack.cu", "shift.cuh"))
    return f"#define BATCHED {int(batched)}\n{text}", {"shift.cuh": shift}


class Copy(ctypes.Structure):
    """`Copy` of repack.cu, all in bytes but the rows."""

    _fields_ = (
        ("source", ctypes.c_void_p),
        ("target", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("rows", "row_bytes", "source_step", "target_step")),
        *((name, ctypes.c_longlong) for name in ("each", "matrix_step")),
    )


def repacked(sources: Sequence[Stored], torch: Any, device: int) -> tuple[list[Any], list[Stored], Launch]:
    """Buffers of rows on the road for one or two operands, how they lie there, and the launch that fills them.

    Matrices of a batch follow one another there; one that all of it have in common is copied once.
    """
    buffers, there, copies, batched = [], [], [], False
    for source in sources:
        size, rows = source.element_bytes, source.own * source.rows
        step = round_up(source.columns * size, ROW_BYTES)
        buffer = torch.empty(rows * step, dtype=torch.uint8, device=f"cuda:{device}")
        buffers.append(buffer)
        ld = step // size
        there.append(replace(source, address=buffer.data_ptr(), ld=ld, step=source.step and source.rows * ld))
        wide, apart, matrices = source.columns * size, source.ld * size, source.step * size
        copies.append(Copy(source.address, buffer.data_ptr(), rows, wide, apart, step, source.rows, matrices))
        batched |= source.own > 1 and matrices != source.rows * apart
    copies.append(Copy())
    pieces = sum(copy.rows * ceil_div(copy.target_step, PIECE_BYTES) for copy in copies)
    grid = (ceil_div(pieces, REPACK_WARPS),)
    return buffers, there, repack_kernel(device, batched).prepare(grid, 32 * REPACK_WARPS, copies[:2], early=True)


def multiplying(
    engine: Engine,
    a: Stored,
    b: Stored,
    d: Stored,
    sides: tuple[int, int, int],
    device: int,
    *,
    group_m: int = 8,
    sms: int,
    scales: tuple[int, int] = (0, 0),
    map_k: int = 0,
    workspace: tuple[int, int] = (0, 0),
) -> list[Launch]:
    """The launch of the wgmma kernel: A and B as their maps say, D of (m, n) rows `d.ld` apart; that of adds.cu behind.

    Where the engine is of a batch, D says how many there are.

    `sides` are m, n, k; `map_k` is how far along k a piece's partner lies, k itself where there is one piece. `scales`
    are addresses of float32 factors of D's rows and columns, 0 for none; `workspace` those of `workspace_of`.
    """
    m, n, k = sides
    left, right = (b, a) if engine.swapped else (a, b)
    maps = [map_of(each, engine, box_of(each, engine, first=each is left)) for each in (left, right)]
    box = (min(engine.block_n, 64), 64) if engine.swapped else (64, engine.store_n)
    by_blocks = engine.store == 0 and engine.shares == 1
    to = map_of(replace(d, rows=m, columns=n), engine, box) if by_blocks else maps[0]
    factors = (scales[0] or None, scales[1] or None)
    several = (d.batch, int(left.own > 1), int(right.own > 1), d.step * d.element_bytes)
    problem = Problem(m, n, map_k or k, group_m, d.address, d.ld, *factors, *workspace, *several)
    kernel, programs = engine_kernel(engine, device), engine.programs(m, n, sms, d.batch)
    launch = kernel.prepare((programs,), engine.threads, (*maps, to, problem), early=engine.early)
    if not engine.later:
        return [launch]
    blocks, shared_bytes = engine.added(m, n, sms, d.batch)
    threads = 32 * engine.beside * engine.slices
    return [launch, adds_kernel(engine, device, shared_bytes).prepare((blocks,), threads, (problem,), early=True)]


def map_of(matrix: Stored, engine: Engine, box: tuple[int, int]) -> Any:
    """The map of a matrix, or of a batch where the engine is of one."""
    batch = (matrix.own, matrix.step or matrix.ld) if engine.batched else None
    return tensor_map(matrix.address, matrix.rows, matrix.columns, matrix.ld, matrix.element_bytes, box, batch)


def box_of(operand: Stored, engine: Engine, *, first: bool) -> tuple[int, int]:
    """Rows and columns of one fetch: a tile's rows of 128 bytes along k, or 64 k by 64 along the side."""
    if not operand.along_k:
        return 64, 64
    return (engine.block_m // engine.across if first else engine.block_n // engine.spread), engine.tile_k
