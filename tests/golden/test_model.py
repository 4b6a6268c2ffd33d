"""The published facts about rooflines, tiles, bounds, waves and structure. A100 is the 80 GB PCIe card unless said."""

import math
import random

import pytest

from gemmlab import Gemm, explain
from gemmlab.chips import load
from gemmlab.count import count
from gemmlab.kernels import accumulators, get, shared_bytes_of
from gemmlab.model import lower_bounds, occupancy
from gemmlab.model.bounds import three_tile_elements, tight_elements
from gemmlab.model.machine import machine_of
from gemmlab.record import GemmlabError

A100 = load("a100-pcie-80gb")
CUBE = Gemm(8192, 8192, 8192, "float16")


def predicted(problem, chip="a100-pcie-80gb", kernel=None):
    return explain(problem, chip, kernel, advice=False).prediction


def knee(chip, name):
    return predicted(Gemm(256, 256, 256, name), chip).knee_flop_per_byte


def one_a_sm(problem, tile="256x128x32"):
    """A kernel of which one program fits an SM of the A100."""
    kernel = get("tensor", problem=problem, tile=tile)
    assert occupancy(problem, A100, kernel).programs == 1
    return kernel


def intensity(problem, kernel):
    counted = count(problem, kernel)
    return counted.flop / counted.global_load_bytes


@pytest.mark.parametrize(
    ("chip", "name", "value"),
    [
        ("a100-pcie-80gb", "float32", 10),
        ("a100-pcie-80gb", "tfloat32", 81),
        ("a100-pcie-80gb", "float16", 161),
        ("a100-sxm-40gb", "float16", 201),
        ("a100-sxm-80gb", "float16", 153),
        ("h100-sxm", "float16", 295),
    ],
)
def test_knees(chip, name, value):
    assert round(knee(chip, name)) == value


@pytest.mark.parametrize(("name", "side"), [("float32", 41), ("float16", 323)])
def test_smallest_square_tile_past_the_knee(name, side):
    """T/4 FLOP a byte for float32, T/2 for float16."""
    limit = knee("a100-pcie-80gb", name)

    def past(t):
        return intensity(Gemm(t, t, 8, name), get("register", tile=(t, t, 8), thread_m=t, thread_n=1)) > limit

    assert past(side)
    assert not past(side - 1)


def test_the_tile_past_the_float16_knee_does_not_fit_an_sm():
    kernel = get("register", tile=(323, 323, 8), thread_m=323, thread_n=1)
    held = 4 * accumulators(kernel, CUBE) * kernel.threads
    assert held == 4 * 323**2 > 400e3
    assert held > 256 * 1024 == 4 * A100.limits.registers_per_sm
    with pytest.raises(GemmlabError, match=r"needs 407\.5 KiB of accumulators .* has 256 KiB of registers"):
        occupancy(CUBE, A100, kernel)


def test_no_tile_that_an_ampere_sm_can_hold_reaches_the_float16_knee():
    limit = knee("a100-pcie-80gb", "float16")
    reached = 0.0
    for block_m in range(16, 1025, 16):
        for block_n in range(16, 1025, 16):
            if 4 * block_m * block_n <= 256 * 1024:  # float32 accumulators alone
                reached = max(reached, block_m * block_n / (block_m + block_n))
    assert reached == 128 < limit  # 256x256


def test_clusters_double_the_tile_but_hoppers_knee_is_higher():
    """A pair of 128x256 tiles sharing B's loads as one of 256x256: 128 FLOP a byte of L2, where the knee is 295."""
    kernel = get("warpgroup", problem=CUBE)
    assert (kernel.block_m, kernel.block_n, kernel.cluster_m) == (128, 256, 2)
    levels = {level.name: level for level in predicted(CUBE, "h100-sxm", kernel).levels}
    stores = CUBE.d_bytes
    assert CUBE.flop / (levels["l2"].bytes - stores) == pytest.approx(128)
    assert knee("h100-sxm", "float16") > 128


