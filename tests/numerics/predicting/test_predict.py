"""Predictions beside the emulation that they are about."""

import ml_dtypes
import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.numerics import Schedule
from gemmlab.record import GemmlabError

FLOAT8 = ml_dtypes.float8_e4m3fn
HOPPER = "hopper.wgmma.float8_e4m3fn"
SHAPE = (24, 24)


def drawn(kind, k):
    """A and B of that many k."""
    rng = np.random.default_rng(5)
    draw = {"normal": rng.standard_normal, "uniform": rng.random}[kind]
    return draw((SHAPE[0], k)).astype(FLOAT8), draw((k, SHAPE[1])).astype(FLOAT8)


def emulated(a, b, unit, schedule):
    """(relative error, relative bias) of the emulation."""
    exact = a.astype(np.float64) @ b.astype(np.float64)
    off = numerics.gemm(a, b, unit=unit, schedule=schedule, d_format="float32") - exact
    return np.linalg.norm(off) / np.linalg.norm(exact), (off * np.sign(exact)).sum() / np.abs(exact).sum()


@pytest.mark.parametrize("promote", [0, 32, 128, 512])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_the_expected_error_is_what_emulation_gives(kind, promote):
    a, b = drawn(kind, 2048)
    schedule = Schedule(promote=promote)
    told = numerics.predict(a, b, unit=HOPPER, schedule=schedule)
    error, bias = emulated(a, b, HOPPER, schedule)
    assert error / 1.3 <= told.relative_error <= error * 1.3
    assert error <= told.relative_bound
    if kind == "uniform":
        assert bias / 1.2 >= told.relative_bias >= bias * 1.2


@pytest.mark.parametrize(
    ("unit", "dtype"),
    [
        ("ampere.mma.float16", np.float16),
        ("hopper.mma.float16", np.float16),
        ("hopper.mma.bfloat16", ml_dtypes.bfloat16),
        ("ampere.mma.float16.float16", np.float16),
        ("volta.mma.float16", np.float16),
        ("cdna3.mfma.float16", np.float16),
        ("cpu.fma.float32", np.float32),
    ],
)
def test_other_units_within_a_factor_of_two(unit, dtype):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((16, 512)).astype(dtype), rng.standard_normal((512, 16)).astype(dtype)
    told = numerics.predict(a, b, unit=unit)
    error, _ = emulated(a, b, unit, Schedule())
    assert error / 2 <= told.relative_error <= error * 2


def test_all_ones_stick_at_16384():
    k = 16384 + 64
    a, b = np.ones((1, k), FLOAT8), np.ones((k, 1), FLOAT8)
    told = numerics.predict(a, b, unit=HOPPER)
    assert (told.stuck_value, told.stuck_from_k) == (16384, 16384)
    assert numerics.gemm(a, b, unit=HOPPER)[0, 0] == 16384
    # One product fewer, and it has not come to that.
    assert numerics.predict(a[:, :16384], b[:16384], unit=HOPPER).stuck_from_k is None
    assert numerics.predict(a, b, unit=HOPPER, schedule=Schedule(promote=128)).stuck_from_k is None


@pytest.mark.parametrize("cut", ["rz", "rne", "rna", "floor"])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_product_changes_a_sum_that_is_stuck(cut, sign):
    unit = numerics.Unit(
        name="x", a_formats=("float16",), b_formats=("float16",), terms=4, align_bits=13, width=13, cut=cut,
        nan_code=0x7FFFFFFF,
    )  # fmt: skip
    a = sign * np.array([[0.3, 0.9, 1.0, 1e-3]], np.float16)
    b = np.array([[0.7, 0.6, 1.0, 1e-3]], np.float16).T
    stuck = numerics.predict(a, b, unit=unit).stuck_value
    assert (stuck is None) == (cut == "floor" and sign < 0)
    for running in () if stuck is None else (stuck, -stuck, 1.5 * stuck):
        assert numerics.mma(unit, a, b, np.array([[running]], np.float32))[0, 0] == running


def test_growth_of_the_bias_with_k_as_published_for_uniform_operands():
    told = []
    for k in (1024, 4096, 16384):
        rng = np.random.default_rng(0)
        a, b = rng.random((16, k)).astype(FLOAT8), np.ones((k, 16), FLOAT8)
        told.append(numerics.predict(a, b, unit=HOPPER).relative_bias)
    assert told == pytest.approx([-0.0029, -0.047, -0.27], rel=0.1)


def test_a_float16_accumulator_that_overflows_says_where():
    a = np.full((1, 512), 16, np.float16)
    told = numerics.predict(a, a.T, unit="ampere.mma.float16.float16")
    assert told.overflow_from_k == 255  # 256 * 256 = 65536 is past 65504
    assert told.max_bound == np.inf
    assert np.isinf(numerics.gemm(a, a.T, unit="ampere.mma.float16.float16"))[0, 0]
    assert numerics.predict(a, a.T, unit="ampere.mma.float16").overflow_from_k is None


def test_integers_are_exact_until_they_leave_int32():
    k = (1 << 31) // (128 * 128)
    a = np.full((1, k), -128, np.int8)
    told = numerics.predict(a, a.T, unit="ampere.mma.int8")
    assert told.overflow_from_k == k - 1
    told = numerics.predict(a[:, :-1], a.T[:-1], unit="ampere.mma.int8")
    assert (told.overflow_from_k, told.max_bound, told.relative_error) == (None, 0, 0)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 2e-4])
def test_the_promotion_interval_meets_its_tolerance(tolerance):
    a, b = drawn("uniform", 2048)
    interval = numerics.pick_promotion(a, b, tolerance, unit=HOPPER)
    assert emulated(a, b, HOPPER, Schedule(promote=interval))[0] <= tolerance * 1.1
    longer = Schedule(promote=interval + 32) if interval else None
    # The next longer one would have missed it.
    assert longer is None or emulated(a, b, HOPPER, longer)[0] > tolerance / 1.15


def test_no_promotion_is_needed_where_the_chain_itself_is_good_enough():
    a, b = drawn("normal", 512)
    assert numerics.pick_promotion(a, b, 0.5, unit=HOPPER) == 0


def test_a_tolerance_out_of_reach_says_what_is_in_reach():
    a, b = drawn("uniform", 512)
    with pytest.raises(GemmlabError, match=r"expected to be .* off even with a promotion every 32 of k"):
        numerics.pick_promotion(a, b, 1e-9, unit=HOPPER)
    with pytest.raises(GemmlabError, match="a tolerance of"):
        numerics.pick_promotion(a, b, -1.0, unit=HOPPER)


def test_nothing_to_multiply():
    told = numerics.predict(np.ones((2, 0), np.float16), np.ones((0, 3), np.float16), unit="ampere.mma.float16")
    assert (told.max_bound, told.relative_error, told.stuck_value) == (0, 0, None)
