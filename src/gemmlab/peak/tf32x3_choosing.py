"""Which form multiplies float32 by three tfloat32 products, by a model of its time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from msgspec.structs import replace

from gemmlab.peak.planned import Plan
from gemmlab.peak.predicting import CLOCK_HZ, DRAM_BYTES_PER_S, FEED_BYTES, FITTING, LAUNCH_S, SMS, together
from gemmlab.peak.request import Request
from gemmlab.peak.tf32x3 import Tf32x3
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

LEAST_STAGES, MOST_STAGES = 2, 12


def by_warps(block_m: int, block_n: int, block_k: int, *warps: int) -> Tf32x3:
    """A form of mma.sync: its tile, and its warps along each side."""
    return Tf32x3(
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        warps_m=warps[0],
        warps_n=warps[1],
        warps_k=warps[2],
        stages=LEAST_STAGES,
        early=True,
    )


def by_warpgroups(count: int, block_n: int) -> Tf32x3:
    """A form of wgmma: 64 rows of the tile for each warpgroup."""
    return Tf32x3(
        block_m=64 * count,
        block_n=block_n,
        warps_m=4 * count,
        warps_n=1,
        warpgroups=True,
        stages=LEAST_STAGES,
        early=True,
    )


FULL = by_warps(64, 32, 128, 1, 1, 8)  # a thread's registers are all taken: a batch's pointers would be spilled
FORMS = (
    *(by_warps(64, width, 128, 1, 1, 8) for width in (8, 16)),
    FULL,
    by_warps(64, 64, 64, 1, 2, 4),
    by_warps(32, 64, 64, 1, 2, 4),
    by_warps(128, 64, 64, 2, 2, 2),
    by_warps(128, 128, 64, 2, 4, 1),
    *(by_warpgroups(count, width) for count in (1, 2) for width in (16, 32, 64, 128)),
)
MOST_GROUPS = 16
MOST_BATCH = 65_535  # blocks along y of a grid: CUDA C++ Programming Guide, technical specifications
LEAST_K = 256  # of a form whose sums stay in the tensor core over 32 k: below, they err by more than multiply-adds

HMMA_CYCLES = 6.1  # of a quarter of an SM for 16 x 8 x 8 products, measured
ELEMENT_CYCLES = 9.0  # of a quarter for 32 elements that are split, and for what waits, measured in whole kernels
COPY_CYCLES = 8.0  # of a quarter for 32 copies: their addresses
WGMMA_PRODUCTS = 1024.0  # of tfloat32 of an SM a cycle: the chip's peak
STEP_CYCLES = 710.0  # of a step of wgmma beside the products, measured
NARROW_CYCLES = 4.0  # of a quarter for 32 elements that are copied one by one
DRAM_SHARE = 0.97  # of a copy's, of a program that also splits, measured
TILE_CYCLES = 2000.0  # filling the ring and writing the tile, measured
SHARE_CYCLES = 1500.0  # bringing sums together: two barriers of a cluster, or a fence and a counter, measured
PART_CYCLES = 0.42  # of a result of the tile through shared memory, measured
GROUP_BYTES = 80.0  # of an SM a cycle, of sums in global memory, measured


def tf32x3_plans(request: Request) -> Iterator[Plan]:
    """Plans for float32: none in the one order that determinism asks for, none where one product is accurate enough."""
    if {request.a_format, request.b_format, request.d_format} != {"float32"} or request.deterministic:
        return
    if (request.accuracy == "fast" and request.a_along_k and request.b_along_k) or request.batch > MOST_BATCH:
        return
    for swapped, base in product((False, True), FORMS):
        form = shaped(request, base, swapped)
        if (form.warpgroups and request.k < LEAST_K) or (base == FULL and form.batched):
            continue
        for parts, groups in shares_of(request, form):
            shared = replace(form, parts=parts, groups=groups)
            yield Plan(kernel=shared, predicted_s=tf32x3_seconds(request, shared))


def shares_of(request: Request, form: Tf32x3) -> Iterator[tuple[int, int]]:
    """Programs of a cluster, and clusters, that share k: powers of two, and as many clusters as fill the chip."""
    most, tiles = ceil_div(request.k, form.block_k), form.tiles(request.m, request.n, request.batch)
    for parts in FITTING:
        filling = FITTING[parts] * request.sm_count // SMS // (parts * tiles)
        for groups in sorted({1, 2, 4, 8, min(filling, MOST_GROUPS)} - {0}):
            if parts * groups <= most and (parts * groups == 1 or tiles * parts * groups <= 2 * request.sm_count):
                yield parts, groups


def shaped(request: Request, base: Tf32x3, swapped: bool) -> Tf32x3:
    """The form for operands that lie so, with the deepest ring that fits."""
    left, right = (request.a_along_k, request.a_on_road), (request.b_along_k, request.b_on_road)
    (a_along, a_wide), (b_along, b_wide) = (right, left) if swapped else (left, right)
    lying = {"a_sides": not a_along, "b_sides": not b_along, "a_wide": a_wide, "b_wide": b_wide}
    found = replace(base, **lying, swapped=swapped, batched=request.batch > 1)
    while found.stages < MOST_STAGES:
        try:
            found = replace(found, stages=found.stages + 1, groups=2)
        except GemmlabError:
            break
    return replace(found, groups=1)


def turn_cycles(form: Tf32x3) -> float:
    """Cycles of 16 k of a program: products, splitting and copies of a quarter of an SM, which wait for one another."""
    products = 3 * form.block_m * form.block_n * 16
    if form.warpgroups:
        narrow = (form.block_m * (not form.a_wide) + form.block_n * (not form.b_wide)) / 2
        return products / WGMMA_PRODUCTS + STEP_CYCLES / 2 + NARROW_CYCLES * narrow / 4
    warp_rows = form.block_m // form.warps_m + form.block_n // form.warps_n
    elements = form.warps_m * form.warps_n * warp_rows / 2
    copies = (form.block_m / (4 if form.a_wide else 1) + form.block_n / (4 if form.b_wide else 1)) / 2
    return (HMMA_CYCLES * products / 1024 + ELEMENT_CYCLES * elements + COPY_CYCLES * copies) / 4


def tf32x3_seconds(request: Request, form: Tf32x3) -> float:
    """Predicted: turns of 16 k or what feeds them, waves of tiles, bringing sums together, memory."""
    results = form.block_m * form.block_n
    step = max(turn_cycles(form), (form.block_m + form.block_n) * 64 / FEED_BYTES)
    programs = form.tiles(request.m, request.n, request.batch) * form.shares
    waves = ceil_div(programs, FITTING[form.parts] * request.sm_count // SMS)
    turns = ceil_div(ceil_div(request.k, form.block_k), form.shares) * form.block_k / 16
    tile = turns * step + TILE_CYCLES
    if form.parts > 1:
        tile += SHARE_CYCLES + PART_CYCLES * results
    if form.groups > 1:
        tile += SHARE_CYCLES + 4 * results * (form.groups + 1) / form.parts / GROUP_BYTES
    bytes_ = 4 * ((request.rows + request.columns) * request.k + request.batch * request.m * request.n)
    return LAUNCH_S + together(waves * tile / CLOCK_HZ, bytes_ / (DRAM_SHARE * DRAM_BYTES_PER_S))