def test_8192_cubed_in_float16():
    record = explain(CUBE, A100, get("tensor", problem=CUBE, tile="128x128x32"), advice=False)
    counted, prediction = record.count, record.prediction
    bandwidth = A100.level("dram").bandwidth_bytes_per_s
    assert counted.raw_bytes == 17_179_869_184
    assert counted.raw_bytes / bandwidth == pytest.approx(8.9e-3, rel=0.005)
    assert prediction.compute_time_s == pytest.approx(3.52e-3, rel=0.002)
    assert counted.compulsory_bytes == 402_653_184
    assert counted.compulsory_bytes / bandwidth == pytest.approx(0.21e-3, rel=0.01)
    assert counted.compulsory_bytes / bandwidth < prediction.compute_time_s / 10
    assert prediction.compute_time_s * bandwidth == pytest.approx(6.8e9, rel=0.005)  # memory-bound above it
    assert CUBE.a_bytes == CUBE.b_bytes == 128 * 2**20 > A100.level("l2").capacity_bytes
    assert round(prediction.knee_flop_per_byte) == 161
    assert counted.compulsory_bytes < prediction.dram_bytes < counted.raw_bytes
    assert prediction.dram_bytes < 6.8e9
    assert prediction.bound == "compute"
    assert prediction.time_s > prediction.compute_time_s


@pytest.mark.parametrize("group_m", [1, 8])
def test_drift_makes_row_major_memory_bound_at_worst_and_grouping_never(group_m):
    """In lock-step row-major order reads 5.3 GB; the band's wild end passes 6.8 GB without groups and not with them."""
    prediction = predicted(CUBE, A100, get("tensor", problem=CUBE, tile="128x128x32", group_m=group_m))
    assert prediction.dram_bytes < 6.8e9
    assert (prediction.dram_bytes_high > 6.8e9) == (group_m == 1)
    said = any("lock-step" in note for note in prediction.notes)
    assert said == (group_m == 1)


@pytest.mark.parametrize("chip", ["a100-pcie-80gb", "a100-sxm-40gb", "h100-sxm", "h200-sxm", "v100-sxm2-16gb"])
def test_8192_cubed_is_compute_bound_as_nvidias_guide_says(chip):
    assert predicted(CUBE, chip).bound == "compute"


def test_shared_memory_of_the_a100():
    shared = A100.level("shared").bandwidth_bytes_per_s
    assert shared == pytest.approx(19.5e12, rel=0.001)
    assert shared == pytest.approx(128 * 108 * 1.41e9, rel=1e-6)
    levels = {level.name: level for level in predicted(CUBE).levels}
    assert levels["shared"].knee_flop_per_byte == pytest.approx(16, rel=0.001)
    assert A100.peaks["float16"].flop_per_clock_per_sm / 128 == 16


@pytest.mark.parametrize(("chip", "ratio"), [("v100-sxm2-16gb", 8), ("a100-pcie-80gb", 16), ("h100-sxm", 15)])
def test_tensor_cores_against_ordinary_units(chip, ratio):
    peaks = load(chip).peaks
    assert round(peaks["float16"].flop_per_s / peaks["float32"].flop_per_s) == ratio
    assert (peaks["float16"].unit, peaks["float32"].unit) == ("tensor", "vector")


def test_the_h100_has_two_clocks_and_16_times_a_clock():
    chip = load("h100-sxm")
    half, single = chip.peaks["float16"], chip.peaks["float32"]
    assert half.flop_per_clock_per_sm / single.flop_per_clock_per_sm == 16
    assert half.clock_hz == 1.83e9
    assert chip.clock_hz == 1.98e9


@pytest.mark.parametrize(("chip", "sparse"), [("a100-pcie-80gb", 624e12), ("h100-sxm", 1979e12)])
def test_sparsity_doubles_the_dense_peak_and_no_knee(chip, sparse):
    loaded = load(chip)
    assert loaded.peaks["float16"].flop_per_s * loaded.sparse_factor == pytest.approx(sparse, rel=0.001)
    dense, pruned = (predicted(CUBE.replace(structure=structure), chip) for structure in ("general", "sparse_2_4"))
    assert dense.knee_flop_per_byte == pruned.knee_flop_per_byte
    for prediction in (dense, pruned):
        assert any("double" in note and "knee" in note and "wrong" in note for note in prediction.notes)


def test_tf32_is_8_times_float32_on_an_a100():
    peaks = A100.peaks
    assert (peaks["tfloat32"].flop_per_s, peaks["float32"].flop_per_s) == (156e12, 19.5e12)
    notes = predicted(Gemm(512, 512, 512, "tfloat32")).notes
    assert any("on for cuDNN convolutions" in note and "float32_matmul_precision" in note for note in notes)


def test_volta_tensor_cores():
    """4x4x4 a clock: 64 multiply-adds, 8 cores an SM; programs see 16x16x16 a warp."""
    chip = load("v100-sxm2-16gb")
    assert chip.peaks["float16"].flop_per_clock_per_sm == 8 * 2 * 4 * 4 * 4
    assert chip.peaks["float16"].instruction == (16, 16, 16)
    assert A100.peaks["float16"].instruction == (16, 8, 16)
    assert load("h100-sxm").peaks["float16"].instruction[0] == 4 * 16  # four warps issue together


