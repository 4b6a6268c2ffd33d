"""Every path gives the reference's bits: registered units, drawn ones, ragged and adversarial input."""

import msgspec
import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.numerics import fast
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.fast import lanes, plan, portable, running
from gemmlab.record import GemmlabError
from numerics.fast.inputs import KINDS, drawn_unit, operand, problem

UNITS = [numerics.unit(name) for name in numerics.unit_names()]


def ways(unit, a, b, scales):
    """All paths but the reference; of the vector kernel both widths, which LLVM splits where the machine has less."""
    names = a.format, b.format, scales[0].format if scales else ""
    found = [path for path in fast.paths(unit, *names) if path != "plain" and not path.startswith("vectors")]
    chosen = plan.aligned_plan(unit, *names)
    if chosen is not None and lanes.takes(unit, chosen):
        found += ["vectors8", "vectors16"]
    return found


def compare(unit, a, b, c, scales, needed=()):
    """Assert that all paths give the plain reference's codes; returns the paths."""
    want = running.chain(unit, a, b, c, scales, 1, "plain")
    found = ways(unit, a, b, scales)
    assert set(needed) <= set(found)
    for path in found:
        got = running.chain(unit, a, b, c, scales, 1, path)
        wrong = np.argwhere(got != want)
        assert not len(wrong), f"{unit} {path} at {wrong[0]}: {got[tuple(wrong[0])]:#x} for {want[tuple(wrong[0])]:#x}"
    return found


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_registered_unit_by_every_path(unit):
    rng = np.random.default_rng(len(unit.name) + unit.terms)
    seen = set()
    for kind in KINDS:
        shape = 3, 5, unit.k + int(rng.integers(1, unit.k + 1))
        addend = str(rng.choice(["values", "codes", "extremes"]))
        seen |= set(compare(unit, *problem(rng, unit, shape, kind, addend)))
    assert seen, f"{unit.name} is computed by the reference alone"


@pytest.mark.parametrize("seed", range(40))
def test_units_that_nobody_has_built(seed):
    rng = np.random.default_rng(seed)
    unit = drawn_unit(rng)
    shape = 2, 3, int(rng.integers(1, unit.k + 9))
    for kind in ("codes", "sprinkled", "cancelling"):
        compare(unit, *problem(rng, unit, shape, kind, "codes" if seed % 3 == 0 else "values"), needed=("stepwise",))


@pytest.mark.parametrize("name", ["hopper.wgmma.float8_e4m3fn", "ampere.mma.bfloat16", "hopper.mma.float16.float16"])
def test_ragged_shapes(name):
    rng = np.random.default_rng(7)
    unit = numerics.unit(name)
    for shape in ((1, 1, 1), (1, 33, 5), (9, 2, 37), (4, 8, unit.k)):
        compare(unit, *problem(rng, unit, shape, "sprinkled"), needed=("portable", "vectors8", "vectors16"))


def test_sums_that_float32_does_not_scale_are_left_to_others():
    """bfloat16 of all exponents: products past float32's range, and sums below what the vector kernel answers for."""
    rng = np.random.default_rng(3)
    unit = numerics.unit("hopper.mma.bfloat16")
    a, b, c, _ = problem(rng, unit, (6, 16, 40), "values")
    a.codes[2] = (a.codes[2] & 0x807F) | 40 << 7
    b.codes[:, 3] = (b.codes[:, 3] & 0x807F) | 50 << 7
    a.codes[4, ::2] = (a.codes[4, ::2] & 0x807F) | 200 << 7
    b.codes[::2, 5] = (b.codes[::2, 5] & 0x807F) | 200 << 7
    c[:, 3] = 0
    chosen = plan.aligned_plan(unit, a.format, b.format, "")
    left, right = portable.sides(unit, a, b, None)
    found = lanes.multiplied(unit, chosen, left, right, c, 1, 8, False)
    assert found.bad[2, 3]
    assert found.bad[4, 5]
    assert found.bad.sum() < found.bad.size // 2
    compare(unit, a, b, c, None, needed=("vectors8",))


