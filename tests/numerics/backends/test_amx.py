"""The emulated tile unit against this CPU's own, where it has one."""

import ml_dtypes
import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.numerics.backends import amx
from gemmlab.record import GemmlabError

needs_amx = pytest.mark.skipif(not amx.available(), reason=f"no AMX: {amx.missing()}")
SIDE = 64


def scaled(rng, shape, low, high):
    """Random signs and significands, exponents from `low` up to `high`."""
    return np.ldexp(rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape), rng.integers(low, high, shape))


def drawn(kind, rng, m, n, k):
    """A, B and C as float64, or as random bits."""
    if kind == "normal":
        return rng.standard_normal((m, k)), rng.standard_normal((k, n)), rng.standard_normal((m, n))
    if kind == "wide":
        return scaled(rng, (m, k), -60, 60), scaled(rng, (k, n), -60, 60), scaled(rng, (m, n), -120, 120)
    if kind == "subnormal products":
        return scaled(rng, (m, k), -72, -58), scaled(rng, (k, n), -72, -58), scaled(rng, (m, n), -140, -120)
    if kind == "zeros":
        a = rng.choice([0.0, -0.0, 1e-40, -1e-40, 1.0], (m, k), p=[0.4, 0.4, 0.09, 0.09, 0.02])
        b = rng.choice([0.0, -0.0, 1e-40, 1.0], (k, n), p=[0.4, 0.3, 0.1, 0.2])
        return a, b, rng.choice([0.0, -0.0, 1e-40, -1e-40], (m, n))
    if kind == "cancelling":
        a = np.ldexp(rng.choice([-1, 1, 1.5, -1.5], (m, k)), rng.integers(-13, 13, (m, k)))
        b = np.ldexp(rng.choice([-1, 1, 1.25], (k, n)), rng.integers(-13, 13, (k, n)))
        return a, b, np.ldexp(rng.choice([-1.0, 1.0], (m, n)), rng.integers(-24, 24, (m, n)))
    if kind == "overflowing":
        return scaled(rng, (m, k), 63, 64), scaled(rng, (k, n), 60, 64), rng.standard_normal((m, n))
    a, b, c = rng.standard_normal((m, k)), rng.standard_normal((k, n)), rng.standard_normal((m, n))
    a[rng.random(a.shape) < 0.01], b[rng.random(b.shape) < 0.01] = np.inf, 0
    a[rng.random(a.shape) < 0.003], c[rng.random(c.shape) < 0.01] = -np.inf, np.nan
    return a, b, c


KINDS = ("normal", "wide", "subnormal products", "zeros", "cancelling", "overflowing", "special")


@needs_amx
@pytest.mark.parametrize("k", [32, 64, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_emulated_unit(kind, k):
    rng = np.random.default_rng(k)
    with np.errstate(all="ignore"):
        a, b, c = drawn(kind, rng, SIDE, SIDE + 5, k)
        a, b, c = a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16), c.astype(np.float32)
    equal_bits(amx.mma(a, b, c), numerics.mma("amx.tdp.bfloat16", a, b, c))


@needs_amx
def test_equals_the_emulated_unit_on_random_bits():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 1 << 16, (SIDE, 32)).astype(np.uint16).view(ml_dtypes.bfloat16)
    b = rng.integers(0, 1 << 16, (32, SIDE)).astype(np.uint16).view(ml_dtypes.bfloat16)
    c = rng.integers(0, 1 << 32, (SIDE, SIDE)).astype(np.uint32).view(np.float32)
    equal_bits(amx.mma(a, b, c), numerics.mma("amx.tdp.bfloat16", a, b, c))


def equal_bits(found, expected):
    """The same bits, NaN beside NaN: their payloads are not promised."""
    both_nan = np.isnan(found) & np.isnan(expected)
    assert np.array_equal(found.view(np.uint32)[~both_nan], expected.view(np.uint32)[~both_nan])


@needs_amx
@pytest.mark.parametrize("left", [np.int8, np.uint8])
@pytest.mark.parametrize("right", [np.int8, np.uint8])
def test_integers_wrap_as_emulated(left, right):
    rng = np.random.default_rng(0)
    a = rng.integers(np.iinfo(left).min, np.iinfo(left).max + 1, (20, 150)).astype(left)
    b = rng.integers(np.iinfo(right).min, np.iinfo(right).max + 1, (150, 18)).astype(right)
    c = rng.integers(-(2**31), 2**31, (20, 18)).astype(np.int32)
    assert np.array_equal(amx.mma(a, b, c), numerics.mma("amx.tdp.int8", a, b, c))


@needs_amx
def test_other_formats_are_refused():
    with pytest.raises(GemmlabError, match="pair of formats on AMX"):
        amx.mma(np.ones((2, 2), np.float16), np.ones((2, 2), np.float16))


@pytest.mark.skipif(amx.available(), reason="this CPU has AMX")
def test_without_the_unit_the_error_names_what_emulates_it():
    with pytest.raises(GemmlabError) as caught:
        amx.mma(np.ones((2, 2), ml_dtypes.bfloat16), np.ones((2, 2), ml_dtypes.bfloat16))
    assert "amx.tdp.bfloat16" in caught.value.hint


def test_packing_keeps_every_element_once():
    a = np.arange(1, 20 * 40 + 1, dtype=np.uint16).reshape(20, 40)
    tiles = amx.packed_rows(a).view(np.uint16)
    assert tiles.shape == (2, 2, 16, 32)
    assert tiles[1, 1, 3, 7] == a[19, 39]
    columns = amx.packed_columns(np.ascontiguousarray(a.T)).view(np.uint16)
    # Two consecutive k of one column lie side by side.
    assert columns[1, 1, 3, 7] == a[16 + 3, 32 + 2 * 3 + 1]
    assert np.array_equal(np.unique(columns), np.unique(np.append(a, 0)))
