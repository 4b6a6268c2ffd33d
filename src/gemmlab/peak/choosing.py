"""From a request to a plan, by a model of the kernel's time: no measurement is needed, none is made."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from msgspec.structs import asdict, replace

from gemmlab.formats import bits_of
from gemmlab.numerics.schedule import Schedule
from gemmlab.peak.engine import INPUTS, MOST_COLUMNS, MOST_CONSUMERS, ROW_BYTES, WARPGROUP, Engine
from gemmlab.peak.planned import Plan
from gemmlab.peak.predicting import FITTING, SMS, engine_seconds
from gemmlab.peak.request import Request
from gemmlab.peak.tf32x3_choosing import tf32x3_plans
from gemmlab.peak.vector_choosing import by_threads, vector_plans
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

WIDTHS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320)
PROMOTE_K = 128  # of float8 with two-level accumulation, as torch's own
LEAST_STAGES, MOST_STAGES = 2, 12
BARRIER_BYTES = 16 * MOST_STAGES + 16
MOST_BLOCKS = 2  # of D on their way: one is written while the other is read
MOST_LAG = 2  # steps between two warpgroups: about what rounding a tile takes
MOST_GROUPS = 16  # whose last one adds all sums
THIRD_WIDTH = 176  # columns from which a tile of three warpgroups fetches fewer bytes for a product than two at most
MOST_TILES = 1 << 30  # programs count them, and some further, in 32 bits
PARTS = 2  # groups; where there are more, another launch may add their sums
TOGETHER = ((1, 1), (2, 1), (1, 2), (2, 2))  # programs of a cluster below and beside one another then
RESIDENT = (2, 3, 4)  # programs on an SM, where not one
MOST_REGISTERS = 200  # of a thread for its sums


@lru_cache(maxsize=4096)
def plan_for(request: Request) -> Plan:
    """The plan that is predicted to be the fastest of those as accurate as is asked for.

    Raises GemmlabError for formats that are not multiplied together here, or no batch of them by one launch.
    """
    known = (plan for plan in by_threads(request) or plans(request) if not unmeasured(plan))
    found = min(known, key=lambda plan: plan.predicted_s, default=None)
    if found is None:
        raise GemmlabError(
            f"{request.a_format} times {request.b_format} into {request.d_format} is not multiplied here",
            "float32, float16, bfloat16, or float8_e4m3fn and float8_e5m2",
        )
    return found


def unmeasured(plan: Plan) -> bool:
    """Whether the model's constants were fitted to none of its kind, so that measuring alone chooses it."""
    return isinstance(plan.kernel, Engine) and (plan.kernel.consumers == MOST_CONSUMERS or plan.kernel.halves == 2)


def plans(request: Request) -> Iterator[Plan]:
    """Every plan that answers a request, by one launch of what multiplies."""
    yield from vector_plans(request)
    yield from tf32x3_plans(request)
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
    if (bits_of(a_format) != 16 and not along) or (pieces and request.batch > 1):
        return
    tile_k = ROW_BYTES * 8 // bits_of(a_format)
    promote = 1 if pieces else PROMOTE_K // tile_k if wants_promotion(request) else 0
    rows_store = request.d_format != "float32" and not request.d_on_road
    for swapped, block_n, consumers in product((False, True), WIDTHS, range(1, MOST_CONSUMERS + 1)):
        third = consumers == MOST_CONSUMERS
        wide = block_n > MOST_COLUMNS
        if third and (swapped or block_n < THIRD_WIDTH or request.m <= 2 * WARPGROUP):
            continue
        left, right = (b_format, a_format) if swapped else (a_format, b_format)
        sides = (request.b_along_k, request.a_along_k) if swapped else (request.a_along_k, request.b_along_k)
        plain = largest(
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
            spread=2 if wide else 1,
            early=True,
            batched=request.batch > 1,
        )
        if plain is None or plain.tiles(request.m, request.n, request.batch) > MOST_TILES:
            continue
        if wide and plain.tiles(request.m, request.n, request.batch) < request.sm_count:
            continue
        yield from apart(request, plain)
        if wide:
            continue
        if third:
            yield from varied(plain, spread=2)
            continue
        for resident in RESIDENT:
            yield from varied(plain, resident=resident)
        for engine in varied(plain, spread=2):
            yield from apart(request, engine)
        if request.d_format == "float32" and not request.d_on_road:
            yield from varied(plain, rows_store=True)
            yield from varied(plain, rows_store=True, spread=2)
        if not request.deterministic and not pieces:
            for parts, groups in sharings(request, plain):
                yield from varied(plain, parts=parts, groups=groups)
                for resident in RESIDENT:
                    yield from varied(plain, parts=parts, groups=groups, resident=resident)
            yield from gathered(request, plain)


