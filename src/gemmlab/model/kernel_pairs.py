"""A kernel and the members of its problem as pairs: what the catalogue's fields mean to the time model."""

from __future__ import annotations

import numpy as np

from gemmlab.kernels import Kernel
from gemmlab.kernels.kernel import WARP
from gemmlab.model.machine import Machine
from gemmlab.model.pairs import Pairs, pairs_of
from gemmlab.model.road import load_elements
from gemmlab.problem import Gemm
from gemmlab.units import ceil_div

#: cycles of a warp's load through L1, and of each operand that it reads from shared memory. Read off kernels of one
#: output a thread on an H200 (their times: tests/model/test_silicon.py, which is so no test of these two): a naive
#: program of 16x16 threads takes 26 cycles a k for its 16 loads; a tiled one less than a cycle for each, as compilers
#: merge four loads of A into one
GLOBAL_REQUEST_CYCLES = 1.6
SHARED_REQUEST_CYCLES = 0.78
STAGE_CYCLES = 5.0  # of an element-wise load, its store to shared memory and the barriers around them (likewise)


def warps_of(kernel: Kernel) -> int:
    """Warps of one program."""
    return kernel.warps or max(1, ceil_div(kernel.threads, WARP))


def issue_cycles(kernel: Kernel) -> float:
    """Cycles of an SM's load unit for one k of one program, where each thread loads its own two operands.

    A naive thread asks L1 for both at every k; a tiled one asks shared memory, and global memory once in block_k. Other
    families read several outputs' operands at once, and their cost is bytes, not requests.
    """
    warps = warps_of(kernel)
    if kernel.family == "naive":
        return 2 * warps * GLOBAL_REQUEST_CYCLES
    if kernel.family == "tiled":
        return 2 * warps * (SHARED_REQUEST_CYCLES + STAGE_CYCLES / kernel.block_k)
    return 0.0


def bubble_share(kernel: Kernel, resident: int) -> float:
    """Steps for each k of one tile at which an SM waits: a barrier, and the next instructions on their way.

    Hidden where another program of the SM computes meanwhile, or where warps of their own load (persistent kernels).
    """
    alone = resident == 1 and not kernel.persistent
    return 1 / kernel.block_k if kernel.family == "tensor" and alone else 0.0


def pairs_of_kernel(problem: Gemm, kernel: Kernel, machine: Machine, resident: int) -> Pairs:
    """The members of the problem under this kernel, one pair each."""
    members = problem.members
    element_wise = kernel.family in ("naive", "tiled")
    return pairs_of(
        [member.m for member in members],
        [member.n for member in members],
        [member.k for member in members],
        kernel.block_m,
        kernel.block_n,
        a_format=problem.a_format,
        b_format=problem.b_format,
        d_format=problem.d_format,
        block_k=max(1, kernel.block_k),
        split_k=kernel.split_k,
        group_m=kernel.group_m,
        cluster_m=kernel.cluster_m if machine.clusters else 1,
        cluster_n=kernel.cluster_n if machine.clusters else 1,
        resident=resident,
        batch=problem.batch,
        # loads of these families are element-wise anyway, which `issue` counts
        load_elements=np.inf if element_wise else [load_elements(member) for member in members],
        thread_m=kernel.thread_m,
        thread_n=kernel.thread_n,
        issue=issue_cycles(kernel),
        bubble=bubble_share(kernel, resident),
        work=[member.flop / (2 * member.m * member.n * member.k * member.batch) for member in members],
    )
