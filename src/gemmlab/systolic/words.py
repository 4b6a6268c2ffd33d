"""Operands as the words that the grid's registers hold, and how a PE multiplies and adds them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import operand, typed
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.systolic.arithmetic import INTEGERS, Arithmetic, arithmetic, unit_of
from gemmlab.systolic.array import Array

Words = npt.NDArray[Any]

LARGEST = (1 << 31) - 1  #: of an int32
SMALLEST_EXPONENT = -126  #: of a normal float32
LARGEST_EXPONENT = 127


class Load(NamedTuple):
    """What flows through the grid: place-valued parts of words, whose products add up to the words' product."""

    right: Words  #: (parts, rows side, stream): the operand that moves right
    other: Words  #: (parts, rows side, cols side) of a held operand; (parts, stream, cols side) of one that moves down
    told: Arithmetic
    unit: Unit | None  #: how floats add; None for integers
    plain: bool  #: whether no machine arithmetic does the same, so that every sum asks the unit
    checked: bool  #: whether integer sums may leave int32

    @property
    def right_parts(self) -> int:
        """Parts of a word that moves right."""
        return int(self.right.shape[0])

    @property
    def other_parts(self) -> int:
        """Parts of a word of the other operand."""
        return int(self.other.shape[0])


def load(problem: Gemm, array: Array, a: Any, b: Any) -> Load:
    """A (m, k) and B (k, n) as the array's words; arrays as numerics' `operand` takes them.

    Raises GemmlabError for shapes that are not the problem's, and for values that the formats do not hold.
    """
    told = arithmetic(problem, array)
    codes = {}
    for name, given, form, shape in (
        ("a", a, problem.a_format, (problem.m, problem.k)),
        ("b", b, problem.b_format, (problem.k, problem.n)),
    ):
        taken = operand(given, form, name.upper())
        if taken.codes.shape != shape:
            raise GemmlabError(f"{name.upper()} has shape {taken.codes.shape}", f"{shape} by the problem")
        codes[name] = taken
    if told.unit == INTEGERS:
        values = {name: typed(taken.codes, taken.format).astype(np.int32) for name, taken in codes.items()}
        words = {
            name: parts(values[name], count, array.multiplier_bits)
            for name, count in (("a", told.a_parts), ("b", told.b_parts))
        }
        largest = [max(abs(int(each.max())), abs(int(each.min()))) for each in words.values()]
        checked = told.passes * problem.k * largest[0] * largest[1] > LARGEST
        right, other = placed(words, array)
        return Load(right, other, told, None, False, checked)
    unit = unit_of(problem, array)
    fast = same_as_machine(unit, codes["a"].values, codes["b"].values, problem)
    if fast:
        words = {name: taken.values.astype(np.float32)[None] for name, taken in codes.items()}
    else:
        words = {name: typed(taken.codes, taken.format)[None] for name, taken in codes.items()}
    right, other = placed(words, array)
    return Load(right, other, told, unit, not fast, False)


def placed(words: dict[str, Words], array: Array) -> tuple[Words, Words]:
    """Both operands turned so that their sides lie as the dataflow says."""
    a, b = words["a"], words["b"]
    if array.dataflow == "ws":
        return np.ascontiguousarray(a.transpose(0, 2, 1)), np.ascontiguousarray(b)
    if array.dataflow == "is":
        return np.ascontiguousarray(b), np.ascontiguousarray(a.transpose(0, 2, 1))
    return np.ascontiguousarray(a), np.ascontiguousarray(b)


def parts(values: Words, count: int, bits: int) -> Words:
    """Words cut into parts of so many bits, each at its place value: the low ones unsigned, the top one signed."""
    cut = [values if at == 0 else (values >> (bits * at)) << (bits * at) for at in range(count)]
    return np.stack([cut[at] - cut[at + 1] if at + 1 < count else cut[at] for at in range(count)])


def same_as_machine(unit: Unit, a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], problem: Gemm) -> bool:
    """Whether float32 multiply and add of this machine give the unit's bits for these operands.

    They do where the unit rounds each sum to float32 to nearest, every product is exact in float32, and no sum can be
    subnormal or overflow: the smallest unit in the last place of a product is normal, k times the largest is finite.
    """
    forms = [formats.get(problem.a_format), formats.get(problem.b_format)]
    rounds = unit.sum == "exact" and unit.rounding == "rne" and unit.accumulate == "float32" and unit.width == 23
    if not rounds or sum(form.mantissa_bits + 1 for form in forms) > 24:
        return False
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return False
    low, high = 0, problem.k.bit_length()
    for form, values in zip(forms, (a, b), strict=True):
        sizes = np.abs(values[values != 0])
        if sizes.size:
            low += int(np.frexp(sizes.min())[1]) - 1 - form.mantissa_bits
            high += int(np.frexp(sizes.max())[1])
    return low >= SMALLEST_EXPONENT and high <= LARGEST_EXPONENT


def empty(codes: str, shape: tuple[int, ...]) -> Words:
    """Zeros of a format's own type."""
    return typed(np.zeros(shape, code_type(formats.get(codes))), codes)
