"""The parts of the compiled code against the plain functions they stand for."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gemmlab import formats
from gemmlab.numerics.fast import floats, limbs
from gemmlab.numerics.fast.split import INF, NAN, NEGATIVE, NOTHING, ZERO, taken_apart
from gemmlab.numerics.fast.split import parts as split
from gemmlab.numerics.operands import Operand
from gemmlab.numerics.values import converted, pack, read

SMALL = [name for name in formats.names() if formats.get(name).storage_bits <= 16]
MODES = sorted(floats.MODES)


def told(number):
    """(exponent, signed significand, class) of a number as `read` gives it."""
    kind = {"nan": NAN, "inf": INF}.get(number.kind, ZERO if number.zero else 0)
    nothing = bool(kind)
    return (NOTHING if nothing else number.exponent, number.signed, kind | (NEGATIVE if number.negative else 0))


@pytest.mark.parametrize("name", SMALL)
def test_every_code_apart(name):
    form = formats.get(name)
    codes = np.arange(0, 1 << form.bits, max(1, (1 << form.bits) // 1024), dtype=np.uint32)
    for subnormals in (True, False):
        apart = zip(*(each.tolist() for each in taken_apart(codes, form, subnormals)), strict=True)
        assert list(apart) == [told(read(int(code), form, subnormals)) for code in codes]


def test_wide_codes_apart():
    rng = np.random.default_rng(0)
    for name in ("float32", "tfloat32", "float64"):
        form = formats.get(name)
        codes = rng.integers(0, 1 << form.bits, 200, dtype=np.uint64) << np.uint64(form.pad_bits)
        codes[:4] = 0, 1 << form.pad_bits, 1 << form.storage_bits - 1, (form.max_magnitude + 1) << form.pad_bits
        codes = codes.astype("u8" if name == "float64" else "u4")
        apart = zip(*(each.tolist() for each in taken_apart(codes, form, True)), strict=True)
        assert list(apart) == [told(read(int(code), form, True)) for code in codes]


def test_codes_read_as_another_format():
    form, other = formats.get("float8_e4m3fn"), formats.get("float16")
    elements = split(Operand(np.arange(256, dtype=np.uint8), form.name), True, other.name)
    for code in range(256):
        number = converted(read(code, form), other)
        found = elements.exponents[code], elements.significands[code], elements.classes[code]
        assert found == told(number)


@given(
    st.integers(-(2**51) + 1, 2**51 - 1), st.integers(-1100, 1000), st.sampled_from(MODES), st.booleans(),
    st.sampled_from([("float32", 23), ("float32", 13), ("float16", 10), ("float16", 4), ("float64", 30)]),
)  # fmt: skip
def test_rounding_is_that_of_pack(value, scale, mode, subnormals, kept):
    form = formats.get(kept[0])
    to = floats.target(form, kept[1], True, subnormals, 0, 0)
    want = pack(value, scale, form, kept[1], mode, subnormals)
    assert floats.packed(value, scale, floats.MODES[mode], np.int64(1), to) % (1 << form.bits) == want


@given(
    st.lists(st.tuples(st.integers(-(2**61), 2**61), st.integers(-1200, 1200)), min_size=1, max_size=6),
    st.sampled_from(MODES), st.sampled_from([("float32", 23), ("float64", 52)]),
)  # fmt: skip
@example([(255 - 2**61, 964)], "floor", ("float64", 52))  # past the range, and a carry on top of it
def test_sums_of_any_width_are_rounded_once(terms, mode, kept):
    form = formats.get(kept[0])
    to = floats.target(form, kept[1], True, True, 0, 0)
    values = np.array([value for value, _ in terms], np.int64)
    places = np.array([place for _, place in terms], np.int64)
    code, something = limbs.total_of(
        values, places, np.int64(len(terms)), np.zeros(256, np.int64), floats.MODES[mode], np.int64(1), to
    )
    total = sum(value << (place + 1200) for value, place in terms)
    assert bool(something) == (total != 0)
    assert code % (1 << form.bits) == pack(total, -1200, form, kept[1], mode)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.sampled_from(MODES), st.integers(1, 23))
def test_an_addition_is_rounded_once(x, y, mode, width):
    form = formats.get("float32")
    to = floats.target(form, width, True, True, 0, 0x7FFFFFFF)
    a, b = read(x, form), read(y, form)
    if {a.kind, b.kind} == {"finite"}:
        scale = min(a.exponent, b.exponent) - 23
        total = (a.signed << (a.exponent - 23 - scale)) + (b.signed << (b.exponent - 23 - scale))
        assert floats.plus(x, y, floats.MODES[mode], to) == pack(total, scale, form, width, mode)
