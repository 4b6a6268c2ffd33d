"""Every fault that SCALE-Sim 3.0.0 is known to have, with the right answer; and its figures, for who comes from it.

What it prints was recorded in an environment of its own; benchmarks/systolic_peers.py compares with it live.
"""

import msgspec
import numpy as np
import pytest

from gemmlab import Gemm
from gemmlab.record import GemmlabError
from gemmlab.systolic import Array, Grid, closed_form, scalesim, tile_engine

from .drawn import operands


def array(rows, cols, dataflow, **more):
    """An array as SCALE-Sim has them."""
    return Array(rows=rows, cols=cols, dataflow=dataflow, weights="single", edges="full", **more)


@pytest.mark.parametrize(
    ("sides", "pes", "dataflow", "cycles", "utilisation", "mapping", "computing", "reads", "c_writes"),
    [
        ((16, 16, 16), 8, "os", 119, 53.78, 100, 53.33, (512, 512), 320),
        ((16, 16, 16), 8, "ws", 151, 42.38, 100, 35.56, (512, 256), 512),
        ((16, 16, 16), 8, "is", 151, 42.38, 100, 35.56, (256, 512), 512),
        ((64, 64, 64), 16, "os", 1503, 68.13, 100, 68.09, (16384, 16384), 4608),
        ((64, 64, 64), 16, "ws", 1759, 58.21, 100, 51.20, (16384, 4096), 16384),
        ((100, 70, 33), 32, "os", 1139, 19.81, 56.97, 19.79, (9900, 9240), 7768),
        ((100, 70, 33), 32, "ws", 1163, 19.40, 37.60, 16.71, (9900, 2310), 14000),
        ((100, 70, 33), 32, "is", 1311, 17.21, 40.28, 14.46, (3300, 9240), 14000),
        ((1024, 1024, 1024), 128, "ws", 89983, 72.83, 100, 66.80, (8388608, 1048576), 8388608),
        ((1024, 1024, 1024), 256, "ws", 28639, 57.21, 100, 50.07, (4194304, 1048576), 4194304),
    ],
)
def test_what_it_prints(sides, pes, dataflow, cycles, utilisation, mapping, computing, reads, c_writes):
    found = scalesim(Gemm(*sides), Array(rows=pes, cols=pes, dataflow=dataflow))
    assert (found.cycles, found.a_reads, found.b_reads, found.c_writes) == (cycles, *reads, c_writes)
    assert 100 * found.utilisation == pytest.approx(utilisation, abs=0.005)
    assert 100 * found.mapping == pytest.approx(mapping, abs=0.005)
    assert 100 * found.compute_utilisation == pytest.approx(computing, abs=0.005)


def test_a_cycle_too_few():
    assert scalesim(Gemm(4, 4, 4), Array(rows=4, cols=4, dataflow="os")).cycles == 9
    assert closed_form(Gemm(4, 4, 4, "int8"), array(4, 4, "os")).cycles == 10


def test_more_than_all_of_the_array_and_division_by_zero():
    one = Array(rows=1, cols=1, dataflow="os")
    assert scalesim(Gemm(1, 1, 8), one).utilisation == pytest.approx(8 / 7)
    assert scalesim(Gemm(1, 1, 1), one).utilisation is None
    for k in (1, 8):
        found = closed_form(Gemm(1, 1, k, "int8"), one)
        assert (found.cycles, found.utilisation) == (k, 1.0)


@pytest.mark.parametrize("drain", ["side", "bottom", "shadow"])
@pytest.mark.parametrize(("sides", "pes"), [((4, 4, 4), 4), ((8, 8, 16), 8)])
def test_no_result_leaves_before_its_last_product(sides, pes, drain):
    # it writes half of them up to pes - 1 cycles early
    problem = Gemm(*sides, "int8")
    grid = Grid(problem, array(pes, pes, "os", drain=drain), operands(problem))
    d, found = grid.run()
    left = 0
    for cycle in range(found.cycles):
        for word in grid.state(cycle)["leaving"]:
            i, j = word["element"]
            assert cycle >= problem.k - 1 + i + j
            assert word["value"] == d[i, j]
            left += 1
    assert left == problem.m * problem.n


def test_results_are_written_once():
    found = closed_form(Gemm(16, 16, 16, "int8"), array(8, 8, "os"))
    assert (found.writes.c, scalesim(Gemm(16, 16, 16), Array(rows=8, cols=8, dataflow="os")).c_writes) == (256, 320)


