"""Every rule of the reference by an input that shows it: the fact, and what the unit without the rule would give."""

import math
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab import formats, numerics
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.reference import dot
from gemmlab.record import GemmlabError

E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"
INF, NAN = math.inf, math.nan


def codes(values, name):
    """Codes of values, which the format must hold exactly."""
    found = [formats.encode(value, name) for value in values]
    for value, code in zip(values, found, strict=True):
        assert math.isnan(value) or formats.decode(code, name) == value, f"{value} is no {name}"
    return found


def code_of(unit, a, b, c=0.0, a_format=None, b_format=None, **scales):
    """The code of a unit's dot product of values."""
    unit = numerics.unit(unit)
    a_format, b_format = a_format or unit.a_formats[0], b_format or unit.b_formats[0]
    around = {name: codes(each, scales["scale_format"]) if name != "scale_format" else each
              for name, each in scales.items()}  # fmt: skip
    addend = codes([c], unit.accumulate)[0]
    return dot(unit, codes(a, a_format), codes(b, b_format), addend, a_format, b_format, **around)


def value_of(unit, a, b, c=0.0, **more):
    """The same as a value."""
    return formats.decode(code_of(unit, a, b, c, **more), numerics.unit(unit).accumulate)


def with_fields(name, **fields):
    """A unit of other rules."""
    return msgspec.structs.replace(numerics.unit(name), **fields)


@pytest.mark.parametrize(
    ("unit", "bits"),
    [
        ("hopper.wgmma.float8_e4m3fn", 13),
        ("ada.mma.float8_e5m2", 13),
        ("hopper.mma.float8_e4m3fn", 23),
        ("hopper.mma.float16", 23),
        ("blackwell.tcgen05.float8_e4m3fn", 23),
        ("cdna3.mfma.float16", 23),
        ("amx.tdp.bfloat16", 23),
    ],
)
def test_the_accumulator_keeps_as_many_bits_of_c(unit, bits):
    assert value_of(unit, [0], [0], 1 + 2.0**-bits) == 1 + 2.0**-bits
    if bits < 23:
        assert value_of(unit, [0], [0], 1 + 2.0 ** -(bits + 1)) == 1


@pytest.mark.parametrize(
    ("unit", "bits"),
    [
        ("volta.mma.float16", 23),
        ("turing.mma.float16", 24),
        ("ampere.mma.bfloat16", 24),
        ("ada.mma.float8_e4m3fn", 13),
        ("hopper.mma.float16", 25),
        ("hopper.wgmma.float8_e4m3fn", 13),
        ("blackwell.tcgen05.float8_e4m3fn", 25),
        ("rtx-blackwell.mma.float16", 25),
    ],
)
def test_terms_are_aligned_with_so_many_bits(unit, bits):
    wide = 2.0**7
    for n in (bits, bits + 1):
        small = halves(2.0 ** (14 - n))
        found = value_of(unit, [wide, small[0], -wide], [wide, small[1], wide])
        assert found == (2.0 ** (14 - n) if n == bits else 0)


