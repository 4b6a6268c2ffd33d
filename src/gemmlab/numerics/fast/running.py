"""What is computed how: every multiplication goes through here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics import plain
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import Operand
from gemmlab.numerics.reference import dot
from gemmlab.numerics.schedule import Schedule
from gemmlab.record import unknown_name

Codes = npt.NDArray[Any]
Scales = tuple[Operand, Operand] | None


#: multiply-adds that the plain reference does in the time in which compiled code is loaded
LOADED_AFTER = 20_000
#: and in that of one call of compiled code
FEW = 32


class Small:
    """Who answers a multiplication sooner, the plain reference or compiled code, many after one another included."""

    asked = 0  #: multiply-adds so far, of calls that are not too small for compiled code in any case

    def __call__(self, multiply_adds: int) -> bool:
        """Whether it is the plain reference.

        Compiled code is loaded from its cache once as many multiply-adds were asked for as take the time of that, in
        one call or in many: nobody waits more than about twice as long as with the better of the two from the start,
        but for the one time when this machine compiles it.
        """
        if multiply_adds < FEW:
            return True
        self.asked += multiply_adds
        return self.asked < LOADED_AFTER


small = Small()


def chain(
    unit: Unit, a: Operand, b: Operand, c: Codes, scales: Scales, threads: int | None, path: str | None = None
) -> Codes:
    """Codes (m, n) of A @ B + C in the accumulator's format: instructions chained over k, C in the accumulator.

    `path` takes one way of computing that `paths` lists instead of the fastest.
    """
    if a.codes.shape[1] == 0 or c.size == 0:
        return c.copy()
    if path is None:
        few = small(c.size * a.codes.shape[1])
        path = "plain" if few else paths(unit, a.format, b.format, scales[0].format if scales else "")[0]
    if path == "plain":
        return plainly(unit, a, b, c, scales, np.ndindex(*c.shape)).reshape(c.shape)
    from gemmlab.numerics.fast import kinds, plan, portable

    names = (a.format, b.format, scales[0].format if scales else "")
    if path == "integer":
        return kinds.integers(unit, a, b, c, threads)
    if path == "native":
        return kinds.natively(unit, a, b, c, threads)
    left, right = portable.sides(unit, a, b, scales)
    rules = kinds.rules_of(unit, *names)

    def slow(i: Codes, j: Codes) -> Codes:
        if rules is None or (path != "stepwise" and small(len(i) * a.codes.shape[1])):
            return plainly(unit, a, b, c, scales, zip(i.tolist(), j.tolist(), strict=True))
        return kinds.walked(unit, rules, left, right, scales, (i, j), c[i, j], threads)

    if path == "stepwise":
        return slow(*np.indices(c.shape).reshape(2, -1)).reshape(c.shape)
    chosen = plan.aligned_plan(unit, *names)
    if chosen is None:
        raise unknown_name("path", path, paths(unit, *names))
    if path.startswith("vectors"):
        return portable.in_vectors(unit, chosen, left, right, c, threads, int(path.removeprefix("vectors")), slow)
    return portable.multiplied(unit, chosen, left, right, c, threads, slow)


def paths(unit: Unit, a_format: str, b_format: str, scale_format: str = "") -> list[str]:
    """The ways this machine can compute the unit, fastest first; `plain` is always the last."""
    from gemmlab.numerics.fast import kinds, lanes, native, plan
    from gemmlab.numerics.fast.machine import machine

    names = (a_format, b_format, scale_format)
    found = []
    # Only sums modulo 2^32 may take the low words of wide operands' products.
    if unit.sum == "integer" and not (unit.saturate and max(formats.get(n).bits for n in names[:2]) > 16):
        found.append("integer")
    if native.takes(unit, a_format, b_format):
        found.append("native")
    chosen = plan.aligned_plan(unit, *names)
    if chosen is not None:
        if lanes.takes(unit, chosen):
            found.append(f"vectors{machine().lanes}")
        found.append("portable")
    if kinds.rules_of(unit, *names) is not None:
        found.append("stepwise")
    return [*found, "plain"]


def plainly(unit: Unit, a: Operand, b: Operand, c: Codes, scales: Scales, where: Iterable[tuple[int, int]]) -> Codes:
    """Codes of the outputs at `where` by the plain reference."""
    made = []
    for i, j in where:
        row, column = a.codes[i].tolist(), b.codes[:, j].tolist()
        addend = int(c[i, j] if c.ndim == 2 else c[i])
        made.append(dot(unit, row, column, addend, a.format, b.format, *scale_words(scales, i, j)))
    return np.array(made, c.dtype)


def pairs(unit: Unit, a: Operand, b: Operand, c: Codes, scales: Scales = None, path: str | None = None) -> Codes:
    """Codes (count,) of the dot products of the rows of a and b, plus c; B's scales are (blocks, count)."""
    names = (a.format, b.format, scales[0].format if scales else "")
    turned = Operand(b.codes.T, b.format)
    every = np.arange(len(c))
    if a.codes.shape[1] == 0 or len(c) == 0:
        return c.copy()
    if path is None:
        path = "plain" if small(a.codes.size) else next(each for each in paths(unit, *names) if each != "native")
    if path == "plain":
        return plainly(unit, a, turned, c, scales, zip(every.tolist(), every.tolist(), strict=True))
    from gemmlab.numerics.fast import kinds, plan, portable

    if path == "integer":
        return kinds.integer_pairs(unit, a, b, c)
    left, right = portable.sides(unit, a, turned, scales)
    rules, chosen = kinds.rules_of(unit, *names), plan.aligned_plan(unit, *names)

    def slow(i: Codes, j: Codes) -> Codes:
        if rules is None or (path != "stepwise" and small(len(i) * a.codes.shape[1])):
            return plainly(unit, a, turned, c, scales, zip(i.tolist(), j.tolist(), strict=True))
        return kinds.walked(unit, rules, left, right, scales, (i, j), c[i], None)

    if path == "stepwise":
        return slow(every, every)
    if chosen is None:
        raise unknown_name("path", path, paths(unit, *names))
    if path.startswith("vectors"):
        lanes = int(path.removeprefix("vectors"))
        return portable.in_vectors(unit, chosen, left, right, c[:, None], None, lanes, slow, paired=True)[:, 0]
    return portable.multiplied(unit, chosen, left, right, c[:, None], None, slow, paired=True)[:, 0]


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
    path: str | None = None,
) -> Codes:
    """Codes (m, n) of D in `d_format`, as the schedule brings it together."""
    shape, inner = (a.codes.shape[0], b.codes.shape[1]), a.codes.shape[1]
    integer = formats.get(unit.accumulate).kind == "int" and formats.get(d_format).kind == "int"
    crooked = integer and c is not None and formats.get(c.format).kind != "int"
    if path == "plain" or crooked or (path is None and small(shape[0] * shape[1] * inner)):
        return plainly_scheduled(unit, schedule, a, b, c, scales, alpha, beta, d_format)
    from gemmlab.numerics.fast import outside

    schedule.check(unit, alpha, beta, d_format)
    unit = schedule.on(unit)
    wide = "float64" if unit.accumulate == "float64" else "float32"
    zeros = np.zeros(shape, code_type(formats.get(unit.accumulate)))
    shares = []
    for chains in schedule.chains(inner, unit):
        total: Codes | None = None
        for first, stop in chains:
            left, right, around = ranged(unit, a, b, scales, first, stop)
            found = chain(unit, left, right, zeros, around, threads, path)
            if schedule.promote:
                wider = outside.converted(found, unit.accumulate, wide)
                found = wider if total is None else outside.fused(1.0, total, wider, wide)
            total = found
        shares.append(zeros if total is None else total)
    codes, c_format = (None, "float32") if c is None else (c.codes, c.format)
    if unit.accumulate == "int32":
        summed = sum((share.view(np.int32) for share in shares), np.zeros(shape, np.int32))
        return outside.integer_epilogue(summed, alpha, beta, codes, c_format, d_format)
    held = wide if schedule.promote else unit.accumulate
    if schedule.split_k > 1:
        total, held = outside.reduced(shares, held, schedule.reduce, schedule.reduce_sum, wide), wide
    else:
        total = shares[0]
    total = outside.converted(total, held, wide)
    return outside.epilogue(total, wide, alpha, beta, codes, c_format, d_format).astype(
        code_type(formats.get(d_format))
    )


def ranged(
    unit: Unit, a: Operand, b: Operand, scales: Scales, first: int, stop: int
) -> tuple[Operand, Operand, Scales]:
    """Operands and scales of a range of k, whole blocks from its first."""
    around = scales
    if scales is not None:
        chosen = slice(first // unit.scale_block, -(-stop // unit.scale_block))
        left, right = scales
        around = Operand(left.codes[:, chosen], left.format), Operand(right.codes[chosen], right.format)
    return Operand(a.codes[:, first:stop], a.format), Operand(b.codes[first:stop], b.format), around


def plainly_scheduled(
    unit: Unit, schedule: Schedule, a: Operand, b: Operand, c: Operand | None, scales: Scales, alpha: float,
    beta: float, d_format: str,
) -> Codes:  # fmt: skip
    """Codes (m, n) of D by the plain reference, output by output."""
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
