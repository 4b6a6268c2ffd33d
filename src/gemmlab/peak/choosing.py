"""From a request to a plan, by a model of the kernel's time: no measurement is needed, none is made."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from msgspec.structs import replace

from gemmlab.formats import bits_of
from gemmlab.numerics.schedule import Schedule
from gemmlab.peak.engine import INPUTS, ROW_BYTES, SHARED_BYTES, Engine
from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.peak.vector_choosing import vector_plans
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

WIDTHS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256)
PARTS = ((1, 1), (2, 1), (4, 1), (8, 1), (8, 2), (8, 4))  # programs of a cluster and clusters that share k
PROMOTE_K = 128  # of float8 with two-level accumulation, as torch's own
MOST_STAGES = 12
MOST_BLOCKS = 2  # of D on their way: one is written while the other is read
MOST_LAG = 2  # steps between two warpgroups: about what rounding a tile takes

CLOCK_HZ = 1.755e9  # what an H200 holds in short runs, measured
PORT_BYTES = 128.0  # of an SM a cycle: CUDA C++ Programming Guide
FEED_BYTES = 64.0  # of an SM a cycle from L2: the width of its port
L2_BYTES = 5500.0  # of all SMs a cycle, measured with the copy engine
DRAM_BYTES_PER_S = 4.3e12  # a copy's, measured
STEP_SHARE = 0.93  # of the products' time in a long loop, measured
TILE_CYCLES = 1500.0  # filling the ring and rounding the tile, measured
SHARE_CYCLES = 1500.0  # bringing sums together: two barriers of a cluster, measured
PART_CYCLES, GROUP_CYCLES = 0.42, 1.05  # of a result of the tile, through shared and through global memory, measured
FITTING = {
    1: 132,
    2: 132,
    4: 120,
    8: 120,
    16: 112,
}  # programs of an H200 by the size of their clusters: the driver's word
LAUNCH_S = 2.2e-6
SHARPNESS = 6  # of a limit that gives way to another
ELEMENT_CYCLES = {0: 0.01, 1: 0.03, 2: 0.03}  # of a result, by the way it is stored


@lru_cache(maxsize=4096)
def plan_for(request: Request) -> Plan:
    """The plan that is predicted to be the fastest of those as accurate as is asked for.

    Raises GemmlabError for formats that are not multiplied together here.
    """
    found = min(plans(request), key=lambda plan: plan.predicted_s, default=None)
    if found is None:
        raise GemmlabError(
            f"{request.a_format} times {request.b_format} into {request.d_format} is not multiplied here",
            "float32, float16, bfloat16, or float8_e4m3fn and float8_e5m2",
        )
    return found


def plans(request: Request) -> Iterator[Plan]:
    """Every plan that answers a request."""
    yield from vector_plans(request)
    for engine in engines(request):
        yield engine_plan(request, engine)


def engine_plan(request: Request, engine: Engine) -> Plan:
    """The plan with that engine; float32 is split, other operands off the road are repacked."""
    split = engine.pieces == 2
    schedule = Schedule(promote=engine.promote * engine.tile_k, split_k=1)
    return Plan(
        kernel=engine,
        repack_a=not split and not request.a_on_road,
        repack_b=not split and not request.b_on_road,
        split=split,
        unit=unit_of(engine) if engine.shares == 1 and not split else "",
        schedule=schedule if engine.shares == 1 and not split else None,
        predicted_s=engine_seconds(request, engine),
    )


def unit_of(engine: Engine) -> str:
    """The name of wgmma's unit in `gemmlab.numerics`."""
    return f"hopper.wgmma.{engine.a_format}"


