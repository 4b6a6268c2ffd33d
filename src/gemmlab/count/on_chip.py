"""What the steps of k cost inside an SM: shared memory, registers, and the FLOP that tiles have room for."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.problem import Gemm


class OnChip(NamedTuple):
    """Totals of one program's step, in bits where it says so; a step computes its whole tile, padding included."""

    shared_load_bits: int
    shared_store_bits: int
    register_elements: int
    flop: int


def step_of(problem: Gemm, kernel: Kernel) -> OnChip:
    """One step of one program.

    Both tiles are written to shared memory once, zeros for what is out of range. From there, for each k, a thread reads
    its rows of A and columns of B (tiled, register), a warp those of its part (tensor): W/2 FLOP a byte for a square
    part of W and 16-bit formats. With wgmma (tiles_from `shared`) each instruction reads mma_m rows and mma_n columns
    itself: A once for every mma_n columns of the tile, B once for every mma_m rows. Of a 2:4 sparse A the kept half
    and 2 bits for each kept element are moved. Registers: the operands that arithmetic reads there, accumulators apart.
    """
    sparse = problem.structure == "sparse_2_4"
    kept = kernel.block_k // 2 if sparse else kernel.block_k
    products = kernel.block_m * kernel.block_n * kept
    if kernel.family == "naive":
        return OnChip(0, 0, 0, 2 * products)
    b_bits = bits_of(problem.b_format)
    row = kept * bits_of(problem.a_format) + (kernel.block_k if sparse else 0)
    column = kernel.block_k * b_bits
    stored = kernel.block_m * row + kernel.block_n * column
    if kernel.family != "tensor":
        loaded = kernel.threads * (kernel.thread_m * row + kernel.thread_n * kept * b_bits)
        return OnChip(loaded, stored, 2 * products, 2 * products)
    mma_m, mma_n, mma_k = kernel.mma
    if kernel.tiles_from == "shared":
        loaded = kernel.block_m * row * (kernel.block_n // mma_n) + kernel.block_n * column * (kernel.block_m // mma_m)
        return OnChip(loaded, stored, 0, 2 * products)
    loaded = kernel.warps * (kernel.warp_m * row + kernel.warp_n * column)
    instructions = kernel.block_m * kernel.block_n * kernel.block_k // (mma_m * mma_n * mma_k)
    operands = mma_m * (mma_k // 2 if sparse else mma_k) + mma_k * mma_n
    return OnChip(loaded, stored, instructions * operands, 2 * products)