def test_waves():
    problem = Gemm(11 * 256, 10 * 128, 4096, "float16")
    record = explain(problem, A100, one_a_sm(problem), advice=False)
    assert record.count.programs == 110
    assert math.ceil(record.prediction.waves) == 2
    assert record.prediction.waves == pytest.approx(110 / 108)
    assert record.prediction.wave_efficiency == pytest.approx(0.51, abs=0.002)
    idle = next(term for term in record.prediction.terms if term.cause == "idle in the last wave")
    assert idle.time_s > 0.3 * record.prediction.time_s


def test_time_doubles_from_one_wave_to_two_only():
    """110 tiles against 108, then 10.05 waves against 10: 11/10 at most. SMs that idle leave power to the others."""

    def seconds(down, across):
        problem = Gemm(256 * down, 128 * across, 8192, "float16")
        return predicted(problem, A100, one_a_sm(problem)).time_s

    assert 1.7 < seconds(10, 11) / seconds(9, 12) < 2.05
    assert 1.02 < seconds(31, 35) / seconds(30, 36) < 1.12


@pytest.mark.parametrize(("side", "tiles", "waves"), [(1792, 98, 1), (1793, 120, 2)])
def test_1792_and_1793_on_108_sms(side, tiles, waves):
    problem = Gemm(side, side, 4096, "float16")
    record = explain(problem, A100, one_a_sm(problem), advice=False)
    assert record.count.programs == tiles
    assert math.ceil(record.prediction.waves) == waves


def test_1793_costs_a_wave_even_where_rows_are_aligned():
    """The wave alone: n=1793 padded to 1800 by its leading dimensions."""
    whole, more = (
        predicted(problem, A100, one_a_sm(problem))
        for problem in (
            Gemm(1792, 1792, 4096, "float16"),
            Gemm(1793, 1793, 4096, "float16", ldb=1800, ldc=1800),
        )
    )
    assert 1.5 < more.time_s / whole.time_s < 2.2


@pytest.mark.parametrize(
    ("kernel", "tile", "loads", "flop_per_byte"),
    [
        ("naive", None, 2_147_483_648, 0.2499),
        ("tiled", "16x16x16", 134_217_728, 3.97),
        ("tiled", "8x8x8", 268_435_456, 2),
    ],
)
def test_naive_and_tiled_at_1024_through_explain(kernel, tile, loads, flop_per_byte):
    problem = Gemm(1024, 1024, 1024)
    record = explain(problem, A100, get(kernel, problem=problem, tile=tile), advice=False)
    assert record.count.global_load_elements == loads
    assert record.count.intensity_flop_per_byte == pytest.approx(flop_per_byte, abs=0.01 if loads > 2e8 else 0.005)
    assert record.prediction.bound == ("loads" if kernel == "naive" else "shared")


def test_structured_operands_through_explain():
    bands = {"structure": "banded", "lower_band": 255, "upper_band": 256}
    side, columns = 4096, 512
    plain, half, mirrored, band = (
        explain(Gemm(side, columns, side, **fields), A100, "register", advice=False)
        for fields in ({}, {"structure": "triangular"}, {"structure": "symmetric"}, bands)
    )
    b_and_d = 2 * side * columns * 4
    assert half.count.flop / plain.count.flop == (side + 1) / (2 * side)
    assert half.prediction.time_s / plain.prediction.time_s == pytest.approx(0.5, abs=0.02)
    assert mirrored.count.flop == plain.count.flop
    assert (mirrored.count.compulsory_bytes - b_and_d) / (plain.count.compulsory_bytes - b_and_d) == (side + 1) / (
        2 * side
    )
    assert mirrored.prediction.dram_read_bytes < 0.6 * plain.prediction.dram_read_bytes
    inside = sum(min(side, i + 257) - max(0, i - 255) for i in range(side))
    assert band.count.flop == 2 * columns * inside
    assert band.count.compulsory_bytes == 4 * inside + b_and_d
    assert band.prediction.time_s < 0.2 * plain.prediction.time_s


@pytest.mark.parametrize(("name", "divisor", "rounded"), [("float32", 6, 683), ("float16", 3, 1365)])
def test_ideal_intensity(name, divisor, rounded):
    problem = Gemm(4096, 4096, 4096, name)
    reached = problem.flop / problem.compulsory_bytes
    assert reached == pytest.approx(4096 / divisor)
    assert round(reached) == rounded


