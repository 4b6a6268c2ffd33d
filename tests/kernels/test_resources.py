"""What one program takes."""

import pytest

from gemmlab.kernels import accumulators, get, registers_needed, registers_of, section, shared_bytes_of
from gemmlab.problem import Gemm

HALF = Gemm(1024, 1024, 1024, "float16")


@pytest.mark.parametrize(
    ("tile", "warps", "each"), [("128x128x32", 4, 128), ("64x64x32", 4, 32), ("256x128x64", 8, 128)]
)
def test_accumulators_are_outputs_over_threads(tile, warps, each):
    assert accumulators(get("tensor", tile=tile, warps=warps), HALF) == each


def test_float64_accumulators_take_two_registers():
    kernel = get("register")
    assert accumulators(kernel, Gemm(64, 64, 64, "float64")) == 2 * accumulators(kernel, Gemm(64, 64, 64)) == 128


def test_registers_are_estimated_or_given():
    assert registers_of(get("tensor"), HALF) == registers_needed(get("tensor"), HALF)
    assert 128 < registers_of(get("tensor"), HALF) <= 255
    assert registers_of(get("tensor", registers=168), HALF) == 168
    # 32x32 outputs a thread: 1,024 accumulators, where 255 registers are the limit
    assert registers_needed(get("register", tile="128x256x8", thread_m=32, thread_n=32), Gemm(64, 64, 64)) > 1024


@pytest.mark.parametrize(("stages", "kib"), [(1, 16), (2, 32), (3, 48), (4, 64)])
def test_shared_memory_is_stages_times_both_tiles(stages, kib):
    assert shared_bytes_of(get("tensor", tile="128x128x32", stages=stages), HALF) == kib * 1024
    assert shared_bytes_of(get("tensor", tile="256x256x64", stages=3), HALF) == 192 * 1024


def test_shared_memory_by_format_and_structure():
    assert shared_bytes_of(get("naive"), HALF) == 0
    assert shared_bytes_of(get("tiled"), Gemm(8, 8, 8)) == 2 * 16 * 16 * 4
    assert shared_bytes_of(get("tiled"), Gemm(8, 8, 8, "float6_e2m3fn")) == 2 * 16 * 16 * 6 // 8
    mixed = Gemm(8, 8, 8, "float16", b_format="float8_e4m3fn")
    assert shared_bytes_of(get("tiled"), mixed) == 16 * 16 * 3
    sparse = Gemm(64, 64, 64, "float16", structure="sparse_2_4")
    kernel = get("tensor", problem=sparse, tile="128x128x64", stages=1)
    assert shared_bytes_of(kernel, sparse) == 128 * 32 * 2 + 128 * 64 // 8 + 64 * 128 * 2
    assert shared_bytes_of(get("tensor", shared_bytes=99_000), HALF) == 99_000


def test_section_says_what_the_problem_uses():
    kernel = get("warpgroup", problem=HALF, group_m=4)
    filled = section(kernel, HALF)
    assert (filled.block_m, filled.block_n, filled.block_k) == (128, 256, 64)
    assert (filled.warps, filled.group_m, filled.cluster_m, filled.split_k) == (8, 4, 2, 1)
    assert filled.registers == registers_of(kernel, HALF)
    assert filled.shared_bytes == 4 * (128 + 256) * 64 * 2
