"""DRAM traffic of one kernel, simulated, and a band from calm programs to wild ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gemmlab.chips import Chip
from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.model.constants import Constants
from gemmlab.model.l2 import Cache, Misses, dram_misses
from gemmlab.model.occupancy import Occupancy
from gemmlab.model.schedule import Grid, steps_of, walk
from gemmlab.model.wave_traffic import Launch, reaches, transposed, wave_reads
from gemmlab.problem import Gemm

MOST_TOUCHES = 60_000  # of one simulation; a longer launch is simulated in its beginning and carried on
MOST_BATCHES = 600  # likewise, for chips of few SMs, whose batches are small
DEEP = 2  # past so many times those a beginning of k is simulated too: its panels exceed L2 many times over
LEAST_BATCH = 8  # touches looked up together, at least
INSIDE, OUTSIDE = 0.5, 2.2  # of one partition's capacity: certain to stay, certain to be gone
KEPT_SHARE = 0.03  # of L2 that a long kernel leaves dirty with its own result (H200: 1.9 of 60 MB at 8192^3)
CROWD_PROGRAMS, CROWD_TILES = 3, 6
READING_SPREAD = 0.05  # two readings of one launch differ by up to this (benchmarks/results/dram_counters_h200.json)


class Detail(NamedTuple):
    """How finely a simulation looks."""

    steps: int  #: k-steps of a program, at least
    piece_share: float  #: of one L2 partition pair that one round of pieces may take
    batch: float  #: touches looked up together, in rounds of the active programs


class Variant(NamedTuple):
    """A simulation's assumptions, relative to the constants."""

    jitter: float
    crowding: float
    capacity: float


FINE = Detail(12, 0.15, 1.0)
COARSE = Detail(8, 0.25, 2.0)
USUAL = Variant(1.0, 1.0, 1.0)
CALM = Variant(0.3, 0.1, 1.1)  # programs nearly in lock-step, a tenth more of L2 to themselves
WILD = Variant(3.0, 0.8, 0.75)  # programs far apart, a quarter of L2 held by others


class DramTraffic(NamedTuple):
    """DRAM bytes of the whole problem."""

    read: float
    write: float
    low: float  #: of read + write
    high: float
    method: str  #: `closed form` or `simulated`

    @property
    def total(self) -> float:
        """Read and written."""
        return self.read + self.write


def grid_of(problem: Gemm, kernel: Kernel) -> Grid:
    """The launch as the traffic model sees it, members of a group as one after another (their sides averaged)."""
    a_bits: float = bits_of(problem.a_format)
    if problem.structure == "sparse_2_4":
        a_bits = a_bits / 2 + 1  # every second element, and 2 bits of metadata beside it
    return Grid(
        m=problem.m,
        n=problem.n,
        k=problem.k,
        block_m=kernel.block_m,
        block_n=kernel.block_n,
        block_k=kernel.block_k,
        group_m=kernel.group_m,
        raster=kernel.raster,
        a_bytes=a_bits / 8,
        b_bytes=bits_of(problem.b_format) / 8,
        d_bytes=bits_of(problem.d_format if kernel.split_k == 1 else problem.accumulate) / 8,
        batch=problem.batch,
        split_k=kernel.split_k,
    )


def jitter_of(kernel: Kernel, resident: int, constants: Constants, variant: Variant) -> float:
    """Noise of a k-step: more where older programs of an SM run ahead of the younger ones.

    Warps issue oldest first. With two programs, or little in flight, all advance alike; from three programs and six
    tiles in flight on, the younger get what the older leave.
    """
    crowded = resident >= CROWD_PROGRAMS and resident * (kernel.stages - 1) >= CROWD_TILES
    return constants.jitter * variant.jitter + (constants.crowding * variant.crowding if crowded else 0.0)


