import numpy as np
import pytest

from emulator.proof.building import BX, BY, DX, DY, TX, TY, Kernel, binary
from emulator.proof.fuzz import case
from emulator.proof.plain import faults
from emulator.proof.programs import covering, matrices, naive, split_k, tiled
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.proof import classes, disjoint_writes


def shown(program, launch):
    return disjoint_writes(program, launch, classes(program, launch).touches)


@pytest.mark.parametrize("program", [naive(), tiled(4)])
def test_tiles_of_a_result_are_apart(program):
    assert shown(program, covering(program, 9, 13, 5, (4, 4))).shown


def test_tiles_are_not_apart_where_blocks_along_z_share_them():
    program = naive()
    found = shown(program, covering(program, 9, 13, 5, (4, 4), depth=2))
    assert (found.shown, found.why) == (False, "blocks may meet in `c`")


def test_tiles_that_overlap_are_not_apart():
    program = tiled(4)
    assert not shown(program, launch_of(program, (3, 3), (5, 4), matrices(9, 9, 5))).shown


def test_atomics_may_meet():
    program = split_k()
    assert shown(program, covering(program, 8, 8, 10, (4, 4), depth=4, extra=(3,))).shown


def test_arguments_that_share_memory_are_not_apart():
    program = naive()
    a = np.zeros((8, 8), np.float32)
    found = shown(program, launch_of(program, (2, 2), (4, 4), (a, a, np.zeros((8, 8), np.float32))))
    assert found.shown
    found = shown(program, launch_of(program, (2, 2), (4, 4), (a, a.copy(), a[::-1])))
    assert found.why == "`a` and `c` share memory"


def flat(step):
    k = Kernel(y=("float32", 1))
    k.store("y", ((BY * DY + TY) * step + BX * DX + TX,), 1.0)
    return k.program()


def test_a_matrix_in_one_axis_is_apart_where_its_rows_are_long_enough():
    y = np.zeros(400, np.float32)
    for step, apart in ((12, True), (13, True), (11, False), (8, False)):
        program = flat(step)
        assert shown(program, launch_of(program, (3, 3), (4, 4), (y,))).shown is apart


def test_what_is_read_must_be_apart_too():
    k = Kernel(y=("float32", 1))
    i = BX * DX + TX
    k.store("y", (i,), k.load("v", "y", binary("max", i - 1, 0)))
    program = k.program()
    assert not shown(program, launch_of(program, 3, 4, (np.zeros(12, np.float32),))).shown


def test_what_is_shown_of_random_programs_holds():
    rng = np.random.default_rng(11)
    count = 0
    for _ in range(50):
        program, launch = case(rng)
        if shown(program, launch).shown and launch.blocks > 1:
            assert not any(kind == "blocks" for kind, _ in faults(program, launch))
            count += 1
    assert count > 5
