"""The grid: compiled and plain registers alike in every cycle, overflow, rates, states."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab import Gemm
from gemmlab.record import GemmlabError
from gemmlab.systolic import Array, Grid, closed_form
from gemmlab.systolic.plain import Plain

from .drawn import arrays, exact, operands, problems


@settings(max_examples=300)
@given(problems(most=9), arrays(most=5), st.integers(0, 1 << 30))
def test_every_register_in_every_cycle(problem, array, seed):
    grid = Grid(problem, array, operands(problem, seed))
    plain = Plain(array, grid.load, grid.table, grid.shape)
    names = ("right", "held", "behind", "sums") if array.moves_sums else ("right", "down", "sums")
    while not grid.done:
        grid.step()
        plain.advance(grid.cycle)
        for name in names:
            mine, reference = getattr(grid.machine, name), getattr(plain, name)
            np.testing.assert_array_equal(mine, reference, err_msg=f"{name} in cycle {grid.cycle - 1}")
        if grid.done or grid.load.told.passes == 1:  # passes are added at the foot by one, in place by the other
            np.testing.assert_array_equal(grid.machine.out, plain.out)
    assert plain.done
    assert plain.last == grid.machine.last
    np.testing.assert_array_equal(plain.counts, grid.machine.counts)


@settings(max_examples=60)
@given(problems(most=9, formats=("int8",)), arrays(most=5), st.integers(0, 1 << 30))
def test_a_state_says_where_every_element_is(problem, array, seed):
    a, b = operands(problem, seed)
    grid = Grid(problem, array, (a, b))
    d, found = grid.run()
    left = {}
    for cycle in range(found.cycles):
        state = grid.state(cycle)
        assert json.loads(json.dumps(state)) == state
        for name in ("right", "held", "down"):
            registers = state.get(name)
            if registers:
                values = {"a": a, "b": b}[registers["operand"]]
                for value, place in cells(registers):
                    assert (value is None) == (place is None)
                    assert place is None or values[tuple(place)] == value
        if state["behind"] and state["behind"]["operand"] == "c":
            assert all(place is None or d[tuple(place)] == value for value, place in cells(state["behind"]))
        for word in state["leaving"]:
            if word["final"]:
                left[tuple(word["element"])] = cycle
    assert sorted(left) == [(i, j) for i in range(problem.m) for j in range(problem.n)]
    assert max(left.values()) == found.cycles - 1 or array.edges == "full"
    assert grid.state(0) == Grid(problem, array, (a, b)).state(0)


def cells(registers):
    """Every (value, place) of a state's registers."""
    for values, places in zip(registers["values"], registers["elements"], strict=True):
        yield from zip(values, places, strict=True)


def test_where_a_wave_is():
    a, b = np.arange(12, dtype="int8").reshape(4, 3), np.arange(9, dtype="int8").reshape(3, 3)
    grid = Grid(Gemm(4, 3, 3, "int8"), Array(rows=3, cols=3), (a, b))
    held = grid.state(3 + 1 + 2)  # shifted in by 3, a row more, and two PEs on
    assert held["right"]["elements"][1][2] == [0, 1]
    assert held["right"]["elements"][0][0] == [3, 0]
    # the first row of A has reached all PEs but the last, whose weight still lies behind
    assert held["held"]["elements"] == [[[i, j] if i + j < 4 else None for j in range(3)] for i in range(3)]
    assert held["behind"]["elements"][2][2] == [2, 2]
    sums = Grid(Gemm(4, 3, 3, "int8"), Array(rows=4, cols=3, dataflow="os"), (a, b)).state(4)
    k = [[4 - i - j for j in range(3)] for i in range(4)]  # PE (i, j) works on k = t - i - j
    places = sums["right"]["elements"]
    assert places == [[[i, k[i][j]] if 0 <= k[i][j] < 3 else None for j in range(3)] for i in range(4)]


