"""The error to expect: what cuts and roundings take from a sum on average, along the sums of a sample of outputs.

What a term loses to a cut depends on the last place alone: `Losses` averages it over a sample of products, for each
last place. A chain then walks group by group: its exact partial sums, less what it has lost so far, say where the last
place is, and that says what the group loses. The loss feeds back, so that a sum that has grown past its own terms stays
where it is, as the accumulator's does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.predicting.magnitudes import NOTHING, Floats, Side
from gemmlab.numerics.schedule import Schedule

OUTPUTS = 256  # sampled; their spread is what the figures' own error comes from
SEED = 0


class Sample(NamedTuple):
    """Products of a few outputs, k along."""

    products: Floats  #: (outputs, k), exact: of two short significands
    exponents: npt.NDArray[np.int64]  #: what they are aligned by


class Expected(NamedTuple):
    """Of each sampled output, before alpha and beta."""

    exact: Floats
    sums: Floats  #: the exact sum less the mean loss
    variance: Floats  #: of the loss around its mean
    stuck_from: npt.NDArray[np.int64]  #: k from which a chain takes in nothing more; -1 where it does not come to that


def sample(a: Side, b: Side) -> Sample:
    """Products of outputs drawn at random, the same ones each time."""
    rng = np.random.default_rng(SEED)
    rows = rng.integers(0, a.values.shape[0], OUTPUTS)
    columns = rng.integers(0, b.values.shape[0], OUTPUTS)
    exponents = a.exponents[rows] + b.exponents[columns]
    return Sample(a.values[rows] * b.values[columns], np.maximum(exponents, NOTHING))


class Losses:
    """Mean and variance of what a product loses when it is cut at a last place of 2**place."""

    def __init__(self, unit: Unit, products: Floats) -> None:
        self.unit = unit
        flat = products.reshape(-1)
        self.products = flat[:: max(1, flat.size // 65536)]
        self.known: dict[int, tuple[float, float]] = {}

    def at(self, places: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """(mean, variance) for each of the places."""
        found, back = np.unique(places, return_inverse=True)
        pairs = np.array([self.one(int(place)) for place in found])
        return pairs[back, 0], pairs[back, 1]

    def one(self, place: int) -> tuple[float, float]:
        """(mean, variance) for one place."""
        if place not in self.known:
            unit = 2.0 ** max(place, -1000)
            lost = self.products - cut(self.products / unit, self.unit.cut) * unit
            self.known[place] = float(lost.mean()), float(lost.var())
        return self.known[place]


def cut(values: Floats, rounding: str) -> Floats:
    """Whole numbers from values, by a unit's rounding."""
    if rounding == "rne":
        return np.rint(values)
    if rounding == "floor":
        return np.floor(values)
    whole = np.trunc(values)
    return whole + np.copysign(np.abs(values - whole) >= 0.5, values) if rounding == "rna" else whole


def expected(unit: Unit, schedule: Schedule, drawn: Sample) -> Expected:
    """The sums that the sampled outputs are expected to come to."""
    unit = schedule.on(unit)
    losses = Losses(unit, drawn.products)
    count, k = drawn.products.shape
    wide = 52 if unit.accumulate == "float64" else 23
    sums, variance = np.zeros(count), np.zeros(count)
    stuck = np.full(count, -1)
    for chains in schedule.chains(k, unit):
        share, spread = np.zeros(count), np.zeros(count)
        for first, stop in chains:
            found, loss, at = chain(unit, losses, drawn, first, stop)
            share = share + found
            spread = spread + loss
            if schedule.promote:
                spread = spread + (share * 2.0**-wide) ** 2 / 24
            stuck = np.where((stuck < 0) & (at >= 0) & (len(chains) == 1), at, stuck)
        if schedule.split_k > 1 and unit.accumulate != "int32":
            stored = formats.get(schedule.reduce).mantissa_bits
            spread = spread + (share * 2.0**-stored) ** 2 / 24
        sums, variance = sums + share, variance + spread
        if schedule.split_k > 1 and unit.accumulate != "int32":
            variance = variance + (sums * 2.0 ** -formats.get(schedule.reduce_sum).mantissa_bits) ** 2 / 24
    return Expected(drawn.products.sum(axis=1), sums, variance, stuck)


def chain(
    unit: Unit, losses: Losses, drawn: Sample, first: int, stop: int
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """(sums, variances of their loss, k from which nothing is taken in) of chains over k from `first` to `stop`."""
    count = len(drawn.products)
    running, variance = np.zeros(count), np.zeros(count)
    stuck = np.full(count, -1)
    late = unit.c != "early"
    # A late C is met by whole instructions' sums; their own groups start from nothing.
    step = unit.k if late else unit.terms
    for start in range(first, stop, step):
        ks = slice(start, min(start + step, stop))
        terms = ks.stop - ks.start
        group = drawn.products[:, ks].sum(axis=1)
        highest = drawn.exponents[:, ks].max(axis=1)
        reached = exponent_of(running)
        before = running
        running = running + group
        if unit.sum == "aligned":
            place = (highest if late else np.maximum(highest, reached)) - unit.align_bits
            mean, spread = losses.at(place)
            running = running - terms * mean
            variance = variance + terms * spread
            # Products that are all below the last place are lost whole, and the sum stays where it is.
            gone = (np.abs(drawn.products[:, ks]).max(axis=1) < np.exp2(np.maximum(place, -1000))) & (not late)
            gone &= unit.cut in ("rz", "floor")
            running = np.where(gone, before, running)
            stuck = np.where(gone, np.where(stuck < 0, start, stuck), -1)
        running, lost = kept(unit, running, variance == 0, place if unit.sum == "aligned" and not late else None)
        variance = variance + lost
    return running, variance, stuck


def kept(
    unit: Unit, sums: Floats, known: npt.NDArray[np.bool_], place: npt.NDArray[np.int64] | None
) -> tuple[Floats, Floats]:
    """(sums, variance) after the rounding to the accumulator: rz takes half a place on average, others nothing.

    A sum whose loss so far has no variance is `known` to the bit, and is rounded as such.
    """
    if unit.accumulate == "int32":
        return sums, np.zeros_like(sums)
    last = exponent_of(sums) - unit.width
    unit_in_last = np.exp2(np.maximum(last, -1000))
    # A sum cut at `place` has no bits below it: nothing is lost where the accumulator's last place is no higher.
    finer = np.zeros_like(sums) if place is None else np.exp2(np.maximum(place, -1000))
    room = np.where(finer < unit_in_last, unit_in_last - finer, 0.0)
    exact = cut(sums / unit_in_last, unit.rounding) * unit_in_last
    mean = {"rz": np.sign(sums) * np.minimum(room / 2, np.abs(sums)), "floor": room / 2}.get(unit.rounding, 0.0)
    return np.where(known, exact, sums - mean), np.where(known, 0.0, room**2 / 12)


def exponent_of(sums: Floats) -> npt.NDArray[np.int64]:
    """Exponents of the sums' leading bits; NOTHING for zero."""
    return np.where(sums == 0, NOTHING, np.frexp(sums)[1].astype(np.int64) - 1)
