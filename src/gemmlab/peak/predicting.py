"""How long an engine takes on an H200, by a model with few constants: nothing is measured when it is asked.

All but the first two constants are fitted to measured times of about a thousand plans of 56 shapes, as
`benchmarks/peak_fit.py` does it.
"""

from __future__ import annotations

from gemmlab.formats import bits_of
from gemmlab.peak.engine import ROW_BYTES, Engine
from gemmlab.peak.request import Request
from gemmlab.units import ceil_div

CLOCK_HZ = 1.755e9  # what an H200 holds in short runs, measured
PORT_BYTES = 128.0  # of an SM's shared memory a cycle: CUDA C++ Programming Guide
FEED_BYTES = 75.0  # of an SM a cycle from L2; rows that several ask for at once are sent once
L2_BYTES, MISS_BYTES = 8340.0, 4090.0  # of all SMs a cycle, and beside that of what is not in L2 yet
DRAM_BYTES_PER_S, DRAM_S = 4.44e12, 1.42e-6  # the rate, and the time before it is reached
FEW_POWER = 0.186  # of the share of SMs that read, in that rate
STEP_SHARE, STEP_CYCLES = 0.975, 141.0  # of the products' time in a long loop, and of each step's beside it
ALONE_TIMES = 1.49  # tfloat32's products take longer where one warpgroup multiplies
LATENCY_CYCLES = 1430.0  # until a fetch is there
FILL_CYCLES = 865.0  # until the first product
ROUND_CYCLES = 915.0  # of a tile
ELEMENT_CYCLES = {0: 0.019, 1: 0.038, 2: 0.041, 3: 0.019, 4: 0.05}  # of a result, by the way it is stored; 4 not fitted
PARTLY_CYCLES = 0.2  # of one stored by the copy engine in rows that fill no whole sectors of 32 bytes
PROMOTION_CYCLES, PROMOTED_CYCLES = 283.0, 1.45  # of sums by pieces that leave the accumulator, and of a column of them
EIGHT_CYCLES, EIGHT_COLUMN_CYCLES = 174.0, 1.0  # of others
SHARE_CYCLES = 1330.0  # of bringing sums together
PART_CYCLES = 0.4  # of a result of the tile, from program to program of a cluster
GROUP_CYCLES, WRITTEN_CYCLES, READ_CYCLES = 1370.0, 0.43, 0.14  # through global memory: of a result, in each group
LEFT_CYCLES = 0.0274  # of a result that a program leaves to be added later
ADDS_S, ADDED_BYTES_PER_S = 1.52e-6, 2.42e12  # of the launch that adds
SWAPPED_CYCLES = 2.6  # of a result that has been shared, stored across the rows of D
LAUNCH_S, RESIDENT_LAUNCH_S = 0.9e-6, 1.16e-6  # beside what the launch before hides
CLUSTER_S = {1: 0.0, 2: 0.8e-6, 4: 1.34e-6, 8: 1.82e-6}  # until all programs of a cluster are there
PREPARE_S, PREPARE_BYTES_PER_S = 3.6e-6, 4.3e12  # of a launch before
SHARPNESS = 6  # of a limit that gives way to another

#: programs of an H200's 132 SMs by the size of their clusters, the driver's word: clusters do not cross its GPCs
FITTING = {1: 132, 2: 132, 4: 120, 8: 120}
SMS = 132


def slots(engine: Engine, sm_count: int) -> int:
    """Programs that run at once."""
    return FITTING[engine.cluster] * sm_count // SMS * engine.resident


