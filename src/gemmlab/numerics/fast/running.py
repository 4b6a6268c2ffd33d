"""What is computed how: every multiplication goes through here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics import plain
from gemmlab.numerics.operands import Operand
from gemmlab.numerics.reference import dot
from gemmlab.numerics.schedule import Schedule
from gemmlab.numerics.unit import Unit

Codes = npt.NDArray[Any]
Scales = tuple[Operand, Operand] | None


#: multiply-adds below which compiled code would answer later than the plain reference does
SMALL = 20_000


def chain(
    unit: Unit, a: Operand, b: Operand, c: Codes, scales: Scales, threads: int | None, path: str | None = None
) -> Codes:
    """Codes (m, n) of A @ B + C in the accumulator's format: instructions chained over k, C in the accumulator.

    `path` takes one way of computing that `paths` lists instead of the fastest.
    """
    if a.codes.shape[1] == 0 or c.size == 0:
        return c.copy()
    if path is None:
        small = c.size * a.codes.shape[1] < SMALL
        path = "plain" if small else paths(unit, a.format, b.format, scales[0].format if scales else "")[0]
    if path == "plain":
        return plainly(unit, a, b, c, scales, np.ndindex(*c.shape)).reshape(c.shape)
    from gemmlab.numerics.fast import plan, portable

    chosen = plan.aligned_plan(unit, a.format, b.format, scales[0].format if scales else "")
    assert chosen is not None
    left, right = portable.sides(unit, a, b, scales)
    slow = lambda i, j: plainly(unit, a, b, c, scales, zip(i, j, strict=True))  # noqa: E731
    return portable.multiplied(unit, chosen, left, right, c, threads, slow)


def paths(unit: Unit, a_format: str, b_format: str, scale_format: str = "") -> list[str]:
    """The ways this machine can compute the unit, fastest first; `plain` is always the last."""
    from gemmlab.numerics.fast import plan

    found = []
    if plan.aligned_plan(unit, a_format, b_format, scale_format) is not None:
        found.append("portable")
    return [*found, "plain"]


def plainly(unit: Unit, a: Operand, b: Operand, c: Codes, scales: Scales, where: Iterable[tuple[int, int]]) -> Codes:
    """Codes of the outputs at `where` by the plain reference."""
    made = []
    for i, j in where:
        row, column = a.codes[i].tolist(), b.codes[:, j].tolist()
        made.append(dot(unit, row, column, int(c[i, j]), a.format, b.format, *scale_words(scales, i, j)))
    return np.array(made, c.dtype)


def pairs(unit: Unit, a: Operand, b: Operand, c: Codes, scales: Scales = None) -> Codes:
    """Codes (count,) of the dot products of the rows of a and b, plus c; B's scales are (blocks, count)."""
    d = np.empty(c.shape, code_type(formats.get(unit.accumulate)))
    for i in range(len(c)):
        around = scale_words(scales, i, i)
        d[i] = dot(unit, a.codes[i].tolist(), b.codes[i].tolist(), int(c[i]), a.format, b.format, *around)
    return d


def scheduled(
    unit: Unit,
    schedule: Schedule,
    a: Operand,
    b: Operand,
    c: Operand | None,
    scales: Scales,
    alpha: float,
    beta: float,
    d_format: str,
    threads: int | None,
) -> Codes:
    """Codes (m, n) of D in `d_format`, as the schedule brings it together."""
    d = np.empty((a.codes.shape[0], b.codes.shape[1]), code_type(formats.get(d_format)))
    for i, j in np.ndindex(*d.shape):
        around = scale_words(scales, i, j)
        d[i, j] = plain.output(
            unit, schedule, a.codes[i].tolist(), b.codes[:, j].tolist(), 0 if c is None else int(c.codes[i, j]),
            a.format, b.format, alpha=alpha, beta=beta, c_format="float32" if c is None else c.format,
            d_format=d_format, a_scales=around[0], b_scales=around[1], scale_format=around[2],
        )  # fmt: skip
    return d


def scale_words(scales: Scales, i: int, j: int) -> tuple[list[int], list[int], str]:
    """The scales of one row of A and one column of B, and their format."""
    if scales is None:
        return [], [], ""
    return scales[0].codes[i].tolist(), scales[1].codes[:, j].tolist(), scales[0].format
