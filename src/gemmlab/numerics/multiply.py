"""Whole multiplications on a unit, bit for bit, on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import Operand, operand, typed
from gemmlab.numerics.schedule import Schedule
from gemmlab.numerics.units import unit as named
from gemmlab.record import GemmlabError, unknown_name

DEFAULT = Schedule()


def mma(
    unit: Unit | str,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    a_format: str | None = None,
    b_format: str | None = None,
    a_scales: Any = None,
    b_scales: Any = None,
    threads: int | None = None,
) -> npt.NDArray[Any]:
    """D = A @ B + C of shapes (m, k), (k, n), (m, n) as instructions chained over k give it, C in the accumulator.

    Arrays as `operand` takes them; C in the accumulator's format, zeros where None. A scaled unit takes scales of
    shapes (m, k / block) and (k / block, n). Returns D in the accumulator's own type. Raises GemmlabError for shapes
    and formats that do not match the unit.
    """
    chosen = named(unit)
    left, right = operands(chosen, a, b, a_format, b_format, DEFAULT)
    addend = accumulator(chosen, c, (left.codes.shape[0], right.codes.shape[1]))
    scales = scale_pair(chosen, a_scales, b_scales, left, right)
    from gemmlab.numerics import fast

    return typed(fast.chain(chosen, left, right, addend, scales, threads), chosen.accumulate)


def dots(
    unit: Unit | str,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    a_format: str | None = None,
    b_format: str | None = None,
    a_scales: Any = None,
    b_scales: Any = None,
) -> npt.NDArray[Any]:
    """d[i] = sum_k a[i, k] * b[i, k] + c[i] of shapes (count, k), (count, k), (count,): single outputs of a unit.

    A scaled unit takes scales of shape (count, k / block) both. Returns d in the accumulator's own type; raises
    GemmlabError as `mma` does.
    """
    chosen = named(unit)
    left = taken(chosen, a, a_format, chosen.a_formats, "A", DEFAULT)
    right = taken(chosen, b, b_format, chosen.b_formats, "B", DEFAULT)
    if left.codes.ndim != 2 or left.codes.shape != right.codes.shape:
        raise GemmlabError(f"a and b have shapes {left.codes.shape} and {right.codes.shape}", "(count, k) both")
    addend = accumulator(chosen, c, left.codes.shape[:1])
    # Both are given by rows here, while `scale_pair` wants B's by columns.
    turned = None if b_scales is None else np.swapaxes(np.asarray(b_scales), 0, -1)
    scales = scale_pair(chosen, a_scales, turned, left, Operand(right.codes.T, right.format))
    from gemmlab.numerics import fast

    return typed(fast.pairs(chosen, left, right, addend, scales), chosen.accumulate)


def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    unit: Unit | str,
    schedule: Schedule = DEFAULT,
    alpha: float = 1.0,
    beta: float = 0.0,
    a_format: str | None = None,
    b_format: str | None = None,
    c_format: str | None = None,
    d_format: str | None = None,
    a_scales: Any = None,
    b_scales: Any = None,
    threads: int | None = None,
) -> npt.NDArray[Any]:
    """D = alpha * A @ B + beta * C of shapes (m, k), (k, n), (m, n): the bits that a kernel of that schedule gives.

    Arrays as `operand` takes them. C is read only where beta is not 0. `d_format` is the accumulator's unless named.
    Returns D in its own type. Raises GemmlabError for shapes, formats and schedules that do not match the unit.
    """
    chosen = schedule.on(named(unit))
    left, right = operands(chosen, a, b, a_format, b_format, schedule)
    shape = (left.codes.shape[0], right.codes.shape[1])
    target = d_format or chosen.accumulate
    schedule.check(chosen, alpha, beta, target)
    addend: Operand | None = None
    if beta != 0:
        if c is None:
            raise GemmlabError(f"beta is {beta} and there is no C", "give C, or beta = 0")
        addend = operand(c, c_format, "C")
        if addend.codes.shape != shape:
            raise GemmlabError(f"C has shape {addend.codes.shape}, A @ B has {shape}", "the same shape")
    scales = scale_pair(chosen, a_scales, b_scales, left, right)
    from gemmlab.numerics import fast

    codes = fast.scheduled(chosen, schedule, left, right, addend, scales, alpha, beta, target, threads)
    return typed(codes, target)


def operands(
    unit: Unit, a: Any, b: Any, a_format: str | None, b_format: str | None, schedule: Schedule
) -> tuple[Operand, Operand]:
    """Both operands, of shapes that multiply; raises GemmlabError."""
    left = taken(unit, a, a_format, unit.a_formats, "A", schedule)
    right = taken(unit, b, b_format, unit.b_formats, "B", schedule)
    if left.codes.ndim != 2 or right.codes.ndim != 2 or left.codes.shape[1] != right.codes.shape[0]:
        raise GemmlabError(
            f"A of shape {left.codes.shape} and B of shape {right.codes.shape} do not multiply", "(m, k) and (k, n)"
        )
    return left, right


def taken(unit: Unit, array: Any, name: str | None, known: tuple[str, ...], what: str, schedule: Schedule) -> Operand:
    """One operand in a format that the unit takes: the one named, the array's own, else the unit's first."""
    own = np.asarray(array).dtype.name
    chosen = name or (own if own in known else known[0])
    if chosen not in known:
        raise unknown_name(f"format of {what} on {unit.name}", chosen, known)
    return operand(array, chosen, what, schedule.tfloat32)


def accumulator(unit: Unit, c: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """C's codes in the accumulator's format; raises GemmlabError."""
    if c is None:
        return np.zeros(shape, code_type(formats.get(unit.accumulate)))
    codes = operand(c, unit.accumulate, "C").codes
    if codes.shape != shape:
        raise GemmlabError(f"C has shape {codes.shape}, A @ B has {shape}", "the same shape")
    return codes


def scale_pair(
    unit: Unit, a_scales: Any, b_scales: Any, left: Operand, right: Operand
) -> tuple[Operand, Operand] | None:
    """The block scales of a scaled unit, None for any other; raises GemmlabError."""
    if not unit.scaled:
        if a_scales is not None or b_scales is not None:
            raise GemmlabError(f"{unit.name} takes no block scales", "leave them out")
        return None
    if a_scales is None or b_scales is None:
        raise GemmlabError(f"{unit.name} needs block scales", f"one for each {unit.scale_block} of k, of A and of B")
    pair = [
        operand(scales, None if np.asarray(scales).dtype.name in unit.scale_formats else unit.scale_formats[0], what)
        for scales, what in ((a_scales, "A's scales"), (b_scales, "B's scales"))
    ]
    if pair[0].format != pair[1].format:
        raise GemmlabError(f"scales of {pair[0].format} and {pair[1].format}", "both in one format")
    blocks = -(-left.codes.shape[1] // unit.scale_block)
    due = ((left.codes.shape[0], blocks), (blocks, right.codes.shape[1]))
    for given, shape, what in zip(pair, due, ("A's", "B's"), strict=True):
        if given.codes.shape != shape:
            raise GemmlabError(f"{what} scales have shape {given.codes.shape}", f"{shape}")
    return pair[0], pair[1]
