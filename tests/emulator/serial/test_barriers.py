"""What a missing barrier of a tiled matmul can do, and that its presence leaves nothing to be done."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from emulator.serial import kernels
from emulator.serial.kernels import BOTH, NO_FIRST, NO_SECOND
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.serial import NAMED, Schedule, replay, run_schedule, search
from gemmlab.emulator.serial.exhaustive import worst_of_all
from gemmlab.record import GemmlabError

TILES = (2, 3, 4, 5, 8)


def sizes(tile):
    """One tile, two, and a ragged edge."""
    return (tile, 2 * tile, 2 * tile + 1)


def launched(barriers, tile, n):
    """A program, its launch, the output array and what it should hold."""
    a, b = kernels.matrices(n)
    c = np.zeros((n, n), np.float32)
    args = (a, b, c, *barriers)
    program = program_of(kernels.tiled, *args)
    across = -(-n // tile)
    return program, launch_of(program, (across, across), (tile, tile), args), c, a @ b


def worst(barriers, tile, n, **limits):
    """Of a search judged by the exact product; its witness does the same again."""
    program, launch, c, product = launched(barriers, tile, n)

    def judge(outputs):
        return int((outputs["c"] != product).sum()), float(np.abs(outputs["c"] - product).max())

    found = search(program, launch, judge=judge, random_tries=4, **limits)
    assert (c == 0).all()
    replay(program, launch, found.schedule)
    assert (c != product).sum() == found.wrong_elements
    return found


@pytest.mark.parametrize(("tile", "n"), [(tile, n) for tile in TILES for n in sizes(tile)])
def test_a_kernel_with_both_barriers_is_right_under_every_schedule(tile, n):
    assert worst(BOTH, tile, n).wrong_elements == 0


@pytest.mark.parametrize(("tile", "n"), [(tile, n) for tile in TILES for n in sizes(tile)])
def test_without_the_first_barrier_it_is_wrong_at_every_size(tile, n):
    found = worst(NO_FIRST, tile, n, states=0)
    # of one tile the thread that runs last is always right; with two, another thread is last in the next
    assert found.wrong_elements == (n * n if n > tile else n * n - 1)
    assert found.tries[0].schedule == NAMED["lockstep"]
    assert found.tries[0].wrong_elements == 0


@pytest.mark.parametrize(("tile", "n"), [(tile, n) for tile in TILES for n in sizes(tile)])
def test_without_the_second_barrier_it_is_wrong_where_there_is_a_second_tile(tile, n):
    found = worst(NO_SECOND, tile, n, states=0)
    assert (found.wrong_elements > 0) == (n > tile)
    assert found.tries[0].wrong_elements == 0


def test_all_interleavings_of_one_tile_are_harmless_without_the_second_barrier():
    found = worst(NO_SECOND, 2, 2)
    assert found.all_interleavings
    assert found.wrong_elements == 0


def test_no_interleaving_of_one_tile_makes_all_four_elements_wrong():
    found = worst(NO_FIRST, 2, 2)
    assert found.all_interleavings
    assert found.states > 2401  # 7 places in the code of each of 4 threads, and what they read
    assert found.wrong_elements == 3


def reads(tile):
    """A launch that writes down each read of its one tile, and how many reads are stale."""
    a = np.arange(1, tile * tile + 1, dtype=np.float32).reshape(tile, tile)
    out = np.zeros((tile * tile, tile, 2), np.float32)
    program = program_of(kernels.reads_written_down, a, out)
    return program, launch_of(program, 1, (tile, tile), (a, out)), lambda: int((out == 0).sum())


@pytest.mark.parametrize("tile", TILES)
def test_serial_orders_make_as_many_reads_stale_as_can_be(tile):
    program, launch, stale = reads(tile)
    for name in ("serial", "reverse"):
        run_schedule(program, launch, NAMED[name])
        assert stale() == tile**2 * (tile - 1)
    run_schedule(program, launch, NAMED["lockstep"])
    assert stale() == 0


def test_every_serial_order_of_four_threads_attains_the_bound_and_no_interleaving_passes_it():
    program, launch, stale = reads(2)
    for order in itertools.permutations(range(4)):
        run_schedule(program, launch, Schedule("serial", first=order))
        assert stale() == 4
    found = search(program, launch, judge=lambda outputs: (int((outputs["reads"] == 0).sum()), 0.0))
    assert found.all_interleavings
    assert found.wrong_elements == 4


def test_a_witness_of_single_turns_replays():
    program, launch, c, product = launched(NO_SECOND, 2, 4)
    extreme = worst_of_all(program, launch, {"c": product.ravel()}, lambda left: (left["c"] != product.ravel()).sum())
    again = Schedule.from_json(extreme.schedule.to_json())
    assert again == extreme.schedule
    assert again.order == "turns"
    run_schedule(program, launch, again)
    first = c.copy()
    assert (first != product).sum() == 12
    c[:] = 0
    run_schedule(program, launch, again)
    np.testing.assert_array_equal(first, c)


def test_blocks_in_any_order_do_the_same_where_they_share_nothing():
    program, launch, c, _ = launched(NO_FIRST, 3, 7)
    run_schedule(program, launch, NAMED["serial"])
    expected = c.copy()
    for order, together in itertools.product(("forward", "reverse", "shuffled"), (1, 4, 9)):
        c[:] = 0
        run_schedule(program, launch, replace(NAMED["serial"], blocks=order, together=together, seed=5))
        np.testing.assert_array_equal(c, expected)


def test_a_launch_that_is_too_large_is_searched_on_some_of_its_blocks():
    program, launch, c, product = launched(NO_FIRST, 4, 36)
    found = search(program, launch, budget=150_000)
    assert 2 <= len(found.schedule.only) < launch.blocks == 81
    assert "of 81 blocks" in found.notes[0]
    assert found.elements == 16 * len(found.schedule.only)
    assert found.wrong_elements > found.elements // 2
    by_product = search(program, launch, judge=lambda left: (int((left["c"] != product).sum()), 0.0), budget=150_000)
    assert by_product.wrong_elements == found.wrong_elements
    assert (c == 0).all()
    run_schedule(program, launch, found.schedule)
    ran = np.zeros((36, 36), bool)
    for block in found.schedule.only:
        row, col = 4 * (block // 9), 4 * (block % 9)
        ran[row : row + 4, col : col + 4] = True
    assert (c[~ran] == 0).all()
    assert (c[ran] != product[ran]).sum() == found.wrong_elements


def test_blocks_run_alone_or_in_any_order_by_their_numbers():
    program, launch, c, product = launched(BOTH, 2, 6)
    for order in ("forward", "reverse", "shuffled"):
        c[:] = 0
        ran = run_schedule(program, launch, replace(NAMED["serial"], blocks=order, only=(5, 1), together=2))
        assert (c != 0).sum() == sum(int(written.sum()) for written in ran.written.values()) == 8
        np.testing.assert_array_equal(c[0:2, 2:4], product[0:2, 2:4])
        np.testing.assert_array_equal(c[2:4, 4:6], product[2:4, 4:6])
    with pytest.raises(GemmlabError, match="names block 9; there are 9"):
        run_schedule(program, launch, replace(NAMED["serial"], only=(9,)))


def test_states_of_all_blocks_together_are_bounded():
    program, launch, c, product = launched(NO_SECOND, 2, 4)
    whole = worst_of_all(program, launch, {"c": product.ravel()}, lambda left: (left["c"] != product.ravel()).sum())
    for states, enough in ((whole.states, True), (whole.states - 1, False)):
        found = search(program, launch, random_tries=0, states=states)
        assert found.all_interleavings == enough
        assert enough or "more than" in found.notes[-1]
    assert (c == 0).all()