def engines(request: Request) -> Iterator[Engine]:
    """Every engine that can answer a request, with as many stages as fit."""
    along = request.a_along_k and request.b_along_k  # formats of other than 16 bits are read along k alone
    # tfloat32 is read along k alone, and a fixed order must not change with how operands lie
    tf32 = request.accuracy == "fast" and along and not request.deterministic
    pieces = request.a_format == "float32" and not tf32
    names = {"float32": "float16" if pieces else "tfloat32"}
    a_format, b_format = (names.get(name, name) for name in (request.a_format, request.b_format))
    eight = bits_of(a_format) == bits_of(b_format) == 8
    if not {a_format, b_format} <= set(INPUTS) or not (a_format == b_format or eight):
        return
    if bits_of(a_format) != 16 and not along:
        return
    tile_k = ROW_BYTES * 8 // bits_of(a_format)
    promote = 1 if pieces else PROMOTE_K // tile_k if wants_promotion(request) else 0
    shares = PARTS[:1] if request.deterministic or pieces else PARTS
    for swapped in (False, True):
        left, right = (b_format, a_format) if swapped else (a_format, b_format)
        sides = (request.b_along_k, request.a_along_k) if swapped else (request.a_along_k, request.b_along_k)
        rows_store = request.d_format != "float32" and not request.d_on_road
        for block_n, consumers, (parts, groups) in product(WIDTHS, (1, 2), shares):
            yield from with_most_stages(
                request,
                a_format=left,
                b_format=right,
                d_format=request.d_format,
                block_n=block_n,
                consumers=consumers,
                pieces=2 if pieces else 1,
                promote=promote,
                a_sides=not pieces and not sides[0],
                b_sides=not pieces and not sides[1],
                swapped=swapped,
                rows_store=rows_store,
                parts=parts,
                groups=groups,
                early=True,
            )


def wants_promotion(request: Request) -> bool:
    """Whether sums leave the accumulator on the way: float8 unless it must be fast, others where it must be best."""
    eight = bits_of(request.a_format) == 8
    return request.accuracy == "best" or (eight and request.accuracy == "vendor")


def with_most_stages(request: Request, **fields: object) -> Iterator[Engine]:
    """The engine with the deepest ring that fits; none where no ring does, or registers do not.

    What is left of shared memory holds more blocks of D. Where a program has several tiles its warpgroups stay apart.
    """
    for stages in range(MOST_STAGES, 1, -1):
        try:
            engine = Engine(stages=stages, **fields)  # type: ignore[arg-type]
        except GemmlabError:
            continue
        if engine.registers_bound > 200:
            return
        if engine.store == 0 and engine.shares == 1:
            left = SHARED_BYTES - engine.shared_bytes + engine.consumers * engine.d_bytes
            engine = replace(
                engine, blocks=max(1, min(engine.all_blocks, left // (engine.consumers * engine.d_bytes), MOST_BLOCKS))
            )
        if engine.consumers == 2 and engine.tiles(request.m, request.n) > request.sm_count and engine.shares == 1:
            engine = replace(engine, lag=max(0, min(MOST_LAG, stages - 2)))
        yield engine
        return


def engine_seconds(request: Request, engine: Engine) -> float:
    """Predicted: the products, what feeds them, waves of tiles, and what is prepared before."""
    programs = engine.tiles(request.m, request.n) * engine.shares
    waves = ceil_div(programs, min(request.sm_count, FITTING[engine.parts]))
    steps = ceil_div(ceil_div(request.k, engine.tile_k), engine.shares)
    at_once = min(programs, request.sm_count)
    taken = engine.pieces * (engine.block_m + engine.block_n) * ROW_BYTES  # bytes of a step
    products = 2 * engine.consumers * engine.block_n * (3 if engine.pieces == 2 else 1)
    reads = engine.consumers * (64 + engine.block_n) * ROW_BYTES / PORT_BYTES * (3 if engine.pieces == 2 else 1)
    step = together(products / STEP_SHARE, reads, taken / FEED_BYTES, taken * at_once / L2_BYTES)
    tile = steps * step + TILE_CYCLES + ELEMENT_CYCLES[engine.store] * engine.block_m * engine.block_n
    if engine.shares > 1:
        each = PART_CYCLES * (engine.parts > 1) + GROUP_CYCLES * (engine.groups > 1)
        tile += SHARE_CYCLES + each * engine.block_m * engine.block_n
    bytes_ = bits_of(request.a_format) / 8 * (request.m + request.n) * request.k
    bytes_ += bits_of(request.d_format) / 8 * request.m * request.n
    busy = together(waves * tile / CLOCK_HZ, bytes_ / DRAM_BYTES_PER_S)
    return LAUNCH_S + busy + prepared_seconds(request, engine)


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