def test_an_infinity_that_the_running_sum_reached_meets_one_of_the_products():
    """The first group overflows to +Inf, the second brings -Inf: NaN; the other way round the chain stays -Inf."""
    unit = numerics.unit("hopper.mma.bfloat16")
    rng = np.random.default_rng(0)
    a, b, c, _ = problem(rng, unit, (2, 1, 32), "values")
    a.codes[:], b.codes[:], c[:] = 0, 0x3F80, 0x7F7FFFFF
    a.codes[0, :4], a.codes[0, 20] = 0x7F7F, 0xFF80
    a.codes[1, 20:24], a.codes[1, 3] = 0x7F7F, 0xFF80
    for path in ways(unit, a, b, None):
        assert running.chain(unit, a, b, c, None, 1, path)[:, 0].tolist() == [0x7FFFFFFF, 0xFF800000]
    compare(unit, a, b, c, None)


@pytest.mark.parametrize("name", ["hopper.wgmma.float8_e4m3fn", "cdna2.mfma.float16", "ampere.mma.int8"])
def test_threads_change_nothing(name):
    rng = np.random.default_rng(2)
    unit = numerics.unit(name)
    a, b, c, _ = problem(rng, unit, (37, 70, 64), "sprinkled")
    for path in fast.paths(unit, a.format, b.format)[:-1]:
        one = running.chain(unit, a, b, c, None, 1, path)
        assert np.array_equal(one, running.chain(unit, a, b, c, None, 3, path))
        assert np.array_equal(one, running.chain(unit, a, b, c, None, None, path))


@pytest.mark.parametrize(
    "name", ["hopper.wgmma.float8_e5m2", "ampere.mma.float16.float16", "cdna3.mfma.bfloat16", "hopper.mma.int8"]
)
def test_pairs_of_rows(name):
    rng = np.random.default_rng(5)
    unit = numerics.unit(name)
    a = operand(rng, unit.a_formats[0], (21, unit.k + 3), "sprinkled")
    b = operand(rng, unit.b_formats[0], (21, unit.k + 3), "sprinkled")
    c = operand(rng, unit.accumulate, (21,), "codes").codes
    want = running.pairs(unit, a, b, c, None, "plain")
    for path in (each for each in ways(unit, a, b, None) if each != "native"):
        assert np.array_equal(running.pairs(unit, a, b, c, None, path), want), path


def test_pairs_of_scaled_rows():
    rng = np.random.default_rng(6)
    unit = numerics.unit("blackwell.tcgen05.mxfp8_e4m3fn")
    a, b = (operand(rng, "float8_e4m3fn", (11, 64), "sprinkled") for _ in range(2))
    scales = operand(rng, "float8_e8m0fnu", (11, 2), "values"), operand(rng, "float8_e8m0fnu", (2, 11), "values")
    c = operand(rng, "float32", (11,), "values").codes
    want = running.pairs(unit, a, b, c, scales, "plain")
    for path in ways(unit, a, b, scales):
        assert np.array_equal(running.pairs(unit, a, b, c, scales, path), want), path


def test_no_k_leaves_c_as_it_is():
    unit = numerics.unit("hopper.mma.float16")
    a, b, c, _ = problem(np.random.default_rng(0), unit, (2, 3, 0), "values", "codes")
    assert np.array_equal(running.chain(unit, a, b, c, None, 1), c)


def test_saturating_sums_of_wide_integers():
    unit = Unit(
        name="x", a_formats=("uint32",), b_formats=("int8",), accumulate="int32", sum="integer", terms=4, saturate=True
    )
    a, b, c, _ = problem(np.random.default_rng(0), unit, (3, 3, 9), "codes", "codes")
    assert compare(unit, a, b, c, None) == []
    wrapping = msgspec.structs.replace(unit, saturate=False)
    compare(wrapping, a, b, c, None, needed=("integer",))


def test_exact_sums_of_wide_products_under_one_scale():
    unit = Unit(
        name="x", a_formats=("float64",), b_formats=("float32",), sum="exact", terms=4, scale_block=4, exact_terms=4,
        scale_formats=("float8_e5m2",), nan_code=0x7FFFFFFF,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for kind in ("codes", "extremes", "cancelling"):
        compare(unit, *problem(rng, unit, (3, 4, 11), kind))


def test_a_path_that_cannot_compute_the_unit_is_refused():
    unit = numerics.unit("cdna1.mfma.float16")
    a, b, c, _ = problem(np.random.default_rng(0), unit, (1, 1, 4), "values")
    with pytest.raises(GemmlabError, match="vectors8"):
        running.chain(unit, a, b, c, None, 1, "vectors8")
