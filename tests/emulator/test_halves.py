import numpy as np
import pytest
from numba import njit

from gemmlab.emulator import halves


@njit
def singles(bits):
    out = np.empty(bits.size, np.float32)
    for i in range(bits.size):
        out[i] = halves.half_to_single(bits[i])
    return out


@njit
def from_doubles(values):
    out = np.empty(values.size, np.uint16)
    for i in range(values.size):
        out[i] = halves.double_to_half(values[i])
    return out


@njit
def from_singles(values):
    out = np.empty(values.size, np.uint16)
    for i in range(values.size):
        out[i] = halves.single_to_half(values[i])
    return out


@njit
def rounded(values):
    out = np.empty(values.size, np.float32)
    for i in range(values.size):
        out[i] = halves.round_half(values[i])
    return out


ALL = np.arange(65536, dtype=np.uint16)


def same(bits, wanted):
    """Equal bits, any NaN like any other."""
    nan = np.isnan(wanted)
    assert np.isnan(bits.view(np.float16))[nan].all()
    np.testing.assert_array_equal(bits[~nan], wanted.view(np.uint16)[~nan])


def test_every_half_widens_exactly():
    np.testing.assert_array_equal(singles(ALL).view(np.uint32) & 0x80000000, (ALL.astype(np.uint32) & 0x8000) << 16)
    np.testing.assert_array_equal(singles(ALL), ALL.view(np.float16).astype(np.float32))


def test_every_half_survives_the_way_there_and_back():
    same(from_singles(singles(ALL)), ALL.view(np.float16))


@pytest.mark.parametrize("nudge", [-1, 0, 1])
def test_rounding_at_and_beside_every_tie(nudge):
    steps = np.arange(0x7C00, dtype=np.uint16)
    low, high = steps.view(np.float16).astype(np.float64), (steps + np.uint16(1)).view(np.float16).astype(np.float64)
    high[-1] = 65536.0
    middle = (low + high) / 2
    values = np.nextafter(middle, np.inf * nudge) if nudge else middle
    values = np.concatenate([values, -values])
    with np.errstate(over="ignore"):
        same(from_doubles(values), values.astype(np.float16))


def test_a_double_just_past_a_tie_is_rounded_once():
    value = 1 + 2.0**-11 + 2.0**-40
    assert np.float16(np.float32(value)) == 1
    assert from_doubles(np.array([value]))[0] == np.float16(1 + 2.0**-10).view(np.uint16)


def test_random_floats_round_as_numpy_rounds():
    bits = np.random.default_rng(3).integers(0, 2**32, 200_000, dtype=np.uint64).astype(np.uint32)
    values = bits.view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = values.astype(np.float16)
    same(from_singles(values), wanted)
    np.testing.assert_array_equal(rounded(values), wanted.astype(np.float32))


def test_extremes():
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65519.99, 65520.0, 1e300, 5e-324, 2.0**-25, 2.0**-24])
    with np.errstate(over="ignore"):
        same(from_doubles(values), values.astype(np.float16))
