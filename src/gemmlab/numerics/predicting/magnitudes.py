"""What a prediction needs of the operands: values, and the exponents that a unit aligns by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import Operand
from gemmlab.record import GemmlabError

Floats = npt.NDArray[np.float64]
NOTHING = -(1 << 20)  #: exponent of a zero: below every other


class Side(NamedTuple):
    """One operand with k last: A's rows, or B's columns."""

    values: Floats  #: (count, k), scales included
    given: Floats  #: the same before subnormals were flushed
    exponents: npt.NDArray[np.int64]  #: that each element is aligned by, its scale's included; NOTHING for a zero


def side(unit: Unit, operand: Operand, scales: Operand | None, what: str, across: bool) -> Side:
    """An operand as a prediction reads it; `across` for B, whose k runs down.

    Raises GemmlabError for NaN and infinities: what follows from them needs no bound.
    """
    codes = operand.codes.T if across else operand.codes
    values = formats.decode_array(codes, operand.format)
    if not np.isfinite(values).all():
        place = tuple(int(at) for at in np.argwhere(~np.isfinite(values))[0])
        shown = place[::-1] if across else place
        raise GemmlabError(
            f"{what}[{shown[0]}, {shown[1]}] is {values[place]}", "predictions are about finite operands"
        )
    form = formats.get(operand.format)
    least = form.min_exponent if form.kind == "float" else 0
    kept = values
    if not unit.subnormal_inputs and form.kind == "float":
        kept = np.where(np.abs(values) < 2.0**form.min_exponent, 0.0, values)
    exponents = nominal(kept, least)
    if scales is None:
        return Side(kept, values, exponents)
    scale_codes = scales.codes.T if across else scales.codes
    scale_form = formats.get(scales.format)
    scale = np.repeat(np.abs(formats.decode_array(scale_codes, scales.format)), unit.scale_block, axis=1)
    scale = scale[:, : values.shape[1]]
    shift = nominal(scale, scale_form.min_exponent)
    # Products that are summed exactly first are aligned by their scales alone.
    exponents = np.where(kept * scale == 0, NOTHING, shift + (exponents if unit.exact_terms == 1 else 0))
    return Side(kept * scale, values * scale, exponents)


def nominal(values: Floats, least: int) -> npt.NDArray[np.int64]:
    """The exponent of each value's leading bit, at least the format's smallest; NOTHING for zeros."""
    exponents: npt.NDArray[Any] = np.frexp(values)[1].astype(np.int64) - 1
    return np.where(values == 0, NOTHING, np.maximum(exponents, least))
