"""All roundings against an oracle of fractions, on random input and on input made to be hard."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.codecs import FLOATS, INTEGERS, assert_same_values
from gemmlab.formats import ROUNDINGS, decode, encode, get, round_to


def to_whole(value, rounding):
    """A nonnegative fraction as a whole number."""
    if rounding == "rz":
        return math.floor(value)
    return round(value) if rounding == "rne" else math.floor(value + Fraction(1, 2))


def oracle(value, name, rounding):
    """What a finite float becomes in a signed format with a zero, past its range an infinity: fractions only."""
    form = get(name)
    if value == 0:
        return value
    exponent = max(math.frexp(value)[1] - 1, form.min_exponent)
    spacing = Fraction(2) ** (exponent - form.mantissa_bits)
    rounded = spacing * to_whole(abs(Fraction(value)) / spacing, rounding)
    limit = Fraction(decode(form.max_magnitude << form.pad_bits, name))
    if rounded > limit:
        rounded = limit if rounding == "rz" else math.inf
    return math.copysign(float(rounded), value)


def trial_values(name, count=100):
    """float64 values over the format's range and past both ends: random, and at or an instant beside its middles."""
    form = get(name)
    random = np.random.default_rng(len(name) * 1000 + form.bits)
    top = math.frexp(decode(form.max_magnitude << form.pad_bits, name))[1]
    low = form.min_exponent - form.mantissa_bits - 3
    exponents = np.clip(random.integers(low, top + 3, count), -1073, 1023)
    plain = np.ldexp(random.uniform(1, 2, count), exponents)
    bits = random.integers(0, min(form.mantissa_bits + 2, 52), count)
    halves = np.ldexp(np.floor(np.ldexp(random.uniform(1, 2, count), bits)), exponents - bits)
    middles = np.ldexp(
        2 * random.integers(0, 2 ** min(form.mantissa_bits, 51), count) + 1.0, exponents - form.mantissa_bits - 1
    )
    with np.errstate(over="ignore", under="ignore"):
        hard = np.concatenate([plain, halves, middles])
        near = [hard, np.nextafter(hard, np.inf), np.nextafter(hard, 0), hard * (1 + 2.0**-30), hard * (1 - 2.0**-30)]
    values = np.concatenate(near)
    values = values[np.isfinite(values)]
    return np.concatenate([values, -values, [0.0, -0.0, 5e-324, -5e-324, 1.7e308]])


@cache
def oracle_of_trials(name, rounding):
    return np.array([oracle(value, name, rounding) for value in trial_values(name).tolist()])


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", [name for name in FLOATS if get(name).zero])
def test_equals_the_fractions(codec, name, rounding):
    form, values = get(name), trial_values(name)
    want = oracle_of_trials(name, rounding).copy()
    if form.overflow == "nan":
        want[np.isinf(want)] = np.nan
    if form.overflow == "saturate":
        limit = decode(form.max_magnitude, name)
        want = np.clip(want, -limit, limit)
    if not form.signed_zero:
        want[want == 0] = 0.0
    if not form.signed:
        want[values < 0] = np.nan
    assert_same_values(codec.round(values, name, rounding), want)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_powers_of_two_without_zero_equal_the_fractions(codec, rounding):
    values = np.abs(trial_values("float8_e8m0fnu"))
    values = values[values > 0]
    want = np.array([oracle(value, "float8_e8m0fnu", "rz") for value in values.tolist()])
    want = np.maximum(want, 2.0**-127)
    if rounding != "rz":  # a tie lies at 1.5 times a power, whose next power is even
        carry = values / want >= 1.5
        want = np.where(carry, want * 2, want)
        want[want > 2.0**127] = np.nan
    assert_same_values(codec.round(values, "float8_e8m0fnu", rounding), want)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_equal_the_fractions(codec, name, rounding, saturate):
    form = get(name)
    low, high = (-(2 ** (form.bits - 1)), 2 ** (form.bits - 1) - 1) if form.signed else (0, 2**form.bits - 1)
    random = np.random.default_rng(form.bits)
    halves = np.arange(-9.5, 9.5)
    ends = [low - 0.5, low + 0.5, high + 0.5, high - 0.5, 1e30, -1e30, 2.0**52 + 1, -0.0]
    near = [np.nextafter(halves, 100), np.nextafter(halves, -100), np.arange(-40, 41) / 4, ends]
    values = np.concatenate([random.uniform(2 * low - 3, 2 * high + 3, 300), *near])
    want = []
    for value in values.tolist():
        whole = to_whole(abs(Fraction(value)), rounding) * (-1 if value < 0 else 1)
        want.append(min(max(whole, low), high) if saturate else (whole - low) % 2**form.bits + low)
    np.testing.assert_array_equal(codec.round(values, name, rounding, saturate), np.array(want, dtype=np.float64))


@settings(max_examples=300, deadline=None)
@given(st.fractions(), st.integers(-160, 130), st.sampled_from([name for name in FLOATS if get(name).signed]))
def test_any_fraction_lies_between_its_two_neighbours(fraction, exponent, name):
    """No float64 on the way: toward zero and away from it enclose the exact value, the nearest is nearest."""
    value, form = fraction * Fraction(2) ** exponent, get(name)
    code = encode(value, name, "rz") & ((1 << (form.bits + form.pad_bits - 1)) - 1)
    if code >> form.pad_bits == form.max_magnitude:
        return
    below, above = Fraction(decode(code, name)), Fraction(decode(code + (1 << form.pad_bits), name))
    size = abs(value)
    assert below <= size < above
    nearest = abs(Fraction(round_to(value, name)))
    assert nearest in (below, above)
    assert abs(nearest - size) == min(size - below, above - size)
    away = abs(Fraction(round_to(value, name, "rna")))
    assert away == (above if above - size <= size - below else below)


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(FLOATS), st.sampled_from(ROUNDINGS))
def test_rounding_twice_changes_nothing_and_never_reorders(value, name, rounding):
    once = round_to(value, name, rounding, saturate=True)
    if math.isnan(once):
        assert not get(name).signed
        assert value < 0 or (value == 0 and not get(name).zero)
        return
    assert round_to(once, name, rounding, saturate=True) == once
    larger = round_to(math.nextafter(value, math.inf), name, rounding, saturate=True)
    assert math.isnan(larger) or larger >= once
