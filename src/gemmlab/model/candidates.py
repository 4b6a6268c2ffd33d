"""The tilings that a vendor's library would choose from, and the best of them for one multiplication."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemmlab.chips import Chip
from gemmlab.formats import bits_of
from gemmlab.kernels.catalogue import micro_tile
from gemmlab.model.constants import Constants
from gemmlab.model.pairs import Machine, Pairs, machine_of, pairs_of
from gemmlab.model.road import vector_elements
from gemmlab.model.time import ALL, Effects, Times, times
from gemmlab.problem import Gemm

SIDES_M = (16, 32, 64, 128, 192, 256)
SIDES_N = (16, 32, 64, 128, 192, 256)
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128)
LARGEST_TILE = 128 * 256  # float32 accumulators of one program: half of an SM's registers
SMALLEST_LONG_SIDE = 64
SMALLEST_VECTOR_SIDE = 32
VECTOR_WARPS = 8
STEP_BYTES = 128  # of k a step: one swizzled row of shared memory


class Tiling(NamedTuple):
    """One candidate."""

    block_m: int
    block_n: int
    split_k: int


TILINGS = tuple(
    Tiling(block_m, block_n, split)
    for block_m in SIDES_M
    for block_n in SIDES_N
    if block_m * block_n <= LARGEST_TILE and max(block_m, block_n) >= SMALLEST_LONG_SIDE
    for split in SPLITS
)


#: outputs of a thread where ordinary arithmetic computes a candidate in VECTOR_WARPS warps
MICRO_TILES = np.array([micro_tile(t.block_m, t.block_n, VECTOR_WARPS) for t in TILINGS], dtype=np.float64)


def offered(problem: Gemm, machine: Machine) -> NDArray[np.bool_]:
    """Which candidates a library has kernels for: no splits shorter than a step, no slivers in ordinary arithmetic.

    A matrix-vector product is the exception: its own kernel computes no rows in vain.
    """
    table = np.array(TILINGS)
    fits = table[:, 2] <= max(1, problem.k // step_of(problem, machine))
    if machine.vector and min(problem.m, problem.n) > 1:
        fits &= table[:, :2].min(axis=1) >= SMALLEST_VECTOR_SIDE
    return np.asarray(fits)


def candidate_pairs(problem: Gemm, machine: Machine) -> Pairs:
    """The problem under every candidate tiling."""
    table = np.array(TILINGS, dtype=np.float64)
    block_m, block_n, split = table.T
    paired = machine.clusters and not machine.vector
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
        cluster_m=np.where((block_m >= 128) & (block_n >= 128) & paired, 2.0, 1.0),
        batch=problem.batch,
        vector=vector_elements(problem),
        thread_m=MICRO_TILES[:, 0],
        thread_n=MICRO_TILES[:, 1],
        work=problem.flop / (2 * problem.m * problem.n * problem.k * problem.batch),
    )


def step_of(problem: Gemm, machine: Machine) -> int:
    """K of one step: 128 bytes for matrix units, 8 elements for ordinary kernels."""
    return 8 if machine.vector else STEP_BYTES * 8 // bits_of(problem.a_format)


class Best(NamedTuple):
    """The fastest candidate and its parts."""

    tiling: Tiling
    time_s: float
    unsplit_s: float  #: of the fastest candidate that leaves k whole
    times: Times  #: of all candidates
    position: int  #: among TILINGS


def best_tiling(problem: Gemm, chip: Chip, constants: Constants, effects: Effects = ALL) -> Best:
    """The candidate that the model predicts to be fastest; among equals fewer splits, then the larger tile.

    Raises GemmlabError where the chip does not compute in the problem's format.
    """
    machine = machine_of(chip, problem.a_format)
    found = times(candidate_pairs(problem, machine), machine, constants, effects)
    total = np.where(offered(problem, machine), found.total, np.inf)
    near = np.flatnonzero(total <= total.min() * 1.002)
    index = int(min(near, key=lambda i: (TILINGS[i].split_k, -TILINGS[i].block_m * TILINGS[i].block_n)))
    whole = min(float(total[i]) for i, tiling in enumerate(TILINGS) if tiling.split_k == 1)
    return Best(TILINGS[index], float(found.total[index]), whole, found, index)