def simulate(
    grid: Grid, kernel: Kernel, cache: Cache, resident: int, constants: Constants, detail: Detail, variant: Variant
) -> tuple[float, float]:
    """DRAM bytes (read, written) of one launch; past MOST_TOUCHES the beginning is simulated and its end carried on.

    Batch entries and ranges of k share nothing: as many whole ones as that allows stand for all, or a part of one.
    """
    slots = cache.sms * resident
    active = min(slots, grid.programs)
    shrunk = cache._replace(capacity_bytes=cache.capacity_bytes * variant.capacity)
    narrow = grid._replace(k=-(-grid.k // grid.split_k))
    steps = steps_of(narrow, active, detail.piece_share * cache.capacity_bytes, detail.steps)
    batch = max(LEAST_BATCH, int(active * detail.batch))
    touches = min(MOST_TOUCHES, MOST_BATCHES * batch)
    most = max(4 * slots, touches // (steps + 1))
    each = grid.tiles_m * grid.tiles_n
    members = min(grid.batch * grid.split_k, max(1, most // each))
    programs = min(members * each, most)
    walked = min(steps, max(detail.steps, DEEP * touches // programs))
    part = min(narrow.k, walked * -(-narrow.k // steps))
    events = walk(
        grid._replace(k=part * grid.split_k), slots, walked, jitter_of(kernel, resident, constants, variant), programs
    )
    misses = dram_misses(events, shrunk, batch)
    stored = float(grid.m) * grid.n * grid.d_bytes * grid.batch * grid.split_k
    read = carried_on(misses, members * each / programs) * (narrow.k / part) * (grid.programs / (members * each))
    return max(read, once(grid)), stored - min(misses.kept, stored)


def once(grid: Grid) -> float:
    """Bytes of A and B."""
    return float(grid.batch) * grid.k * (grid.m * grid.a_bytes + grid.n * grid.b_bytes)


def carried_on(misses: Misses, times: float) -> float:
    """Reads of a launch `times` as long as what was simulated: the second half's rate goes on."""
    return misses.read + (times - 1) * 2 * misses.read_late


def dram_traffic(
    problem: Gemm, chip: Chip, kernel: Kernel, held: Occupancy, constants: Constants, *, band: bool = True
) -> DramTraffic:
    """Predicted DRAM bytes of the kernel on the chip, and a band from calm to wild programs.

    Structured operands scale A's share by what is worked on. Sources of the assumptions: research on L2 of A100 and
    H100 (two partitions, a copy in the reader's own), benchmarks/fit_traffic.py for the noise.
    """
    l2 = chip.level("l2")
    floor = problem.compulsory_read_bytes
    if l2 is None:
        return DramTraffic(floor, problem.d_bytes, problem.compulsory_bytes, problem.compulsory_bytes, "closed form")
    partitions = 2 if "l2_partitions" in chip.features else 1
    cache = Cache(float(l2.capacity_bytes), partitions, constants.l2_ways, int(chip.sm_count))
    parts = [
        member_traffic(member, share, kernel, cache, held.programs, constants, band)
        for member, share in distinct_members(problem)
    ]
    extra = problem.scale_bytes + problem.c_read_bytes + problem.epilogue_read_bytes
    read, write, low, high = (float(sum(part[i] for part in parts)) for i in range(4))
    return DramTraffic(read + extra, write, low + extra, high + extra, "simulated")


def distinct_members(problem: Gemm) -> list[tuple[Gemm, int]]:
    """Members of a group that differ, with how many there are of each: equal ones move equally much."""
    seen: dict[tuple[int, int, int], tuple[Gemm, int]] = {}
    for member in problem.members:
        key = (member.m, member.n, member.k)
        first, many = seen.get(key, (member, 0))
        seen[key] = (first, many + 1)
    return list(seen.values())


def member_traffic(
    member: Gemm, many: int, kernel: Kernel, cache: Cache, resident: int, constants: Constants, band: bool
) -> tuple[float, float, float, float]:
    """(read, written, low, high) of one multiplication, times how many there are."""
    grid = grid_of(member, kernel)
    a_full = float(member.m) * member.k * grid.a_bytes * member.batch
    b_full = float(member.k) * member.n * grid.b_bytes * member.batch
    lean = (member.a_elements / (member.m * member.k) * a_full + b_full) / (a_full + b_full)
    if member.structure == "sparse_2_4":
        lean = 1.0
    known = settled(grid, cache, cache.sms * resident)
    if known is None:
        read, write = simulate(grid, kernel, cache, resident, constants, FINE, USUAL)
    else:
        stored = float(grid.m) * grid.n * grid.d_bytes * grid.batch * grid.split_k
        read, write = known, stored - min(stored, KEPT_SHARE * cache.capacity_bytes)
    low, high = read + write, read + write
    if band and known is None:
        for variant in (CALM, WILD):
            ends = sum(simulate(grid, kernel, cache, resident, constants, COARSE, variant))
            low, high = min(low, ends), max(high, ends)
    if kernel.split_k > 1:
        read, write, low, high = with_reduction(member, grid, (read, write, low, high), cache)
    low = max(low * (1 - READING_SPREAD), min(read + write, 0.9 * (a_full + b_full)))
    return many * read * lean, many * write, many * low * lean, many * high * (1 + READING_SPREAD)


def settled(grid: Grid, cache: Cache, slots: int) -> float | None:
    """DRAM reads in closed form, where neither drift nor the capacity's edge can change them; None elsewhere.

    All of k of what the resident programs work on lies well inside L2, so that it does not matter when they read it;
    and what a sweep of a group brings in either fits well or is well past it.
    """
    one = np.ones(1)
    launch = Launch(
        m=one * grid.m,
        n=one * grid.n,
        k=one * grid.k,
        block_m=one * grid.block_m,
        block_n=one * grid.block_n,
        group_m=one * grid.group_m,
        slots=one * slots,
        a_bytes=one * grid.a_bytes,
        b_bytes=one * grid.b_bytes,
        d_bytes=one * grid.d_bytes,
        split_k=one * grid.split_k,
        batch=one * grid.batch,
    )
    if grid.raster == "m":
        launch = transposed(launch)
    reach = reaches(launch, cache.partitions)
    capacity = cache.capacity_bytes / cache.partitions
    wave, sweep = float(reach.wave[0]) / capacity, float(reach.sweep[0]) / capacity
    if wave > INSIDE or INSIDE < sweep < OUTSIDE:
        return None
    return float(wave_reads(launch, cache.capacity_bytes, cache.partitions)[0])


def with_reduction(
    member: Gemm, grid: Grid, parts: tuple[float, float, float, float], cache: Cache
) -> tuple[float, float, float, float]:
    """Split-k's second pass: partial results that L2 no longer holds are read from DRAM, the result is written."""
    partials = float(grid.m) * grid.n * grid.d_bytes * grid.split_k * grid.batch
    lost = float(np.clip(1 - cache.capacity_bytes / cache.partitions / max(partials, 1.0), 0.0, 1.0)) * partials
    read, _, _, high = parts
    write = lost + member.d_bytes
    return read + lost, write, read + member.d_bytes, high + lost + member.d_bytes
