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
from gemmlab.units import ceil_div

MOST_TOUCHES = 60_000  # of one simulation; a longer launch is simulated in its beginning and carried on
MOST_BATCHES = 600  # likewise, for chips of few SMs, whose batches are small
FEWEST_WAVES = 4  # of programs that are simulated however many their touches: fewer show no reuse
DEEP = 2  # past so many times those only a beginning of k is simulated: its panels exceed L2 many times over
LEAST_BATCH = 8  # touches looked up together, at least: chips of few SMs would else look up each alone
INSIDE, OUTSIDE = 0.5, 2.2  # of one partition's capacity: certain to stay, certain to be gone
CROWD_PROGRAMS, CROWD_TILES = 3, 6  # on an SM, where the counters of an H200 begin to show drift (drift_of)


class Drift(NamedTuple):
    """Standard deviation of a 64-wide k-step's time, relative to it: the sum of both."""

    jitter: float
    crowding: float  #: 0 where programs do not crowd an SM


class Detail(NamedTuple):
    """How finely a simulation looks."""

    steps: int  #: k-steps of a program, at least
    piece_share: float  #: of L2 that one round of pieces may take
    batch: float  #: touches looked up together, in rounds of the active programs


class Variant(NamedTuple):
    """A simulation's assumptions: factors on the drift and on L2's capacity."""

    jitter: float
    crowding: float
    capacity: float


#: the resolution at which the constants of traffic were chosen, so they hold for it: pieces and batches half as large
#: move the reads of launches counted on an H200 by 3 % in the median, 11 % in the 90th percentile
FINE = Detail(12, 0.15, 1.0)
COARSE = Detail(8, 0.25, 2.0)  # for the band, which is wider than what it loses: 1.4 % in the median, 13 % likewise
USUAL = Variant(1.0, 1.0, 1.0)
# both were chosen with every counter row in view: how often the band holds those rows is in-sample
CALM = Variant(0.3, 0.1, 1.1)  # programs nearly in lock-step, a tenth more of L2 to themselves
WILD = Variant(3.0, 0.8, 0.75)  # programs far apart, a quarter of L2 held by others


def grid_of(problem: Gemm, kernel: Kernel) -> Grid:
    """The launch as the traffic model sees it, of a problem without groups."""
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


def drift_of(kernel: Kernel, resident: int, constants: Constants) -> Drift:
    """Noise of a k-step: more where older programs of an SM run ahead of the younger ones.

    Warps issue oldest first. With two programs, or little in flight, all advance alike; from three programs and six
    tiles in flight on, the younger get what the older leave.
    """
    crowded = resident >= CROWD_PROGRAMS and resident * (kernel.stages - 1) >= CROWD_TILES
    return Drift(constants.jitter, constants.crowding if crowded else 0.0)


def simulate(
    grid: Grid, cache: Cache, resident: int, drift: Drift, detail: Detail, variant: Variant
) -> tuple[float, float]:
    """DRAM bytes (read, written) of one launch; past MOST_TOUCHES the beginning is simulated and its end carried on."""
    extent = extent_of(grid, cache, resident, detail)
    jitter = drift.jitter * variant.jitter + drift.crowding * variant.crowding
    beginning = grid._replace(k=extent.k * grid.split_k)
    events = walk(beginning, cache.sms * resident, extent.steps, jitter, extent.programs)
    shrunk = cache._replace(capacity_bytes=cache.capacity_bytes * variant.capacity)
    misses = dram_misses(events, shrunk, extent.batch)
    read = carried_on(misses, extent.whole / extent.programs) * extent.k_times * (grid.programs / extent.whole)
    return max(read, operand_bytes(grid)), stored_bytes(grid) - min(misses.kept, stored_bytes(grid))


class Extent(NamedTuple):
    """How much of a launch is walked."""

    programs: int  #: of the launch's first
    whole: int  #: programs of the batch entries and ranges of k that they begin
    k: int  #: of each program's range of k, in elements
    k_times: float  #: how many times as long that range is
    steps: int  #: that k is walked in
    batch: int  #: touches looked up together


def extent_of(grid: Grid, cache: Cache, resident: int, detail: Detail) -> Extent:
    """As much of the launch as MOST_TOUCHES allows.

    Batch entries and ranges of k share nothing: as many whole ones as that allows stand for all, or a part of one, and
    where even FEWEST_WAVES waves of programs touch too much, a beginning of k.
    """
    slots = cache.sms * resident
    active = min(slots, grid.programs)
    k = ceil_div(grid.k, grid.split_k)
    steps = steps_of(grid._replace(k=k), active, detail.piece_share * cache.capacity_bytes, detail.steps)
    batch = max(LEAST_BATCH, int(active * detail.batch))
    touches = min(MOST_TOUCHES, MOST_BATCHES * batch)
    most = max(FEWEST_WAVES * slots, touches // (steps + 1))
    each = grid.tiles_m * grid.tiles_n
    members = min(grid.batch * grid.split_k, max(1, most // each))
    programs = min(members * each, most)
    walked = min(steps, max(detail.steps, DEEP * touches // programs))
    part = min(k, walked * ceil_div(k, steps))
    return Extent(programs, members * each, part, k / part, walked, batch)


def stored_bytes(grid: Grid) -> float:
    """Bytes of D, or of split-k's partial results."""
    return float(grid.m) * grid.n * grid.d_bytes * grid.batch * grid.split_k


def operand_bytes(grid: Grid) -> float:
    """Bytes of A and B, each read once."""
    return float(grid.batch) * grid.k * (grid.m * grid.a_bytes + grid.n * grid.b_bytes)


def carried_on(misses: Misses, times: float) -> float:
    """Reads of a launch `times` as long as what was simulated: the second half's rate goes on."""
    return misses.read + (times - 1) * 2 * misses.read_late
