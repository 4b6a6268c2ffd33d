"""Figures that are known from elsewhere, or derived by hand."""

import pytest

from gemmlab import Gemm
from gemmlab.record import GemmlabError
from gemmlab.systolic import Array, closed_form, tile_engine


@pytest.mark.parametrize(
    ("sides", "array", "weights", "cycles", "utilisation"),
    [
        ((1024, 1024, 1024), 128, "single", 89_984, 0.728),
        ((1024, 1024, 1024), 128, "double", 65_918, 0.994),
        ((1024, 1024, 1024), 256, "single", 28_640, 0.572),
        ((1024, 1024, 1024), 256, "double", 17_150, 0.955),
        ((4096, 4096, 4096), 256, "double", 1_049_342, 0.999),
        ((200, 2048, 2048), 256, "single", 61_824, 0.207),
        ((200, 2048, 2048), 256, "double", 17_094, 0.749),
    ],
)
def test_hidden_weight_shifts(sides, array, weights, cycles, utilisation):
    found = closed_form(Gemm(*sides, "int8"), Array(rows=array, cols=array, weights=weights))
    assert found.cycles == cycles
    assert found.utilisation == pytest.approx(utilisation, abs=6e-4)


@pytest.mark.parametrize(("drain", "cycles"), [("side", 10), ("bottom", 14), ("shadow", 14)])
def test_four_by_four_by_four_holding_the_sums(drain, cycles):
    assert closed_form(Gemm(4, 4, 4, "int8"), Array(rows=4, cols=4, dataflow="os", drain=drain)).cycles == cycles


@pytest.mark.parametrize(("dataflow", "exact", "full"), [("os", 952, 1140), ("ws", 1112, 1164), ("is", 1256, 1312)])
def test_edge_tiles_exact_and_in_full(dataflow, exact, full):
    # STONNE, which moves values too, takes 952 and 5 for each of the 12 tiles
    for edges, cycles in (("exact", exact), ("full", full)):
        array = Array(rows=32, cols=32, dataflow=dataflow, weights="single", edges=edges)
        assert closed_form(Gemm(100, 70, 33, "int8"), array).cycles == cycles


@pytest.mark.parametrize(
    ("formats", "passes"), [(("int8", "int8"), 1), (("int16", "int8"), 2), (("int16", "int16"), 4)]
)
def test_wider_integers_take_their_passes(formats, passes):
    array = Array(rows=256, cols=256)
    one = closed_form(Gemm(4096, 1024, 1024, "int8"), array)
    found = closed_form(Gemm(4096, 1024, 1024, *formats), array)
    assert found.passes == passes
    assert found.active_cycles == passes * one.active_cycles
    assert found.cycles / one.cycles == pytest.approx(passes, rel=0.02)
    assert found.useful_macs == one.useful_macs


def test_accumulators_cut_the_moving_side_into_strips():
    problem, array = Gemm(10_000, 512, 512, "int8"), Array(rows=256, cols=256, accumulators=4096)
    found = closed_form(problem, array)
    assert (found.strips, found.accumulators_used) == (3, 3334)
    assert found.reads.b == 3 * 512 * 512
    assert found.reads.c == found.writes.partial == 10_000 * 512
    assert closed_form(problem.replace(k=256), array).strips == 1  # no sum waits where k is one tile


def test_a_short_tile_cannot_hide_the_shift_of_the_next():
    found = closed_form(Gemm(10, 256, 1024, "int8"), Array(rows=256, cols=256))
    assert found.stalls.weight_shift == 256 + 3 * (256 - 10)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (Gemm(8, 8, 8, "int32"), "up to 16 bits"),
        (Gemm(8, 8, 8, "float6_e2m3fn"), "float6_e2m3fn: no unit"),
        (Gemm(8, 8, 8, "tfloat32"), "tfloat32: no unit"),
        (Gemm(8, 8, 8, "int8", "bfloat16"), "an integer by a float"),
        (Gemm(8, 8, 8, "bfloat16", "float16"), "no unit of numerics"),
        (Gemm(8, 8, 8, "bfloat16", accumulate="float16"), "sums are float32, not float16"),
        (Gemm(8, 8, 8, "int8", beta=1.0), "beta = 1.0"),
        (Gemm(8, 8, 8, "int8", epilogue="relu"), "epilogue `relu`"),
        (Gemm(8, 8, 8, "int8", structure="triangular"), "structure triangular"),
    ],
)
def test_what_no_array_multiplies(problem, said):
    for engine in (closed_form, tile_engine):
        with pytest.raises(GemmlabError) as caught:
            engine(problem, Array())
        assert said in caught.value.text
        assert caught.value.hint


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("hopper.wgmma.bfloat16", "a PE of a systolic array adds one"),
        ("cuda.fma.float32", "takes float32"),
        ("tpu.mxu", "unknown unit `tpu.mxu`"),
    ],
)
def test_units_that_are_no_pe(unit, said):
    with pytest.raises(GemmlabError, match=said):
        closed_form(Gemm(8, 8, 8, "bfloat16"), Array(unit=unit))


def test_sram_too_small_for_two_tiles():
    with pytest.raises(GemmlabError, match=r"does not hold 2 pieces of each operand, which take 17\.25 KiB") as caught:
        closed_form(Gemm(128, 128, 128, "int8"), Array(sram_bytes=1000))
    assert "more SRAM" in caught.value.hint


def test_too_many_tiles_to_walk():
    problem = Gemm(1 << 30, 1 << 30, 1 << 30, "int8")
    with pytest.raises(GemmlabError, match="too many to walk"):
        tile_engine(problem, Array(clock_hz=1e9, dram_bytes_per_s=1e9))
    assert closed_form(problem, Array()).cycles > 1 << 70
