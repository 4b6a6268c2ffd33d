"""Which form of the threads' kernel multiplies one row, by a model of its time."""

from __future__ import annotations

from collections.abc import Iterator

from gemmlab.formats import bits_of
from gemmlab.peak.engine import ROW_BYTES
from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.peak.vector import KINDS, Vector
from gemmlab.units import ceil_div

DRAM_BYTES_PER_S = 4.3e12  # a copy's, measured
LAUNCH_S = 2.2e-6


def vector_plans(request: Request) -> Iterator[Plan]:
    """One row times a matrix along k, by threads: not in the one order that determinism asks for."""
    if request.m > 1 or request.deterministic or not (request.b_along_k and request.b_on_road):
        return
    if not (request.a_along_k and request.a_on_road) or request.a_format != request.b_format:
        return
    if request.a_format not in KINDS or request.k * bits_of(request.a_format) % ROW_BYTES:
        return
    bytes_ = request.n * request.k * bits_of(request.b_format) / 8
    chunks = ceil_div(request.k * bits_of(request.b_format), ROW_BYTES)
    warps = max(1, min(8, chunks // 128))
    deep = max(1, min(8, ceil_div(chunks, 32 * warps)))
    form = Vector(format=request.a_format, d_format=request.d_format, warps=warps, deep=deep, early=True)
    yield Plan(kernel=form, predicted_s=LAUNCH_S + bytes_ / DRAM_BYTES_PER_S)