def test_hong_kung():
    work, memory = 8192**3, 20 * 2**20
    tile = math.sqrt(memory / 3)
    assert three_tile_elements(work, memory) == pytest.approx(2 * work / tile)
    ratio = three_tile_elements(work, memory) / (tight_elements(work, memory) + 2 * memory)
    assert ratio == pytest.approx(math.sqrt(3))
    found = lower_bounds(CUBE, A100.level("l2").capacity_bytes)
    assert found["tight"] == pytest.approx(0.396e9, rel=0.002)
    assert found["hong_kung"] == pytest.approx(0.83e9, rel=0.005)
    assert predicted(CUBE).lower_bound_bytes == found["compulsory"] == 402_653_184


def test_a_ladder_of_bytes_from_floor_to_raw():
    kernel = get("tensor", problem=CUBE, tile="128x128x32", group_m=8)
    record = explain(CUBE, A100, kernel, advice=False)
    bounds = record.prediction.lower_bounds
    rungs = (
        bounds["tight"],
        bounds["compulsory"],
        bounds["hong_kung"],
        record.prediction.dram_bytes,
        record.count.raw_bytes,
    )
    assert list(rungs) == sorted(rungs)


def test_register_tiles_spill_where_255_is_the_limit():
    kernel = get("register", problem=CUBE, tile="256x256x8", thread_m=32, thread_n=32)
    assert accumulators(kernel, CUBE) == 1024
    assert A100.limits.registers_per_thread == 255
    held = occupancy(CUBE, A100, kernel)
    assert held.spilled > 1024 - 255
    prediction = predicted(CUBE, A100, kernel)
    assert any("spill to local memory" in note for note in prediction.notes)
    assert prediction.time_s > predicted(CUBE, A100, get("register", problem=CUBE)).time_s


def test_the_fast_road_is_a_matter_of_strides():
    """A view with an odd row stride leaves it whatever m, n, k are; an odd m alone does not."""

    def loses(problem):
        return any(term.cause == "alignment" for term in predicted(problem).terms)

    assert not loses(Gemm(4096, 4096, 4096, "float16"))
    assert loses(Gemm(4096, 4096, 4096, "float16", ldb=4097))
    assert loses(Gemm(4096, 4096, 4096, "float16", a_offset_bytes=2))
    assert not loses(Gemm(4095, 4096, 4096, "float16"))
    assert loses(Gemm(4096, 4095, 4096, "float16"))


def test_tpu_v1():
    chip = load("tpu-v1")
    peak = chip.peaks["int8"]
    assert peak.flop_per_clock_per_sm == 2 * 65_536 == 2 * 256 * 256
    assert peak.flop_per_s == pytest.approx(92e12)
    assert 2 * 65_536 * chip.clock_hz == pytest.approx(peak.flop_per_s, rel=0.01)  # 700 MHz
    assert chip.level("register").capacity_bytes == 4 * 2**20 == 4096 * 256 * 4  # 32-bit accumulators
    notes = predicted(Gemm(1024, 1024, 1024, "int8"), "tpu-v1").notes
    assert any("8-bit integers" in note and "inference" in note and "moves less" in note for note in notes)
    assert list(chip.peaks) == ["int8"]


@pytest.mark.parametrize(("chip", "side"), [("tpu-v2", 128), ("tpu-v4", 128), ("tpu-v5p", 128), ("tpu-v6e", 256)])
def test_matrix_units_of_later_tpus(chip, side):
    peak = load(chip).peaks["bfloat16"]
    assert peak.flop_per_clock_per_sm == 2 * side * side


def test_a_roofline_with_the_peak_as_its_roof():
    """At any intensity nobody is faster than the data sheet: random shapes, three chips."""
    rng = random.Random(1)
    for _ in range(60):
        chip = rng.choice(("a100-pcie-80gb", "h200-sxm", "rtx-4090"))
        problem = Gemm(*(int(2 ** rng.uniform(4, 13)) for _ in "mnk"), "float16")
        machine = machine_of(load(chip), "float16")
        roof = max(problem.flop / machine.peak_flop_per_s, problem.compulsory_bytes / machine.dram_bytes_per_s)
        assert predicted(problem, chip).time_s > roof


def test_shared_memory_of_one_program():
    """Three stages of 128x128x32 in float16 are 48 KiB; two such programs share an SM of the A100."""
    kernel = get("tensor", problem=CUBE, tile="128x128x32")
    assert shared_bytes_of(kernel, CUBE) == 48 * 1024
    assert occupancy(CUBE, A100, kernel).programs == 2
