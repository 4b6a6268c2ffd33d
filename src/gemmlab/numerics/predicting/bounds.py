"""The error that a unit and a schedule can make at most, for each output.

A term that is cut loses less than one unit (rz, floor) or at most half of one (rne, rna) of the last place that stays
under the largest exponent; a rounding loses less than one, or at most half, of its last place. Everything below adds
those up along the same groups, chains and shares as the multiplication itself. Compare Blanchard, Higham, Lopez, Mary
and Pranesh, SIAM J. Sci. Comput. 42 (2020), C124, who bound block fused multiply-adds by their unit roundoffs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit, groups
from gemmlab.numerics.predicting.magnitudes import NOTHING, Floats, Side
from gemmlab.numerics.schedule import Schedule

SMALLEST = 2.0**-1074
SLACK = 1 + 1e-9  # of float64, in which the bound itself is reckoned
LOST = {"rz": 1.0, "floor": 1.0, "rne": 0.5, "rna": 0.5}  #: of a last place, at most


class Reach(NamedTuple):
    """Of every output so far: how large the running sum can be, and how far from the exact one."""

    magnitude: Floats
    error: Floats


def bound(unit: Unit, schedule: Schedule, a: Side, b: Side) -> Reach:
    """Of every output (m, n) before alpha and beta: its largest possible magnitude and error, of finite sums.

    An infinite magnitude says that the sum may leave the accumulator's range; then the error is infinite too.
    """
    unit = schedule.on(unit)
    wide = formats.get("float64" if unit.accumulate == "float64" else "float32")
    nothing = np.zeros((a.values.shape[0], b.values.shape[0]))
    flushed = np.abs(a.given) @ np.abs(b.given).T - np.abs(a.values) @ np.abs(b.values).T
    shares = []
    for chains in schedule.chains(a.values.shape[1], unit):
        total = Reach(nothing, nothing)
        for at, (first, stop) in enumerate(chains):
            found = chain(unit, a, b, first, stop)
            total = found if at == 0 else added(total, found, 2.0**-wide.mantissa_bits / 2, 0.0)
        shares.append(total)
    result = shares[0]
    if unit.accumulate == "int32":
        magnitude = np.sum([share.magnitude for share in shares], axis=0)
        result = within(Reach(magnitude, np.max([share.error for share in shares], axis=0)), largest("int32"))
    elif schedule.split_k > 1:
        stored, summed = formats.get(schedule.reduce), formats.get(schedule.reduce_sum)
        parts = [rounded(share, stored.mantissa_bits, "rne", stored.min_exponent) for share in shares]
        result = parts[0]
        for part in parts[1:]:
            result = added(result, part, 2.0**-wide.mantissa_bits / 2, 0.0)
            result = rounded(result, summed.mantissa_bits, "rne", summed.min_exponent)
        result = within(result, min(largest(schedule.reduce), largest(schedule.reduce_sum)))
    error = (result.error + np.maximum(flushed, 0)) * SLACK
    if "float64" in (unit.accumulate, *unit.a_formats, *unit.b_formats):
        error = error + (4 * a.values.shape[1] + 4) * SMALLEST  # products and losses that float64 itself rounds to 0
    return Reach(result.magnitude * SLACK, np.where(np.isnan(error), np.inf, error))  # float64 itself overflowed


def chain(unit: Unit, a: Side, b: Side, first: int, stop: int) -> Reach:
    """Instructions one after another over k from `first` to `stop`, from zero."""
    running = Reach(*(np.zeros((a.values.shape[0], b.values.shape[0])) for _ in range(2)))
    walk = groups(unit)
    for start in range(first, stop, unit.k):
        # Groups past the last k stay, empty: the running sum is cut and rounded by them too.
        inside = [[start + k for k in ks if start + k < stop] for ks in walk]
        running = instruction(unit, a, b, inside, running)
    return within(running, largest(unit.accumulate))


def instruction(unit: Unit, a: Side, b: Side, walk: list[list[int]], c: Reach) -> Reach:
    """One instruction's groups, and C where it joins."""
    if unit.sum == "integer":
        ks = [k for group in walk for k in group]
        return Reach(c.magnitude + np.abs(a.values[:, ks]) @ np.abs(b.values[:, ks]).T, c.error)
    zero = Reach(np.zeros_like(c.error), np.zeros_like(c.error))
    if unit.c == "floor":
        for part in [walk] if unit.order == "parity" else [[ks] for ks in walk]:
            c = joined(unit, a, b, part, c)
        return c
    last = 2.0**-unit.width
    if unit.c == "early":
        for ks in walk:
            c = fused(unit, a, b, ks, c)
        return c
    kept = formats.get(unit.accumulate).min_exponent
    least = 2.0 ** (kept - (unit.width if unit.subnormal_inputs and unit.subnormal_outputs else 0))
    half = len(walk) // 2
    lanes = [walk[:half], walk[half:]] if unit.order == "parity" else [walk]
    total = zero
    for at, lane in enumerate(lanes):
        found = zero
        for ks in lane:
            found = fused(unit, a, b, ks, found)
        total = found if at == 0 else added(total, found, last * LOST[unit.c_rounding], least)
    return added(total, c, last * LOST[unit.c_rounding], least)


