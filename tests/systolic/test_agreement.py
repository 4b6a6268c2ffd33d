"""Three engines, one answer: cycles, accesses and traffic by formula, by tiles and by registers; values exact."""

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab import Gemm
from gemmlab.systolic import Grid, closed_form, closed_forms, tile_engine

from .drawn import arrays, exact, operands, problems


@settings(max_examples=2000)
@given(problems(), arrays(), st.integers(0, 1 << 30), st.none() | st.integers(2000, 8000))
def test_closed_form_tiles_and_grid_agree(problem, array, seed, sram):
    array = array.replace(sram_bytes=sram)
    formula, tiles = closed_form(problem, array), tile_engine(problem, array)
    a, b = operands(problem, seed)
    d, grid = Grid(problem, array, (a, b)).run()
    assert formula == msgspec.structs.replace(tiles, engine="closed form")
    assert formula == msgspec.structs.replace(grid, engine="closed form", overflow=None)
    np.testing.assert_array_equal(d, exact(a, b))


@given(problems(), arrays())
def test_every_cycle_has_a_cause(problem, array):
    found = closed_form(problem, array)
    stalls = found.stalls
    assert found.cycles == found.active_cycles + stalls.weight_stall + stalls.weight_shift + stalls.non_matrix
    assert min(msgspec.structs.astuple(stalls)) >= 0
    assert 0 < found.utilisation <= found.mapping <= 1
    assert found.useful_macs == problem.multiply_adds


@given(problems(), arrays(), st.integers(1, 5))
def test_a_batch_is_one_after_another(problem, array, batch):
    one, all_of_them = closed_form(problem, array), tile_engine(problem.replace(batch=batch), array)
    assert (all_of_them.cycles, all_of_them.reads.b) == (batch * one.cycles, batch * one.reads.b)


@given(st.lists(st.tuples(*[st.integers(1, 300)] * 3), min_size=1, max_size=20), arrays(most=20))
def test_many_at_once_are_the_same(sizes, array):
    found = closed_forms(*np.array(sizes).T, array, "int8", "int16")
    for at, (m, n, k) in enumerate(sizes):
        one = closed_form(Gemm(m, n, k, "int8", "int16"), array)
        for name in (
            "tiles",
            "strips",
            "cycles",
            "active_cycles",
            "useful_macs",
            "unused_macs",
            "utilisation",
            "mapping",
        ):
            assert found[name][at] == getattr(one, name), name
        assert (found["a_reads"][at], found["b_reads"][at], found["c_reads"][at]) == msgspec.structs.astuple(one.reads)
        assert (found["weight_shift"][at], found["skew"][at]) == (one.stalls.weight_shift, one.stalls.skew)
        assert (found["drain"][at], found["c_writes"][at]) == (one.stalls.drain, one.writes.c)
