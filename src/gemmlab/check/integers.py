"""Operands whose partial sums are exact in any order, so that every honest result is bit-equal."""

from __future__ import annotations

import math

import numpy as np

from gemmlab.check.bounds import largest
from gemmlab.check.drawn import Operands, filled
from gemmlab.check.storage import Floats
from gemmlab.formats import Format, get
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

POSITIVE = 0.875  # share of positive elements: a sum of as many signs of each kind would often cancel to zero
GOLDEN = (math.sqrt(5) - 1) / 2


def integer_operands(problem: Gemm, seed: int = 0) -> Operands:
    """Integers in the problem's formats and layouts for which no order of summing rounds anything.

    Every partial sum of alpha * A @ B + beta * C is a whole multiple of the largest power of two that divides alpha and
    beta, and at most as large as the accumulator and D's format hold without rounding; where k is too long for that,
    each row of A has fewer nonzeros, spread evenly over k. Raises GemmlabError where no such operands exist.
    """
    step = grid(problem)
    limit = sum_limit(problem, step)
    product, addend = (int(abs(factor) / step) for factor in (problem.alpha, problem.beta))
    if limit < product + addend or (problem.beta != 0 and limit <= addend):
        raise GemmlabError(
            f"no integers make alpha={problem.alpha:g} times a sum and beta={problem.beta:g} times C exact: "
            f"{problem.accumulate} and {problem.d_format} hold multiples of {step:g} up to {limit} of them",
            "an alpha and beta of few bits, such as 1, 0.5 or -2",
        )
    if problem.d_format.startswith("uint") and (problem.alpha < 0 or problem.beta < 0):
        raise GemmlabError(f"{problem.d_format} holds no negative result", "alpha and beta of at least 0")
    c_top = max(1, min(limit // (4 * addend), 1 << 20)) if addend else 1
    budget = (limit - addend * c_top) // product if product else whole_limit(get(problem.accumulate))
    random = np.random.RandomState(seed)  # its streams are frozen for ever, those of numpy's Generator are not

    def a(member: Gemm) -> Floats:
        terms = min(member.k, budget)
        top = factors(budget // terms, problem)[0]
        drawn = integers(random, (member.m, member.k), problem, "a", top)
        return np.where(spread(member.m, member.k, terms), drawn, 0.0)

    def b(member: Gemm) -> Floats:
        top = factors(budget // min(member.k, budget), problem)[1]
        return integers(random, (member.k, member.n), problem, "b", top)

    def c(member: Gemm) -> Floats:
        return integers(random, (member.m, member.n), problem, "c", c_top)

    return filled(problem, random, a, b, c)


def grid(problem: Gemm) -> float:
    """The largest power of two that divides alpha and beta, those that are not 0."""
    found = []
    for factor in (problem.alpha, problem.beta):
        numerator, denominator = float(factor).as_integer_ratio()
        if numerator:
            found.append((numerator & -numerator) / denominator)
    return min(found, default=1.0)


def sum_limit(problem: Gemm, step: float) -> int:
    """How many steps a sum may have: every whole number of them up to it is held by the accumulator and by D."""
    return min(steps_held(get(name), step) for name in (problem.accumulate, problem.d_format))


def steps_held(form: Format, step: float) -> int:
    """All whole numbers of steps up to this one are values of the format; 0 where one step is too fine for it."""
    finest = 1.0 if form.kind == "int" else 2.0 ** (form.min_exponent - form.mantissa_bits)
    if step < finest:
        return 0
    precision = min(form.precision, 52)  # a size that float64 rounds down to the limit must not pass for it
    return int(min(largest(form) // step, 1 << precision))


def whole_limit(form: Format) -> int:
    """The largest of the whole numbers from 0 on that the format holds all."""
    return steps_held(form, 1.0)


def factors(product: int, problem: Gemm) -> tuple[int, int]:
    """Largest magnitudes of A and B whose product is at most that, as even as their formats allow."""
    ends = [max(abs(low), high) for low, high in (ends_of(problem, "a"), ends_of(problem, "b"))]
    b_top = min(max(1, math.isqrt(product)), ends[1])
    a_top = min(max(1, product // b_top), ends[0])
    return a_top, min(max(1, product // a_top), ends[1])


def ends_of(problem: Gemm, operand: str) -> tuple[int, int]:
    """The least and the greatest integer of an operand's format between which it holds all; raises GemmlabError."""
    form = get(getattr(problem, f"{operand}_format"))
    if not form.zero:
        raise GemmlabError(f"{operand}_format {form.name} holds no zero and no negative integer", "another format")
    high = whole_limit(form)
    if not form.signed or problem.d_format.startswith("uint"):
        return 0, high
    return (-high - 1 if form.kind == "int" else -high), high


def integers(random: np.random.RandomState, shape: tuple[int, int], problem: Gemm, operand: str, top: int) -> Floats:
    """Integers other than 0, of magnitude at most `top`, mostly positive where the format has both signs."""
    low, high = (int(np.clip(end, -top, top)) for end in ends_of(problem, operand))
    sizes = random.random_sample(shape)
    positive = 1 + np.floor(sizes * high)
    negative = -1 - np.floor(sizes * -low)
    share = POSITIVE if low and high else float(high > 0)
    signs = random.random_sample(shape) < share
    return np.asarray(np.where(signs, np.minimum(positive, high), np.maximum(negative, low)))


def spread(m: int, k: int, terms: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which elements of A are not 0: `terms` in every row, all over k, and symmetric where A is square."""
    stride = max(1, round(GOLDEN * k))
    while math.gcd(stride, k) > 1:
        stride += 1
    i, j = np.arange(m)[:, None], np.arange(k)
    return np.asarray((i + j) % k * stride % k < terms)