@pytest.mark.parametrize(("sides", "pes", "right"), [((64, 64, 64), 16, 0.5818), ((1024, 1024, 1024), 256, 0.5721)])
def test_the_skew_counts_once_in_the_utilisation(sides, pes, right):
    assert closed_form(Gemm(*sides, "int8"), array(pes, pes, "ws")).utilisation == pytest.approx(right, abs=5e-5)


def test_partial_sums_stay_on_chip_and_are_read_back():
    # it writes 16384 words to DRAM, and reads none
    found = closed_form(Gemm(64, 64, 64, "int8"), array(16, 16, "ws", sram_bytes=3 << 20))
    assert found.writes.partial == found.reads.c == 3 * 64 * 64
    assert found.dram.c_bytes == 4 * 64 * 64


def test_sram_does_not_take_time_by_itself():
    # with prefetch it takes 240 to 8603 cycles, from 1 to 8192 kB
    problem = Gemm(16, 16, 16, "int8")
    times = set()
    for kilobytes in (2, 4, 64, 1024, 8192):
        found = tile_engine(problem, array(8, 8, "ws", sram_bytes=kilobytes << 10, clock_hz=1e9, dram_bytes_per_s=1e10))
        times.add((found.cycles, found.dram.a_bytes, found.dram.b_bytes))
    assert len(times) == 1


def test_more_sram_is_never_slower_and_fetches_no_more():
    # it takes 9298, 16459, 8207, 2549 and 1759 cycles with 1, 2, 4, 8 and 16 kB at 4 words a cycle
    problem = Gemm(64, 64, 64, "int8")
    found = [
        tile_engine(problem, array(16, 16, "ws", sram_bytes=kilobytes << 10, clock_hz=1e9, dram_bytes_per_s=4e9))
        for kilobytes in (3, 6, 12, 24, 48)
    ]
    cycles = [each.cycles for each in found]
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[0] > cycles[-1]
    assert found[-1].dram.b_bytes == 64 * 64


def test_what_comes_through_a_narrow_channel_takes_its_time():
    # it tells of no stall at one word a cycle where SRAM is large
    problem = Gemm(64, 64, 64, "int8")
    for dataflow in ("ws", "is", "os"):
        found = tile_engine(problem, array(16, 16, dataflow, clock_hz=1e9, dram_bytes_per_s=1e9))
        assert found.cycles >= found.dram.bytes == problem.compulsory_bytes
        stalls = found.stalls
        assert stalls.weight_stall + stalls.input + stalls.output > 4000
        assert min(msgspec.structs.astuple(stalls)) >= 0


@pytest.mark.parametrize("operand", ["a", "b", "c"])
def test_one_bandwidth_serves_every_operand(operand):
    # its own takes those of A and B from two other settings
    problem = Gemm(64, 64, 64, "int8")
    others = tuple(name for name in ("a", "b", "c") if name != operand)
    slow, quick = (
        tile_engine(problem, array(16, 16, "ws", clock_hz=1e9, dram_bytes_per_s=rate, resident=others)).cycles
        for rate in (1e8, 1e12)
    )
    assert slow > 2 * quick


def test_reads_and_writes_are_on_one_clock():
    problem = Gemm(6, 4, 4, "int8")
    grid = Grid(problem, array(4, 4, "ws"), operands(problem))
    grid.run()
    for cycle in range(grid.machine.last + 1):
        state = grid.state(cycle)
        entered = state["right"]["elements"][3][0]  # the last product of column 0's sum, whose foot this is
        first = [word["element"] for word in state["leaving"] if word["col"] == 0]
        assert first == ([] if entered is None else [[entered[0], 0]])


def test_a_vector_is_not_a_matrix():
    # asked for 256x768x256 and 1x768x256 it was said to give 4608 cycles and all of the array for both
    matrix, vector = (closed_form(Gemm(m, 768, 256, "int8"), array(128, 128, "ws")) for m in (256, 1))
    assert (matrix.cycles, vector.cycles) == (12 * 638, 12 * 383)
    assert vector.utilisation == pytest.approx(0.0026, abs=5e-5)


def test_it_takes_one_multiplication():
    with pytest.raises(GemmlabError, match="without batch"):
        scalesim(Gemm(4, 4, 4, batch=2), Array())


def test_values_come_with_the_counts():
    problem = Gemm(100, 70, 33, "int8")
    a, b = operands(problem)
    for dataflow in ("ws", "is", "os"):
        d, found = Grid(problem, array(32, 32, dataflow), (a, b)).run()
        np.testing.assert_array_equal(d, a.astype(np.int64) @ b.astype(np.int64))
        assert found.cycles == scalesim(problem, Array(rows=32, cols=32, dataflow=dataflow)).cycles + 1
