"""DRAM traffic of one launch: in closed form where nothing can change it, else by walking programs through L2."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.model.constants import Constants
from gemmlab.model.l2 import Cache, Misses, dram_misses
from gemmlab.model.schedule import Grid, steps_of, walk
from gemmlab.model.wave_traffic import launch_of, reaches, wave_reads
from gemmlab.problem import Gemm

MOST_TOUCHES = 60_000  # of one simulation; a longer launch is simulated in its beginning and carried on
MOST_BATCHES = 600  # likewise, for chips of few SMs, whose batches are small
DEEP = 2  # past so many times those a beginning of k is simulated too: its panels exceed L2 many times over
LEAST_BATCH = 8  # touches looked up together, at least
INSIDE, OUTSIDE = 0.5, 2.2  # of one partition's capacity: certain to stay, certain to be gone
CROWD_PROGRAMS, CROWD_TILES = 3, 6


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


def settled(grid: Grid, cache: Cache, slots: int) -> float | None:
    """DRAM reads in closed form, where neither drift nor the capacity's edge can change them; None elsewhere.

    All of k of what the resident programs work on lies well inside L2, so that it does not matter when they read it;
    and what a sweep of a group brings in either fits well or is well past it.
    """
    launch = launch_of(grid, slots, grid.raster)
    reach = reaches(launch, cache.partitions)
    capacity = cache.capacity_bytes / cache.partitions
    wave, sweep = float(reach.wave[0]) / capacity, float(reach.sweep[0]) / capacity
    if wave > INSIDE or INSIDE < sweep < OUTSIDE:
        return None
    return float(wave_reads(launch, cache.capacity_bytes, cache.partitions)[0])


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
