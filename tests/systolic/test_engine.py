"""The tile engine: what waits for what, and that more of anything never takes longer."""

import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab import Gemm
from gemmlab.record import GemmlabError
from gemmlab.systolic import Array, closed_form, tile_engine, timeline
from gemmlab.systolic.engine import quickest, runner, work

from .drawn import arrays, problems

LINKED = {"clock_hz": 1e9}
RATES = st.floats(1e7, 1e12)


def cycles(problem, array):
    """The engine's cycles, or more than any where SRAM is too small."""
    try:
        return tile_engine(problem, array).cycles
    except GemmlabError:
        return math.inf


@settings(max_examples=80)
@given(problems(most=40), arrays(most=12, **LINKED), st.lists(RATES, min_size=2, max_size=4), st.integers(100, 6000))
def test_time_never_rises_with_bandwidth(problem, array, rates, sram):
    for sram_bytes in (None, sram):
        taken = [
            cycles(problem, array.replace(dram_bytes_per_s=rate, sram_bytes=sram_bytes))
            for rate in (*sorted(rates), None)
        ]
        assert taken == sorted(taken, reverse=True)


@settings(max_examples=80)
@given(problems(most=40), arrays(most=12, **LINKED), RATES, st.lists(st.integers(50, 6000), min_size=2, max_size=5))
def test_time_never_rises_with_sram(problem, array, rate, sizes):
    for dram_bytes_per_s in (rate, None):
        array = array.replace(dram_bytes_per_s=dram_bytes_per_s)
        taken = [cycles(problem, array.replace(sram_bytes=size)) for size in (*sorted(sizes), None)]
        assert taken == sorted(taken, reverse=True)


@settings(max_examples=80)
@given(problems(most=40), arrays(most=12, **LINKED), RATES, st.none() | st.integers(2000, 6000), st.integers(1, 5))
def test_what_holds_of_every_run(problem, array, rate, sram, ahead):
    array = array.replace(dram_bytes_per_s=rate, sram_bytes=sram, tiles_ahead=ahead)
    if cycles(problem, array) == math.inf:
        with pytest.raises(GemmlabError, match="does not hold"):
            closed_form(problem, array)
        return
    found = tile_engine(problem, array)
    stalls = msgspec.structs.astuple(found.stalls)
    assert min(stalls) >= 0
    assert found.cycles == found.active_cycles + sum(stalls)
    assert found.dram.bytes >= found.compulsory_bytes
    assert found.cycles >= found.dram.bytes * 1e9 / rate - 1
    assert found.cycles >= closed_form(problem, array.replace(dram_bytes_per_s=None, sram_bytes=None)).cycles
    if sram is None and array.edges == "exact":
        assert found.dram.bytes == found.compulsory_bytes


@settings(max_examples=60)
@given(problems(most=40), arrays(most=12, **LINKED), RATES, st.none() | st.integers(2000, 6000))
def test_compiled_and_as_written(problem, array, rate, sram):
    array = array.replace(dram_bytes_per_s=rate, sram_bytes=sram)
    try:
        setup = work(problem, array, quickest(problem, array)[1])
    except GemmlabError:
        return
    tiles = setup.down * setup.across * setup.strips
    times = [np.zeros((tiles, 12)), np.zeros((tiles, 12))]
    told = [runner(fast)(setup, into).tolist() for fast, into in zip((False, True), times, strict=True)]
    assert told[0] == told[1]
    np.testing.assert_array_equal(*times)


@settings(max_examples=100)
@given(problems(most=40), arrays(most=12, **LINKED), RATES)
def test_tiles_follow_one_another(problem, array, rate):
    array = array.replace(dram_bytes_per_s=rate)
    before = None
    for tile in timeline(problem, array):
        assert tile.fetch_start <= tile.held_ready <= tile.fetch_end or tile.held_ready == 0
        assert tile.start >= tile.fetch_end - 1e-6
        if array.moves_sums:
            assert tile.held_ready - 1e-6 <= tile.shift_start < tile.shift_end <= tile.start
        assert tile.start < tile.end <= tile.done
        if before is not None:
            assert tile.start >= before.end
            assert tile.fetch_start == 0 or tile.fetch_start >= before.fetch_end
        before = tile
    assert tile_engine(problem, array).cycles >= before.done


def test_a_weight_bound_layer_as_tpu_v1_has_it():
    # one tile of 64 KiB comes in 1349.27 cycles, of which 200 are worked and 256 shift the next tile in
    array = Array(rows=256, cols=256, accumulators=4096, clock_hz=700e6, dram_bytes_per_s=34e9, resident=("a", "c"))
    found = tile_engine(Gemm(200, 2560, 2560, "int8"), array)
    fetch = Fraction(65536 * 700_000_000, 34_000_000_000)
    assert found.tiles == 100
    assert found.active_cycles == 100 * 200
    assert found.stalls.weight_shift == 100 * 256
    assert found.stalls.weight_stall == math.ceil(100 * fetch) - 99 * (200 + 256)
    assert found.stalls.skew == 510
    assert (found.dram.a_bytes, found.dram.b_bytes, found.dram.c_bytes) == (0, 2560 * 2560, 0)


def test_a_deeper_queue_of_tiles_hides_more():
    array = Array(rows=256, cols=256, clock_hz=700e6, dram_bytes_per_s=34e9, resident=("a", "c"))
    two, four = (tile_engine(Gemm(1350, 2560, 2560, "int8"), array.replace(tiles_ahead=n)) for n in (2, 4))
    assert two.stalls.weight_stall > four.stalls.weight_stall
    assert four.cycles < 1.02 * closed_form(Gemm(1350, 2560, 2560, "int8"), array).cycles


@pytest.mark.parametrize("sram", [24 << 20, 1 << 20, 256 << 10])
def test_sram_decides_how_often_an_operand_comes(sram):
    problem = Gemm(4096, 4096, 4096, "int8")
    found = tile_engine(problem, Array(clock_hz=7e8, dram_bytes_per_s=1e11, sram_bytes=sram))
    whole = problem.m * problem.k
    assert found.dram.c_bytes == 4 * whole
    assert found.dram.a_bytes % whole == found.dram.b_bytes % whole == 0
    assert (found.dram.a_bytes + found.dram.b_bytes > 2 * whole) == (sram < 24 << 20)


def test_no_limit_of_sram_is_no_slower_than_any():
    # with everything kept, the order of the tiles still decides what is fetched first
    array = Array(rows=1, cols=1, weights="single", clock_hz=1e9, dram_bytes_per_s=1e7)
    problem = Gemm(2, 2, 3, "int8")
    assert tile_engine(problem, array).cycles == tile_engine(problem, array.replace(sram_bytes=50)).cycles == 2801