def test_looking_does_not_disturb():
    problem, array = Gemm(5, 6, 7, "int8"), Array(rows=3, cols=2)
    a, b = operands(problem)
    grid = Grid(problem, array, (a, b))
    grid.step(4)
    before = grid.state(9), grid.state(2), grid.state(4)
    assert grid.cycle == 4
    d, _ = grid.run()
    np.testing.assert_array_equal(d, exact(a, b))
    assert (grid.state(9), grid.state(2), grid.state(4)) == before
    for cycle in (-1, 10**6):
        with pytest.raises(GemmlabError, match=f"cycle {cycle} is none"):
            grid.state(cycle)


@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
@pytest.mark.parametrize("drain", ["side", "bottom", "shadow"])
def test_overflow_is_found_and_wraps_around(dataflow, drain):
    problem, array = Gemm(3, 4, 9, "int16"), Array(rows=4, cols=3, dataflow=dataflow, drain=drain)
    a, b = np.full((3, 9), -32768, "int16"), np.full((9, 4), -32768, "int16")
    a[1], a[2, 4:] = 1, 0
    b[4:, 3] = 0
    a[2, 2:4] = 32767  # 2^31 in passing, and back
    d, found = Grid(problem, array, (a, b)).run()
    np.testing.assert_array_equal(d, exact(a, b).astype(np.int32))
    wrong = exact(a, b) != d
    assert found.overflow.outputs == wrong.sum() > 0
    assert found.overflow.additions >= found.overflow.outputs
    assert found.overflow.first == (0, 0)


def test_no_overflow_is_said_to_be_none():
    problem = Gemm(1, 1, 1 << 17, "int8")
    a = np.full((1, 1 << 17), -128, "int8")
    a[0, -1] = -127  # 131,072 products of -128 by -128 are 2^31, one too many
    b = np.full((1 << 17, 1), -128, "int8")
    _, found = Grid(problem, Array(rows=64, cols=1), (a, b)).run()
    assert (found.overflow.additions, found.overflow.outputs) == (0, 0)
    a[0, -1] = -128
    d, found = Grid(problem, Array(rows=64, cols=1), (a, b)).run()
    assert (d[0, 0], found.overflow.outputs, found.overflow.first) == (-(1 << 31), 1, (0, 0))


@given(problems(most=12, formats=("int4", "int16", "uint16", "int8")), arrays(most=4), st.sampled_from([3, 4, 8, 16]))
def test_multipliers_of_any_width(problem, array, bits):
    rng = np.random.default_rng(problem.m * 1000 + problem.k)
    import ml_dtypes

    def words(form, shape):
        wide = {"int4": (-8, 8), "uint16": (0, 2000), "int16": (-2000, 2000), "int8": (-128, 128)}[form]
        return rng.integers(*wide, shape).astype(ml_dtypes.int4 if form == "int4" else form)

    array = array.replace(multiplier_bits=bits)
    a, b = words(problem.a_format, (problem.m, problem.k)), words(problem.b_format, (problem.k, problem.n))
    d, found = Grid(problem, array, (a, b)).run()
    np.testing.assert_array_equal(d, exact(a, b))
    assert found.cycles == closed_form(problem, array).cycles


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (np.zeros((3, 3), "int8"), np.zeros((4, 5), "int8"), "A has shape (3, 3)"),
        (np.zeros((3, 4), "int8"), np.zeros((5, 4), "int8"), "B has shape (5, 4)"),
        (np.full((3, 4), 200), np.zeros((4, 5), "int8"), "A[0, 0] = 200 is no value of int8"),
    ],
)
def test_operands_that_are_not_the_problems(a, b, said):
    with pytest.raises(GemmlabError) as caught:
        Grid(Gemm(3, 5, 4, "int8"), Array(rows=2, cols=2), (a, b))
    assert said in caught.value.text


def test_what_a_grid_does_not_take():
    one = np.zeros((1, 1), "int8")
    with pytest.raises(GemmlabError, match="without batch"):
        Grid(Gemm(1, 1, 1, "int8", batch=2), Array(), (one, one))
    with pytest.raises(GemmlabError, match="too large to move every word"):
        Grid(Gemm(1 << 13, 1 << 13, 1 << 13, "int8"), Array(), (one, one))
    grid = Grid(Gemm(1, 1, 1, "int8"), Array(rows=1, cols=1), (one, one))
    with pytest.raises(GemmlabError, match="words are still in it"):
        grid.section()
