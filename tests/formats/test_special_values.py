"""Overflow, saturation, NaN, infinities and zeros: said in a table, format by format."""

import math
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from formats.codecs import FLOATS, INTEGERS, assert_same_values
from gemmlab.formats import Format, decode, decode_array, encode, encode_array, get, round_array, round_to
from gemmlab.record import GemmlabError

INF, NAN = math.inf, math.nan
#: name: largest value, first value that RNE takes past it, what is there without saturation
RANGES = {
    "float64": (1.7976931348623157e308, INF, INF),
    "float32": (3.4028234663852886e38, 2.0**128 - 2.0**103, INF),
    "tfloat32": (2.0**128 - 2.0**117, 2.0**128 - 2.0**116, INF),
    "bfloat16": (2.0**128 - 2.0**120, 2.0**128 - 2.0**119, INF),
    "float16": (65504.0, 65520.0, INF),
    "float8_e5m2": (57344.0, 61440.0, INF),
    "float8_e4m3": (240.0, 248.0, INF),
    "float8_e3m4": (15.5, 15.75, INF),
    "float8_e4m3fn": (448.0, math.nextafter(464.0, INF), NAN),
    "float8_e5m2fnuz": (57344.0, 61440.0, NAN),
    "float8_e4m3fnuz": (240.0, 248.0, NAN),
    "float8_e4m3b11fnuz": (30.0, 31.0, NAN),
    "float8_e5m3fnu": (114688.0, math.nextafter(118784.0, INF), NAN),
    "float8_e8m0fnu": (2.0**127, 1.5 * 2.0**127, NAN),
    "float6_e2m3fn": (7.5, 7.75, 7.5),
    "float6_e3m2fn": (28.0, 30.0, 28.0),
    "float4_e2m1fn": (6.0, 7.0, 6.0),
}


def test_every_float_format_is_in_the_table():
    assert set(RANGES) == set(FLOATS)


@pytest.mark.parametrize("name", FLOATS)
def test_overflow(codec, name):
    largest, past, beyond = RANGES[name]
    last = math.nextafter(past, 0)
    assert codec.round([largest, last], name).tolist() == [largest, largest]
    assert_same_values(codec.round([past, INF], name), np.array([beyond, beyond]))
    assert_same_values(codec.round([past, INF], name, "rz"), np.array([largest if past < INF else beyond, beyond]))
    assert codec.round([past, INF, largest], name, "rne", True).tolist() == [largest] * 3
    if get(name).signed:
        assert_same_values(codec.round([-past, -INF], name), -np.array([beyond, beyond]))
        assert codec.round([-past, -INF], name, "rna", True).tolist() == [-largest, -largest]


@pytest.mark.parametrize("name", FLOATS)
def test_nan_stays_nan_where_there_is_one(codec, name):
    rounded = codec.round([NAN, -NAN], name)
    if get(name).nan != "none":
        assert np.isnan(rounded).all()
        assert np.isnan(codec.round([NAN, -NAN], name, "rz", True)).all()
    else:
        assert np.signbit(rounded).tolist() == [True, False]
        assert rounded.tolist() == [0, 0]
        assert codec.round([NAN, -NAN], name, "rne", True).tolist() == [RANGES[name][0]] * 2


@pytest.mark.parametrize("name", FLOATS)
def test_zeros(codec, name):
    rounded = codec.round([0.0, -0.0, -1e-300 if name != "float64" else -0.0], name)
    if name == "float8_e5m3fnu":
        assert_same_values(rounded, np.array([0.0, 0.0, NAN]))
        assert_same_values(codec.round([1e-300, -1e-300, -1.0, -INF], name, "rz", True), np.array([0, NAN, NAN, NAN]))
    elif name == "float8_e8m0fnu":
        assert np.isnan(rounded).all()
        assert codec.round([1e-300, -1.0], name).tolist()[0] == 2.0**-127
        assert np.isnan(codec.round([-1.0, -INF, -INF], name, "rz", True)).all()
    else:
        signed = "fnuz" not in name
        assert rounded.tolist() == [0, 0, 0]
        assert np.signbit(rounded).tolist() == [False, signed, signed]


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_without_nan_and_infinity(codec, name):
    form = get(name)
    low, high = (-(1 << (form.bits - 1)), (1 << (form.bits - 1)) - 1) if form.signed else (0, (1 << form.bits) - 1)
    assert codec.round([NAN, INF, -INF, -0.0], name).tolist() == [0, 0, 0, 0]
    assert codec.round([NAN, INF, -INF, 1e300, -1e300], name, "rne", True).tolist() == [0, high, low, high, low]


