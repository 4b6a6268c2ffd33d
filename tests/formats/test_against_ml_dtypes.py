"""Codes and casts equal those of ml_dtypes (numpy's for float16), exhaustively, for scalar and array version alike."""

import ml_dtypes
import numpy as np
import pytest

from formats.codecs import (
    INTEGERS,
    NARROW_FLOATS,
    PEERS,
    all_codes,
    assert_same_values,
    hard_values,
    peer_decode,
    peer_encode,
    word,
)
from gemmlab.formats import get, round_to

CUSTOM_FLOATS = [name for name in NARROW_FLOATS if name in PEERS]


def misrounded(values, name):
    """Where ml_dtypes does not round to nearest: it lifts float32 subnormals just above 2^-127 to 2^-126."""
    return (values > 2.0**-127) & (values < 1.5 * 2.0**-127) & (name == "float8_e8m0fnu")


def test_subnormals_become_the_nearest_power_of_two(codec):
    start, middle = np.float32(2.0**-127), np.float32(1.5 * 2.0**-127)
    values = np.array(
        [np.nextafter(start, np.float32(1)), 1.25 * 2.0**-127, np.nextafter(middle, np.float32(0)), middle]
    )
    assert codec.encode(values, "float8_e8m0fnu").tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("name", [name for name in PEERS if get(name).storage_bits <= 16])
def test_decode_every_code(codec, name):
    codes = all_codes(name)
    assert_same_values(codec.decode(codes, name), peer_decode(codes, name))


@pytest.mark.parametrize("name", CUSTOM_FLOATS)
def test_nan_keeps_its_sign_through_both_directions(codec, name):
    codes = all_codes(name)
    values = peer_decode(codes, name)
    if get(name).nan not in ("ieee", "ones") or not get(name).signed:
        pytest.skip("one NaN or none: no sign to keep")
    nans = codes[np.isnan(values)]
    signs = np.signbit(codec.decode(nans, name))
    np.testing.assert_array_equal(signs, nans >> np.uint64(get(name).bits - 1) == 1)
    again = codec.encode(codec.decode(nans, name), name)
    np.testing.assert_array_equal(again, peer_encode(np.where(signs, -np.nan, np.nan).astype(np.float32), name))


@pytest.mark.parametrize("name", CUSTOM_FLOATS)
def test_encode_every_value_every_middle_and_their_neighbours(codec, name):
    values = hard_values(name, np.float32)
    assert len(values) > 3 * (1 << get(name).storage_bits) - 1024
    values = values[~misrounded(values, name)]
    np.testing.assert_array_equal(codec.encode(values, name), peer_encode(values, name))


@pytest.mark.parametrize("name", [name for name in CUSTOM_FLOATS if get(name).storage_bits <= 8])
@pytest.mark.parametrize("source", ["bfloat16", "float16"])
def test_encode_every_16_bit_value(codec, name, source):
    values = all_codes(source).astype(np.uint16).view(PEERS[source]).astype(np.float32)
    values = values[~misrounded(values, name)][:: codec.stride]
    np.testing.assert_array_equal(codec.encode(values, name), peer_encode(values, name))


@pytest.mark.parametrize("name", CUSTOM_FLOATS)
def test_what_was_decoded_encodes_to_itself(codec, name):
    codes = all_codes(name)
    values = codec.decode(codes, name)
    numbers = ~np.isnan(values)
    for rounding in ("rne", "rz", "rna"):
        np.testing.assert_array_equal(codec.encode(values[numbers], name, rounding), codes[numbers])


def test_float16_and_float32_from_float64_round_once_as_numpy_does(codec):
    values = hard_values("float16", np.float64)[:: codec.stride]
    np.testing.assert_array_equal(codec.encode(values, "float16"), peer_encode(values, "float16"))
    random = np.random.default_rng(3).integers(0, 1 << 64, 40_000 // codec.stride, dtype=np.uint64).view(np.float64)
    near = np.random.default_rng(4).integers(0, 1 << 32, 40_000 // codec.stride, dtype=np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):
        near = near.astype(np.float64)
    for values in (random, near, near * (1 + 2.0**-24), near * (1 + 2.0**-24 - 2.0**-52), near * (1 + 2.0**-50)):
        numbers = values[~np.isnan(values)]
        np.testing.assert_array_equal(codec.encode(numbers, "float32"), peer_encode(numbers, "float32"))
        np.testing.assert_array_equal(codec.encode(numbers, "float64"), numbers.view(np.uint64))


@pytest.mark.parametrize("name", CUSTOM_FLOATS)
def test_float64_is_rounded_once_where_a_cast_by_way_of_float32_rounds_twice(codec, name):
    form = get(name)
    middle = 1 + 2.0 ** -(form.mantissa_bits + 1)
    lower, upper = (1.0, 1 + 2.0**-form.mantissa_bits)
    if name == "float8_e8m0fnu":
        tiny = np.array([middle - 2.0**-40])
        assert codec.round(tiny, name).tolist() == [lower]
        assert float(tiny.astype(np.float32).astype(PEERS[name])[0]) == upper
    else:
        tiny = np.array([middle + 2.0**-40])
        assert codec.round(tiny, name).tolist() == [upper]
        assert float(tiny.astype(np.float32).astype(PEERS[name])[0]) == lower


def test_the_example_of_double_rounding_in_the_documentation():
    value = 1 + 2.0**-4 + 2.0**-40
    assert round_to(value, "float8_e4m3fn") == 1.125
    assert np.array([value]).astype(np.float32).astype(ml_dtypes.float8_e4m3fn)[0] == 1.0


@pytest.mark.parametrize("name", [name for name in INTEGERS if name in PEERS])
def test_integers_cut_and_wrap_as_ml_dtypes_does(codec, name):
    steps = np.arange(-1200, 1200, dtype=np.float32) / 4
    large = np.random.default_rng(5).uniform(-(2**31) + 256, 2**31 - 256, 2000).astype(np.float32)
    values = np.concatenate([steps, large])
    # by way of int64: what its casts from floats make of values past the range is not the same in all releases
    codes = values.astype(np.int64).astype(PEERS[name]).astype(np.int64) % (1 << get(name).bits)
    np.testing.assert_array_equal(codec.encode(values, name, "rz"), codes)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_integers_of_whole_bytes_wrap_as_twos_complement(codec, name):
    values = np.random.default_rng(6).uniform(-(2.0**50), 2.0**50, 2000)
    values = np.concatenate([values, np.arange(-600, 600) / 2])
    wrapped = np.trunc(values).astype(np.int64).astype(name)
    np.testing.assert_array_equal(codec.encode(values, name, "rz"), wrapped.view(word(get(name).bits)))
    np.testing.assert_array_equal(codec.round(values, name, "rz"), wrapped.astype(np.float64))
