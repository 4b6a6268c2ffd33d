"""Kernels by name, tile and settings."""

import itertools

import pytest

from gemmlab.formats import bits_of
from gemmlab.kernels import FAMILIES, KERNELS, checked, default_for, get, names, section
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError


@pytest.mark.parametrize("name", names())
def test_every_kernel_of_the_catalogue_can_be_built(name):
    kernel = get(name)
    assert checked(kernel) is kernel
    assert kernel.name == name
    assert kernel.family in FAMILIES
    assert kernel.threads <= 1024
    assert kernel.warps == -(-kernel.threads // 32)


def test_the_ladder_has_its_published_tiles():
    assert [str(get(name)) for name in ("naive", "tiled", "register", "tensor")] == [
        "naive 16x16x1",
        "tiled 16x16x16",
        "register 128x128x8",
        "tensor 128x128x32",
    ]
    register = get("register")
    assert (register.thread_m, register.thread_n, register.threads) == (8, 8, 256)


@pytest.mark.parametrize(
    ("a_format", "name", "block_k", "mma"),
    [
        ("float64", "register", 8, None),
        ("float32", "register", 8, None),
        ("int32", "register", 8, None),
        ("tfloat32", "tensor", 16, (16, 8, 8)),
        ("float16", "tensor", 32, (16, 8, 16)),
        ("bfloat16", "tensor", 32, (16, 8, 16)),
        ("float8_e4m3fn", "tensor", 64, (16, 8, 32)),
        ("int8", "tensor", 64, (16, 8, 32)),
        ("float6_e2m3fn", "tensor", 64, (16, 8, 32)),
        ("float4_e2m1fn", "tensor", 128, (16, 8, 64)),
    ],
)
def test_default_by_format(a_format, name, block_k, mma):
    problem = Gemm(512, 512, 512, a_format)
    kernel = default_for(problem)
    assert (kernel.name, kernel.block_k) == (name, block_k)
    if mma:
        assert kernel.mma == mma
        assert mma[2] * bits_of(a_format) in (256, 32 * 6)  # an instruction takes 32 bytes of k, 6-bit ones in bytes


def test_a_sparse_instruction_reaches_twice_as_far():
    assert default_for(Gemm(64, 64, 64, "float16", structure="sparse_2_4")).mma == (16, 8, 32)


def built(name, tile):
    """The kernel, or the error that says why there is none."""
    try:
        return get(name, tile=tile)
    except GemmlabError as error:
        return error


@pytest.mark.parametrize("name", ["tensor", "warpgroup", "register", "tiled"])
def test_every_tile_fits_or_says_why(name):
    tiles = list(itertools.product((1, 8, 16, 48, 64, 128, 192, 256), (1, 8, 24, 64, 96, 256), (1, 8, 16, 32, 40, 64)))
    fitting = 0
    for tile in tiles:
        result = built(name, tile)
        if isinstance(result, GemmlabError):
            assert any(str(side) in result.text for side in tile)
            assert result.hint
        else:
            fitting += 1
            assert (result.block_m, result.block_n, result.block_k) == tile
            assert checked(result) is result
    assert 0 < fitting < len(tiles) or name == "register"


def test_a_kernel_without_guards_wants_whole_tiles():
    bare = get("tiled").replace(guards=False)
    assert checked(bare, Gemm(32, 48, 64)) is bare
    with pytest.raises(GemmlabError, match="k=65 is no multiple of block_k=16"):
        checked(bare, Gemm(32, 48, 65))


@pytest.mark.parametrize(
    ("tile", "warps", "part"),
    [("128x128x32", 4, (64, 64)), ("256x256x64", 16, (64, 64)), ("64x64x32", 4, (32, 32)), ("128x256x64", 8, (64, 64))],
)
def test_warps_share_a_tensor_tile_squarely(tile, warps, part):
    kernel = get("tensor", tile=tile)
    assert (kernel.warps, (kernel.warp_m, kernel.warp_n)) == (warps, part)


def test_settings_and_the_names_of_flags():
    kernel = get("tensor", tile="128x256x64", stages=4, warps=8, registers=195, group_m=8, split_k=4, raster="m")
    assert (kernel.stages, kernel.warps, kernel.registers) == (4, 8, 195)
    assert (kernel.group_m, kernel.split_k, kernel.raster) == (8, 4, "m")
    assert get("tensor", stages=None, warps=None) == get("tensor")
    problem = Gemm(512, 512, 512, "float16")
    assert section(kernel, problem).registers == 195
    assert section(kernel, problem).shared_bytes == 4 * (128 * 64 + 64 * 256) * 2


def test_a_tile_of_two_sides_keeps_block_k():
    assert get("naive", tile="32x8").block_k == 1
    assert get("tiled", tile="8x32").block_k == 16


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("tensr", {}, ["tensr", "tensor"]),
        ("naive", {"tile": "16x16x16"}, ["block_k=16", "--tile 16x16"]),
        ("tiled", {"tile": "64x64x16"}, ["64x64x16", "4096 threads", "1024", "register"]),
        ("tiled", {"tile": "0x16x16"}, ["0x16x16", "M is 0"]),
        ("tiled", {"tile": "16x-4x16"}, ["16x-4x16", "N is `-4`"]),
        ("tiled", {"tile": "16"}, ["`16`", "1 sides"]),
        ("tiled", {"tile": "16x16x16x16"}, ["4 sides"]),
        ("tiled", {"tile": "16x16x1e3"}, ["K is `1e3`"]),
        ("tiled", {"tile": "16x16x99999999"}, ["99999999", "65536"]),
        ("tiled", {"tile": (16, 16)}, ["(16, 16)", "three sides"]),
        ("tiled", {"tile": (16, 16, 2.5)}, ["2.5"]),
        ("tensor", {"tile": "128x128x20"}, ["block_k=20", "16"]),
        ("tensor", {"tile": "100x128x32"}, ["100x128x32", "16x8x16"]),
        ("tensor", {"warps": 64}, ["64 warps", "2048 threads", "1024"]),
        ("tensor", {"warps": 7}, ["7 warps", "128x128x32"]),
        ("tensor", {"warp_m": 64, "warp_n": 64, "warps": 8}, ["4 warp tiles", "8 warps"]),
        ("register", {"warps": 7}, ["7 warps", "8 warps"]),
        ("register", {"thread_m": 0}, ["thread_m=0"]),
        ("tensor", {"mma": (16, 0, 16)}, ["(16, 0, 16)"]),
        ("tensor", {"warps": "4"}, ["warps='4'"]),
        ("tensor", {"warp_m": 0, "warp_n": 0}, ["128x128x32", "4 warps"]),
        ("register", {"thread_m": 3}, ["block_m=128", "3"]),
        ("tiled", {"thread_m": 2, "thread_n": 2}, ["one output", "2x2"]),
        ("tensor", {"stages": 0}, ["stages=0"]),
        ("tensor", {"split_k": -1}, ["split_k=-1"]),
        ("tensor", {"group_m": 0}, ["group_m=0"]),
        ("tensor", {"registers": 300}, ["300", "255"]),
        ("tensor", {"raster": "z"}, ["raster `z`"]),
        ("tensor", {"vector_bytes": 3}, ["vector_bytes=3"]),
        ("tensor", {"tiles_from": "global"}, ["tiles_from `global`"]),
        ("tensor", {"sages": 2}, ["sages", "stages"]),
        ("warpgroup", {"tile": "32x64x64"}, ["32x64x64", "64x64x16"]),
    ],
)
def test_what_cannot_be_built_is_named(name, settings, words):
    with pytest.raises(GemmlabError) as caught:
        get(name, **settings)
    for word in words:
        assert word in str(caught.value)


def test_a_sparse_operand_is_not_cut_within_a_group_of_four():
    problem = Gemm(64, 64, 64, "float32", structure="sparse_2_4")
    with pytest.raises(GemmlabError, match="block_k=6"):
        get("tiled", problem=problem, tile="8x8x6")


def test_the_catalogue_is_data_that_nobody_changed():
    before = dict(KERNELS)
    get("tensor", tile="256x128x64", stages=5)
    assert before == KERNELS