def engine_seconds(request: Request, engine: Engine) -> float:
    """Predicted: the products, what feeds them, waves of tiles, and what is prepared before."""
    programs, at_once = (
        engine.tiles(request.m, request.n, request.batch) * engine.shares,
        slots(engine, request.sm_count),
    )
    waves, running = ceil_div(programs, at_once), min(programs, at_once)
    beside = beside_on_an_sm(request, engine, running)
    bytes_ = bits_of(request.a_format) / 8 * (request.rows + request.columns) * request.k
    bytes_ += bits_of(request.d_format) / 8 * request.batch * request.m * request.n
    steps = ceil_div(ceil_div(request.k, engine.tile_k), engine.shares)
    walked = steps * step_cycles(engine, running, beside, bytes_ / (programs * steps))
    partly = engine.store == 0 and not engine.swapped and engine.block_n % 16
    stored = (ELEMENT_CYCLES[engine.store] + bool(partly) * PARTLY_CYCLES) * engine.block_m * engine.block_n
    if engine.shares == 1:
        cycles = FILL_CYCLES + waves * (walked + ROUND_CYCLES + stored)
    else:
        cycles = waves * (FILL_CYCLES + walked + shared_cycles(engine) + stored / engine.parts)
    reading = min(1.0, running / beside / request.sm_count) ** FEW_POWER
    busy = together(cycles / CLOCK_HZ, DRAM_S + bytes_ / (DRAM_BYTES_PER_S * reading))
    launch = LAUNCH_S if engine.resident == 1 else RESIDENT_LAUNCH_S
    return launch + CLUSTER_S[engine.cluster] + busy + prepared_seconds(request, engine) + adds_seconds(request, engine)


def beside_on_an_sm(request: Request, engine: Engine, running: int) -> int:
    """Programs on one SM; those of a cluster lie side by side: they fill an SM before they take the next."""
    return min(engine.resident, max(ceil_div(running, request.sm_count), engine.cluster))


def step_cycles(engine: Engine, running: int, beside: int, fresh: float) -> float:
    """Of a tile of k: products, promotion, and what is fetched for them, `fresh` bytes of it from DRAM."""
    times = 3 if engine.pieces == 2 else 1
    taken = engine.pieces * (engine.block_m // engine.across + engine.block_n // engine.spread) * ROW_BYTES
    products = 2 * engine.consumers * engine.block_n * times / STEP_SHARE + STEP_CYCLES
    if engine.a_format == "tfloat32" and engine.consumers == 1:
        products *= ALONE_TIMES
    reads = engine.consumers * (64 * engine.halves + engine.block_n) * ROW_BYTES / PORT_BYTES * times
    return together(
        beside * (products + promotion_cycles(engine)),
        beside * reads,
        beside * taken / FEED_BYTES,
        running * (taken / L2_BYTES + min(taken, fresh) / MISS_BYTES),
        LATENCY_CYCLES / (engine.stages - 1),
    )


def promotion_cycles(engine: Engine) -> float:
    """Of a tile of k, sums that leave the accumulator."""
    if not engine.promote:
        return 0.0
    if engine.pieces == 2:
        return (PROMOTION_CYCLES + PROMOTED_CYCLES * engine.block_n) / engine.promote
    return (EIGHT_CYCLES + EIGHT_COLUMN_CYCLES * engine.block_n) / engine.promote


def shared_cycles(engine: Engine) -> float:
    """Bringing sums of one tile together."""
    elements = engine.block_m * engine.block_n
    if engine.later:
        return LEFT_CYCLES * elements
    own = elements / engine.parts
    cycles = SHARE_CYCLES + PART_CYCLES * elements * (engine.parts > 1) + SWAPPED_CYCLES * own * engine.swapped
    if engine.groups > 1:
        cycles += GROUP_CYCLES + own * (WRITTEN_CYCLES + READ_CYCLES * engine.groups)
    return cycles


def adds_seconds(request: Request, engine: Engine) -> float:
    """Predicted: the launch that adds what groups left."""
    left = 4 * engine.tiles(request.m, request.n, request.batch) * engine.groups * engine.block_m * engine.block_n
    return (ADDS_S + left / ADDED_BYTES_PER_S) * engine.later


def together(*times: float) -> float:
    """Limits that act at once: the longest, and a little more where others are nearly as long."""
    return float(sum(time**SHARPNESS for time in times) ** (1 / SHARPNESS))


def prepared_seconds(request: Request, engine: Engine) -> float:
    """Predicted: repacking or splitting, read and written once."""
    element = bits_of(request.a_format) / 8
    if engine.pieces == 2:
        return PREPARE_S + 2 * element * (request.m + request.n) * request.k / PREPARE_BYTES_PER_S
    off = (0 if request.a_on_road else request.rows) + (0 if request.b_on_road else request.columns)
    return PREPARE_S * bool(off) + 2 * element * off * request.k / PREPARE_BYTES_PER_S
