"""The TPU v1 as its paper measured it, and the peaks of those after it."""

import json
from pathlib import Path

import pytest

from gemmlab import Gemm
from gemmlab.chips import load
from gemmlab.experiment import Simulated, array_of, simulate
from gemmlab.record import GemmlabError
from gemmlab.systolic import Array, tile_engine

PAPER = json.loads((Path(__file__).parents[2] / "benchmarks/tpu_v1_counters.json").read_text())
APPLICATIONS = PAPER["applications"]
BOUND = [name for name, told in APPLICATIONS.items() if told["memory_bound"]]
LAYER = 2048  # rows of the weights, in whole tiles: the paper prints how many weights there are, not their layers


def predicted(name):
    """Percent of cycles by class, the share that the paper calls non-matrix taken as it was measured."""
    told = APPLICATIONS[name]
    array = array_of(load("tpu-v1"), "int8").array
    columns = round(told["weights"] / LAYER / array.cols) * array.cols
    section = tile_engine(Gemm(told["batch"], columns, LAYER, "int8"), array)
    stalls = section.stalls
    matrix = section.active_cycles + stalls.weight_stall + stalls.weight_shift
    each = (100 - told["non_matrix"]) / matrix
    return {
        "active": section.active_cycles * each,
        "weight_stall": stalls.weight_stall * each,
        "weight_shift": stalls.weight_shift * each,
    }


def test_the_papers_rows_add_up():
    for told in APPLICATIONS.values():
        total = told["active"] + told["weight_stall"] + told["weight_shift"] + told["non_matrix"]
        assert total == pytest.approx(100, abs=0.11)


@pytest.mark.parametrize("name", BOUND)
def test_weight_shift_of_memory_bound_applications(name):
    assert predicted(name)["weight_shift"] == pytest.approx(APPLICATIONS[name]["weight_shift"], abs=0.6)


@pytest.mark.parametrize("row", ["active", "weight_stall", "weight_shift"])
def test_every_row_of_mlp0(row):
    assert predicted("MLP0")[row] == pytest.approx(APPLICATIONS["MLP0"][row], abs=0.8)


@pytest.mark.parametrize("side", ["256", "512"])
def test_fragmentation(side):
    """A matrix of 600 x 600 takes 9 tiles of 256 or 4 of 512; the larger array takes longer."""
    told = PAPER["fragmentation"]
    size = int(side)
    array = array_of(load("tpu-v1"), "int8", rows=size, cols=size).array
    section = tile_engine(Gemm(APPLICATIONS["LSTM1"]["batch"], *told["sides"], "int8"), array)
    assert section.tiles == told["tiles"][side]
    assert section.dram.b_bytes == section.tiles * size * size
    assert section.time_s == pytest.approx(told["time_s"][side], rel=0.05)


def test_the_ridge():
    """Multiply-adds for each byte of weights at which both take equally long."""
    array = array_of(load("tpu-v1"), "int8").array
    assert array.pes * array.clock_hz / array.dram_bytes_per_s == pytest.approx(
        PAPER["ridge_macs_per_weight_byte"], rel=0.01
    )


def test_more_bandwidth_and_more_clock():
    """Memory-bound ones gain about 3 times by 4 times the bandwidth, and nothing by 4 times the clock (figure 11)."""
    base = array_of(load("tpu-v1"), "int8").array
    problem = Gemm(200, LAYER, LAYER, "int8")
    now = tile_engine(problem, base).time_s
    wide = tile_engine(problem, base.replace(dram_bytes_per_s=4 * base.dram_bytes_per_s)).time_s
    fast = tile_engine(problem, base.replace(clock_hz=4 * base.clock_hz)).time_s
    assert 2.5 < now / wide < 4
    assert now / fast < 1.1


def test_the_array_of_the_first_tpu():
    found = array_of(load("tpu-v1"), "int8")
    array = found.array
    assert (array.rows, array.cols, array.accumulators, array.clock_hz) == (256, 256, 4096, 700e6)
    assert array.sram_bytes == 24 << 20
    assert (found.units, array.weights, array.dataflow) == (1, "double", "ws")
    assert found.validated
    assert not array_of(load("tpu-v1"), "int8", clock_hz=1.4e9).validated  # figures were compared as they stand


@pytest.mark.parametrize("name", ["tpu-v1", "tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p"])
def test_peaks_are_units_times_sides_times_clock(name):
    chip = load(name)
    form = "int8" if name == "tpu-v1" else "bfloat16"
    found = array_of(chip, form)
    peak = found.units * found.array.pes * 2 * found.array.clock_hz
    assert peak == pytest.approx(chip.peak_flop_per_s(form), rel=0.01)


def test_the_contradiction_about_the_sixth_is_said():
    found = array_of(load("tpu-v6e"), "bfloat16")
    said = " ".join(found.notes)
    assert "two 256x256" in said
    assert "3.5 GHz" in said


@pytest.mark.parametrize("name", ["tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"])
def test_chips_after_the_first_are_not_validated(name):
    chip = load(name)
    found = array_of(chip, "bfloat16")
    record = simulate(Simulated(Gemm(512, 512, 512, "bfloat16"), found.array, found.units, chip, notes=found.notes))
    assert record.systolic.validated == ""
    assert any(note.startswith("not validated") and name in note for note in record.systolic.notes)


def test_a_rate_that_the_sides_do_not_explain_is_refused():
    with pytest.raises(GemmlabError, match="2 times what 128x128") as raised:
        array_of(load("tpu-v5e"), "int8")
    assert "bfloat16" in raised.value.hint


def test_sixteen_bits_take_passes():
    """Half the rate with one operand of 16 bits, a quarter with two (section 2 of the paper)."""
    array = Array(rows=256, cols=256)
    cycles = [
        tile_engine(Gemm(4096, 2048, 2048, a, b_format=b), array).active_cycles
        for a, b in (("int8", "int8"), ("int16", "int8"), ("int16", "int16"))
    ]
    assert cycles == [cycles[0], 2 * cycles[0], 4 * cycles[0]]


def test_a_gpu_is_no_array():
    with pytest.raises(GemmlabError, match="h100-sxm") as raised:
        array_of(load("h100-sxm"), "int8")
    assert "--beside h100-sxm" in raised.value.hint
