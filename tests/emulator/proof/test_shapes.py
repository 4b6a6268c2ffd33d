import re
import sys
from importlib import import_module

import numpy as np
import pytest

from emulator.proof.building import BX, DX, GX, TX, E, Kernel
from emulator.proof.plain import faults
from emulator.proof.programs import covering, flat, gather, grid_stride, matrices, naive, tiled
from emulator.proof.racing import Racer, launch_at
from gemmlab.emulator import program as p
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.proof.shapes import NOT_INSTALLED, prove_shapes
from gemmlab.kernels.ladder import BROKEN, RUNGS

pytest.importorskip("z3")


def of_ladder(source, rung, m=40, n=48, k=24):
    module, name = source.split(":")
    kernel = getattr(import_module(f"gemmlab.kernels.ladder.{module}"), name)
    arrays = np.zeros((m, k), np.float32), np.zeros((k, n), np.float32), np.zeros((m, n), np.float32)
    program = program_of(kernel, *arrays)
    return program, launch_of(program, *RUNGS[rung].launch(m, n), arrays)


@pytest.mark.parametrize("name", RUNGS)
def test_every_rung_is_proven_at_all_shapes(name):
    found = prove_shapes(*of_ladder(RUNGS[name].source, name))
    assert found.proven
    guarded = name in ("uncoalesced", "naive", "coalesced")
    relations = {"a.shape[0] == c.shape[0]", "a.shape[1] == b.shape[0]", "b.shape[1] == c.shape[1]"}
    flat = {"gridDim.z == 1"} if name != "split_k" else set()
    assert set(found.assumptions) == (relations if guarded else set()) | flat


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tiled_without_first_barrier", "race on `a_tile`"),
        ("tiled_without_second_barrier", "race on `a_tile`"),
        ("tiled_with_early_return", "thread absent from the barrier"),
        ("naive_without_guard", "index of `a` out of range"),
        ("naive_with_wrong_guard", "index of `a` out of range"),
        ("register_1d_with_small_tile", "index of `a_tile` out of range"),
        ("split_k_with_plain_adds", "race between blocks on `c`"),
    ],
)
def test_every_broken_twin_has_its_fault_at_some_shape(name, what):
    found = prove_shapes(*of_ladder(BROKEN[name].source, BROKEN[name].rung))
    assert found.proven is False
    assert found.possible.startswith(what)


def test_the_second_barrier_is_missed_at_two_tiles_only():
    found = prove_shapes(*of_ladder(BROKEN["tiled_without_second_barrier"].source, "tiled", k=16))
    assert re.search(r"a.shape = \(\d+, (1[7-9]|[2-9]\d)\)", found.possible)


def test_the_conflict_that_is_found_happens():
    program = tiled(3, second=False)
    launch = covering(program, 3, 3, 6, (3, 3))
    assert prove_shapes(program, launch).possible.startswith("race on `sa`")
    assert ("race", "sa") in faults(program, launch)
    assert not faults(program, covering(program, 3, 3, 3, (3, 3)))


def test_no_more_is_assumed_than_is_needed_of_squares():
    program = naive()
    found = prove_shapes(program, covering(program, 8, 8, 8, (4, 4)))
    relations = {"a.shape[0] == c.shape[0]", "a.shape[1] == b.shape[0]", "b.shape[1] == c.shape[1]"}
    assert set(found.assumptions) == {*relations, "gridDim.z == 1"}


def test_addresses_from_data_are_not_followed():
    program = gather()
    launch = launch_of(program, 2, 4, (np.zeros(8, np.float32), np.zeros(8, np.int64), np.zeros(8, np.float32)))
    assert prove_shapes(program, launch).why == "not shown: what `at` holds steers an index of `x` at line 13"


def test_a_loop_that_may_pass_no_barrier_is_not_followed():
    k = Kernel(y=("float32", 1))
    with k.loop("t", 0, k.extent("y", 0)) as t, k.when(t < 3):
        k.barrier()
    program = k.program()
    found = prove_shapes(program, launch_of(program, 2, 4, (np.zeros(8, np.float32),)))
    assert found.why.startswith("not shown: a round of a loop that may pass no barrier")


def test_an_argument_that_only_its_value_makes_safe():
    k = Kernel(y=("float32", 1), step=("int64", None))
    k.array("s", "shared", "float32", 8)
    k.store("s", (TX + k.param("step"),), 1.0)
    program = k.program()
    found = prove_shapes(program, launch_of(program, 2, 4, (np.zeros(8, np.float32), 4)))
    assert (found.proven, found.assumptions) == (False, ("step == 4",))
    assert found.why.startswith("shown only where step == 4; elsewhere a possible index of `s` out of range")


