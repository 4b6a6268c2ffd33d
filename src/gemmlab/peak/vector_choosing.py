"""Which form of the threads' kernels multiplies a few vectors: what a request asks for, then its sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from gemmlab.formats import bits_of
from gemmlab.peak.engine import OUTPUTS
from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.peak.vector import ALIKE, ANYWHERE, APART, CHUNK_BYTES, KINDS, WARP, Vector
from gemmlab.units import ceil_div

DRAM_BYTES_PER_S = 4.7e12  # read alone, measured
LAUNCH_S = 1.4e-6  # of a kernel that starts early, measured
STRIPS_BYTES_PER_S, STRIPS_S, CLUSTER_S = 4.4e12, 2.4e-6, 1.0e-6  # where rows run along n, measured
CLOCK_HZ = 1.755e9  # what an H200 holds in short runs, measured
STALLS = 1.35  # cycles of a slot for an instruction, measured
SHARPNESS = 5  # of a limit that gives way to another
LONG_BYTES = 6e6  # of a matrix whose rows run along n, from which threads were ahead
MOST_PARTS, MOST_CLUSTER = 256, 16
MOST_VECTORS = 4  # more were not tried

T = TypeVar("T")


def by_threads(request: Request) -> list[Plan]:
    """Plans by threads where measurements on an H200 settle it against wgmma; often none, and the models decide.

    The model of wgmma's time does not know what few rows leave of a tile's feeding: there it is too hopeful.
    """
    return [plan for plan in vector_plans(request) if settled(request, plan)]


def settled(request: Request, plan: Plan) -> bool:
    """Whether a plan by threads was ahead of wgmma in what was measured, or at four rows of 16 bits within 4 % of it.

    One vector along k in all formats, two of 8 and 16 bits, four of 16; along n one of 16 bits and a long matrix.
    """
    form = plan.kernel
    assert isinstance(form, Vector)
    bits = bits_of(form.format)
    if form.along_k:
        return form.vectors <= {8: 2, 16: 4, 32: 1}[bits]
    bytes_ = (request.m if form.swapped else request.n) * request.k * bits / 8
    return bits == 16 and form.vectors == 1 and bytes_ >= LONG_BYTES


def vector_plans(request: Request) -> Iterator[Plan]:
    """Plans by threads for a few vectors: none in the one order that determinism asks for."""
    eight = bits_of(request.a_format) == bits_of(request.b_format) == 8
    formats = {request.a_format, request.b_format}
    if request.deterministic or request.batch > 1 or not formats <= set(KINDS) or not (len(formats) == 1 or eight):
        return
    if request.d_format not in OUTPUTS:
        return
    for swapped, vectors in ((False, request.m), (True, request.n)):
        if vectors <= MOST_VECTORS:
            form = sized(request, asked_of(request, swapped, vectors))
            yield Plan(kernel=form, predicted_s=vector_seconds(request, form))


def asked_of(request: Request, swapped: bool, vectors: int) -> Vector:
    """The smallest form that answers a request: all but its sizes."""
    w_format, x_format = turned(request.b_format, request.a_format, swapped)
    w_along, x_along = turned(request.b_along_k, request.a_along_k, swapped)
    w_on_road, x_on_road = turned(request.b_on_road, request.a_on_road, swapped)
    edges = w_along and not (w_on_road and request.k * bits_of(w_format) % (8 * CHUNK_BYTES) == 0)
    return Vector(
        format=w_format,
        x_format=x_format,
        d_format=request.d_format,
        along_k=w_along,
        vectors=vectors,
        warps=1 if w_along else CHUNK_BYTES,
        classes=1 if w_on_road else CHUNK_BYTES * 8 // bits_of(w_format),
        aligned=w_on_road,
        edges=edges,
        x=(ALIKE if x_on_road and w_on_road else ANYWHERE) if w_along and x_along else APART if w_along else ALIKE,
        swapped=swapped,
    )


def turned(first: T, second: T, swapped: bool) -> tuple[T, T]:
    """W's and the vectors', of what is B's and A's."""
    return (second, first) if swapped else (first, second)


def vector_seconds(request: Request, form: Vector) -> float:
    """Predicted: W's bytes, or what a 16-byte chunk of it takes to multiply; a launch."""
    chunks = (request.m if form.swapped else request.n) * request.k / form.chunk
    each = {8: 1.5, 16: 1.0, 32: 0.0}[bits_of(form.format)]  # instructions that make float32 of an element
    rows = form.rows if form.along_k else form.chunk
    slots = form.chunk * (form.vectors + each + each * form.vectors / rows) + 6
    issue = STALLS * slots * chunks / (WARP * 4 * request.sm_count * CLOCK_HZ)
    bytes_ = chunks * CHUNK_BYTES / (DRAM_BYTES_PER_S if form.along_k else STRIPS_BYTES_PER_S)
    launch = LAUNCH_S if form.along_k else STRIPS_S + CLUSTER_S * (form.parts > 2)
    return launch + float((issue**SHARPNESS + bytes_**SHARPNESS) ** (1 / SHARPNESS))