def sharings(request: Request, engine: Engine) -> Iterator[tuple[int, int]]:
    """Into how many parts of a cluster and groups of clusters k can go, so that a launch's programs run at once."""
    tiles = engine.tiles(request.m, request.n, request.batch)
    most = ceil_div(request.k, engine.tile_k) // 2  # a program has two steps at least
    for parts in (1, 2, 4, 8):
        room = FITTING[parts] * request.sm_count // SMS // (tiles * parts)
        for groups in sorted({1, 2, room // 2, room, 2 * room}):
            if 1 <= groups <= MOST_GROUPS and 1 < groups * parts <= most:
                yield parts, groups


def gathered(request: Request, engine: Engine) -> Iterator[Engine]:
    """The engine with as many groups as run at once, or fewer, whose sums another launch adds.

    Programs of a cluster have tiles beside one another where D is as large.
    """
    rows = request.n if engine.swapped else request.m
    if engine.consumers == 2 and rows <= WARPGROUP:  # the second warpgroup would have none
        return
    tiles, most = engine.tiles(request.m, request.n, request.batch), ceil_div(request.k, engine.tile_k) // 2
    for spread, across in TOGETHER:
        room = FITTING[spread * across] * request.sm_count // SMS // tiles
        for groups in sorted({room // 2, 2 * room // 3, room}) if tiles % (spread * across) == 0 else ():
            if PARTS < groups <= most:
                for found in varied(engine, spread=spread, across=across, groups=groups, later=True):
                    if found.tiles(request.m, request.n, request.batch) == tiles:
                        yield found


def apart(request: Request, engine: Engine) -> Iterator[Engine]:
    """The engine, its two warpgroups some steps apart where a program has several tiles.

    Not where sums leave the accumulator on the way: then one multiplies while the other adds anyhow.
    """
    tiles = engine.tiles(request.m, request.n, request.batch)
    several = engine.consumers == 2 and tiles > request.sm_count and not engine.promote
    yield replace(engine, lag=max(0, min(MOST_LAG, engine.stages - 2))) if several else engine


def wants_promotion(request: Request) -> bool:
    """Whether sums leave the accumulator on the way: float8 unless it must be fast, others where it must be best."""
    eight = bits_of(request.a_format) == 8
    return request.accuracy == "best" or (eight and request.accuracy == "vendor")


def varied(engine: Engine, **fields: object) -> Iterator[Engine]:
    """The engine with other fields, its ring as deep as fits then."""
    found = largest(**{**asdict(engine), **fields, "lag": 0, "blocks": 1})
    if found is not None:
        yield found


def largest(**fields: object) -> Engine | None:
    """The engine with the deepest ring that fits, and blocks of D in what is left; None where none fits."""
    try:
        least = Engine(**{**fields, "stages": LEAST_STAGES})  # type: ignore[arg-type]
    except GemmlabError:
        return None
    if least.registers_bound > MOST_REGISTERS:
        return None
    there = least.shared_limit
    ring = there - least.consumers * least.d_bytes - BARRIER_BYTES
    stages = min(MOST_STAGES, ring // least.stage_bytes)
    found = replace(least, stages=stages)
    if found.store == 0 and found.shares == 1:
        block = found.consumers * found.d_bytes
        blocks = min(found.all_blocks, MOST_BLOCKS, 1 + (there - found.shared_bytes) // block)
        found = replace(found, blocks=blocks)
    return found