def test_tiles_without_masks_need_whole_tiles():
    program = tiled(4, masked=False)
    found = prove_shapes(program, covering(program, 8, 12, 20, (4, 4)))
    assert found.proven is False
    assert "a.shape[1] % 4 == 0" in found.assumptions
    assert "a.shape[0] == 4 * gridDim.y" in found.assumptions
    assert found.possible.startswith("index of `a` out of range")


def test_time_runs_out():
    program = naive()
    times = iter((0.0, 0.5, 2.0))
    found = prove_shapes(program, covering(program, 8, 8, 8, (4, 4)), 1.0, lambda: next(times))
    assert found.proven is False
    assert found.why.startswith("not shown: z3 did not decide in time whether there is a")


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    program = naive()
    monkeypatch.setattr("gemmlab.emulator.proof.shapes.find_spec", lambda name: None)
    found = prove_shapes(program, covering(program, 8, 8, 8, (4, 4)))
    assert (found.proven, found.why) == (None, NOT_INSTALLED)


def holds(assumption, launch):
    """Whether a premise of a proof holds at a launch."""
    a, b, n = launch.args
    grid = dict(zip("xyz", launch.grid, strict=True))
    names = {f"{array}.shape[0]": x.shape[0] for array, x in (("a", a), ("b", b))} | {"n": int(n)}
    names |= {f"gridDim.{axis}": side for axis, side in grid.items()}
    one, other = assumption.split(" == ")
    return names[one] == (names[other] if other in names else int(other))


def test_what_is_proven_of_random_programs_holds_at_random_shapes():
    rng = np.random.default_rng(7)
    proven = 0
    for _ in range(40):
        program = Racer(rng).program()
        found = prove_shapes(program, launch_of(program, 2, 4, (np.zeros(5, np.float32), np.zeros(7, np.float32), 3)))
        for launch in (launch_at(program, rng) for _ in range(6)):
            if found.proven and all(holds(assumption, launch) for assumption in found.assumptions):
                assert not faults(program, launch)
                proven += 1
    assert proven > 20


def test_narrow_and_unsigned_numbers_are_cut_as_c_does():
    def proven(index):
        k = Kernel(y=("float32", 1))
        k.store("y", (BX * DX + TX,), 1.0)
        k.array("s", "shared", "float32", 256)
        k.store("s", (index,), 1.0)
        program = k.program()
        return prove_shapes(program, launch_of(program, 2, 4, (np.zeros(8, np.float32),)))

    small = E(p.Cast("uint8", (TX + BX * 1000).node))
    assert "`s`" not in proven(E(p.Cast("int64", small.node))).possible
    wrapped = E(p.Binary("uint64", "sub", p.Cast("uint64", TX.node), p.Const("uint64", 1)))
    assert "index of `s` out of range" in proven(wrapped).possible


@pytest.mark.parametrize(("m", "n", "k"), [(8, 12, 20), (8, 8, 8)])
def test_matrices_in_one_axis_are_taken_as_rows_and_columns(m, n, k):
    program = flat()
    arrays = [x.ravel() for x in matrices(m, n, k)]
    found = prove_shapes(program, launch_of(program, (3, 2), (4, 4), (*arrays, m, n, k)))
    assert found.proven
    assert set(found.assumptions) == {
        "a.shape[0] == m * k", "b.shape[0] == k * n", "c.shape[0] == m * n", "gridDim.z == 1"
    }  # fmt: skip


def test_a_column_past_its_row_is_no_place_of_its_own():
    program = flat(guarded=False)
    arrays = [x.ravel() for x in matrices(8, 12, 20)]
    found = prove_shapes(program, launch_of(program, (3, 2), (4, 4), (*arrays, 8, 12, 20)))
    assert found.proven is False
    assert "index of `b` out of range" in found.possible


@pytest.mark.parametrize("counted", [True, False])
def test_a_loop_in_steps_of_the_grid_is_followed(counted):
    program = grid_stride(counted, GX * DX)
    found = prove_shapes(program, launch_of(program, 3, 32, (np.zeros(400, np.float32),)))
    assert found.proven
    assert set(found.assumptions) == {"gridDim.y == 1", "gridDim.z == 1"}
    program = grid_stride(counted, GX * 16)
    found = prove_shapes(program, launch_of(program, 3, 32, (np.zeros(400, np.float32),)))
    assert found.possible.startswith("race on `y`")


def test_arrays_over_each_other_are_not_followed():
    k = Kernel(y=("float32", 1))
    k.array("s", "dynamic", "float32")
    k.array("t", "dynamic", "float32")
    program = k.program()
    launch = launch_of(program, 2, 4, (np.zeros(8, np.float32),), dynamic_shared_bytes=64)
    assert prove_shapes(program, launch).why.endswith("lie over each other")
