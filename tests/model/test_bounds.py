"""Lower bounds recomputed from their formulas, and against what schedules really move."""

import random
from math import isqrt, sqrt

import pytest

from gemmlab import Gemm
from gemmlab.model import lower_bounds
from gemmlab.model.bounds import three_tile_elements, tight_elements

CUBE = Gemm(8192, 8192, 8192, "float16")


def test_8192_cubed_on_40_mib():
    found = lower_bounds(CUBE, 40 * 2**20)
    assert found["tight"] == pytest.approx(0.396e9, rel=0.002)
    assert found["hong_kung"] == pytest.approx(0.83e9, rel=0.005)
    assert found["compulsory"] == 402_653_184  # above the tight bound, so it is the floor


def test_8192_cubed_on_50_mib_and_on_the_registers_of_an_a100():
    found = lower_bounds(CUBE, 50 * 2**20)
    assert found["tight"] == pytest.approx(0.325e9, rel=0.005)
    assert found["hong_kung"] == pytest.approx(0.744e9, rel=0.005)
    accumulators = 27 * 2**20 / 4  # float32 ones: 7.08 M elements stay on chip
    work = 8192**3
    assert 2 * tight_elements(work, accumulators) == pytest.approx(0.80e9, rel=0.01)
    assert 2 * three_tile_elements(work, accumulators) == pytest.approx(1.43e9, rel=0.01)


def test_the_formulas():
    rng = random.Random(1)
    for _ in range(200):
        m, n, k = (rng.randint(1, 5000) for _ in "mnk")
        name, size = rng.choice((("float32", 4), ("float16", 2), ("int8", 1)))
        fast = rng.randint(64, 10**8)
        found = lower_bounds(Gemm(m, n, k, name), fast)
        s = fast / size
        assert found["tight"] == pytest.approx(size * max(0.0, 2 * m * n * k / sqrt(s) - 2 * s), rel=1e-12)
        assert found["hong_kung"] == pytest.approx(size * 2 * m * n * k / sqrt(s / 3), rel=1e-12)


def test_three_tiles_are_within_sqrt_3_of_the_leading_term():
    for elements in (3, 1000, 10**7):
        for work in (10**6, 10**12):
            assert three_tile_elements(work, elements) == pytest.approx(sqrt(3) * 2 * work / sqrt(elements), rel=1e-12)


def test_hong_kung_scaling():
    """n^3 / sqrt(S): eight times the traffic for twice the side, half of it for four times the memory."""
    assert three_tile_elements(16**3, 300) == 8 * three_tile_elements(8**3, 300)
    assert three_tile_elements(8**3, 1200) == pytest.approx(three_tile_elements(8**3, 300) / 2)


def moved_by_three_tiles(n, side):
    """Elements read by the schedule with a side x side tile of A, B and C in fast memory, walked tile by tile."""
    moved = 0
    for i in range(0, n, side):
        for j in range(0, n, side):
            for p in range(0, n, side):
                moved += (min(i + side, n) - i) * (min(p + side, n) - p)
                moved += (min(p + side, n) - p) * (min(j + side, n) - j)
    return moved


def moved_by_one_tile(n, side):
    """Elements read when the tile of C stays, a column of A and a row of B pass by: all of fast memory for C."""
    return sum(n * (min(i + side, n) - i + min(j + side, n) - j) for i in range(0, n, side) for j in range(0, n, side))


@pytest.mark.parametrize("n", [48, 96, 120])
@pytest.mark.parametrize("side", [4, 6, 8, 12])
def test_schedules_attain_what_the_bounds_promise(n, side):
    assert moved_by_three_tiles(n, side) == three_tile_elements(n**3, 3 * side**2)
    fast = side**2 + 2 * side
    assert tight_elements(n**3, fast) <= moved_by_one_tile(n, side) <= 2 * n**3 / isqrt(side**2)
    assert moved_by_one_tile(n, side) == 2 * n**3 / side  # the leading term, with S the result's tile


def test_nothing_goes_below_zero_where_all_fits():
    assert lower_bounds(Gemm(8, 8, 8), 1e6)["tight"] == 0


@pytest.mark.parametrize("structure", ["general", "triangular", "sparse_2_4"])
def test_bounds_follow_the_work_of_the_structure(structure):
    problem = Gemm(4096, 4096, 4096, structure=structure)
    assert lower_bounds(problem, 1e6)["hong_kung"] == 4 * three_tile_elements(problem.multiply_adds, 250_000)


def test_what_is_reachable_grows_as_the_root_of_the_memory():
    """FLOP a byte of the three-tile schedule: twice as much for four times the memory, whatever n."""
    for n in (4096, 65536):
        problem = Gemm(n, n, n, "float16")
        reach = [problem.flop / lower_bounds(problem, fast)["hong_kung"] for fast in (1e6, 4e6, 16e6)]
        assert reach[1] / reach[0] == pytest.approx(2)
        assert reach[2] / reach[0] == pytest.approx(4)
