"""DRAM traffic of a kernel on a chip, members of a group together, and a band from calm programs to wild ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gemmlab.chips import Chip
from gemmlab.kernels import Kernel
from gemmlab.model.constants import Constants
from gemmlab.model.l2 import Cache
from gemmlab.model.machine import l2_partitions
from gemmlab.model.occupancy import Occupancy
from gemmlab.model.pairs import Pairs
from gemmlab.model.schedule import Grid
from gemmlab.model.simulation import (
    CALM,
    COARSE,
    FINE,
    USUAL,
    WILD,
    drift_of,
    grid_of,
    operand_bytes,
    settled,
    simulate,
    stored_bytes,
)
from gemmlab.model.tpu import hbm_reads, hbm_writes
from gemmlab.problem import Gemm
from gemmlab.units import ceil_div

LEAST_READ = 0.9  # of A and B, whatever an earlier kernel left of them in L2: the least that the band's low end may say
KEPT_SHARE = 0.03  # of L2 that a long kernel leaves dirty with its own result (H200: 1.9 of 60 MB at 8192^3)
MOST_ALIKE = 16  # members that differ in m alone and are simulated each: neighbours' traffic differs by their bytes
#: two readings of one launch differ by up to this (benchmarks/results/dram_counters_h200.json, all rows of which, those
#: left out of the choice of constants too, were in view when the band's width was chosen)
READING_SPREAD = 0.05


class DramTraffic(NamedTuple):
    """DRAM bytes of the whole problem."""

    read: float
    write: float
    low: float  #: of read + write
    high: float

    @property
    def total(self) -> float:
        """Read and written."""
        return self.read + self.write


def hbm_traffic(problem: Gemm, pairs: Pairs) -> DramTraffic:
    """HBM bytes of a TPU, exact for the blocks that `pairs` name: software fills VMEM, so there is no band."""
    once = pairs.batch * pairs.k * (pairs.m * pairs.a_bytes + pairs.n * pairs.b_bytes)
    again = float((hbm_reads(pairs) - once).sum())
    read = float(problem.compulsory_read_bytes + max(0.0, again))
    written = max(float(hbm_writes(pairs).sum()), float(problem.d_bytes))
    return DramTraffic(read, written, read + written, read + written)


def dram_traffic(
    problem: Gemm, chip: Chip, kernel: Kernel, held: Occupancy, constants: Constants, *, band: bool = True
) -> DramTraffic:
    """Predicted DRAM bytes of the kernel on the chip, and a band from calm to wild programs where `band` asks for it.

    Members of a group move what each of them moves alone; of a structured A only the stored share is read. A chip
    without an L2 level keeps what its programs share in the memory that they compute from: each matrix moves once.
    """
    extra = problem.scale_bytes + problem.c_read_bytes + problem.epilogue_read_bytes
    l2 = chip.level("l2")
    if l2 is None:
        total = float(problem.compulsory_bytes)
        return DramTraffic(total - problem.d_bytes, float(problem.d_bytes), total, total)
    cache = Cache(float(l2.capacity_bytes), l2_partitions(chip), constants.l2_ways, int(chip.sm_count))
    parts = [
        (times, member_traffic(member, kernel, cache, held.programs, constants, band=band))
        for member, times in distinct_members(problem)
    ]
    read, write, low, high = (float(sum(times * part[i] for times, part in parts)) for i in range(4))
    return DramTraffic(read + extra, write, low + extra, high + extra)


def distinct_members(problem: Gemm) -> list[tuple[Gemm, int]]:
    """Members of a group that differ, with how many there are of each: equal ones move equally much."""
    seen: dict[tuple[int, int], dict[int, tuple[Gemm, int]]] = {}
    for member in problem.members:
        alike = seen.setdefault((member.n, member.k), {})
        first, count = alike.get(member.m, (member, 0))
        alike[member.m] = (first, count + 1)
    return [each for alike in seen.values() for each in few(list(alike.values()))]


def few(alike: list[tuple[Gemm, int]]) -> list[tuple[Gemm, int]]:
    """At most MOST_ALIKE of members that differ in m alone: neighbours become as many of their mean m.

    So hundreds of experts take no longer than a few, and A, B and D together keep their sizes.
    """
    if len(alike) <= MOST_ALIKE:
        return alike
    rows = sum(member.m * count for member, count in alike)
    runs: dict[int, list[tuple[Gemm, int]]] = {}
    before = 0
    for member, count in sorted(alike, key=lambda each: each[0].m):
        runs.setdefault(before * MOST_ALIKE // rows, []).append((member, count))
        before += member.m * count
    merged = []
    for run in runs.values():
        times = sum(count for _, count in run)
        mean = ceil_div(sum(member.m * count for member, count in run), times)
        merged.append((run[-1][0].replace(m=mean), times))
    return merged


def member_traffic(
    member: Gemm, kernel: Kernel, cache: Cache, resident: int, constants: Constants, *, band: bool
) -> DramTraffic:
    """One multiplication's A, B and D; the band is that of calm and wild programs, and of how readings spread."""
    grid = grid_of(member, kernel)
    stored = stored_bytes(grid)
    drift = drift_of(kernel, resident, constants)
    known = settled(grid, cache, cache.sms * resident)
    if known is None:
        read, write = simulate(grid, cache, resident, drift, FINE, USUAL)
    else:
        read, write = known, stored - min(stored, KEPT_SHARE * cache.capacity_bytes)
    low = high = read
    if band and known is None:
        for variant in (CALM, WILD):
            other, _ = simulate(grid, cache, resident, drift, COARSE, variant)
            low, high = min(low, other), max(high, other)
    if kernel.split_k > 1:
        again = lost_partials(stored, cache)
        read, low, high, write = read + again, low + again, high + again, again + member.d_bytes
    lean = stored_share(member, grid)
    floor = LEAST_READ * operand_bytes(grid) * lean
    return DramTraffic(
        read * lean,
        write,
        max((low * lean + write) * (1 - READING_SPREAD), min(read * lean + write, floor)),
        (high * lean + write) * (1 + READING_SPREAD),
    )


def stored_share(member: Gemm, grid: Grid) -> float:
    """Share of the bytes of a general A and B that a structured A leaves to read."""
    if member.structure == "sparse_2_4":
        return 1.0  # the grid's elements of A are the kept ones already
    a = float(member.m) * member.k * grid.a_bytes * member.batch
    return 1 - a / operand_bytes(grid) * (1 - member.a_elements / (member.m * member.k))


def lost_partials(stored: float, cache: Cache) -> float:
    """Bytes of split-k's partial results that L2 does not hold until the second pass: written, and read again."""
    kept = cache.capacity_bytes / cache.partitions / max(stored, 1.0)
    return float(np.clip(1 - kept, 0.0, 1.0)) * stored
