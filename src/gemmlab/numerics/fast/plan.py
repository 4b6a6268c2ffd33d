"""Which kernel computes a unit on operands of two formats, and with which whole numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit, groups
from gemmlab.numerics.fast.aligned import Walk
from gemmlab.numerics.fast.floats import MODES, Target, target
from gemmlab.numerics.fast.split import NOTHING, largest

EXACT_SUM = 1 << 51  # sums below it are rounded through float64


class Plan(NamedTuple):
    """The numbers an aligned kernel works with."""

    walk: Walk
    to: Target
    narrow: bool  #: int32 lanes hold what `walk.flush` terms add up to
    product: int  #: the largest magnitude of a product, in units of its last bit
    fractions: tuple[int, int]  #: bits below the point of an element of A and of B, scales included


def target_of(unit: Unit) -> Target:
    """How a unit rounds sums into its accumulator."""
    zero = 2 * NOTHING if unit.zero_exponent is None else unit.zero_exponent
    form = formats.get(unit.accumulate)
    return target(form, unit.width, unit.subnormal_inputs, unit.subnormal_outputs, zero, unit.nan_code)


def aligned_plan(unit: Unit, a_format: str, b_format: str, scale_format: str) -> Plan | None:
    """The plan of an aligned sum whose C joins as a term or by one addition; None for what such kernels cannot do."""
    if unit.sum != "aligned" or unit.c == "floor" or unit.exact_terms != 1 or unit.product_overflow:
        return None
    if unit.negative_zero != "positive" or (unit.c == "late" and unit.accumulate == "float64"):
        return None
    if read_strangely(unit):
        return None
    fraction, product = product_of(unit, a_format, b_format, scale_format)
    up, down = max(unit.align_bits - fraction, 0), max(fraction - unit.align_bits, 0)
    term = (product << up >> down) + 1
    whole = formats.get(unit.accumulate)
    addend = (2 << whole.mantissa_bits << unit.align_bits >> whole.mantissa_bits) + 1
    if product << up >= 1 << 61 or unit.terms * term + addend >= EXACT_SUM or unit.width > 51:
        return None
    narrow = unit.cut == "rz" and product << up < 1 << 31
    to = target_of(unit)
    walk = Walk(
        terms=unit.terms,
        groups=unit.k // unit.terms,
        lanes=2 if unit.order == "parity" else 1,
        late=int(unit.c == "late"),
        align_bits=unit.align_bits,
        fraction=fraction,
        cut=MODES[unit.cut],
        rounding=MODES[unit.rounding],
        joining=MODES[unit.c_rounding],
        flush=min(((1 << 31) - 1) // (product << up), unit.terms) if narrow else unit.terms,
        # The addend counts with its own exponent or a zero's, so that no other zero can count for more than it does.
        zeros_count=int(to.zero_exponent > to.min_exponent),
    )
    own = [formats.get(unit.read_as or name).mantissa_bits for name in (a_format, b_format)]
    scale = (fraction - sum(own)) // 2
    return Plan(walk, to, narrow, product, (own[0] + scale, own[1] + scale))


def read_strangely(unit: Unit) -> bool:
    """Whether C is converted as operands are, or NaN is no NaN: nobody's hardware, left to the plain reference."""
    form = formats.get(unit.accumulate)
    magnitude = unit.nan_code & ((1 << (form.bits - 1)) - 1)
    return (
        bool(unit.read_as and unit.accumulate in (*unit.a_formats, *unit.b_formats)) or magnitude <= form.max_magnitude
    )


def product_of(unit: Unit, a_format: str, b_format: str, scale_format: str) -> tuple[int, int]:
    """(bits below the point, largest magnitude in their units) of a product's significand, scales included."""
    own = (unit.read_as or a_format, unit.read_as or b_format)
    forms = [formats.get(name) for name in (*own, scale_format, scale_format) if name]
    product = 1
    for form in forms:
        product *= largest(form)
    return sum(form.mantissa_bits for form in forms if form.kind == "float"), product


def order_of(unit: Unit, k: int) -> npt.NDArray[np.int64]:
    """The k of whole instructions in the order they are summed, -1 past the last."""
    walk = np.array([at for group in groups(unit) for at in group], np.int64)
    order = (np.arange(0, k, unit.k)[:, None] + walk).reshape(-1)
    order[order >= k] = -1
    return order