def halves(value):
    """Two factors of a power of two that float8 holds too."""
    exponent = int(math.log2(value))
    return 2.0 ** (exponent // 2), 2.0 ** (exponent - exponent // 2)


def test_a_product_s_exponent_is_not_renormalised():
    # 1.5 * 1.5 = 2.25 counts with exponent 0: a term of 2^-25 beside it stays, where exponent 1 would cut it.
    small = halves(2.0**-25)
    assert value_of("hopper.mma.float16", [1.5, small[0], -1.5], [1.5, small[1], 1.5]) == 2.0**-25


def test_nvidia_cuts_toward_zero_and_cdna3_down():
    above = {name: value_of(name, [2.0**15], [2.0**15], c) - 2.0**30
             for name in ("ampere.mma.float16", "cdna3.mfma.float16") for c in (48.0,)}  # fmt: skip
    below = {name: value_of(name, [2.0**15], [2.0**15], -48.0) - 2.0**30 for name in above}
    assert above == {"ampere.mma.float16": 0, "cdna3.mfma.float16": 0}
    assert below == {"ampere.mma.float16": 0, "cdna3.mfma.float16": -64}


def test_cdna3_cuts_products_toward_zero():
    for sign in (1, -1):
        a, b = [2.0**7, sign * 0.75 * 2.0**-5, -(2.0**7)], [2.0**7, 2.0**-5, 2.0**7]
        assert value_of("cdna3.mfma.float16", a, b) == 0


def test_float32_is_reached_by_truncation_and_float16_by_rounding():
    assert value_of("hopper.mma.float16", [1.5 * 2.0**-12], [2.0**-12], 1.0) == 1.0
    assert value_of("hopper.mma.float16", [-1.5 * 2.0**-12], [2.0**-12], -1.0) == -1.0
    assert value_of("hopper.mma.float16.float16", [1.5 * 2.0**-6], [2.0**-5], 1.0) == 1 + 2.0**-10
    assert value_of("hopper.mma.float16.float16", [2.0**-6], [2.0**-5], 1.0) == 1.0  # a tie, to even
    assert value_of("hopper.mma.float16.float16", [2.0**-6], [2.0**-5], 1 + 2.0**-10) == 1 + 2.0**-9


def test_a_zero_counts_with_an_exponent_of_its_own():
    # 2^-25 + 2^-45 lies past half of float16's smallest value; beside a zero term 2^-45 is cut, and the tie goes to 0.
    a, b = [2.0**-12, 2.0**-22], [2.0**-13, 2.0**-23]
    assert value_of("ampere.mma.float16.float16", a, b) == 0
    without = with_fields("ampere.mma.float16.float16", zero_exponent=None)
    assert value_of(without, a, b) == 2.0**-24


def test_c_joins_early_or_late():
    # Eight terms, each half of the last place of C = 1: cut one by one beside C, their sum counts where C comes last.
    a, b = [2.0**-13] * 8, [2.0**-12] * 8
    assert value_of("ampere.mma.float16", a, b, 1.0) == 1
    assert value_of("cdna3.mfma.float16", a, b, 1.0) == 1 + 2.0**-22
    few = [2.0**-9] * 16
    assert value_of("blackwell.tcgen05.float8_e4m3fn", few, few, 256.0) == 256
    assert value_of("blackwell.mma.float8_e4m3fn", few, few, 256.0) == 256 + 2.0**-14


def test_a_narrow_instruction_fuses_what_it_has():
    # 2^-26 is cut beside 1 - 1 in one sum of 16; in a second sum of 8 it stands alone.
    a = [1.0, -1.0, *[0.0] * 6, 2.0**-13]
    b = [1.0, 1.0, *[0.0] * 6, 2.0**-13]
    assert value_of("hopper.mma.float16", a, b) == 0
    narrow = numerics.Schedule(instruction_k=8).on(numerics.unit("hopper.mma.float16"))
    assert (narrow.k, narrow.terms) == (8, 8)
    assert value_of(narrow, a, b) == 2.0**-26
    for name, k, terms in (
        ("hopper.mma.float8_e4m3fn", 16, 8),
        ("cdna3.mfma.float8_e4m3fnuz", 8, 4),
        ("ampere.mma.float16", 32, 8),
        ("amx.tdp.bfloat16", 2, 1),
    ):
        assert numerics.Schedule(instruction_k=k).on(numerics.unit(name)).terms == terms
    with pytest.raises(GemmlabError, match="instruction_k = 24"):
        numerics.Schedule(instruction_k=24).on(numerics.unit("hopper.mma.float16"))


def test_converted_float8_takes_k_in_quads():
    # In float16 the first half's sum is rounded: k = 0, 1, 4, 5, .. before k = 2, 3, 6, 7, ..
    a = [0.0] * 32
    a[0], a[2], a[4] = 128.0, -128.0, 2.0**-4
    b = [16.0] * 32
    b[4] = 1.0
    # k = 0 and 4: 2048 + 2^-4 rounds to 2048; then -2048. In ascending groups of 16 nothing is lost.
    assert value_of("hopper.mma.float8_e4m3fn.float16", a, b) == 0
    assert value_of(with_fields("hopper.mma.float8_e4m3fn.float16", order="ascending"), a, b) == 2.0**-4


def test_float8_read_as_float16_has_float16_s_exponents():
    # 2^-9 is subnormal in e4m3, with exponent -6, and normal in float16: -9: fewer bits are cut beside it.
    a, b = [2.0**-9, 2.0**-9, 0, 0, -(2.0**-9)], [2.0**15, 2.0**-9, 0, 0, 2.0**15]
    formats_of = {"a_format": E4M3, "b_format": E5M2}
    assert value_of("hopper.mma.float8_e4m3fn", a, b, **formats_of) == 2.0**-18
    assert value_of(with_fields("hopper.mma.float8_e4m3fn", read_as=""), a, b, **formats_of) == 0


def test_amx_sums_even_and_odd_k_apart():
    a, b = [2.0**12, -(2.0**12), 1.0], [2.0**12, 2.0**12, 1.0]
    assert value_of("amx.tdp.bfloat16", a, b) == 0
    assert value_of("cpu.fma.float32", a, b) == 1


def test_cdna2_adds_pairs():
    a = [2.0**12, 1.0, -(2.0**12), 1.0]
    b = [2.0**12, 1.0, 2.0**12, 1.0]
    assert value_of("cdna2.mfma.float16", a, b) == 1  # (2^24 + 1) + (-2^24 + 1): the first pair is a tie, to even
    assert value_of("cdna1.mfma.float16", a, b) == 2


def test_cdna1_rounds_once():
    a, b = [2.0**12, 1.0, 2.0**-5], [2.0**12, 1.0, 2.0**-5]
    assert value_of("cdna1.mfma.float16", a, b) == 2**24 + 2
    assert value_of("cpu.fma.float32", a, b) == 2**24


def test_e8m13_has_subnormals():
    unit = "hopper.wgmma.float8_e4m3fn"
    assert value_of(unit, [0], [0], 2.0**-139) == 2.0**-139
    assert value_of(unit, [0], [0], 2.0**-140) == 0


@pytest.mark.parametrize(
    ("unit", "kept"),
    [
        ("ampere.mma.bfloat16", True),
        ("hopper.wgmma.bfloat16", True),
        ("cdna1.mfma.bfloat16", True),
        ("cdna3.mfma.bfloat16", True),
        ("cdna2.mfma.bfloat16", False),
        ("cdna2.mfma.bfloat16_1k", False),
        ("amx.tdp.bfloat16", False),
    ],
)
def test_subnormals_are_kept_or_flushed_everywhere(unit, kept):
    assert value_of(unit, [0], [0], 2.0**-140) == kept * 2.0**-140
    assert value_of(unit, [2.0**-70], [2.0**-70]) == kept * 2.0**-140
    assert value_of(unit, [2.0**-130], [2.0**10]) == kept * 2.0**-120


@pytest.mark.parametrize(
    ("unit", "code"),
    [("volta.mma.float16", 0x7FFFFFFF), ("hopper.mma.float16.float16", 0x7FFF), ("cdna3.mfma.float16", 0x7FFFFFFF)],
)
@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ([NAN], [1], 0),
        ([0, 1], [1, NAN], 0),
        ([INF], [0], 0),
        ([INF, 1], [1, -INF], 0),
        ([INF], [1], -INF),
        ([1], [1], NAN),
    ],
)
def test_every_nan_has_one_code(unit, code, a, b, c):
    assert code_of(unit, a, b, c) == code


