"""The tilings that a vendor's library would choose from, and the best of them for one multiplication."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemmlab.chips import Chip
from gemmlab.formats import bits_of
from gemmlab.kernels.catalogue import micro_tile
from gemmlab.kernels.resources import REGISTER_BITS
from gemmlab.model.constants import Constants
from gemmlab.model.effects import ALL, Effects
from gemmlab.model.machine import Machine, machine_of
from gemmlab.model.pairs import Pairs, pairs_of
from gemmlab.model.road import load_elements
from gemmlab.model.time import times
from gemmlab.model.vmem import best_block
from gemmlab.problem import Gemm
from gemmlab.units import ceil_div

SIDES = (16, 32, 64, 128, 192, 256)  # of tiles: powers of two, and 192, which vendors' kernels have too
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128)
LARGEST_TILE = 128 * 256  # accumulators of one program, in registers: half of an SM's
SMALLEST_LONG_SIDE = 64  # one warpgroup's rows; skinnier tiles leave an instruction's side empty
SMALLEST_VECTOR_SIDE = 32  # of ordinary kernels: cuBLAS's smallest SGEMM tile is 32x32
VECTOR_WARPS = 8  # of ordinary kernels: 256 threads
VECTOR_STEP = 8  # elements of k a step of ordinary kernels
STEP_BYTES = 128  # of k a step: one swizzled row of shared memory
PAIRED_SIDE = 128  # of the smallest tile that pairs of programs share by multicast
NEARLY_EQUAL = 1.002  # candidates within a fifth of a percent of the fastest are equal: far below the model's error


class Tiling(NamedTuple):
    """One candidate."""

    block_m: int
    block_n: int
    split_k: int


TILINGS = tuple(
    Tiling(block_m, block_n, split)
    for block_m in SIDES
    for block_n in SIDES
    if block_m * block_n <= LARGEST_TILE and max(block_m, block_n) >= SMALLEST_LONG_SIDE
    for split in SPLITS
)


#: outputs of a thread where ordinary arithmetic computes a candidate in VECTOR_WARPS warps
MICRO_TILES = np.array([micro_tile(t.block_m, t.block_n, VECTOR_WARPS) for t in TILINGS], dtype=np.float64)


def offered(problem: Gemm, machine: Machine) -> NDArray[np.bool_]:
    """Which candidates a library has kernels for: no sums that spill, no splits shorter than a step, no slivers.

    Slivers of ordinary arithmetic serve a matrix-vector product alone: its own kernel computes no rows in vain.
    """
    table = np.array(TILINGS)
    words = ceil_div(bits_of(problem.accumulate), REGISTER_BITS)
    fits = table[:, 0] * table[:, 1] * words <= LARGEST_TILE
    fits &= table[:, 2] <= max(1, problem.k // step_of(problem, machine))
    if machine.vector and min(problem.m, problem.n) > 1:
        fits &= table[:, :2].min(axis=1) >= SMALLEST_VECTOR_SIDE
    return np.asarray(fits)


def candidate_pairs(problem: Gemm, machine: Machine) -> Pairs:
    """The problem, which has no groups, under every candidate tiling, in the order of TILINGS."""
    table = np.array(TILINGS, dtype=np.float64)
    block_m, block_n, split = table.T
    paired = (np.minimum(block_m, block_n) >= PAIRED_SIDE) & machine.clusters & (not machine.vector)
    return pairs_of(
        problem.m,
        problem.n,
        problem.k,
        block_m,
        block_n,
        a_format=problem.a_format,
        b_format=problem.b_format,
        d_format=problem.d_format,
        block_k=step_of(problem, machine),
        split_k=split,
        cluster_m=np.where(paired, 2.0, 1.0),
        batch=problem.batch,
        load_elements=load_elements(problem),
        thread_m=MICRO_TILES[:, 0],
        thread_n=MICRO_TILES[:, 1],
        work=problem.flop / (2 * problem.m * problem.n * problem.k * problem.batch),
    )


def step_of(problem: Gemm, machine: Machine) -> int:
    """K of one step, in elements: 128 bytes for matrix units, 8 elements for ordinary kernels."""
    return VECTOR_STEP if machine.vector else STEP_BYTES * 8 // bits_of(problem.a_format)


class Best(NamedTuple):
    """The fastest candidate."""

    tiling: Tiling
    time_s: float
    unsplit_s: float  #: of the fastest candidate that leaves k whole


def best_tiling(problem: Gemm, chip: Chip, constants: Constants, effects: Effects = ALL) -> Best:
    """The candidate that the model predicts to be fastest; among equals fewer splits, then the larger tile.

    Raises GemmlabError where the chip does not compute in the problem's format.
    """
    machine = machine_of(chip, problem.a_format)
    if machine.systolic is not None:
        block_m, block_n, time_s = best_block(problem, machine, machine.systolic, constants, effects)
        return Best(Tiling(block_m, block_n, 1), time_s, time_s)
    seconds = times(candidate_pairs(problem, machine), machine, constants, effects).total
    total = np.where(offered(problem, machine), seconds, np.inf)
    near = np.flatnonzero(total <= total.min() * NEARLY_EQUAL)
    index = int(min(near, key=lambda i: (TILINGS[i].split_k, -TILINGS[i].block_m * TILINGS[i].block_n)))
    whole = min(float(total[i]) for i, tiling in enumerate(TILINGS) if tiling.split_k == 1)
    return Best(TILINGS[index], float(seconds[index]), whole)
