"""How long an engine takes on an H200, by a model with few constants: nothing is measured when it is asked."""

from __future__ import annotations

from gemmlab.formats import bits_of
from gemmlab.peak.engine import ROW_BYTES, Engine
from gemmlab.peak.request import Request
from gemmlab.units import ceil_div

CLOCK_HZ = 1.755e9  # what an H200 holds in short runs, measured
PORT_BYTES = 128.0  # of an SM's shared memory a cycle: CUDA C++ Programming Guide
FEED_BYTES = 64.0  # of an SM a cycle from L2: the width of its port
L2_BYTES = 5500.0  # of all SMs a cycle, measured with the copy engine
DRAM_BYTES_PER_S = 4.3e12  # a copy's, measured
STEP_SHARE = 0.93  # of the products' time in a long loop, measured
TILE_CYCLES = 1500.0  # filling the ring and rounding the tile, measured
SHARE_CYCLES = 1500.0  # bringing sums together: two barriers of a cluster, measured
PART_CYCLES, GROUP_CYCLES = 0.15, 0.6  # of a result of the tile, through shared and through global memory, measured
LAUNCH_S = 2.2e-6  # until the first fetch, and from the last store on
RESIDENT_LAUNCH_S = 1.2e-6  # where the launch before leaves room for it
SHARPNESS = 6  # of a limit that gives way to another
ELEMENT_CYCLES = {0: 0.01, 1: 0.03, 2: 0.03}  # of a result, by the way it is stored

#: programs of an H200's 132 SMs by the size of their clusters, the driver's word: clusters do not cross its GPCs
FITTING = {1: 132, 2: 132, 4: 120, 8: 120}
SMS = 132


def slots(engine: Engine, sm_count: int) -> int:
    """Programs that run at once."""
    return FITTING[engine.parts * engine.spread] * sm_count // SMS * engine.resident


def engine_seconds(request: Request, engine: Engine) -> float:
    """Predicted: the products, what feeds them, waves of tiles, and what is prepared before."""
    programs, at_once = engine.tiles(request.m, request.n) * engine.shares, slots(engine, request.sm_count)
    waves, running = ceil_div(programs, at_once), min(programs, at_once)
    beside = min(engine.resident, ceil_div(running, request.sm_count))  # on one SM
    steps = ceil_div(ceil_div(request.k, engine.tile_k), engine.shares)
    times = 3 if engine.pieces == 2 else 1
    taken = engine.pieces * (engine.block_m + engine.block_n // engine.spread) * ROW_BYTES  # bytes of a step
    products = 2 * engine.consumers * engine.block_n * times
    reads = engine.consumers * (64 + engine.block_n) * ROW_BYTES / PORT_BYTES * times
    step = together(
        beside * products / STEP_SHARE, beside * reads, beside * taken / FEED_BYTES, running * taken / L2_BYTES
    )
    tile = steps * step + TILE_CYCLES + ELEMENT_CYCLES[engine.store] * engine.block_m * engine.block_n
    if engine.shares > 1:
        each = PART_CYCLES * (engine.parts > 1) + GROUP_CYCLES * (engine.groups > 1)
        tile += SHARE_CYCLES + each * engine.block_m * engine.block_n
    bytes_ = bits_of(request.a_format) / 8 * (request.m + request.n) * request.k
    bytes_ += bits_of(request.d_format) / 8 * request.m * request.n
    busy = together(waves * tile / CLOCK_HZ, bytes_ / DRAM_BYTES_PER_S)
    launch = LAUNCH_S if engine.resident == 1 else RESIDENT_LAUNCH_S
    return launch + busy + prepared_seconds(request, engine)


def together(*times: float) -> float:
    """Limits that act at once: the longest, and a little more where others are nearly as long."""
    return float(sum(time**SHARPNESS for time in times) ** (1 / SHARPNESS))


def prepared_seconds(request: Request, engine: Engine) -> float:
    """Predicted: repacking or splitting, read and written once."""
    element = bits_of(request.a_format) / 8
    if engine.pieces == 2:
        return LAUNCH_S + 2 * element * (request.m + request.n) * request.k / DRAM_BYTES_PER_S
    off = (0 if request.a_on_road else request.m) + (0 if request.b_on_road else request.n)
    return LAUNCH_S * bool(off) + 2 * element * off * request.k / DRAM_BYTES_PER_S
