import random
from fractions import Fraction

import numpy as np
import pytest
from numba import njit

from gemmlab.emulator.halves import double_to_half
from gemmlab.emulator.serial import runtime_values as values

LEAST = -(2**63)


@njit
def fused_singles(x, y, z):
    return values.fused(x, y, z)


def nearest_half(exact):
    """The half nearest to a fraction, ties to even, by trying the neighbours of a near one."""
    near = np.float16(float(exact))
    around = [np.nextafter(near, np.float16(-np.inf)), near, np.nextafter(near, np.float16(np.inf))]
    return min(around, key=lambda h: (abs(Fraction(float(h)) - exact), int(h.view(np.uint16)) & 1))


def test_a_fused_product_is_rounded_once():
    x, y = np.float32(1 + 2.0**-12), np.float32(1 + 2.0**-12)
    z = np.float32(-(1 + 2.0**-11))
    assert fused_singles(x, y, z) == np.float32(2.0**-24)
    assert x * y + z == 0


def test_a_fused_product_of_halves_is_rounded_once():
    draw = random.Random(5)
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16)
    twice = inexact = 0
    for _ in range(4000):
        x, y = (halves[draw.randrange(0x5400)] for _ in range(2))
        # mostly the half that leaves a sum next to a tie between halves
        z = -np.float16(x * y) * draw.choice((1, 1, 2, 0.5)) if draw.random() < 0.7 else halves[draw.randrange(0x7800)]
        z = np.float16(z)
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        if abs(exact) < 60000:
            bits = double_to_half(values.half_fused(np.float32(x), np.float32(y), np.float32(z)))
            assert np.uint16(bits).view(np.float16) == nearest_half(exact), (x, y, z)
            inexact += Fraction(float(x) * float(y) + float(z)) != exact
            twice += np.float16(x * y) + z != nearest_half(exact)
    assert inexact > 10
    assert twice > 1000


@pytest.mark.parametrize(
    ("x", "y", "quotient", "remainder"),
    [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (5, 0, 0, 0), (LEAST, -1, LEAST, 0), (LEAST, 3, LEAST // 3, 1)],
)
def test_integers_divide_as_python_does_and_by_zero_give_zero(x, y, quotient, remainder):
    assert values.signed_quotient(np.int64(x), np.int64(y)) == quotient
    assert values.remainder(np.int64(x), np.int64(y)) == remainder


def test_unsigned_integers_divide_over_their_whole_range():
    x, y = np.uint64(2**64 - 1), np.uint64(2**63)
    assert values.quotient(x, y) == 1
    assert values.unsigned_remainder(x, y) == 2**63 - 1
    assert values.quotient(x, np.uint64(0)) == values.unsigned_remainder(x, np.uint64(0)) == 0


@pytest.mark.parametrize(
    ("by", "left", "right"), [(0, -5, -5), (1, -10, -3), (63, LEAST, -1), (64, 0, -1), (-1, 0, -1)]
)
def test_shifts_past_all_bits_leave_none_but_the_sign(by, left, right):
    assert values.shifted_left(np.int64(-5), np.int64(by), 64) == left
    assert values.shifted_right(np.int64(-5), np.int64(by), 64) == right
    unsigned = values.unsigned_shifted_right(np.uint64(2**64 - 5), np.uint64(by % 2**64), 64)
    assert unsigned == ((2**64 - 5) >> by if 0 <= by < 64 else 0)


def test_of_a_number_and_nan_the_number_is_larger_and_smaller():
    nan = np.float32(np.nan)
    for function, of_both in ((values.smaller, 1), (values.larger, 2)):
        assert function(np.float32(1), np.float32(2)) == function(np.float32(2), np.float32(1)) == of_both
        assert function(nan, np.float32(1)) == function(np.float32(1), nan) == 1
        assert function(np.int64(2), np.int64(1)) == of_both


@pytest.mark.parametrize("x", [0, 1, 6, 2**31, 2**32 - 1, 0xF0F00])
def test_bits_of_32(x):
    bits = f"{x:032b}"
    assert values.set_bits(np.uint64(x), 32) == bits.count("1")
    assert values.leading_zeros(np.uint64(x), 32) == 32 - x.bit_length()
    assert values.first_set(np.uint64(x), 32) == (bits[::-1].find("1") + 1)
    assert values.reversed_bits(np.uint64(x), 32) == int(bits[::-1], 2)


def test_loops_go_round_as_often_as_ranges_are_long():
    for start in range(-4, 5):
        for stop in range(-4, 5):
            for step in (-3, -1, 1, 2, 5):
                assert values.trips(start, stop, step) == len(range(start, stop, step))
    assert values.trips(0, 5, 0) == 0


def test_elements_lie_where_strides_put_them():
    a = np.arange(60).reshape(3, 4, 5)[:, ::2, ::-1]
    base = np.arange(60)
    start, steps = 4, [stride // 8 for stride in a.strides]
    for x in range(-4, 4):
        for y in range(-3, 3):
            for z in range(-6, 6):
                place = values.place3(start, x, y, z, *a.shape, *steps)
                inside = all(-side <= i < side for i, side in zip((x, y, z), a.shape, strict=True))
                assert (base[place] == a[x, y, z]) if inside else place == -1
