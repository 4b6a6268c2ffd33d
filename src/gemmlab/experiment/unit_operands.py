"""Operands of a matrix unit: drawn at random, or rounded from whatever numbers are given, block scales and all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.experiment.memory import SHARE, free_bytes
from gemmlab.formats import decode_array, encode_array
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import typed
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.units import capacity_text

CONTENTS = ("normal", "uniform", "ones")
LARGEST_SIDE = 1 << 20
OUTPUT_BYTES = 128  #: at the peak, for each output: D, float64's own, and what their difference takes (measured)
ELEMENT_BYTES = 40  #: for each element of A and B: as drawn, as codes, as values (measured)

Floats = npt.NDArray[np.float64]


class Operands(NamedTuple):
    """A of (m, k) and B of (k, n) in their own types, with block scales where the unit takes them."""

    a: npt.NDArray[Any]
    b: npt.NDArray[Any]
    a_scales: npt.NDArray[Any] | None = None
    b_scales: npt.NDArray[Any] | None = None


def drawn(unit: Unit, sides: Sequence[int], content: str, seed: int, a_format: str, b_format: str) -> Operands:
    """Random operands in the unit's formats: `normal`, `uniform` in [0, 1), or `ones`.

    Integer formats get whole numbers over their range for either of the first two. Reproducible: numpy's RandomState,
    whose stream is frozen. Raises GemmlabError.
    """
    m, n, k = sides
    if content not in CONTENTS:
        raise unknown_name("content", content, CONTENTS)
    if max(m, n, k) > LARGEST_SIDE:
        raise GemmlabError(f"{m} x {n} x {k} is more than can be emulated", f"sides up to {LARGEST_SIDE}")
    require_room(sides)
    random = np.random.RandomState(seed)
    a, b = (numbers(name, size, content, random) for name, size in ((a_format, (m, k)), (b_format, (k, n))))
    return rounded(unit, a, b, a_format, b_format)


def require_room(sides: Sequence[int]) -> None:
    """Raise GemmlabError where a multiplication of m, n, k does not fit the memory that is free."""
    m, n, k = sides
    needed = OUTPUT_BYTES * m * n + ELEMENT_BYTES * (m * k + k * n)
    free = free_bytes()
    if free is not None and needed > SHARE * free:
        raise GemmlabError(
            f"{m} x {n} x {k} needs about {capacity_text(needed)}, and {capacity_text(free)} of memory are free",
            "fewer rows and columns: the error of each output comes from k alone",
        )


def numbers(name: str, size: tuple[int, int], content: str, random: np.random.RandomState) -> Floats:
    """What is drawn for one operand, before it is rounded."""
    form = formats.get(name)
    if content == "ones":
        return np.ones(size)
    if form.kind == "int":
        low = -(1 << (form.bits - 1)) if form.signed else 0
        return random.randint(low, low + (1 << form.bits), size).astype(np.float64)
    return random.standard_normal(size) if content == "normal" else random.random_sample(size)


def rounded(unit: Unit, a: Any, b: Any, a_format: str, b_format: str) -> Operands:
    """Any numbers rounded to nearest in the unit's formats; of a scaled unit each block by a scale of its own."""
    if not unit.scaled:
        return Operands(typed(encode_array(a, a_format), a_format), typed(encode_array(b, b_format), b_format))
    scale = unit.scale_formats[0]
    left, left_scales = by_blocks(np.asarray(a, np.float64), a_format, scale, unit.scale_block)
    right, right_scales = by_blocks(np.asarray(b, np.float64).T, b_format, scale, unit.scale_block)
    return Operands(left, np.ascontiguousarray(right.T), left_scales, np.ascontiguousarray(right_scales.T))


def by_blocks(rows: Floats, name: str, scale: str, block: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Rows of (count, k) in the format, one scale for each `block` of k, (count, blocks of k).

    A scale is its block's largest magnitude over the format's, rounded in the scales' format (up, where that is a
    power of two alone), so that nothing saturates by more than a rounding; 1 for a block of zeros.
    """
    count, k = rows.shape
    blocks = -(-k // block)
    padded = np.zeros((count, blocks * block))
    padded[:, :k] = rows
    parts = padded.reshape(count, blocks, block)
    largest = np.abs(parts).max(axis=2, initial=0.0)
    ideal = largest / largest_of(name)
    if formats.get(scale).mantissa_bits == 0:
        with np.errstate(divide="ignore"):
            ideal = np.exp2(np.ceil(np.log2(ideal)))
    codes = encode_array(np.where(largest > 0, ideal, 1.0), scale, saturate=True)
    factors = decode_array(codes, scale)
    factors = np.where(factors > 0, factors, 1.0)
    codes = encode_array(factors, scale, saturate=True)
    values = (parts / factors[:, :, None]).reshape(count, blocks * block)[:, :k]
    return typed(encode_array(values, name, saturate=True), name), typed(codes, scale)


def largest_of(name: str) -> float:
    """The largest finite value of a float format."""
    return float(formats.decode(formats.get(name).max_magnitude, name))
