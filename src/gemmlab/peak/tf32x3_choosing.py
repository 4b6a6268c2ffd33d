"""Which form multiplies float32 by three tfloat32 products, by a model of its time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from msgspec.structs import replace

from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.peak.tf32x3 import Tf32x3
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

#: rows, columns and k of a program's tile, and its warps along each
TILES = (
    *((64, width, 128, 1, 1, 8) for width in (8, 16, 32)),
    (64, 64, 64, 1, 2, 4),
    (32, 64, 64, 1, 2, 4),
    (128, 64, 64, 2, 2, 2),
    (128, 128, 64, 2, 4, 1),
)
SHARES = ((1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (2, 4), (2, 8))  # programs of a cluster, clusters
MOST_STAGES = 8

CLOCK_HZ = 1.755e9  # what an H200 holds in short runs, measured
HMMA_CYCLES = 8.0  # of a quarter of an SM for 16 x 8 x 8 products, as whole kernels were measured
ELEMENT_CYCLES = 6.0  # of a quarter for 32 elements that are split and what waits for them, measured so too
COPY_CYCLES = 12.0  # of a quarter for 32 copies: their addresses
FEED_BYTES = 64.0  # of an SM a cycle from L2: the width of its port
DRAM_BYTES_PER_S = 4.3e12  # a copy's, measured
DRAM_SHARE = 0.93  # of it, of a program that also splits, measured
TILE_CYCLES = 2000.0  # filling the ring and writing the tile, measured
SHARE_CYCLES = 1500.0  # bringing sums together: two barriers of a cluster, or a fence and a counter, measured
PART_CYCLES = 0.42  # of a result of the tile through shared memory, measured
GROUP_BYTES = 40.0  # of an SM a cycle, of sums in global memory
FITTING = {1: 132, 2: 132, 4: 120, 8: 120}  # programs of an H200 by the size of their clusters: the driver's word
LAUNCH_S = 2.2e-6
SHARPNESS = 6  # of a limit that gives way to another


def tf32x3_plans(request: Request) -> Iterator[Plan]:
    """Plans for float32: none in the one order that determinism asks for, none where one product is accurate enough."""
    if {request.a_format, request.b_format, request.d_format} != {"float32"} or request.deterministic:
        return
    if request.accuracy == "fast" and request.a_along_k and request.b_along_k:
        return
    for swapped, sizes, (parts, groups) in product((False, True), TILES, SHARES):
        form = shaped(request, sizes, swapped)
        if form is not None and form.block_k * parts * groups <= max(request.k, form.block_k):
            form = replace(form, parts=parts, groups=groups)
            yield Plan(kernel=form, predicted_s=tf32x3_seconds(request, form))


def shaped(request: Request, sizes: tuple[int, ...], swapped: bool) -> Tf32x3 | None:
    """The form of these sizes for operands that lie so, with the deepest ring that fits."""
    block_m, block_n, block_k, warps_m, warps_n, warps_k = sizes
    left, right = (request.a_along_k, request.a_on_road), (request.b_along_k, request.b_on_road)
    (a_along, a_wide), (b_along, b_wide) = (right, left) if swapped else (left, right)
    for stages in range(MOST_STAGES, 1, -1):
        try:
            return Tf32x3(
                block_m=block_m,
                block_n=block_n,
                block_k=block_k,
                warps_m=warps_m,
                warps_n=warps_n,
                warps_k=warps_k,
                stages=stages,
                a_sides=not a_along,
                b_sides=not b_along,
                a_wide=a_wide,
                b_wide=b_wide,
                swapped=swapped,
                early=True,
            )
        except GemmlabError:
            continue
    return None


def tf32x3_seconds(request: Request, form: Tf32x3) -> float:
    """Predicted: products, splitting and copies of a quarter of an SM, which wait for one another; waves; memory."""
    rows = form.block_m + form.block_n
    products = 3 * form.block_m * form.block_n * 16 / 1024
    warp_rows = form.block_m // form.warps_m + form.block_n // form.warps_n
    elements = form.warps_m * form.warps_n * warp_rows * 16 / 32
    copies = 16 / 32 * (form.block_m / (4 if form.a_wide else 1) + form.block_n / (4 if form.b_wide else 1))
    busy = (HMMA_CYCLES * products + ELEMENT_CYCLES * elements + COPY_CYCLES * copies) / 4
    step = max(busy, rows * 64 / FEED_BYTES)
    tiles = form.tiles(request.m, request.n)
    waves = ceil_div(tiles * form.shares, min(request.sm_count, FITTING[form.parts]))
    turns = ceil_div(ceil_div(request.k, form.block_k), form.shares) * form.block_k / 16
    tile = turns * step + TILE_CYCLES
    results = form.block_m * form.block_n
    if form.parts > 1:
        tile += SHARE_CYCLES + PART_CYCLES * results
    if form.groups > 1:
        tile += SHARE_CYCLES + 4 * results * (form.groups + 1) / form.parts / GROUP_BYTES
    bytes_ = 4 * ((request.m + request.n) * request.k + request.m * request.n)
    limits = (waves * tile / CLOCK_HZ, bytes_ / (DRAM_SHARE * DRAM_BYTES_PER_S))
    return LAUNCH_S + float(sum(limit**SHARPNESS for limit in limits) ** (1 / SHARPNESS))
