from itertools import product

import numpy as np
import pytest

from emulator.reference import kernels
from gemmlab.emulator.reference import run_reference
from gemmlab.emulator.tallies import SHARED_RACE, Tally
from gemmlab.units import ceil_div

T = kernels.T


def operands(m, n, k):
    generator = np.random.default_rng(m * 100 + n * 10 + k)
    a, b = (generator.integers(-9, 9, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    return a, b, np.full((m, n), np.nan, np.float32)


def run(kernel, m, n, k, block=(T, T)):
    a, b, c = operands(m, n, k)
    grid = ceil_div(n, block[0]), ceil_div(m, block[1])
    outcome = run_reference(kernel, grid, block, a, b, c)
    return outcome, c, a @ b


def rows(outcome, kind, array=""):
    return sum((t for key, t in outcome.tallies.items() if (key.kind, key.array) == (kind, array)), start=Tally())


def races(outcome):
    return {(f.array, f.line.number - f.other_line.number, f.access) for f in outcome.faults if f.kind == SHARED_RACE}


@pytest.mark.parametrize(("m", "n", "k"), [(8, 8, 8), (7, 9, 10), (1, 1, 1), (3, 5, 4)])
def test_both_multiply_without_faults(m, n, k):
    for kernel in (kernels.naive, kernels.tiled):
        outcome, c, product_ = run(kernel, m, n, k)
        assert np.array_equal(c, product_)
        assert outcome.faults == ()


@pytest.mark.parametrize(("m", "n", "k"), [(8, 8, 8), (7, 9, 10), (5, 3, 6)])
def test_naive_asks_for_both_operands_anew_for_every_product(m, n, k):
    outcome, _, _ = run(kernels.naive, m, n, k)
    assert rows(outcome, "load", "a").threads == rows(outcome, "load", "b").threads == m * n * k
    assert rows(outcome, "store", "c").threads == m * n
    assert (rows(outcome, "assign").flop, rows(outcome, "assign").fma) == (2 * m * n * k, m * n * k)


@pytest.mark.parametrize(("m", "n", "k"), [(8, 8, 8), (7, 9, 10), (5, 3, 6)])
def test_tiled_asks_once_a_tile(m, n, k):
    outcome, _, _ = run(kernels.tiled, m, n, k)
    assert rows(outcome, "load", "a").threads == m * k * ceil_div(n, T)
    assert rows(outcome, "load", "b").threads == n * k * ceil_div(m, T)
    warps = ceil_div(n, T) * ceil_div(m, T)
    assert rows(outcome, "barrier") == Tally(
        threads=2 * warps * T * T * ceil_div(k, T), requests=2 * warps * ceil_div(k, T)
    )


def test_sectors_of_naive_by_walking_the_warps():
    m, n, k = 7, 9, 10
    outcome, _, _ = run(kernels.naive, m, n, k)
    sectors = {"a": 0, "b": 0}
    for by, bx, step in product(range(2), range(3), range(k)):
        lanes = [(4 * by + i // T, 4 * bx + i % T) for i in range(T * T)]
        active = [(y, x) for y, x in lanes if y < m and x < n]
        sectors["a"] += len({(y * k + step) * 4 // 32 for y, _ in active})
        sectors["b"] += len({(step * n + x) * 4 // 32 for _, x in active})
    assert {name: rows(outcome, "load", name).pieces for name in sectors} == sectors


def test_without_the_first_barrier_neighbours_read_what_is_not_there_yet():
    outcome, c, product_ = run(kernels.tiled_without_first, 4, 4, 4)
    assert races(outcome) == {("sa", 3, "read-write"), ("sb", 2, "read-write")}
    assert not np.array_equal(c, product_)


def test_without_the_second_barrier_there_is_a_race_from_two_tiles_on():
    assert races(run(kernels.tiled_without_second, 4, 4, 4)[0]) == set()
    two, _, _ = run(kernels.tiled_without_second, 4, 4, 8)
    assert {array for array, _, _ in races(two)} == {"sa", "sb"}
