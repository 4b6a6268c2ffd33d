"""The published facts about counts, tiles and structure: float32 unless said."""

import json
from pathlib import Path

import pytest

from gemmlab.count import count
from gemmlab.kernels import accumulators, default_for, get
from gemmlab.problem import Gemm

CUBE = Gemm(1024, 1024, 1024)


def tiled(side):
    return get("tiled", tile=(side, side, side))


def loads_intensity(problem, kernel):
    counted = count(problem, kernel)
    return counted.flop / counted.global_load_bytes


def test_work_is_two_flop_a_multiply_add():
    assert count(Gemm(3, 5, 7), get("naive")).flop == 2 * 3 * 5 * 7
    assert count(CUBE, get("tiled")).flop == 2 * 1024**3


def test_naive_reads():
    counted = count(CUBE, get("naive"))
    assert counted.global_load_elements == 2_147_483_648
    assert counted.global_load_elements // 1024**2 == 2_048  # of each output
    assert counted.global_load_elements // (2 * 1024**2) == 1_024  # of each input number


@pytest.mark.parametrize(("side", "reads", "of_each"), [(8, 268_435_456, 128), (16, 134_217_728, 64)])
def test_tiled_reads(side, reads, of_each):
    counted = count(CUBE, tiled(side))
    assert counted.global_load_elements == reads
    assert counted.global_load_elements // (2 * 1024**2) == of_each


@pytest.mark.parametrize("n", [16, 100, 256, 1000, 1024, 4096])
def test_naive_intensity_is_a_quarter_at_any_size(n):
    assert loads_intensity(Gemm(n, n, n), get("naive")) == 0.25


def test_intensity_with_the_one_write_of_c():
    assert count(CUBE, get("naive")).intensity_flop_per_byte == pytest.approx(0.2499, abs=5e-5)
    assert count(CUBE, tiled(16)).intensity_flop_per_byte == pytest.approx(3.97, abs=5e-3)


@pytest.mark.parametrize("side", [4, 8, 16, 32])
def test_square_tiles(side):
    assert loads_intensity(CUBE, tiled(side)) == side / 4
    assert loads_intensity(Gemm(1024, 1024, 1024, "float16"), tiled(side)) == side / 2


def test_one_step_of_a_32_tile():
    counted = count(Gemm(32, 32, 32), tiled(32))
    assert counted.global_load_elements == 2_048
    assert counted.flop // 2 == 32_768
    assert counted.flop == 65_536
    assert counted.flop / counted.global_load_elements == 32
    assert counted.flop / counted.global_load_bytes == 8


@pytest.mark.parametrize("block_k", [8, 16, 32, 64])
@pytest.mark.parametrize(("block_m", "block_n"), [(64, 256), (128, 128), (256, 128), (32, 512)])
@pytest.mark.parametrize(("name", "size"), [("float32", 4), ("float16", 2)])
def test_rectangular_tiles_whatever_block_k(name, size, block_m, block_n, block_k):
    problem = Gemm(1024, 2048, 512, name)
    kernel = get("register", tile=(block_m, block_n, block_k))
    law = 2 * block_m * block_n / ((block_m + block_n) * size)
    assert loads_intensity(problem, kernel) == pytest.approx(law, rel=1e-15)


def test_large_tiles():
    problem = Gemm(8192, 8192, 8192, "float16")
    assert loads_intensity(problem, get("tensor", problem=problem, tile="256x256x64")) == 128
    assert loads_intensity(problem, get("tensor", problem=problem, tile="128x128x32")) == 64
    cube = Gemm(1440, 1440, 1440)
    assert loads_intensity(cube, get("register", tile="144x144x8")) == 36


def test_float16_8192_cubed_with_128_tiles():
    problem = Gemm(8192, 8192, 8192, "float16")
    assert str(default_for(problem)) == "tensor 128x128x32"
    counted = count(problem, get("tensor", problem=problem, tile="128x128x32"))
    assert counted.raw_bytes == 17_179_869_184  # 17.18 GB
    assert counted.compulsory_bytes == 402_653_184  # 403 MB
    assert problem.a_bytes == problem.b_bytes == 128 * 2**20
    assert counted.raw_bytes / 1.935e12 == pytest.approx(8.9e-3, rel=0.005)
    assert counted.compulsory_bytes / 1.935e12 == pytest.approx(0.21e-3, rel=0.01)


@pytest.mark.parametrize("side", [1, 2, 4, 8, 16, 32])
def test_register_tiles(side):
    problem = Gemm(1024, 1024, 1024, "float16")
    kernel = get("register", tile=(4 * side, 8 * side, 16), thread_m=side, thread_n=side)
    counted = count(problem, kernel)
    assert counted.padded_flop / counted.shared_load_bytes == side / 2
    assert accumulators(kernel, problem) == side * side


def test_warp_tiles():
    problem = Gemm(1024, 1024, 1024, "float16")
    for warp, tile, warps in ((16, "64x32x32", 8), (32, "128x64x32", 8), (64, "128x128x32", 4)):
        kernel = get("tensor", problem=problem, tile=tile, warps=warps)
        assert (kernel.warp_m, kernel.warp_n) == (warp, warp)
        counted = count(problem, kernel)
        assert counted.flop / counted.shared_load_bytes == warp / 2
        assert accumulators(kernel, problem) == warp * warp // 32
    assert warp / 2 == 32
    assert accumulators(kernel, problem) == 128


