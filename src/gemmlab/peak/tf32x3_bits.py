"""The bits of float32 by three tfloat32 products, on a CPU: its sums in its order, by the tensor core's unit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.multiply import mma
from gemmlab.peak.tf32x3 import Tf32x3
from gemmlab.units import ceil_div, round_up

Floats = npt.NDArray[np.float32]
AGAIN = "cuda.fma.float32"
#: which of 16 k meet in the first instruction and in the second: a lane reads four neighbours at once
TURNS = np.array([4 * t + j for half in (0, 2) for t in range(4) for j in (half, half + 1)])


def unread(low: Floats) -> Floats:
    """What the tensor core does not read of a low part: less than tfloat32's last bit of it."""
    read: Floats = (np.ascontiguousarray(low).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    with np.errstate(invalid="ignore"):
        return low - read


def split_in_two(x: Floats) -> tuple[Floats, Floats]:
    """A high part, x rounded to tfloat32 (halves away from zero), and exactly what is left."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    high = ((bits + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32)
    with np.errstate(invalid="ignore"):  # an infinity less itself
        return high, x - high


def by_three(form: Tf32x3, a: Floats, b: Floats) -> Floats:
    """D of A (m, k) and B (k, n), bit for bit as tf32x3.cu of that form gives it."""
    if form.swapped:
        found: Floats = in_order(form, b.T, a.T).T
    else:
        found = in_order(form, a, b)
    wrong = ~np.isfinite(found)
    if wrong.any():
        found = np.where(wrong, mma(AGAIN, a, b), found)
    return found


def in_order(form: Tf32x3, a: Floats, b: Floats) -> Floats:
    """The sums of all shares of k, and of all warps' turns, in the order in which they are added."""
    k = a.shape[1]
    past = round_up(k, form.block_k) - k
    left = split_in_two(np.pad(a, ((0, 0), (0, past))))
    right = split_in_two(np.pad(b, ((0, past), (0, 0))).T)
    steps, turns = ceil_div(k, form.block_k), form.block_k // form.fresh_k
    total = None
    with np.errstate(over="ignore", invalid="ignore"):
        for group in range(form.groups):
            shares = range(group * form.parts, (group + 1) * form.parts)
            sums = [
                turn_sums(form, left, right, range(begin * turns + warp, end * turns, form.warps_k))
                for begin, end in (
                    (share * steps // form.shares, (share + 1) * steps // form.shares) for share in shares
                )
                for warp in range(form.warps_k)
            ]
            of_group = sums[0]
            for each in sums[1:]:
                of_group = of_group + each
            total = of_group if total is None else total + of_group
    assert total is not None
    return total


def turn_sums(form: Tf32x3, left: tuple[Floats, Floats], right: tuple[Floats, Floats], turns: range) -> Floats:
    """One warp's sums: 16 or 32 k at a time from zero, each added in float32."""
    (a_high, a_low), (b_high, b_low) = left, right
    found = np.zeros((len(a_high), len(b_high)), np.float32)
    unit = f"hopper.{'wgmma' if form.warpgroups else 'mma'}.tfloat32"
    order = np.concatenate([first + TURNS for first in range(0, form.fresh_k, len(TURNS))])
    for turn in turns:
        at = form.fresh_k * turn + order
        high, low = (a_high[:, at], b_high[:, at].T), (a_low[:, at], b_low[:, at].T)
        cross = smallest(unit, high, low) if form.exact else None
        cross = mma(unit, low[0], high[1], cross)
        cross = mma(unit, high[0], low[1], cross)
        found = found + (mma(unit, *high) + cross if form.exact else mma(unit, *high, cross))
    return found


def smallest(unit: str, high: tuple[Floats, Floats], low: tuple[Floats, Floats]) -> Floats:
    """The first of six products: what is not read of low parts times high ones, and low times low."""
    cross = mma(unit, unread(low[0]), high[1])
    cross = mma(unit, high[0], unread(low[1]), cross)
    return mma(unit, low[0], low[1], cross)
