"""Sharing, use over time, stills and advice of systolic arrays, each beside a plain count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab import Gemm
from gemmlab.experiment import Simulated, simulate, state_of, still_of
from gemmlab.experiment.systolic_activity import Wave, activity, work_until
from gemmlab.experiment.systolic_advice import advise
from gemmlab.experiment.systolic_shares import best, cut, pieces, shared, splits
from gemmlab.record import GemmlabError
from gemmlab.systolic import Array, closed_form, tile_engine, timeline

SIDES = st.integers(1, 24)
ARRAYS = st.builds(
    lambda rows, cols, dataflow, weights, drain: Array(
        rows=rows, cols=cols, dataflow=dataflow, weights=weights, drain=drain
    ),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(["ws", "is", "os"]),
    st.sampled_from(["double", "single"]),
    st.sampled_from(["side", "bottom", "shadow"]),
)
PROBLEMS = st.builds(lambda m, n, k: Gemm(m, n, k, "int8"), SIDES, SIDES, SIDES)


def at_work(waves, time):
    """PEs that multiply in a cycle, one by one."""
    return sum(
        wave.start + row + col <= time < wave.end + row + col
        for wave in waves
        for row in range(wave.rows)
        for col in range(wave.cols)
    )


@given(
    st.lists(st.builds(Wave, st.integers(1, 5), st.integers(1, 5), st.integers(0, 9), st.integers(10, 20)), max_size=4)
)
def test_work_until_is_the_sum_over_pes_and_cycles(waves):
    times = np.arange(0, 40)
    plain = np.concatenate([[0], np.cumsum([at_work(waves, time) for time in times[:-1]])])
    assert work_until(waves, times).tolist() == plain.tolist()


@given(PROBLEMS, ARRAYS)
@settings(max_examples=60, deadline=None)
def test_all_work_is_done_and_no_more(problem, array):
    section = tile_engine(problem, array)
    moments = activity(problem, array, section.cycles)
    done = sum(moment.busy * (moment.end - moment.start) for moment in moments) * array.pes
    assert done == pytest.approx(section.useful_macs)
    assert all(-1e-9 <= moment.busy <= 1 + 1e-9 for moment in moments)
    assert (moments[0].start, moments[-1].end) == (0, section.cycles)


@given(PROBLEMS, ARRAYS, st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_still_has_the_pes_that_multiply(problem, array, seed):
    from gemmlab.report.systolic_array import busy

    cycles = tile_engine(problem, array).cycles
    cycle = seed % cycles
    still = still_of(Simulated(problem, array), cycle)
    waves = [Wave(tile.rows, tile.cols, tile.start, tile.end) for tile in timeline(problem, array)]
    assert sum(busy(wave) for wave in still.waves) == at_work(waves, cycle)


@given(PROBLEMS, ARRAYS)
@settings(max_examples=30, deadline=None)
def test_a_picture_shows_each_pe_once_and_no_other(problem, array):
    from gemmlab.report.systolic_array import board_of, cells_of

    still = still_of(Simulated(problem, array))
    cells = [cell for cell in cells_of(still, board_of(still, 700)) if cell.kind == "works"]
    assert len({(cell.row, cell.col) for cell in cells}) == len(cells)
    assert all(0 <= cell.row < array.rows and 0 <= cell.col < array.cols for cell in cells)


@given(st.builds(lambda m, n, k: Gemm(m, n, k, "int8"), *[st.integers(1, 9)] * 3), ARRAYS, st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_picture_shows_what_the_registers_hold(problem, array, seed):
    """Each PE at work names the element that its register of the moving operand holds, and no other PE holds one."""
    from gemmlab.report.systolic_array import board_of, cells_of, elements

    asked = Simulated(problem, array)
    cycle = seed % tile_engine(problem, array).cycles
    still, state = still_of(asked, cycle), state_of(asked, cycle)
    moving = array.flow.right
    shown = {
        (cell.row, cell.col): list(elements(still, cell)[moving])
        for cell in cells_of(still, board_of(still, 700))
        if cell.kind == "works"
    }
    held = {
        (row, col): element
        for row, line in enumerate(state["right"]["elements"])
        for col, element in enumerate(line)
        if element is not None
    }
    inside = {place: element for place, element in held.items() if place in shown}
    assert inside == shown
    for row, col in held.keys() - shown.keys():  # words run on through PEs that their tile does not fill
        assert any(col >= wave.cols and 0 <= wave.age - row - col < wave.length for wave in still.waves)


@given(st.integers(1, 500), st.integers(1, 9), st.integers(1, 40))
def test_a_cut_covers_the_side_in_whole_tiles(size, into, step):
    parts = cut(size, into, step)
    assert sum(parts) == size
    assert 1 <= len(parts) <= into
    assert all(part % step == 0 for part in parts[:-1])
    assert max(parts) == parts[0]


@given(PROBLEMS, ARRAYS, st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_units_together_do_the_whole_and_take_the_time_of_the_last(problem, array, units):
    section, last = best(problem, array, units, closed_form)
    assert section.cycles == closed_form(last, array).cycles
    assert section.useful_macs == problem.m * problem.n * problem.k
    assert section.writes.c == problem.m * problem.n
    assert section.compulsory_bytes == problem.compulsory_bytes
    assert section.utilisation == pytest.approx(section.useful_macs / (units * array.pes * section.cycles))
    for split in splits(units):
        shares = pieces(problem, array, split)
        assert sum(share.m * share.n * count for share, count in shares.items()) == problem.m * problem.n
        assert section.cycles <= max(closed_form(share, array).cycles for share in shares)


def test_batches_are_shared_too():
    problem = Gemm(40, 50, 60, "int8", batch=3)
    one, four = (shared(problem, Array(rows=8, cols=8), units, closed_form) for units in (1, 4))
    assert four.useful_macs == one.useful_macs == 3 * 40 * 50 * 60
    assert four.cycles < one.cycles


@given(PROBLEMS, ARRAYS)
@settings(max_examples=40, deadline=None)
def test_what_advice_promises_comes_true(problem, array):
    section = tile_engine(problem, array)
    for advice in advise(problem, array, 1, section, tile_engine):
        assert advice.predicted_speedup >= 1.03
        now = section.useful_macs / section.cycles
        if advice.cause == "weight shift":
            then = tile_engine(problem, array.replace(weights="double"))
        elif advice.cause == "drain":
            then = tile_engine(problem, array.replace(drain="shadow"))
        elif advice.cause == "dataflow":
            then = tile_engine(problem, array.replace(dataflow=advice.change.split()[1].strip(":")))
        else:
            continue
        assert then.useful_macs / then.cycles / now == pytest.approx(advice.predicted_speedup)


def test_padding_advice():
    """600 columns on arrays of 256: 768 of them take the same time."""
    array = Array(rows=256, cols=256)
    given_, full = (tile_engine(Gemm(4096, n, 768, "int8"), array) for n in (600, 768))
    (found,) = [
        each for each in advise(Gemm(4096, 600, 768, "int8"), array, 1, given_, tile_engine) if "600" in each.change
    ]
    assert "768" in found.change
    assert "512" in found.change
    assert found.predicted_speedup == pytest.approx(768 / 600 * given_.cycles / full.cycles)


def test_a_longer_batch_hides_the_weights():
    array = Array(rows=256, cols=256, clock_hz=700e6, dram_bytes_per_s=34e9, resident=("a", "c"))
    problem = Gemm(200, 4096, 4096, "int8")
    advice = advise(problem, array, 1, tile_engine(problem, array), tile_engine)
    (found,) = [each for each in advice if each.cause == "weight stall"]
    assert "m=1350" in found.change  # the ridge of the TPU v1's paper
    now, then = (tile_engine(each, array) for each in (problem, problem.replace(m=1350)))
    assert now.stalls.weight_stall / now.cycles > 0.6
    assert then.stalls.weight_stall / then.cycles < 0.1
    assert found.predicted_speedup == pytest.approx(then.utilisation / now.utilisation)


def test_past_the_last_cycle():
    asked = Simulated(Gemm(4, 4, 4, "int8"), Array(rows=4, cols=4, dataflow="os"))
    assert still_of(asked, 9).cycle == 9
    with pytest.raises(GemmlabError, match="no cycle 10") as raised:
        still_of(asked, 10)
    assert "from 0 to 9" in raised.value.hint


def test_energy_of_a_known_case():
    """1024 cubed on 128x128: figures of the counts by hand, pJ of Horowitz's table."""
    section = simulate(Simulated(Gemm(1024, 1024, 1024, "int8"), Array())).systolic
    terms = {term.what: term for term in section.energy.terms}
    assert terms["multiplying int8"].energy_j == pytest.approx(1024**3 * 0.2e-12)
    assert terms["adding int32"].energy_j == pytest.approx(1024**3 * 0.1e-12)
    assert terms["A out of SRAM"].energy_j == pytest.approx(8 * 1024**2 * 12.5e-12)
    assert terms["B out of SRAM"].energy_j == pytest.approx(1024**2 * 12.5e-12)
    assert terms["DRAM"].count == 6 * 1024**2
    assert section.energy.no_reuse_j / section.energy.energy_j > 10


@pytest.mark.parametrize("form", ["int8", "int16", "bfloat16", "float8_e4m3fn", "float16"])
def test_energy_of_every_format_says_what_it_lacks(form):
    energy = simulate(Simulated(Gemm(64, 64, 64, form), Array(rows=16, cols=16))).systolic.energy
    said = " ".join([*(term.what for term in energy.terms), *energy.left_out])
    assert form in said
