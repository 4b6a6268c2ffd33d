"""How far an honest result may lie from the exact one, element by element."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gemmlab.check.reference import UNIT
from gemmlab.check.storage import Floats
from gemmlab.formats import Format, decode, get, round_to
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

EXACT_FACTORS = (1.0, -1.0)
OUTPUT_ROUNDINGS = {"rne": 0.5, "rna": 0.5, "rz": 1.0}  # largest error in spacings of the format


def gamma(count: int, unit: float) -> float:
    """gamma_n = n u / (1 - n u): n roundings together (Higham, Accuracy and Stability of Numerical Algorithms, 3.1)."""
    return count * unit / (1 - count * unit)


class Bound(NamedTuple):
    """The error that roundings explain: `product` * |alpha| |A||B| + `addend` * |beta C| + `floor`, then D's format."""

    product: float
    addend: float
    floor: float  #: of products that underflow in the accumulator
    output: Format
    output_spacings: float  #: largest rounding error on the way into D, in spacings of its format

    def before_output(self, product: Floats, addend: Floats) -> Floats:
        """Of the value that is then rounded to D's format; |alpha| |A||B| and |beta C| given."""
        return np.asarray(self.product * product + self.addend * addend + self.floor)

    def with_output(self, error: Floats, expected: Floats) -> Floats:
        """The whole bound: the value lies within `error` of the expected one, and is rounded once more."""
        return np.asarray(error + self.output_spacings * spacing(np.abs(expected) + error, self.output))

    @property
    def relative(self) -> float:
        """The bound over |alpha| |A||B| + |beta C|, underflow left out."""
        each = max(self.product, self.addend)
        if self.output.kind == "int":
            return each
        return each + (1 + each) * self.output_spacings * 2.0**-self.output.mantissa_bits


def spacing(size: Floats, form: Format) -> Floats:
    """Distance of a format's neighbours at values of that size; 1 for integers."""
    if form.kind == "int":
        return np.ones_like(size)
    exponent = np.maximum(np.frexp(np.where(np.isfinite(size), size, 0.0))[1] - 1, form.min_exponent)
    return np.asarray(np.ldexp(1.0, exponent - form.mantissa_bits))


def unit_of(form: Format) -> float:
    """Unit roundoff of a float format to nearest."""
    return 2.0**-form.precision


def largest(form: Format) -> float:
    """The largest finite value."""
    return decode(form.max_magnitude << form.pad_bits, form)


def bound_of(problem: Gemm, unit_roundoff: float, output_rounding: str) -> Bound:
    """The bound of one multiplication whose sums round with that unit in any order.

    Sum: gamma_k |A||B| (Higham, 2nd ed., section 3.5). Each of alpha and beta that is no sign adds the rounding of its
    product, and of itself where the accumulator does not hold it; a nonzero beta adds that of the sum, and C may be
    the term that the sum begins with. The reference's own error, gamma of as many float64 roundings, is added.
    Raises GemmlabError where k u >= 1/2.
    """
    if problem.k * unit_roundoff >= 0.5:
        raise GemmlabError(
            f"{problem.k} roundings with unit {unit_roundoff:g} leave no bound that tells right from wrong",
            "integer_operands and check_exact need no bound",
        )
    accumulator, output = get(problem.accumulate), get(problem.d_format)
    exact = all_integers(problem)
    own = unit_of(accumulator) if accumulator.kind == "float" else unit_of(get("float32"))
    unit = 0.0 if exact else max(unit_roundoff, own)
    stored = accumulator.kind == "float" and unit_roundoff < own
    product = scalings(problem.alpha, problem) + (problem.beta != 0) + stored
    widened = get(problem.c_format).precision > accumulator.precision
    addend = scalings(problem.beta, problem) + 1 + widened
    reference = gamma(problem.k + 4, UNIT)
    sums, added = ((1 + gamma(problem.k, unit_roundoff)) * (1 + gamma(count, unit)) - 1 for count in (product, addend))
    floor = 0.0
    if accumulator.kind == "float":
        tiny = 2.0 ** (accumulator.min_exponent - accumulator.mantissa_bits)
        floor = (abs(problem.alpha) * problem.k + 3) * tiny
    spacings = 0.0 if exact or holds(output, accumulator) else OUTPUT_ROUNDINGS[output_rounding]
    return Bound(sums + reference, added + reference, floor, output, spacings)


def scalings(factor: float, problem: Gemm) -> int:
    """Roundings that a factor causes: of its product, and of itself."""
    if factor in EXACT_FACTORS:
        return 0
    return 1 + (round_to(factor, accumulate_float(problem)) != factor)


def accumulate_float(problem: Gemm) -> str:
    """The float format that alpha and beta are applied in."""
    return problem.accumulate if get(problem.accumulate).kind == "float" else "float32"


def all_integers(problem: Gemm) -> bool:
    """Whether every number of the multiplication is an integer, so that none is rounded."""
    names = [problem.a_format, problem.b_format, problem.accumulate, problem.d_format]
    names += [problem.c_format] * (problem.beta != 0)
    whole = float(problem.alpha).is_integer() and float(problem.beta).is_integer()
    return whole and all(get(name).kind == "int" for name in names)


def holds(wide: Format, narrow: Format) -> bool:
    """Whether every value of one format is one of the other."""
    if wide.name == narrow.name:
        return True
    if wide.kind != narrow.kind or (narrow.signed and not wide.signed):
        return False
    low = wide.min_exponent - wide.mantissa_bits <= narrow.min_exponent - narrow.mantissa_bits
    return wide.precision >= narrow.precision and largest(wide) >= largest(narrow) and (low or wide.kind == "int")
