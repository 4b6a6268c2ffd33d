"""What emulated units answer, always by compiled code: the same few experiments are computed for hundreds of units."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import Codes, Operand


def way(unit: Unit, names: tuple[str, str]) -> str:
    """The fastest way to compute a block on this machine."""
    from gemmlab.numerics.fast.running import paths

    return paths(unit, *names)[0]


def computed(unit: Unit, a: Codes, b: Codes, c: Codes, names: tuple[str, str]) -> Codes:
    """Codes (m, n) that a unit gives for a block."""
    from gemmlab.numerics.fast.running import chain

    left, right = Operand(np.ascontiguousarray(a), names[0]), Operand(np.ascontiguousarray(b), names[1])
    return np.asarray(chain(unit, left, right, np.ascontiguousarray(c), None, 1, way(unit, names)))


def rows_computed(unit: Unit, a: Codes, b: Codes, c: Codes, names: tuple[str, str]) -> Codes:
    """Codes (count,) that a unit gives for the dot products of rows."""
    from gemmlab.numerics.fast.running import pairs, paths

    path = paths(unit, *names)[-2:][0]
    return np.asarray(pairs(unit, Operand(a, names[0]), Operand(b, names[1]), c, None, path))


def both_nan(unit: Unit, found: int, seen: int) -> bool:
    """Whether a unit that promises no NaN's code gave one where one was seen."""
    if unit.nan != "ieee":
        return False
    form = formats.get(unit.accumulate)
    mask = (1 << (form.bits - 1)) - 1
    return form.kind == "float" and found & mask > form.max_magnitude + 1 and seen & mask > form.max_magnitude + 1


def same(unit: Unit, found: Codes, seen: Codes) -> npt.NDArray[np.bool_]:
    """Where answers agree, a NaN with any NaN if the unit promises no code."""
    equal = np.asarray(found == seen)
    if unit.nan == "ieee":
        form = formats.get(unit.accumulate)
        mask, infinity = found.dtype.type((1 << (form.bits - 1)) - 1), form.max_magnitude + 1
        equal |= ((found & mask) > infinity) & ((seen & mask) > infinity)
    return equal