def test_instructions_that_read_shared_memory_themselves():
    """wgmma: A once for each 64 x n instruction, B once for each warpgroup of 64 rows; 64x256 gives 51 FLOP a byte."""
    problem = Gemm(1024, 1024, 1024, "float16")
    counted = count(problem, get("warpgroup", problem=problem))
    assert counted.flop / counted.shared_load_bytes == 2 * 64 * 256 / ((64 + 256) * 2)


def test_micro_tile_saves_shared_memory_alone():
    step = Gemm(8, 8, 1)
    one = count(step, get("register", tile=(8, 8, 1), thread_m=8, thread_n=8))
    assert one.shared_load_bytes // 4 == 16  # numbers in
    assert one.flop // 2 == 64  # products out
    micro, none = (count(CUBE, get("register", tile="32x32x8", thread_m=t, thread_n=t)) for t in (8, 1))
    assert micro.raw_bytes == none.raw_bytes
    assert none.shared_load_bytes == 8 * micro.shared_load_bytes


@pytest.mark.parametrize(("name", "divisor"), [("float32", 6), ("float16", 3)])
def test_ideal_intensity(name, divisor):
    problem = Gemm(4096, 4096, 4096, name)
    counted = count(problem, default_for(problem))
    assert counted.flop / counted.compulsory_bytes == pytest.approx(4096 / divisor, rel=1e-12)
    if name == "float32":
        assert round(counted.flop / counted.compulsory_bytes) == 683


def test_triangular_is_half_the_work():
    dense, half = Gemm(4096, 512, 4096), Gemm(4096, 512, 4096, structure="triangular")
    kernel = get("register")
    whole, part = count(dense, kernel), count(half, kernel)
    assert part.flop / whole.flop == (4096 + 1) / (2 * 4096)
    # of 32 row blocks, block i visits (i + 1) / 32 of the steps: the tiles on the diagonal cost a little more than half
    assert part.padded_flop / whole.padded_flop == 33 / 64
    assert part.global_load_elements / whole.global_load_elements == 33 / 64


def test_symmetric_is_half_the_reads_of_a():
    dense, half = Gemm(4096, 512, 4096), Gemm(4096, 512, 4096, structure="symmetric")
    assert half.a_bytes / dense.a_bytes == (4096 + 1) / (2 * 4096)
    assert half.flop == dense.flop
    # tiles above the diagonal are read again from the stored half: before caches as many elements as ever
    assert count(half, get("register")).global_load_elements == count(dense, get("register")).global_load_elements


def test_banded_is_the_band_only():
    problem = Gemm(4096, 512, 4096, structure="banded", lower_band=255, upper_band=256)
    band = 4096 * 512 - 255 * 256 // 2 - 256 * 257 // 2
    counted = count(problem, get("register"))
    assert counted.flop == 2 * 512 * band
    assert problem.a_bytes == 4 * band
    assert (
        counted.global_load_bytes
        < 0.2
        * count(problem.replace(structure="general", lower_band=0, upper_band=0), get("register")).global_load_bytes
    )


@pytest.mark.parametrize(
    ("name", "tile", "requests", "sectors"),
    [
        ("naive", "16x16", 1_048_576, 2_097_152),
        ("tiled", "8x8x8", 131_072, 524_288),
        ("tiled", "16x16x16", 65_536, 262_144),
    ],
)
def test_hardware_counters_of_an_h200(name, tile, requests, sectors):
    """l1tex requests and sectors of global loads, ncu on an H200, n=256."""
    counted = count(Gemm(256, 256, 256), get(name, tile=tile))
    assert counted.load_requests == requests
    assert counted.sectors_requested == sectors
    assert counted.flop // 2 == 16_777_216  # smsp__sass_thread_inst_executed_op_ffma


def test_shared_reads_of_a_ragged_run_on_an_h200():
    """100x70x33, T=16: a warp reads 32 words a step, which the compiler made 16 + 4 instructions, 16,800 in all."""
    counted = count(Gemm(100, 70, 33), tiled(16))
    warp_steps = 16_800 // (16 + 4)
    assert counted.shared_load_bytes == warp_steps * 32 * 32 * 4


def test_no_kernel_of_the_public_readings_reads_less_than_its_floor():
    path = Path(__file__).parents[3] / "shared/data/h200/l2_raster_counters.json"
    if not path.exists():
        pytest.skip("the shared H200 readings are not beside this repository")
    data = json.loads(path.read_text())
    for row in data["rows"]:
        problem = Gemm(row["m"], row["n"], row["k"], data["format"], layout=data["layout"])
        kernel = get(
            "tensor", problem=problem, tile=(row["block_m"], row["block_n"], row["block_k"]), warps=row["warps"]
        )
        counted = count(problem, kernel)
        floor = problem.compulsory_read_bytes
        assert 0.98 * floor < row["dram_read_bytes"] < counted.raw_bytes