def sized(request: Request, form: Vector) -> Vector:
    """The form with its sizes."""
    n = request.m if form.swapped else request.n
    fields = along_k(request, form, n) if form.along_k else along_n(request, form, n)
    return msgspec.structs.replace(form, early=True, **fields)


def along_k(request: Request, form: Vector, n: int) -> dict[str, int]:
    """Sizes where rows run along k: the fastest of those measured, by chunks of 16 bytes in a row."""
    chunks, narrow = ceil_div(request.k, form.chunk), form.vectors > 2
    if chunks <= 2 * WARP:  # many rows for a warp
        lanes = 8 if chunks <= 8 else 16 if chunks <= WARP else WARP
        return {"lanes": lanes, "rows": 4 if form.vectors > 1 else 8, "warps": 1 + (chunks > WARP), "deep": 1}
    if n < 100 and chunks >= 512:  # few rows: k is shared
        rows = power(n, 2 if narrow else 4)
        parts = power(min(2 * request.sm_count * rows // n, chunks // (8 * WARP)), MOST_PARTS)
        return {"rows": rows, "warps": 8, "deep": 1, "parts": parts, "ahead": 8 * WARP * CHUNK_BYTES}
    if n < 8 * request.sm_count:  # a row for a block
        warps = power(ceil_div(chunks, 4 * WARP), 8)
        deep = min(4 if form.vectors == 1 else 2, ceil_div(chunks, WARP * warps))
        return {"warps": warps, "rows": 1, "deep": deep, "ahead": WARP * warps * deep * CHUNK_BYTES}
    rows, warps, deep = lane_of(request, form, n, chunks)
    ahead = WARP * warps * deep * CHUNK_BYTES if chunks > 8 * WARP else 0
    return {"rows": rows, "warps": warps, "deep": deep, "ahead": ahead}


def lane_of(request: Request, form: Vector, n: int, chunks: int) -> tuple[int, int, int]:
    """Rows of a lane, warps that share them, and loads of each on their way, for many rows of some length."""
    eight, few = bits_of(form.format) == 8, n <= 32 * request.sm_count  # blocks that few leave must ask for more each
    if form.vectors > 1:
        return (
            (4, power(chunks // WARP, 4), 1) if eight else (2 if form.vectors > 2 else 4, 8 if chunks > 1024 else 2, 2)
        )
    if not eight and chunks > 1536:
        return 2, 8, 2
    if (chunks > 600 and (eight or few)) or (eight and few and chunks >= 8 * WARP):
        return 4, 8, 1
    if not eight and ((few and chunks > 8 * WARP) or (chunks > 600 and n <= 128 * request.sm_count)):
        return 4, 4, 2
    return 4, power(chunks // WARP, 4), 1


def along_n(request: Request, form: Vector, n: int) -> dict[str, int]:
    """Sizes where rows run along n: a block of 512 threads for each SM where so many fit well, else two of 256."""
    chunks, one = ceil_div(n, form.chunk) + (not form.aligned), form.vectors == 1
    if one and form.aligned and bits_of(form.format) > 8:
        for parts in (1, 2):
            blocks = ceil_div(chunks, 8) * parts
            if 0.95 * request.sm_count <= blocks <= request.sm_count and request.k >= 512 * parts:
                return {"lanes": 8, "warps": 16, "parts": parts, "deep": 8}
    lanes = max(4, min(8 if form.aligned else 16, 2 * power(chunks - 1, 8)))
    strips, shares = ceil_div(chunks, lanes if form.aligned else lanes - 1), 8 * WARP // lanes
    parts = power(min(int(2.3 * request.sm_count) // strips, request.k // (8 * shares)), MOST_CLUSTER)
    if bits_of(form.format) == 8 or form.vectors > 2:  # what a cluster's first block has room for
        parts = min(parts, 4)
    return {"lanes": lanes, "warps": 8, "parts": parts, "deep": 8 if one and parts > 1 else 4}


def power(wanted: int, most: int) -> int:
    """The largest power of two up to a number, and up to another; 1 at least."""
    return 1 << max(0, min(wanted, most).bit_length() - 1)
