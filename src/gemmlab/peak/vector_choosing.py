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

DRAM_BYTES_PER_S = 4.3e12  # a copy's, measured
LAUNCH_S = 2.2e-6
MOST_VECTORS = 1  # above, wgmma was measured to be faster

T = TypeVar("T")


def vector_plans(request: Request, most: int = MOST_VECTORS) -> Iterator[Plan]:
    """Plans by threads for up to `most` vectors: none in the one order that determinism asks for."""
    eight = bits_of(request.a_format) == bits_of(request.b_format) == 8
    formats = {request.a_format, request.b_format}
    if request.deterministic or not formats <= set(KINDS) or not (len(formats) == 1 or eight):
        return
    if request.d_format not in OUTPUTS:
        return
    for swapped, vectors in ((False, request.m), (True, request.n)):
        if vectors <= most:
            form = sized(request, asked_of(request, swapped, vectors))
            rows = request.m if swapped else request.n
            bytes_ = rows * request.k * bits_of(form.format) / 8
            yield Plan(kernel=form, predicted_s=LAUNCH_S + bytes_ / DRAM_BYTES_PER_S)


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


def sized(request: Request, form: Vector) -> Vector:
    """The form with its sizes."""
    n = request.m if form.swapped else request.n
    fields = along_k(request, form, n) if form.along_k else along_n(request, form, n)
    return msgspec.structs.replace(form, early=True, **fields)


def along_k(request: Request, form: Vector, n: int) -> dict[str, int]:
    """Sizes where rows run along k."""
    chunks, rows = ceil_div(request.k, form.chunk), 4 if form.vectors <= 2 else 2
    if chunks <= WARP:
        lanes = 8 if chunks <= 8 else 16 if chunks <= 16 else WARP
        return {"lanes": lanes, "warps": 1, "rows": rows, "deep": 1, "most": 16 * request.sm_count}
    if n < 8 * request.sm_count:
        warps = power(ceil_div(chunks, 128), 8)
        deep = min(4, ceil_div(chunks, WARP * warps))
        parts = power(min(request.sm_count // n, ceil_div(chunks, WARP * warps * deep)), 8)
        return {"warps": warps, "rows": 1, "deep": deep, "parts": parts, "ahead": WARP * warps * deep * CHUNK_BYTES}
    warps, deep = (4, 1) if chunks <= 600 else (4, 2) if bits_of(form.format) == 16 else (8, 1)
    return {"warps": warps, "rows": rows, "deep": deep, "ahead": WARP * warps * deep * CHUNK_BYTES}


def along_n(request: Request, form: Vector, n: int) -> dict[str, int]:
    """Sizes where rows run along n."""
    chunks = ceil_div(n, form.chunk) + (not form.aligned)
    lanes = 8
    while lanes > 4 and ceil_div(chunks, lanes) < request.sm_count // 8:
        lanes //= 2
    strips = ceil_div(chunks, lanes if form.aligned else lanes - 1)
    parts = power(min(request.sm_count // strips, ceil_div(request.k, 512 // lanes * 4)), 8)
    warps = 8 if bits_of(form.format) == 8 or form.vectors > 1 else 16
    return {"lanes": lanes, "warps": warps, "parts": parts, "deep": 8 if form.vectors == 1 else 4}


def power(wanted: int, most: int) -> int:
    """The largest power of two up to a number, and up to another; 1 at least."""
    return 1 << max(0, min(wanted, most).bit_length() - 1)
