"""Arrays of any kind as codes: what is taken, and what is refused."""

import ml_dtypes
import numpy as np
import pytest

from gemmlab.numerics import dots, mma, operand
from gemmlab.record import GemmlabError


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_either_order_of_bytes_is_the_same_array(kind):
    values = np.array([1.0, -2.5, 65504.0, np.inf])
    one, other = (operand(values.astype(f"{order}{kind}")) for order in "<>")
    assert one.format == other.format
    assert np.array_equal(one.codes, other.codes)
    raw = np.array([0x3C00, 0xFBFF], ">u2")
    assert operand(raw, "float16").codes.tolist() == [0x3C00, 0xFBFF]


@pytest.mark.parametrize("name", ["int4", "uint4", "int2"])
def test_bits_above_a_short_integer_mean_nothing(name):
    stored = np.arange(256, dtype=np.uint8).view(np.dtype(getattr(ml_dtypes, name)))
    assert np.array_equal(operand(stored).values, stored.astype(np.float64))


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e3m2fn"])
def test_bits_above_a_short_float_are_refused(name):
    stored = np.array([3, 0xC3], dtype=np.uint8).view(np.dtype(getattr(ml_dtypes, name)))
    assert operand(stored[:1]).codes.tolist() == [3]
    with pytest.raises(GemmlabError, match=r"A\[1\] = .* is no value"):
        operand(stored)


def test_any_layout_of_memory_is_the_same_matrix():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((5, 40), (40, 7)))
    wide = np.zeros((10, 80), np.float16)
    wide[::2, ::2] = a
    still = a.copy()
    still.flags.writeable = False
    for same in (np.asfortranarray(a), wide[::2, ::2], a[::-1].copy()[::-1], still):
        assert np.array_equal(mma("hopper.mma.float16", same, b), mma("hopper.mma.float16", a, b))
    row = np.broadcast_to(a[:1], a.shape)
    assert np.array_equal(mma("hopper.mma.float16", row, b)[3], mma("hopper.mma.float16", a[:1], b)[0])
    assert np.array_equal(dots("hopper.mma.float16", row, a)[0], dots("hopper.mma.float16", a[:1], a[:1])[0])


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (np.array([1 + 0j]), "float16"),
        (np.array([None]), "float16"),
        (np.array(["1"]), "float16"),
        (np.array([1.5]), "int8"),
        (np.array([np.nan]), "int8"),
        (np.array([np.inf]), "float8_e4m3fn"),
        (np.array([-1.0]), "float8_e8m0fnu"),
        (np.array([2**53 + 1]), "float64"),
        (np.array([1.0]), "float17"),
    ],
)
def test_what_no_format_holds_is_refused(array, name):
    with pytest.raises(GemmlabError):
        operand(array, name)
