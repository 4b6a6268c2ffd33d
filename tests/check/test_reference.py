"""Reference and bound against exact fractions, one element after another."""

from fractions import Fraction

import numpy as np
import pytest

from check.honest import exact, random_problem, unit
from gemmlab.check import operands
from gemmlab.check.bounds import bound_of, gamma, holds
from gemmlab.check.checking import check_bounds
from gemmlab.check.reference import blocks, entries
from gemmlab.formats import get, names, round_to
from gemmlab.problem import Gemm


@pytest.mark.parametrize("seed", range(60))
def test_the_reference_is_the_exact_product_up_to_its_own_error(seed):
    problem = small(seed)
    given = operands(problem, seed, ("normal", "wide", "positive")[seed % 3])
    for entry in entries(problem, given.a.array, given.b.array, given.d.array, given.c.array, "rna"):
        (block,) = blocks(entry, (16, 16, 16))
        whole = slice(0, entry.problem.m), slice(0, entry.problem.n)
        expected = problem.alpha * block.sums + problem.beta * entry.c_values(*whole)
        values, sizes = exact(entry.problem, plain(entry, entry.a, "a"), plain(entry, entry.b, "b"), entry.c)
        own = Fraction(gamma(entry.problem.k + 4, 2.0**-53))
        for got, total, value, (product, addend) in zip(expected.flat, block.sizes.flat, values, sizes, strict=True):
            assert abs(Fraction(float(got)) - value) <= own * (product + addend)
            assert abs(abs(Fraction(problem.alpha)) * Fraction(float(total)) - product) <= own * product


def small(seed):
    problem = random_problem(seed)
    if problem.groups:
        return Gemm.grouped([(2, 3, 5), (1, 4, 3)], problem.a_format, alpha=problem.alpha, beta=problem.beta)
    m, n, k = 1 + seed % 6, 1 + seed % 4, 4 * (1 + seed % 3)
    square = problem.structure in ("triangular", "symmetric", "banded")
    return problem.replace(m=k if square else m, n=n, k=k, lda=0, ldb=0, ldc=0)


def plain(entry, part, operand):
    """Values rounded one at a time where the format is tfloat32, by the scalar rule."""
    if getattr(entry.problem, f"{operand}_format") != "tfloat32":
        return part
    return np.vectorize(lambda value: round_to(value, "tfloat32", "rna"))(part)


def test_the_bound_is_that_of_the_book():
    u = 2.0**-24
    bound = bound_of(Gemm(4, 4, 100), u, "rne")
    assert bound.product == pytest.approx(100 * u / (1 - 100 * u), rel=1e-6)
    assert bound.output_spacings == 0
    assert bound_of(Gemm(4, 4, 100, "bfloat16"), u, "rne").output_spacings == 0.5
    assert bound_of(Gemm(4, 4, 100, "bfloat16"), u, "rz").output_spacings == 1
    scaled = bound_of(Gemm(4, 4, 100, alpha=0.1, beta=0.5), u, "rne")
    assert scaled.product == pytest.approx(103 * u, rel=1e-4)
    assert scaled.addend == pytest.approx(102 * u, rel=1e-4)


@pytest.mark.parametrize("name", names())
def test_the_last_rounding_is_within_its_part_of_the_bound(name):
    form = get(name)
    if not form.zero or form.bits == 1:
        return
    problem = Gemm(4, 4, 4, "float64", d_format=name)
    bound = bound_of(problem, 2.0**-53, "rz")
    random = np.random.RandomState(0)
    values = np.abs(random.standard_normal(300)) * np.exp2(random.randint(-12, 3, 300))
    for value in values[values < (form.max_magnitude if form.kind == "int" else round_to(np.inf, name, "rz", True))]:
        error = abs(round_to(float(value), name, "rz") - value)
        assert error <= bound.with_output(np.zeros(1), np.array([value]))[0]


@pytest.mark.parametrize("wide", ["float64", "float32", "bfloat16", "float16", "float8_e5m2", "int32", "int8"])
@pytest.mark.parametrize("narrow", ["float32", "bfloat16", "float16", "float8_e4m3fn", "float4_e2m1fn", "int8"])
def test_a_format_holds_another_where_every_code_survives(wide, narrow):
    form = get(narrow)
    if form.bits > 16:
        codes = [1, form.max_magnitude, 1 << form.mantissa_bits, (1 << form.mantissa_bits) + 1]
    else:
        codes = range(form.max_magnitude + 1)
    from gemmlab.formats import decode

    kept = all(round_to(decode(code, narrow), wide) == decode(code, narrow) for code in codes)
    if get(wide).kind == form.kind:
        assert holds(get(wide), form) == kept


def test_integer_operands_know_no_rounding():
    given = operands(Gemm(5, 6, 7, "int8"), 0)
    d = given.a.array.astype(int) @ given.b.array.astype(int)
    assert check_bounds(Gemm(5, 6, 7, "int8"), given.a.array, given.b.array, d, unit_roundoff=0.0).ok
    d[4, 5] += 1
    found = check_bounds(Gemm(5, 6, 7, "int8"), given.a.array, given.b.array, d, unit_roundoff=0.0)
    assert (found.wrong_elements, found.worst.index) == (1, (4, 5))
    assert unit(Gemm(5, 6, 7, "int8")) == 0
