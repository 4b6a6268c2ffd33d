"""What cannot be multiplied is refused, with the value and a remedy."""

import pytest

from gemmlab.problem import BlockScale, Gemm
from gemmlab.record import GemmlabError

ALL = {"m": 8, "n": 8, "k": 8}


@pytest.mark.parametrize(
    ("fields", "text", "hint"),
    [
        ({"m": -1}, "m=-1 is not a positive size", "at least 1"),
        ({"n": 0}, "n=0 is not a positive size", "at least 1"),
        ({"k": 1 << 62}, f"k={1 << 62} is past the largest side, 2^40", "digit"),
        ({"k": (1 << 40) + 1}, "past the largest side", "digit"),
        ({"batch": 0}, "batch=0", "at least 1"),
        ({"m": 3.0}, "m=3.0 is not a whole number", "count elements"),
        ({"m": True}, "m=True is not a whole number", "count elements"),
        ({"m": "8"}, "m='8' is not a whole number", "count elements"),
        ({"m": None}, "m=None is not a whole number", "count elements"),
        ({"a_format": "bflot16"}, "unknown format `bflot16`", "bfloat16"),
        ({"d_format": "half"}, "unknown format `half`", ""),
        ({"accumulate": "float"}, "unknown format `float`", "float32"),
        ({"layout": "nq"}, "unknown layout `nq`", "nn, nt, tn, tt"),
        ({"layout": ""}, "unknown layout", "nn, nt, tn, tt"),
        ({"structure": "triangle"}, "unknown structure `triangle`", "triangular"),
        ({"structure": "sparse"}, "unknown structure `sparse`", "sparse_2_4"),
        ({"epilogue": "bias+gelo"}, "unknown epilogue `gelo`", "gelu"),
        ({"epilogue": "bias+"}, "unknown epilogue ``", "bias"),
        ({"lda": 7}, "lda=7 is shorter than the 8 elements of a stored row of A (8x8 in layout `nn`)", "at least 8"),
        ({"n": 9, "layout": "nt", "ldb": 7}, "ldb=7 is shorter than the 8 elements of a stored row of B (9x8", "8"),
        ({"n": 9, "ldb": 8}, "ldb=8 is shorter than the 9 elements of a stored row of B (8x9", "9"),
        ({"m": 9, "layout": "tn", "lda": 8}, "lda=8 is shorter than the 9 elements of a stored row of A (8x9", "9"),
        ({"ldc": -8}, "ldc=-8 is shorter", "at least 8"),
        ({"ldc": 8.0}, "ldc=8.0 is not a whole number", ""),
        ({"lda": 1 << 62}, "past the largest side", "digit"),
        ({"structure": "triangular", "k": 9}, "a triangular A is square, but A is 8x9", "equal"),
        ({"structure": "symmetric", "m": 7}, "a symmetric A is square, but A is 7x8", "equal"),
        ({"structure": "sparse_2_4", "k": 10}, "k=10 is no multiple of 4", "pad k to 12"),
        ({"structure": "banded", "lower_band": -1}, "lower_band=-1 is a negative width", "at least 0"),
        ({"upper_band": 2}, "upper_band=2, but A is general", "structure banded"),
        ({"structure": "banded", "scale": BlockScale()}, "a banded A has no block scales", "sparse_2_4"),
        ({"a_offset_bytes": -2}, "a_offset_bytes=-2 is not an offset", "from 0"),
        ({"c_offset_bytes": 1 << 20}, "c_offset_bytes=1048576 is not an offset", "2^20"),
        ({"b_offset_bytes": 0.5}, "b_offset_bytes=0.5 is not a whole number", ""),
        ({"alpha": float("nan")}, "alpha=nan is not a finite number", ""),
        ({"alpha": 10**400}, "is not a finite number", ""),
        ({"scale": "float8_e8m0fnu/32"}, "scale='float8_e8m0fnu/32' is no BlockScale", "BlockScale.parse"),
        ({"beta": "one"}, "beta='one' is not a finite number", ""),
        ({"groups": [(8, 8, 8)], "batch": 2}, "neither a structure nor a batch", "as a group"),
        ({"groups": [(8, 8, 8)], "structure": "symmetric"}, "neither a structure nor a batch", "as a group"),
        ({"groups": [(8, 8, 8), (1, 8, 8)]}, "m, n, k of a grouped GEMM are 9, 8, 8 by its members", "Gemm.grouped"),
        ({"groups": [(8, 8)]}, "groups[0]=(8, 8) is not a member", "(m, n, k)"),
        ({"groups": [(8, 8, 8), (0, 8, 8)]}, "groups[1].m=0 is not a positive size", "at least 1"),
        ({"groups": [(8, 8, 8.5)]}, "groups[0].k=8.5 is not a whole number", ""),
        ({"groups": ["888"]}, "groups[0]='888' is not a member", ""),
    ],
)
def test_what_cannot_be_multiplied(fields, text, hint):
    with pytest.raises(GemmlabError) as error:
        Gemm(**{**ALL, **fields})
    assert text in error.value.text
    assert hint in error.value.hint


def test_a_group_without_members():
    with pytest.raises(GemmlabError, match="without members"):
        Gemm.grouped([])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("float8_e8m0/32", "unknown format `float8_e8m0`"),
        ("float32/", "neither FORMAT/K nor FORMAT/MxNxK"),
        ("float32/1x2", "neither"),
        ("float32/1x2x3x4", "neither"),
        ("float32/ab", "neither"),
        ("float32/0", "block_k=0"),
        ("float32/1x-1x4", "block_n=-1"),
        ("", "unknown format"),
    ],
)
def test_block_scales_that_are_none(text, says):
    with pytest.raises(GemmlabError) as error:
        BlockScale.parse(text)
    assert says in error.value.text


def test_a_block_without_elements():
    with pytest.raises(GemmlabError, match="block_k=0"):
        BlockScale(block_k=0)