def test_infinities_go_through():
    for unit in ("hopper.mma.float16", "cdna3.mfma.float16", "cdna2.mfma.float16", "amx.tdp.bfloat16"):
        assert value_of(unit, [INF, 5], [-1, 5], 3) == -INF
        assert value_of(unit, [1], [1], INF) == INF


def test_float8_has_its_own_specials():
    assert code_of("hopper.wgmma.float8_e4m3fn", [NAN], [1]) == 0x7FFFFFFF
    assert value_of("hopper.wgmma.float8_e5m2", [-INF], [1]) == -INF
    assert code_of("cdna3.mfma.float8_e5m2fnuz", [NAN], [0]) == 0x7FFFFFFF


@pytest.mark.parametrize("side", [1, -1])
def test_sums_overflow_to_infinity_and_truncation_never_does(side):
    top = formats.decode(0x7F7FFFFF, "float32")
    assert value_of("ampere.mma.bfloat16", [side * 2.0**127] * 2, [1, 1]) == side * INF
    assert value_of("ampere.mma.bfloat16", [side * 2.0**100], [1], side * top) == side * top
    assert value_of("amx.tdp.bfloat16", [side * 2.0**103], [1], side * top) == side * INF
    assert value_of("hopper.mma.float16.float16", [side * 4.0], [2.0], side * 65504.0) == side * 65504
    assert value_of("hopper.mma.float16.float16", [side * 4.0], [4.0], side * 65504.0) == side * INF


