import inspect

import numpy as np
import pytest

from emulator.reference import counted
from gemmlab.emulator.reference import run_reference
from gemmlab.emulator.reference.counting import sectors, wavefronts
from gemmlab.emulator.tallies import Tally


def run(kernel, block, *args, grid=1):
    return run_reference(kernel, grid, block, *args)


def at(kernel, text):
    lines, first = inspect.getsourcelines(kernel.py_func)
    return first + next(i for i, line in enumerate(lines) if text in line)


def row(outcome, kernel, text, kind, array=""):
    """The counts of a line, its arithmetic aside."""
    found = Tally()
    for key, tally in outcome.tallies.items():
        if (key.place.number, key.kind, key.array) == (at(kernel, text), kind, array):
            found += Tally(tally.threads, tally.requests, tally.pieces, tally.splits)
    return found


def work(outcome, kernel, text):
    rows = [tally for key, tally in outcome.tallies.items() if key.place.number == at(kernel, text)]
    return sum(t.flop for t in rows), sum(t.fma for t in rows)


@pytest.mark.parametrize(("step", "sectors"), [(1, 4), (2, 8), (8, 32), (0, 1)])
def test_sectors_are_pieces_of_32_bytes(step, sectors):
    a, out = np.zeros(256, np.float32), np.zeros(32, np.float32)
    outcome = run(counted.strided, 32, a, out, step)
    assert row(outcome, counted.strided, "a[t", "load", "a") == Tally(32, 1, sectors)
    assert row(outcome, counted.strided, "a[t", "store", "out") == Tally(32, 1, 4)


def test_a_view_begins_where_it_begins_in_its_base():
    base = np.zeros(512, np.float32)
    out = np.zeros(32, np.float32)
    counts = {
        offset: row(run(counted.strided, 32, base[offset:], out, 1), counted.strided, "a[t", "load", "a")
        for offset in range(9)
    }
    assert [tally.pieces for tally in counts.values()] == [4, 5, 5, 5, 5, 5, 5, 5, 4]
    every_other = run(counted.strided, 32, base[::2], out, 1)
    assert row(every_other, counted.strided, "a[t", "load", "a").pieces == 8


def test_only_lanes_in_range_move_memory():
    outcome = run(counted.strided, 32, np.zeros(16, np.float32), np.zeros(32, np.float32), 1)
    assert row(outcome, counted.strided, "a[t", "load", "a") == Tally(32, 1, 2)


@pytest.mark.parametrize(
    ("step", "four", "eight", "one"), [(1, 1, 2, 1), (2, 2, 4, 1), (4, 4, 8, 1), (3, 1, 2, 1), (32, 32, 32, 8)]
)
def test_wavefronts_are_words_of_the_busiest_bank(step, four, eight, one):
    outcome = run(counted.banked, 32, np.zeros(32, np.float32), step)
    assert row(outcome, counted.banked, "s[t", "store", "s") == Tally(32, 1, four, four - 1)
    assert row(outcome, counted.banked, "w[t *", "store", "w") == Tally(32, 1, eight, eight - 2)
    assert row(outcome, counted.banked, "b[t *", "store", "b") == Tally(32, 1, one, one - 1)


def test_one_word_for_all_lanes_is_one_wavefront():
    outcome = run(counted.banked, 32, np.zeros(32, np.float32), 1)
    assert row(outcome, counted.banked, "s[0]", "load", "s") == Tally(32, 1, 1, 0)
    # both halves of the warp are served at once, since neighbours want the same: two words of one bank
    assert row(outcome, counted.banked, "s[0]", "load", "w") == Tally(32, 1, 2, 1)
    assert row(outcome, counted.banked, "s[0]", "load", "b") == Tally(32, 1, 1, 0)


def test_wide_elements_go_in_parts_of_a_warp():
    for kind in ("load", "store"):
        assert wavefronts({lane: 16 * lane for lane in range(32)}, 16, kind) == (4, 0)
        assert wavefronts({lane: 32 * lane for lane in range(32)}, 16, kind) == (8, 4)
        assert wavefronts({}, 4, kind) == (0, 0)


