"""The verdict on a result: against a bound, or bit for bit where operands are integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gemmlab.check.bounds import OUTPUT_ROUNDINGS, Bound, bound_of
from gemmlab.check.faults import Power
from gemmlab.check.reference import SIDE, Entry, blocks, entries, spans
from gemmlab.check.storage import Floats
from gemmlab.check.tally import RANGE, UNWRITTEN, WRONG, Compared, Tally
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, Verdict, unknown_name

TILE = (16, 16, 16)

Judge = Callable[[Entry, Floats, Floats, Floats], tuple[Floats, Floats]]


def check_bounds(
    problem: Gemm,
    a: Any,
    b: Any,
    d: Any,
    c: Any = None,
    *,
    unit_roundoff: float,
    output_rounding: str = "rne",
    tfloat32_rounding: str = "rna",
    tile: tuple[int, int, int] = TILE,
) -> Verdict:
    """Whether D is alpha * A @ B + beta * C up to what rounding explains.

    Arrays as they are multiplied: A (m, k), B (k, n), C and D (m, n), a leading axis for a batch, a sequence of such
    for groups; any real numpy type, ml_dtypes' too, values as they stand (float32 words of a tfloat32 operand are
    rounded with `tfloat32_rounding`). `unit_roundoff` is that of one accumulation: 2**-24 for float32 to nearest, twice
    it toward zero, 0 for integers; sums may be taken in any order. `output_rounding` takes the sum to D's format. The
    verdict is informative where faults of one `tile` (m, n, k) would be found too.

    Raises GemmlabError for arrays of other shapes, an epilogue or block scales, and a k whose roundings leave no bound.
    """
    if not 0 <= unit_roundoff < 1:
        raise GemmlabError(f"unit_roundoff={unit_roundoff!r} is no unit roundoff", "2**-24 for float32 to nearest")
    check_tile(tile)
    if output_rounding not in OUTPUT_ROUNDINGS:
        raise unknown_name("rounding", output_rounding, OUTPUT_ROUNDINGS)
    parts = entries(problem, a, b, d, c, tfloat32_rounding)
    bounds = [bound_of(part.problem, unit_roundoff, output_rounding) for part in parts]
    known: dict[int, Bound] = {id(part): bound for part, bound in zip(parts, bounds, strict=True)}

    def judge(entry: Entry, expected: Floats, product: Floats, addend: Floats) -> tuple[Floats, Floats]:
        bound = known[id(entry)]
        error = bound.before_output(product, addend)
        return error, bound.with_output(error, expected)

    own = "float64 in any order, its own error within the bound"
    return verdict(parts, tile, judge, max(bound.relative for bound in bounds), own)


def check_exact(
    problem: Gemm,
    a: Any,
    b: Any,
    d: Any,
    c: Any = None,
    *,
    tfloat32_rounding: str = "rna",
    tile: tuple[int, int, int] = TILE,
) -> Verdict:
    """Whether D equals alpha * A @ B + beta * C exactly, as it must with `integer_operands`, in any order of summing.

    Arguments as for `check_bounds`. Raises GemmlabError where the operands do not make every partial sum exact.
    """

    def judge(entry: Entry, expected: Floats, product: Floats, addend: Floats) -> tuple[Floats, Floats]:
        check_exactness(entry, product + addend)
        return np.zeros_like(expected), np.zeros_like(expected)

    check_tile(tile)
    parts = entries(problem, a, b, d, c, tfloat32_rounding)
    for part in parts:
        check_integers(part)
    return verdict(parts, tile, judge, 0.0, "float64, exact: integers whose partial sums are all held")


def check_tile(tile: tuple[int, int, int]) -> None:
    """Raise GemmlabError where the tile whose loss is tried is none."""
    if len(tile) != 3 or min(tile) < 1:
        raise GemmlabError(f"tile={tile!r} is no tile", "elements of m, n and k, each at least 1")


def check_exactness(entry: Entry, sizes: Floats) -> None:
    """Raise GemmlabError where partial sums or results are not exact in the accumulator, D's format and float64."""
    from gemmlab.check.integers import grid, sum_limit

    problem = entry.problem
    step = grid(problem)
    if not (sizes <= sum_limit(problem, step) * step).all():
        raise GemmlabError(
            f"sums of up to {float(np.max(sizes)):g} are not exact in {problem.accumulate} and {problem.d_format}",
            "integer_operands gives operands whose sums are",
        )


def check_integers(entry: Entry) -> None:
    """Raise GemmlabError where an operand that is read has other values than integers."""
    problem = entry.problem
    if problem.alpha != 0:
        check_whole("A", entry, entry.a_values, (problem.m, problem.k))
        check_whole("B", entry, entry.b_values, (problem.k, problem.n))
    if problem.beta != 0:
        check_whole("C", entry, entry.c_values, (problem.m, problem.n))


def check_whole(name: str, entry: Entry, read: Callable[[slice, slice], Floats], shape: tuple[int, int]) -> None:
    """Raise GemmlabError where an operand has other values than integers."""
    for rows in spans(shape[0], SIDE):
        for columns in spans(shape[1], SIDE):
            values = read(rows, columns)
            if not (np.isfinite(values) & (values == np.rint(values))).all():
                raise GemmlabError(f"{name} holds more than integers", "integer_operands, or check with a bound")


def verdict(parts: list[Entry], tile: tuple[int, int, int], judge: Judge, bound: float, reference: str) -> Verdict:
    """Compare every block of every multiplication, and try the faults on each."""
    tally, missed, elements = Tally(), set[str](), 0
    with np.errstate(invalid="ignore", over="ignore"):
        for entry in parts:
            power = Power(entry, tile)
            problem = entry.problem
            for block in blocks(entry, tile):
                addend = problem.beta * entry.c_values(block.rows, block.columns)
                expected = problem.alpha * block.sums + addend if problem.alpha != 0 else addend
                product = abs(problem.alpha) * block.sizes
                error, whole = judge(entry, expected, product, np.abs(addend))
                got = entry.d[block.rows, block.columns]
                compared = Compared(got, expected, product + np.abs(addend), error, whole, block.sizes)
                tally.add(problem, compared, (*entry.where, block.rows.start, block.columns.start))
                power.add(block, expected, addend, whole)
                elements += expected.size
            missed |= power.missed()
    wrong, unwritten, lost = (tally.counts[kind] for kind in (WRONG, UNWRITTEN, RANGE))
    return Verdict(
        ok=not (wrong or unwritten or lost),
        wrong_elements=wrong,
        max_relative_error=tally.relative,
        bound=bound,
        reference=reference,
        informative=not missed,
        elements=elements,
        unwritten_elements=unwritten,
        range_elements=lost,
        missed_faults=tuple(sorted(missed)),
        worst=tally.worst,
    )
