"""Random operands in a problem's own formats and layouts, the same for the same seed everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gemmlab.check.bounds import largest
from gemmlab.check.storage import Array, Floats, Stored, poisoned, stored
from gemmlab.check.structure import dense
from gemmlab.formats import dtype_of, get, round_array
from gemmlab.problem import Gemm
from gemmlab.record import unknown_name

Draw = Callable[[np.random.RandomState, tuple[int, int]], Floats]
Fill = Callable[[Gemm], Floats]


ROUNDED_AT_ONCE = 1 << 20  # elements


class Distribution(NamedTuple):
    """How elements are drawn, about 1 in size, and how large a sum of k products of two of them becomes."""

    draw: Draw
    largest_sum: Callable[[int], float]


def wide(random: np.random.RandomState, shape: tuple[int, int]) -> Floats:
    """Signs at random, exponents even from -10 to 0."""
    signs = np.where(random.random_sample(shape) < 0.5, -1.0, 1.0)
    return np.asarray(signs * np.exp2(-10 * random.random_sample(shape)))


DISTRIBUTIONS: dict[str, Distribution] = {
    "normal": Distribution(lambda random, shape: random.standard_normal(shape), lambda k: 8 * math.sqrt(k) + 24),
    "wide": Distribution(wide, float),
    "positive": Distribution(lambda random, shape: 0.5 + random.random_sample(shape), lambda k: 2.25 * k),
}


class Operands(NamedTuple):
    """A, B and C of a multiplication with poison in the gaps of their storage, and D with no element written.

    Where beta is 0, C is poison throughout: nothing may read it.
    """

    a: Stored
    b: Stored
    c: Stored
    d: Stored


def operands(problem: Gemm, seed: int = 0, distribution: str = "normal") -> Operands:
    """Random A, B and C with offsets, gaps, layouts and batches as the problem has them, scaled to D's range.

    `normal`; `wide`: exponents over ten binades; `positive`: 0.5 to 1.5, nothing cancels. Integers take what of these
    their range holds. A's structure is in its values. Raises GemmlabError for an unknown distribution, a format that
    numpy does not have, and an offset inside an element.
    """
    if distribution not in DISTRIBUTIONS:
        raise unknown_name("distribution", distribution, DISTRIBUTIONS)
    law = DISTRIBUTIONS[distribution]
    random = np.random.RandomState(seed)  # its streams are frozen for ever, those of numpy's Generator are not
    top = min(largest(get(problem.d_format)), largest(get(problem.accumulate)))
    room = top / 2 / law.largest_sum(problem.k) / max(1.0, abs(problem.alpha))
    c_top = min(largest(get(problem.c_format)), top / 2 / max(1.0, abs(problem.beta)))

    def matrix(operand: str, limit: float, rows: int, columns: int) -> Floats:
        form = get(getattr(problem, f"{operand}_format"))
        size = min(1.0, limit)
        if form.kind == "int":
            size = max(1.0, min(largest(form), limit) / (4 if distribution == "normal" else 1.5))
        drawn = law.draw(random, (rows, columns))
        drawn *= size  # in place: what is drawn is the largest array there is
        return drawn

    return filled(
        problem,
        random,
        lambda p: matrix("a", math.sqrt(room), p.m, p.k),
        lambda p: matrix("b", math.sqrt(room), p.k, p.n),
        lambda p: matrix("c", min(c_top / 8, 1024.0), p.m, p.n),
    )


def filled(problem: Gemm, random: np.random.RandomState, a: Fill, b: Fill, c: Fill) -> Operands:
    """Operands whose matrices hold what three functions draw, rounded to their formats, A's structure applied."""
    made: dict[str, Stored] = {}
    for operand, fill in (("a", a), ("b", b), ("c", c)):
        name = getattr(problem, f"{operand}_format")
        whole = stored(problem, operand, name)
        made[operand] = whole
        if operand == "c" and problem.beta == 0:
            continue
        of = problem.members if problem.groups else problem.members * problem.batch
        for member, matrix in zip(of, whole.matrices, strict=True):
            values = fill(member)
            if operand == "a":
                values = structured(member, values, random)
            put(matrix, values, name)
    return Operands(**made, d=poisoned(problem))


def structured(member: Gemm, values: Floats, random: np.random.RandomState) -> Floats:
    """A with its structure: two of every four kept at random, or the triangle, band or mirrored half."""
    if member.structure == "sparse_2_4":
        order = random.random_sample((member.m, member.k // 4, 4)).argsort(axis=2)
        values = np.where(order.reshape(values.shape) < 2, values, 0.0)
    return np.asarray(dense(member, values))


def put(matrix: Array, values: Floats, name: str) -> None:
    """Values rounded to a format, into a matrix of it, some rows at a time: rounding takes ten arrays of their size."""
    rows = max(1, ROUNDED_AT_ONCE // max(1, values.shape[1]))
    for top in range(0, len(values), rows):
        matrix[top : top + rows] = in_format(values[top : top + rows], name)


def in_format(values: Floats, name: str) -> Array:
    """Values rounded to a format, the nearest end of its range for those past it, in the type that holds it."""
    return round_array(values, name, saturate=True).astype(dtype_of(name))
