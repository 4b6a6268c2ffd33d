"""How often an accumulator has to be emptied into a wider sum for an error that one can live with."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.multiply import DEFAULT
from gemmlab.numerics.predicting.drift import expected, sample
from gemmlab.numerics.predicting.predict import ratio, sides
from gemmlab.numerics.schedule import Schedule
from gemmlab.numerics.units import unit as named
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div


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

    A multiple of the instruction's k; 0 says that no promotion is needed. Predicted, from a sample. The error is taken
    to grow with the interval. Raises GemmlabError where even a promotion after each instruction misses the tolerance,
    with its error.
    """
    if not tolerance > 0:
        raise GemmlabError(f"a tolerance of {tolerance}", "a relative error above 0, such as 1e-3")
    chosen = schedule.on(named(unit))
    drawn = sample(*sides(chosen, a, b, a_format, b_format, a_scales, b_scales, schedule))

    def error(instructions: int) -> float:
        """Expected relative error of a promotion after so many instructions; 0 never promotes."""
        chosen_schedule = msgspec.structs.replace(schedule, promote=instructions * chosen.k)
        found = expected(chosen, chosen_schedule, drawn)
        off = found.sums - found.exact
        return ratio(float(np.sqrt((off**2 + found.variance).sum())), float(np.linalg.norm(found.exact)))

    if error(0) <= tolerance:
        return 0
    least = error(1)
    if least > tolerance:
        raise GemmlabError(
            f"{chosen.name} is expected to be {least:.1e} off even with a promotion every {chosen.k} of k",
            f"a tolerance of {least:.1e} or more, or another unit",
        )
    meets, misses = 1, ceil_div(drawn.products.shape[1], chosen.k)
    while misses - meets > 1:
        middle = (meets + misses) // 2
        meets, misses = (middle, misses) if error(middle) <= tolerance else (meets, middle)
    return meets * chosen.k