def fused(unit: Unit, a: Side, b: Side, ks: list[int], c: Reach) -> Reach:
    """One group's sum with the running one, rounded once."""
    form = formats.get(unit.accumulate)
    products = magnitudes(unit, a, b, ks)
    magnitude, error = c.magnitude + products, c.error
    if unit.sum == "aligned":
        lost = LOST[unit.cut] * 2.0**-unit.align_bits * (-(-len(ks) // unit.exact_terms) + 1)
        running = np.where(c.magnitude > 0, np.maximum(c.magnitude, 2.0**form.min_exponent), 0.0)
        cut = lost * np.maximum(top(unit, a, b, ks), running)  # a subnormal counts as the smallest normal number does
        magnitude, error = magnitude + cut, error + cut
    elif unit.sum == "pairs":
        steps = unit.terms.bit_length()  # a product's own rounding, and one for each level of the tree
        most = max(LOST[unit.rounding], LOST[unit.c_rounding]) * 2.0**-unit.width
        grown = products * math.expm1(steps * math.log1p(most))
        kept = unit.width if unit.subnormal_inputs and unit.subnormal_outputs else 0
        grown += 2 * unit.terms * 2.0 ** (form.min_exponent - kept)
        magnitude, error = magnitude + grown, error + grown
    return stored(unit, Reach(magnitude, error))


def joined(unit: Unit, a: Side, b: Side, walk: list[list[int]], c: Reach) -> Reach:
    """CDNA3's sum of products by themselves, joined to C by cuts that round down."""
    ks = [k for group in walk for k in group]
    highest = top(unit, a, b, ks)
    products = magnitudes(unit, a, b, ks)
    place = 2.0**-unit.align_bits
    cut = (len(ks) * LOST[unit.cut] + (2 if unit.order == "parity" else 0)) * place * highest
    above = np.maximum(np.maximum(highest, c.magnitude), 2.0 ** formats.get(unit.accumulate).min_exponent)
    # C below the last place is dropped by FP8's unit: up to two places, where a cut alone loses one.
    cut = cut + (2.0**-unit.join_bits + (2 if unit.order == "parity" else 1) * place) * above
    magnitude = c.magnitude + products + cut
    cut = cut + 2.0**-unit.join_bits * magnitude
    return stored(unit, Reach(magnitude + cut, c.error + cut))


def magnitudes(unit: Unit, a: Side, b: Side, ks: list[int]) -> Floats:
    """What a group's products come to at most; infinite where one alone may be past float32 on a unit that minds."""
    sums = np.abs(a.values[:, ks]) @ np.abs(b.values[:, ks]).T
    if not unit.product_overflow:
        return np.asarray(sums)
    most = np.multiply.outer(*(np.abs(side.values[:, ks]).max(axis=1, initial=0) for side in (a, b)))
    return np.where(most >= 2.0**128, np.inf, sums)


def top(unit: Unit, a: Side, b: Side, ks: list[int]) -> Floats:
    """2 to the largest exponent that a group's products can be aligned by."""
    left, right = (side.exponents[:, ks].max(axis=1, initial=NOTHING) for side in (a, b))
    exponents = np.add.outer(left, right)
    least = NOTHING if unit.zero_exponent is None else unit.zero_exponent
    return np.asarray(np.exp2(np.maximum(exponents, max(least, -1000))))


def added(x: Reach, y: Reach, relative: float, least: float) -> Reach:
    """The sum of both, rounded once."""
    magnitude = x.magnitude + y.magnitude
    lost = magnitude * relative + least
    return Reach(magnitude + lost, x.error + y.error + lost)


def rounded(x: Reach, width: int, rounding: str, min_exponent: int) -> Reach:
    """What one rounding leaves to `width` fraction bits, with gradual underflow below 2**min_exponent."""
    lost = LOST[rounding] * 2.0**-width * np.maximum(x.magnitude, 2.0**min_exponent)
    return Reach(x.magnitude + lost, x.error + lost)


def stored(unit: Unit, x: Reach) -> Reach:
    """What the accumulator keeps of a sum, or reads again of it where that flushes subnormal numbers."""
    least = formats.get(unit.accumulate).min_exponent
    kept = rounded(x, unit.width, unit.rounding, least)
    flushed = 0.0 if unit.subnormal_inputs and unit.subnormal_outputs else 2.0**least
    return Reach(kept.magnitude, kept.error + flushed)


def within(x: Reach, most: float) -> Reach:
    """The same, infinite where it may be past the range."""
    past = x.magnitude > most
    return Reach(np.where(past, np.inf, x.magnitude), np.where(past, np.inf, x.error))


def largest(name: str) -> float:
    """The largest finite value of a format."""
    return formats.decode(formats.get(name).max_magnitude, name)