def test_wide_loads_that_neighbours_share_go_in_parts_twice_as_large():
    def apart(bit, size):
        return {lane: size * (lane % bit + lane // (2 * bit) * bit) for lane in range(32)}

    for bit, eight, sixteen in ((1, 1, 2), (2, 1, 2), (4, 2, 4), (8, 2, 4), (16, 2, 4)):
        assert wavefronts(apart(bit, 8), 8, "load") == (eight, 0)
        assert wavefronts(apart(bit, 16), 16, "load") == (sixteen, 0)
        assert wavefronts(apart(bit, 8), 8, "store") == (2, 0)
    odd = {lane: byte for lane, byte in apart(1, 8).items() if lane % 2}  # absent neighbours want nothing else
    assert wavefronts(odd, 8, "load") == (1, 0)
    assert wavefronts(apart(1, 8) | {9: 120}, 8, "load") == (2, 0)


def test_atomics_on_one_element_go_one_after_another():
    assert sectors(dict.fromkeys(range(32), 64), 4, "atomic") == 32
    assert sectors({lane: 4 * (lane // 2) for lane in range(32)}, 4, "atomic") == 4
    assert sectors({lane: 4 * lane for lane in range(32)}, 4, "atomic") == 4
    assert wavefronts(dict.fromkeys(range(32), 64), 4, "atomic") == (32, 31)
    assert wavefronts({lane: 4 * (lane // 4) for lane in range(32)}, 4, "atomic") == (4, 3)
    assert wavefronts({lane: 8 * (lane // 4) for lane in range(32)}, 8, "atomic") == (8, 6)


def test_tests_of_branches_and_loops():
    k = counted.divergent
    outcome = run(k, 64, np.arange(32) % 2, np.zeros(64))
    assert row(outcome, k, "if t < 40", "if") == Tally(64, 2, 0, 1)
    # odd threads go round once: all test twice or once, and disagree in the first test
    assert row(outcome, k, "range(t % 2)", "for") == Tally(32 * 2 + 32, 4, 0, 2)
    rounds = [t % 3 for t in range(64)]
    assert row(outcome, k, "while n > 0", "while") == Tally(64 + sum(rounds), 6, 0, 4)
    # threads 0 to 4 leave by break, without a test more
    assert row(outcome, k, "range(5)", "for") == Tally(59 * 6 + 1 + 2 + 3 + 4 + 5, 12, 0, 0)
    assert row(outcome, k, "if i == t", "if") == Tally(59 * 5 + 1 + 2 + 3 + 4 + 5, 10, 0, 5)
    # the element is read by those who pass the first half; that choice is a branch, and so is the whole
    assert row(outcome, k, "a[t] > 0", "load", "a") == Tally(32, 1, 8)
    assert row(outcome, k, "a[t] > 0", "if") == Tally(128, 4, 0, 1)


def test_float_operations_and_which_are_fma():
    k = counted.arithmetic
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    outcome = run(k, 4, x, y, np.zeros(8, np.float32))
    assert work(outcome, k, "s = x[t]") == (8, 4)
    assert work(outcome, k, "s += p") == (4, 4)
    assert work(outcome, k, "s -= q") == (2, 0)  # a branch stands between
    assert work(outcome, k, "s += r + r") == (8, 0)  # read twice
    assert work(outcome, k, "d = 1.0") == (8, 0)  # a float32 product widened
    assert work(outcome, k, "out[t] =") == (16, 4)
    assert work(outcome, k, "out[t + int") == (8, 0)


def test_a_device_functions_product_counts_where_it_stands():
    outcome = run(counted.called, 4, np.ones(4, np.float32), np.zeros(4, np.float32))
    assert work(outcome, counted.called, "out[t] =") == (4, 4)
    assert work(outcome, counted.product, "return") == (4, 0)


def test_atomics_have_rows_of_their_own():
    outcome = run(counted.added, 32, np.zeros(4, np.int64))
    assert row(outcome, counted.added, "atomic", "atomic", "out") == Tally(32, 1, 8)  # of eight threads to an element


def test_barriers_count_the_warps_that_arrive():
    outcome = run(counted.waits, 40, grid=3)
    assert row(outcome, counted.waits, "syncthreads", "barrier") == Tally(120, 6)
    assert row(outcome, counted.waits, "syncwarp", "warpop") == Tally(120, 6)
    assert outcome.blocks == 3
