"""Which block of D a TPU core holds in VMEM: the fastest of those that fit, as a compiler that tries them picks."""

from __future__ import annotations

import numpy as np

from gemmlab.chips import Chip
from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.model.constants import Constants
from gemmlab.model.effects import ALL, Effects
from gemmlab.model.machine import Machine
from gemmlab.model.matrix_units import LANES, MatrixUnits
from gemmlab.model.pairs import Pairs, Values, pairs_of
from gemmlab.model.time import times
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.units import capacity_text, ceil_div, round_up

NAME = "matrix units"  # what stands where a GPU's kernel is named
STAGES = 2  # slabs of A and B: one in use, one on its way
STEP_K = 512  # of k in a slab, at most: four passes of a 128-wide unit
MOST_EQUAL = 16  # blocks that a side is cut into evenly; larger sides are cut into blocks of FIXED
FIXED = tuple(LANES * each for each in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32))
NEARLY_EQUAL = 1.002  # as of a GPU's candidates: of equals the one that asks least of HBM is taken, then the largest


def lengths(side: int, step: int) -> list[int]:
    """Lengths of a block along one side: even cuts and fixed ones, in whole steps.

    A shorter side can be cut as often into blocks no longer, so the fastest block of it is never slower.
    """
    even = {round_up(ceil_div(side, cuts), step) for cuts in range(1, MOST_EQUAL + 1)}
    return sorted(even | {round_up(each, step) for each in FIXED if each < side})


def held_bytes(problem: Gemm, block_m: Values, block_n: Values, step: int) -> Values:
    """VMEM of one block: its sums, two slabs of A and B, and the block before on its way out."""
    formats = (problem.a_format, problem.b_format, problem.d_format, problem.accumulate)
    a, b, d, sums = (bits_of(name) / 8 for name in formats)
    held: Values = block_m * block_n * (sums + d) + STAGES * step * (block_m * a + block_n * b)
    return held


def step_k(problem: Gemm, units: MatrixUnits) -> int:
    """K of one slab."""
    return min(STEP_K, round_up(problem.k, units.rows))


def block_pairs(problem: Gemm, units: MatrixUnits) -> Pairs:
    """The problem, which has no groups, under every block that VMEM holds; raises GemmlabError where it holds none."""
    table = np.array(
        [(m, n) for m in lengths(problem.m, units.step_m) for n in lengths(problem.n, units.cols)], dtype=np.float64
    )
    step = step_k(problem, units)
    needed = held_bytes(problem, table[:, 0], table[:, 1], step)
    fitting = table[needed <= units.vmem_bytes]
    if not len(fitting):
        raise GemmlabError(
            f"VMEM of {capacity_text(int(units.vmem_bytes))} a core holds no block of the result",
            f"the smallest takes {capacity_text(int(needed.min()))}: check `levels.shared` of the chip's file",
        )
    return pairs_of(
        problem.m,
        problem.n,
        problem.k,
        fitting[:, 0],
        fitting[:, 1],
        a_format=problem.a_format,
        b_format=problem.b_format,
        d_format=problem.d_format,
        block_k=step,
        batch=problem.batch,
        work=problem.flop / (2 * problem.m * problem.n * problem.k * problem.batch),
    )


def best_block(
    problem: Gemm, machine: Machine, units: MatrixUnits, constants: Constants, effects: Effects = ALL
) -> tuple[int, int, float]:
    """Rows and columns of the fastest block, and its seconds."""
    pairs = block_pairs(problem, units)
    found = times(pairs, machine, constants, effects)
    near = np.flatnonzero(found.total <= found.total.min() * NEARLY_EQUAL)
    index = int(min(near, key=lambda i: (found.reads[i], -pairs.block_m[i] * pairs.block_n[i])))
    return int(pairs.block_m[index]), int(pairs.block_n[index]), float(found.total[index])


def block_kernel(problem: Gemm, units: MatrixUnits, block_m: int, block_n: int) -> Kernel:
    """A block of VMEM as the Record's kernel: what it asks HBM for is what the tile of a program would ask for."""
    step = step_k(problem, units)
    return Kernel(
        name=NAME,
        family="tensor",
        block_m=block_m,
        block_n=block_n,
        block_k=step,
        warp_m=block_m,
        warp_n=block_n,
        mma=(units.step_m, units.cols, units.rows),
        warps=1,
        stages=STAGES,
        registers=1,
        shared_bytes=int(held_bytes(problem, np.array(block_m), np.array(block_n), step)),
    )


def runs_on(chip: Chip, kernel: Kernel) -> None:
    """Raise GemmlabError for a kernel of threads on a chip that has none."""
    if chip.kind == "tpu" and kernel.family != "tensor":
        raise GemmlabError(
            f"kernel `{kernel.name}` is made of threads; {chip.name} has matrix units and no threads",
            "leave --kernel out, or give a block of VMEM: --kernel tensor --tile 1024x1024x512",
        )