def test_a_product_past_float32_is_infinite_on_amd_and_finite_inside_a_fused_sum():
    a, b = [2.0**127, -(2.0**127)], [2.0, 2.0]
    assert value_of("hopper.mma.bfloat16", a, b) == 0
    assert value_of("cdna1.mfma.bfloat16", a, b) == 0
    assert math.isnan(value_of("cdna3.mfma.bfloat16", a, b))
    assert math.isnan(value_of("cdna2.mfma.bfloat16", a, b))


def test_cdna2_meets_infinities_pair_by_pair():
    # The second pair overflows to -infinity by itself, before it meets the infinity of the first.
    a, b = [INF, 0.0, -(2.0**127), -(2.0**127)], [1.0, 1.0, 1.0, 1.0]
    assert math.isnan(value_of("cdna2.mfma.bfloat16_1k", a, b))
    assert value_of("cdna1.mfma.bfloat16", a[:2], b[:2]) == INF


def test_minus_zero():
    minus = 1 << 31
    for unit in ("volta.mma.float16", "hopper.wgmma.float8_e4m3fn", "cdna2.mfma.float16", "amx.tdp.bfloat16"):
        assert code_of(unit, [-0.0] * 4, [1] * 4, -0.0) == 0, unit
    assert code_of("cpu.fma.float32", [-0.0], [1], -0.0) == minus
    assert code_of("cpu.fma.float32", [-0.0], [1], 0.0) == 0
    assert code_of("cpu.fma.float32", [1, -1], [1, 1], -0.0) == 0
    # AMD's fused sums: +0 of zeros, but a negative sum that is rounded away leaves its sign.
    for unit, sign in (("cdna1.mfma.bfloat16", minus), ("cdna3.mfma.bfloat16", minus), ("hopper.mma.bfloat16", 0)):
        assert code_of(unit, [-0.0] * 2, [1] * 2, -0.0) == 0, unit
        assert code_of(unit, [-(2.0**-76)] * 2, [2.0**-76] * 2) == sign, unit


def test_a_scale_s_exponent_joins_the_product_s():
    unit, scale = "blackwell.tcgen05.mxfp8_e4m3fn", {"scale_format": "float8_e8m0fnu"}
    assert value_of(unit, [3.0], [5.0], 1.0, a_scales=[2.0**10], b_scales=[2.0**-12], **scale) == 15 / 4 + 1
    assert code_of(unit, [3.0], [5.0], a_scales=[NAN], b_scales=[1.0], **scale) == 0x7FFFFFFF
    # far below C by its scale alone
    assert value_of(unit, [1.0], [1.0], 1.0, a_scales=[2.0**-13], b_scales=[2.0**-13], **scale) == 1


def test_nvfp4_sums_sixteen_products_before_it_aligns():
    unit, scale = "blackwell.tcgen05.nvfp4", {"scale_format": E4M3}
    a, b = [6.0] * 16 + [0.5] * 16, [6.0] * 16 + [-0.5] * 16
    both = {"a_scales": [1.5, 448.0], "b_scales": [0.25, 2.0**-9]}
    assert value_of(unit, a, b, **both, **scale) == 16 * 36 * 0.375 - 16 * 0.25 * 448 * 2.0**-9
    signed = {"a_scales": [-1.5, 448.0], "b_scales": [0.25, -(2.0**-9)]}
    assert value_of(unit, a, b, **signed, **scale) == value_of(unit, a, b, **both, **scale)  # signs are not read


