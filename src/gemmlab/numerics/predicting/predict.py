"""One prediction: the bound that holds, the error to expect, where the accumulator sticks, whether it overflows."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.multiply import DEFAULT, operands, scale_pair
from gemmlab.numerics.predicting.bounds import bound, largest
from gemmlab.numerics.predicting.drift import expected, sample
from gemmlab.numerics.predicting.magnitudes import Floats, Side, side
from gemmlab.numerics.schedule import Schedule
from gemmlab.numerics.units import unit as named


class Predicted(msgspec.Struct, frozen=True, kw_only=True):
    """Predicted, of the sums before alpha, beta and D's format; errors against exact sums of the operands given."""

    unit: str  #: its name
    schedule: Schedule  #: as it was given
    max_bound: float  #: no output is further off than this; infinite where the accumulator may overflow
    relative_bound: float  #: Frobenius norm of all outputs' bounds over that of the exact sums
    relative_error: float  #: expected Frobenius norm of the error over that of the exact sums
    relative_bias: float  #: expected mean error along the sums' signs, over their mean magnitude; negative: toward zero
    stuck_value: float | None  #: running sum from which no product here changes it; None where no such sum exists
    stuck_from_k: int | None  #: k from which half of the sampled outputs' chains take in nothing more; None: never
    overflow_from_k: int | None  #: k at which the first sampled sum leaves the accumulator's range; None: never
    outputs_sampled: int  #: outputs that the expected figures come from


def predict(
    a: Any,
    b: Any,
    *,
    unit: Unit | str,
    schedule: Schedule = DEFAULT,
    a_format: str | None = None,
    b_format: str | None = None,
    a_scales: Any = None,
    b_scales: Any = None,
) -> Predicted:
    """What the multiplication of (m, k) by (k, n) will lose; arguments as `gemm` takes them.

    The bound is rigorous for every output; the rest is expected, from a sample of outputs. Raises GemmlabError as
    `gemm` does, and for operands that are not finite.
    """
    chosen = named(unit)
    left, right = sides(chosen, a, b, a_format, b_format, a_scales, b_scales, schedule)
    return from_sides(chosen, schedule, left, right)


def sides(
    unit: Unit,
    a: Any,
    b: Any,
    a_format: str | None,
    b_format: str | None,
    a_scales: Any,
    b_scales: Any,
    schedule: Schedule,
) -> tuple[Side, Side]:
    """Both operands as a prediction reads them; raises GemmlabError."""
    left, right = operands(unit, a, b, a_format, b_format, schedule)
    scales = scale_pair(unit, a_scales, b_scales, left, right)
    return (
        side(unit, left, None if scales is None else scales[0], "A", across=False),
        side(unit, right, None if scales is None else scales[1], "B", across=True),
    )


def from_sides(unit: Unit, schedule: Schedule, a: Side, b: Side) -> Predicted:
    """The prediction for operands already read."""
    with np.errstate(over="ignore", invalid="ignore"):  # what leaves float64's range has no bound, and no relative one
        exact = a.given @ b.given.T
        norm = float(np.linalg.norm(exact))
        reach = bound(unit, schedule, a, b)
    drawn = sample(a, b) if exact.size else None
    figures: dict[str, Any] = {"relative_error": 0.0, "relative_bias": 0.0, "stuck_from_k": None}
    if drawn is not None and drawn.products.shape[1]:
        found = expected(unit, schedule, drawn)
        off = found.sums - found.exact
        size = float(np.linalg.norm(found.exact))
        stuck = np.sort(found.stuck_from[found.stuck_from >= 0])
        half = len(found.stuck_from) // 2
        figures = {
            "relative_error": ratio(float(np.sqrt((off**2 + found.variance).sum())), size),
            "relative_bias": ratio(float((off * np.sign(found.exact)).sum()), float(np.abs(found.exact).sum())),
            "stuck_from_k": int(stuck[half]) if len(stuck) > half else None,
        }
    return Predicted(
        unit=unit.name,
        schedule=schedule,
        max_bound=float(reach.error.max(initial=0.0)),
        relative_bound=ratio(float(np.linalg.norm(reach.error)), norm),
        stuck_value=stuck_value(unit, a, b),
        overflow_from_k=None if drawn is None else overflow(unit, drawn.products),
        outputs_sampled=0 if drawn is None else len(drawn.products),
        **figures,
    )


def ratio(part: float, whole: float) -> float:
    """The quotient, 0 of nothing."""
    return part / whole if whole else (0.0 if part == 0 else float("inf"))


def stuck_value(unit: Unit, a: Side, b: Side) -> float | None:
    """The power of two past which every product here lies below the last place that a cut keeps.

    A term is lost whole once it is smaller than 2**(exponent of the running sum - align_bits); roundings to nearest
    lose what is half of that or less, and a sum kept to fewer bits than it is aligned to loses by its own rounding.
    """
    if unit.sum != "aligned" or unit.c != "early" or not a.values.size or not b.values.size:
        return None
    most = float(np.abs(a.values).max()) * float(np.abs(b.values).max())
    if most == 0 or (unit.cut == "floor" and min(a.values.min(), b.values.min()) < 0):
        return None  # the least negative product takes a whole last place with it where cuts go down
    place = unit.align_bits if unit.cut in ("rz", "floor") else unit.align_bits + 1
    value = 2.0 ** (np.floor(np.log2(most)) + 1 + place)
    return float(value) if value <= largest(unit.accumulate) else None


def overflow(unit: Unit, products: Floats) -> int | None:
    """The first k whose partial sum, of any sampled output, is past the accumulator's range."""
    form = formats.get(unit.accumulate)
    most = float(1 << form.mantissa_bits) - 1 if form.kind == "int" else largest(unit.accumulate)
    past = (np.abs(np.cumsum(products, axis=1)) > most).any(axis=0)
    return int(past.argmax()) if past.any() else None
