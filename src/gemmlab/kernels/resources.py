"""What one program takes of an SM: registers of a thread, shared memory, accumulators."""

from __future__ import annotations

from gemmlab.formats import bits_of
from gemmlab.kernels.kernel import WARP, Kernel
from gemmlab.problem import Gemm
from gemmlab.record import KernelSection
from gemmlab.units import ceil_div, round_up

REGISTER_BITS = 32
ADDRESSES = 24  # pointers, k counter, predicates, shared-memory bases: what small CUDA kernels use beside operands
ALLOCATION = 8  # the register file is handed out eight registers a thread at a time


def accumulators(kernel: Kernel, problem: Gemm) -> int:
    """Registers of one thread that hold its outputs: block_m * block_n / threads for a float32 accumulator."""
    outputs = ceil_div(kernel.block_m * kernel.block_n, kernel.threads)
    return outputs * ceil_div(bits_of(problem.accumulate), REGISTER_BITS)


def operand_registers(kernel: Kernel, problem: Gemm) -> int:
    """Registers of one thread that hold operands between shared memory and arithmetic.

    A tensor-core warp holds the fragments of one instruction's k for its whole part; wgmma reads shared memory itself.
    Other families hold one k of their micro-tile, unpacked to a register each.
    """
    if kernel.family != "tensor":
        a_size = max(1, bits_of(problem.a_format) // REGISTER_BITS)
        b_size = max(1, bits_of(problem.b_format) // REGISTER_BITS)
        return kernel.thread_m * a_size + kernel.thread_n * b_size
    if kernel.tiles_from == "shared":
        return 0
    k = kernel.mma[2]
    kept = k // 2 if problem.structure == "sparse_2_4" else k
    bits = kernel.warp_m * kept * bits_of(problem.a_format) + k * kernel.warp_n * bits_of(problem.b_format)
    return ceil_div(bits, WARP * REGISTER_BITS)


def registers_needed(kernel: Kernel, problem: Gemm) -> int:
    """Estimated registers of one thread, without any limit: accumulators, operands, addresses, rounded up to 8."""
    return round_up(accumulators(kernel, problem) + operand_registers(kernel, problem) + ADDRESSES, ALLOCATION)


def registers_of(kernel: Kernel, problem: Gemm) -> int:
    """Registers of one thread: as the kernel says, else the estimate. Past 255 the compiler spills to local memory."""
    return kernel.registers or registers_needed(kernel, problem)


def stage_bytes(kernel: Kernel, problem: Gemm) -> int:
    """Shared memory of one k-step: A tile and B tile, a 2:4 sparse A by its kept half and 2 bits for each kept one."""
    a_bits = kernel.block_m * kernel.block_k * bits_of(problem.a_format)
    if problem.structure == "sparse_2_4":
        a_bits = a_bits // 2 + kernel.block_m * kernel.block_k
    return ceil_div(a_bits, 8) + ceil_div(kernel.block_k * kernel.block_n * bits_of(problem.b_format), 8)


def shared_bytes_of(kernel: Kernel, problem: Gemm) -> int:
    """Shared memory of one program in bytes: as the kernel says, else stages * (A tile + B tile); none if naive."""
    if kernel.family == "naive":
        return kernel.shared_bytes
    return kernel.shared_bytes or kernel.stages * stage_bytes(kernel, problem)


def section(kernel: Kernel, problem: Gemm) -> KernelSection:
    """The Record's `kernel`: the kernel as this problem uses it, estimates filled in."""
    return KernelSection(
        name=kernel.name,
        block_m=kernel.block_m,
        block_n=kernel.block_n,
        block_k=kernel.block_k,
        stages=kernel.stages,
        warps=kernel.warps,
        registers=registers_of(kernel, problem),
        split_k=kernel.split_k,
        group_m=kernel.group_m,
        raster=kernel.raster,
        cluster_m=kernel.cluster_m,
        cluster_n=kernel.cluster_n,
        shared_bytes=shared_bytes_of(kernel, problem),
    )