def test_products_that_cancel_still_count_with_their_scale():
    # The second block's products cancel to 0, yet its scale 2^16 is what C = 1 + 2^-20 is aligned to, with 35 bits.
    unit = "blackwell.tcgen05.nvfp4"
    a, b = [0.0] * 16 + [1.0, -1.0], [0.0] * 16 + [1.0, 1.0]
    scales = {"a_scales": [1.0, 256.0], "b_scales": [1.0, 256.0], "scale_format": E4M3}
    assert value_of(unit, a, b, 1 + 2.0**-20, **scales) == 1 + 2.0**-19 - 2.0**-19
    assert value_of(unit, [0.0] * 18, b, 1 + 2.0**-20, **scales) == 1 + 2.0**-20


def test_the_last_instruction_of_a_scaled_unit_is_filled_up():
    scales = {"a_scales": [2.0], "b_scales": [1.0], "scale_format": "float8_e8m0fnu"}
    assert value_of("blackwell.tcgen05.mxfp4", [1.0] * 20, [1.0] * 20, **scales) == 40
    with pytest.raises(GemmlabError, match="2 are due"):
        code_of("blackwell.tcgen05.mxfp4", [1.0] * 40, [1.0] * 40, **scales)


def test_int32_sums_wrap_unless_they_saturate():
    a, b = [127] * 2, [127] * 2
    top = 2**31 - 1
    assert value_of("turing.mma.int8", a, b, top) == top + 2 * 127**2 - 2**32
    assert value_of(with_fields("turing.mma.int8", saturate=True), a, b, top) == top
    assert value_of(with_fields("turing.mma.int8", saturate=True), [-127], b[:1], -(2**31)) == -(2**31)


def test_int8_mixes_signs():
    assert value_of("amx.tdp.int8", [255], [-128], 7, a_format="uint8", b_format="int8") == 255 * -128 + 7


@pytest.mark.parametrize("unit", ["hopper.wgmma.float8_e4m3fn", "hopper.mma.float8_e4m3fn"])
def test_the_sum_of_deepgemm_37_shows_nothing(unit):
    assert value_of(unit, [448, 7.5], [1, 1]) == 455.5


@pytest.mark.parametrize("k", [16_384, 32_768])
def test_all_ones_stick_at_16384(k):
    ones = [1.0] * k
    assert value_of("hopper.wgmma.float8_e4m3fn", ones, ones) == 16_384
    assert value_of("hopper.mma.float8_e4m3fn", ones, ones) == k


def test_same_sign_terms_drift_down():
    assert value_of("hopper.wgmma.float8_e4m3fn", [1.125] * 4096, [1.0] * 4096) == 4324


finite = st.floats(allow_nan=False, allow_infinity=False, width=16)


@given(st.lists(st.tuples(finite, finite), min_size=4, max_size=4), finite)
def test_an_exact_sum_is_the_rational_sum_rounded_once(pairs, c):
    whole = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(c))
    found = code_of("cdna1.mfma.float16", *zip(*pairs, strict=True), c)
    assert found & 0x7FFFFFFF or not whole
    if whole:
        assert found == formats.encode(whole, "float32")


@given(st.lists(st.tuples(finite, finite), min_size=8, max_size=8), finite)
def test_an_aligned_sum_with_bits_enough_is_the_rational_sum_truncated_once(pairs, c):
    wide = Unit(name="wide", a_formats=("float16",), b_formats=("float16",), terms=8, align_bits=100)
    whole = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(c))
    expected = formats.encode(whole, "float32", "rz") if whole else 0
    assert code_of(wide, *zip(*pairs, strict=True), c) == expected


@given(st.lists(st.tuples(finite, finite), max_size=40), finite)
def test_the_order_inside_a_fused_sum_does_not_matter(pairs, c):
    pairs = [*pairs, *[(0.0, 0.0)] * (-len(pairs) % 16)]
    turned = [pair for at in range(0, len(pairs), 16) for pair in reversed(pairs[at : at + 16])]
    if pairs:
        one, other = (code_of("hopper.mma.float16", *zip(*each, strict=True), c) for each in (pairs, turned))
        assert one == other
