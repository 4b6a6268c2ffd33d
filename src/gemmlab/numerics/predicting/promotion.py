"""How often an accumulator has to be emptied into a wider sum for an error that one can live with."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from gemmlab.numerics.multiply import DEFAULT
from gemmlab.numerics.predicting.drift import expected, sample
from gemmlab.numerics.predicting.predict import ratio, sides
from gemmlab.numerics.schedule import Schedule
from gemmlab.numerics.unit import Unit
from gemmlab.numerics.units import unit as named
from gemmlab.record import GemmlabError


def pick_promotion(
    a: Any,
    b: Any,
    tolerance: float,
    *,
    unit: Unit | str,
    schedule: Schedule = DEFAULT,
    a_format: str | None = None,
    b_format: str | None = None,
    a_scales: Any = None,
    b_scales: Any = None,
) -> int:
    """The longest promotion interval, in k, whose expected relative error (Frobenius) is at most `tolerance`.

    Intervals are an instruction's k times a power of two; 0 says that no promotion is needed. Predicted, from a
    sample. Raises GemmlabError where even a promotion after each instruction misses the tolerance, with its error.
    """
    if not tolerance > 0:
        raise GemmlabError(f"a tolerance of {tolerance}", "a relative error above 0, such as 1e-3")
    chosen = schedule.on(named(unit))
    drawn = sample(*sides(chosen, a, b, a_format, b_format, a_scales, b_scales, schedule))
    k = drawn.products.shape[1]
    candidates = [0, *(chosen.k << power for power in reversed(range(max(1, (k - 1) // chosen.k).bit_length())))]
    error = float("inf")
    for interval in candidates:
        found = expected(chosen, msgspec.structs.replace(schedule, promote=interval), drawn)
        off = found.sums - found.exact
        error = ratio(float(np.sqrt((off**2 + found.variance).sum())), float(np.linalg.norm(found.exact)))
        if error <= tolerance:
            return interval
    raise GemmlabError(
        f"{chosen.name} is expected to be {error:.1e} off even with a promotion every {chosen.k} of k",
        f"a tolerance of {error:.1e} or more, or another unit",
    )