def test_the_scalar_takes_any_real_number():
    for value in (1.0625, Fraction(17, 16), Decimal("1.0625"), np.float32(1.0625), ml_dtypes.bfloat16(1.0625)):
        assert round_to(value, "float8_e4m3fn", "rna") == 1.125
    for value in (3, np.int64(3), np.uint8(3), ml_dtypes.int4(3), True + 2):
        assert encode(value, "int4") == 3
    assert encode(10**400, "float16") == 0x7C00
    assert encode(Fraction(-1, 10**400), "float16") == 0x8000
    assert encode(2**60 + 1, "int8") == 1


def test_a_custom_format_needs_no_entry_in_the_table():
    """The accumulator of FP8 tensor cores on Hopper keeps 13 fraction bits of a float32."""
    form = Format(
        name="e8m13", kind="float", exponent_bits=8, mantissa_bits=13, bias=127, storage_bits=32, pad_bits=10,
        infinity=True, nan="ieee", signed_zero=True, subnormals=True, overflow="infinity",
    )  # fmt: skip
    assert round_to(16385.0, form, "rz") == 16384.0
    assert round_array([16385.0, 1 + 2.0**-13 + 2.0**-14, NAN], form, "rz")[:2].tolist() == [16384.0, 1 + 2.0**-13]
    assert encode(1.0, form) == int(np.float32(1.0).view(np.uint32))


def test_shapes_types_and_views():
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, ::2, ::-1]
    codes = encode_array(values, "bfloat16")
    assert codes.shape == values.shape
    assert codes.dtype == np.uint16
    np.testing.assert_array_equal(codes.view(ml_dtypes.bfloat16), values.astype(ml_dtypes.bfloat16))
    assert round_array(2.6, "int8").shape == ()
    assert round_array([], "float4_e2m1fn").shape == (0,)
    assert encode_array(values.astype(ml_dtypes.float8_e4m3fn), "float4_e2m1fn").dtype == np.uint8
    assert encode_array(values > 3, "tfloat32").dtype == np.uint32
    many = np.random.default_rng(1).standard_normal((300, 301))  # several blocks and a rest
    want = [round_to(value, "float8_e5m2") for value in many.ravel().tolist()]
    np.testing.assert_array_equal(round_array(many, "float8_e5m2").ravel(), want)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: encode(1.0, "float9"), "unknown format `float9`"),
        (lambda: encode(1.0, "float16", "up"), "unknown rounding `up`"),
        (lambda: encode("1.0", "float16"), "'1.0' is not a real number"),
        (lambda: encode(1j, "float16"), "1j is not a real number"),
        (lambda: decode(256, "float8_e5m2"), "256 is no code of float8_e5m2"),
        (lambda: decode(-1, "int8"), "-1 is no code of int8"),
        (lambda: decode_array([0, 64], "float6_e2m3fn"), "codes from 0 to 64 do not fit float6_e2m3fn"),
        (lambda: decode_array([0.5], "float6_e2m3fn"), "codes of float6_e2m3fn are integers, not float64"),
        (lambda: encode_array([1.0], "float16", "up"), "unknown rounding `up`"),
        (lambda: encode_array(["a"], "float16"), "is not of real numbers"),
        (lambda: encode_array([1j], "float16"), "complex128 is not of real numbers"),
        (lambda: encode_array([2**53 + 1], "float16"), "does not hold every integer as large as 9007199254740993"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(GemmlabError, match="^" + ".*" + text.replace("(", r"\(")):
        call()
