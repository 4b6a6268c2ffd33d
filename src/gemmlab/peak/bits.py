"""The bits that a deterministic plan gives, on a CPU: its sums in its order, by the unit that makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.multiply import DEFAULT, gemm, mma
from gemmlab.peak.engine import Engine
from gemmlab.peak.planned import Plan
from gemmlab.peak.tf32x3 import OTHERWISE
from gemmlab.peak.tf32x3_bits import by_three
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

Floats = npt.NDArray[np.float32]
TOP = 14  # a row's largest element is scaled to [2^14, 2^15)
LOW_BITS = 11  # the low parts are scaled by 2^11: what float16 keeps below the high ones


def reproduced(plan: Plan, a: Any, b: Any) -> npt.NDArray[Any]:
    """D of A (m, k) and B (k, n) as the plan's kernel gives it, bit for bit, in the plan's format of D.

    A and B are NumPy arrays of the formats that were planned for, ml_dtypes' too.

    Raises GemmlabError for a plan whose order is its threads' own.
    """
    kernel = plan.kernel
    if not isinstance(kernel, Engine) or kernel.shares > 1 or not (plan.split or plan.schedule):
        raise GemmlabError("the order of this plan's sums is not one alone", "plan(..., deterministic=True)")
    if plan.split:
        return by_pieces_or_otherwise(kernel, np.asarray(a, np.float32), np.asarray(b, np.float32))
    return gemm(
        a,
        b,
        unit=plan.unit,
        schedule=plan.schedule or DEFAULT,
        a_format=kernel.b_format if kernel.swapped else kernel.a_format,
        b_format=kernel.a_format if kernel.swapped else kernel.b_format,
        d_format=kernel.d_format,
    )


def by_pieces_or_otherwise(kernel: Engine, a: Floats, b: Floats) -> Floats:
    """float32 by pieces, and by six products the results of rows of A and columns of B that cannot be said so."""
    rows, columns = beyond(a), beyond(b.T)
    found = by_pieces(kernel, np.where(rows[:, None], np.float32(0), a), np.where(columns, np.float32(0), b))
    if rows.any():
        found[rows] = by_three(OTHERWISE, a[rows], b)
    if columns.any():
        found[:, columns] = by_three(OTHERWISE, a, b[:, columns])
    return found


def by_pieces(kernel: Engine, a: Floats, b: Floats) -> Floats:
    """float32 by two float16 each: tiles of k from zero, cross terms apart, all added in float32."""
    (a_high, a_low, a_back), (b_high, b_low, b_back) = split_parts(a), split_parts(b.T)
    unit, total = f"hopper.wgmma.{kernel.a_format}", np.zeros((a.shape[0], b.shape[1]), np.float32)
    step = kernel.tile_k * kernel.promote
    for tile in range(ceil_div(a.shape[1], step)):
        at = slice(tile * step, (tile + 1) * step)
        sums, cross = None, None
        for first in range(at.start, min(at.stop, a.shape[1]), kernel.tile_k):
            of = slice(first, first + kernel.tile_k)
            high, low = b_high[:, of].T, b_low[:, of].T
            # the kernel's order: high times low, low times high, each over a tile of k
            cross = mma(unit, a_low[:, of], high, mma(unit, a_high[:, of], low, cross))
            sums = mma(unit, a_high[:, of], high, sums)
        # one rounding, as of a fused multiply-add: cross / 2^11 is exact
        total = total + (np.float32(2.0**-LOW_BITS) * np.float32(cross) + np.float32(sums))
    return scaled(total, a_back[:, None], b_back[None, :])


def scaled(total: Floats, row: Floats, column: Floats) -> Floats:
    """Sums times the powers of two of their rows and columns, in gemm.cu's order, which passes no float's range."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found: Floats = np.where((row > 1) == (column > 1), total * row * column, total * (row * column))
    return found


def magnitudes(rows: Floats) -> npt.NDArray[np.uint32]:
    """Magnitudes as bits, which order as numbers do."""
    return np.ascontiguousarray(np.abs(rows)).view(np.uint32)


def beyond(rows: Floats) -> npt.NDArray[np.bool_]:
    """Which rows (rows, k) two float16 cannot say: split.cu refuses them."""
    bits = magnitudes(rows)
    most, least = bits.max(axis=1), np.where(bits > 0, bits, np.uint32(0x7F800000)).min(axis=1)
    apart = (most >> 23).astype(np.int64) - (least >> 23).astype(np.int64)
    found: npt.NDArray[np.bool_] = (most >= 0x7F800000) | ((most > 0) & (apart > 28))
    return found


def split_parts(rows: Floats) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.float16], Floats]:
    """High and low float16 parts of each row (rows, k), and what undoes its scale; as split.cu makes them.

    Raises GemmlabError for rows that cannot be said so: an infinity, a NaN, numbers more than 2^28 apart.
    """
    if beyond(rows).any():
        raise GemmlabError(
            "a row holds an infinity, a NaN, or numbers more than 2^28 apart",
            "it is multiplied by six products of tfloat32",
        )
    most = magnitudes(rows).max(axis=1)
    biased = np.where(most > 0, np.clip(254 + TOP - (most >> 23).astype(np.int64), 1, 253), 127)
    scale = (biased.astype(np.uint32) << 23).view(np.float32)
    back = ((254 - biased).astype(np.uint32) << 23).view(np.float32)
    scaled = rows * scale[:, None]
    high = scaled.astype(np.float16)
    low = ((scaled - high.astype(np.float32)) * np.float32(2.0**LOW_BITS)).astype(np.float16)
    return high, low, back
