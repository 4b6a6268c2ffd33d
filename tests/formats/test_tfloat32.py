import numpy as np
import pytest

from gemmlab.formats import (
    ROUNDINGS,
    decode_array,
    encode_array,
    float32_to_tfloat32,
    round_array,
    round_to,
    tfloat32_to_float32,
)
from gemmlab.record import GemmlabError


def float32_words():
    """Random words, and every pattern of the bits that decide a rounding, at ordinary and extreme exponents."""
    random = np.random.default_rng(8).integers(0, 1 << 32, 50_000, dtype=np.uint32)
    tails = np.arange(1 << 15, dtype=np.uint32)
    heads = [0x00000000, 0x007F8000, 0x3F800000, 0x7F7F8000, 0x7F800000, 0x7FFF8000, 0x80000000, 0xFF7F8000, 0xFFFF8000]
    return np.concatenate([random, *(tails | np.uint32(head) for head in heads)])


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_word_trick_equals_rounding_by_value(rounding):
    values = float32_words().view(np.float32)
    with np.errstate(invalid="ignore"):
        want = encode_array(values, "tfloat32", rounding)
    if rounding == "rz":
        assert not (want & 0x1FFF).any()
    np.testing.assert_array_equal(float32_to_tfloat32(values, rounding).view(np.uint32), want)


def test_every_way_back_is_exact():
    words = float32_words()
    numbers = tfloat32_to_float32(words)
    assert not (numbers.view(np.uint32) & 0x1FFF).any()
    with np.errstate(invalid="ignore"):  # signalling NaN
        wide = numbers.astype(np.float64)
    np.testing.assert_array_equal(wide, decode_array(words, "tfloat32"))
    finite = numbers[np.isfinite(numbers)]
    np.testing.assert_array_equal(round_array(finite, "tfloat32"), finite)


def test_a_published_tie_goes_away_from_zero_in_the_library_and_to_even_by_ieee():
    """1024.5 times 1 in tf32 gave 1025: the conversion before the tensor core rounds ties away (pytorch#53635)."""
    assert float32_to_tfloat32(np.array([1024.5], np.float32)).tolist() == [1025.0]
    assert [round_to(1024.5, "tfloat32", rounding) for rounding in ("rna", "rne", "rz")] == [1025.0, 1024.0, 1024.0]


def test_bad_input_is_named():
    with pytest.raises(GemmlabError, match="float64 is not float32"):
        float32_to_tfloat32(np.array([1.0]))
    with pytest.raises(GemmlabError, match="unknown rounding"):
        float32_to_tfloat32(np.array([1.0], np.float32), "down")
    with pytest.raises(GemmlabError, match="uint32, not int64"):
        tfloat32_to_float32(np.array([1]))
