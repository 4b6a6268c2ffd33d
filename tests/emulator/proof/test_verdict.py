import numpy as np
import pytest

from emulator.proof.building import BX, DX, TX, Kernel
from emulator.proof.programs import covering, gather, matrices, naive, split_k, tiled
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.proof import prove
from gemmlab.emulator.tallies import OUT_OF_BOUNDS, SAME_VALUE, SHARED_RACE, Fault, Outcome, Place

CLEAN = Outcome({})
SAME = Fault(SAME_VALUE, "y", (0,), Place("hand.py", 12))


@pytest.mark.parametrize("program", [naive(), tiled(4)])
def test_a_clean_multiplication_is_proven_at_any_shape(program):
    pytest.importorskip("z3")
    proof = prove(program, covering(program, 8, 12, 20, (4, 4)), CLEAN)
    assert proof.holds == "shapes"
    where, relations = proof.text.split(" where ")
    assert where == "race-free in every schedule, for any contents, at any shape"
    assert sorted(relations.replace(" and ", ", ").split(", ")) == [
        "a.shape[0] == c.shape[0]", "a.shape[1] == b.shape[0]", "b.shape[1] == c.shape[1]", "gridDim.z == 1"
    ]  # fmt: skip
    assert proof.reasons[0].endswith(
        "in blocks of 4x4x1, and takes arrays to share no memory, and signed numbers not to wrap"
    )


def test_without_the_search_over_shapes_it_holds_at_this_one():
    program = tiled(4)
    proof = prove(program, covering(program, 8, 12, 20, (4, 4)), CLEAN, shapes=False)
    assert (proof.holds, proof.all_shapes.holds) == ("contents", None)
    assert proof.text == "race-free in every schedule, for any contents, at this shape"
    assert proof.reasons == ()


def test_a_clean_run_of_one_tile_does_not_hide_the_missing_barrier():
    pytest.importorskip("z3")
    program = tiled(4, second=False)
    proof = prove(program, covering(program, 4, 4, 4, (4, 4)), CLEAN)
    assert proof.holds == "contents"
    assert proof.reasons[0].startswith("at other shapes: a possible race on `sa`")


def test_faults_refute():
    program = tiled(4, first=False)
    faults = Fault(SHARED_RACE, "sa", (0, 0), Place("hand.py", 15)), Fault(OUT_OF_BOUNDS, "a", (9, 9), Place("x.py", 1))
    proof = prove(program, covering(program, 4, 4, 4, (4, 4)), Outcome({}, faults))
    assert proof.holds == "refuted"
    assert proof.text == "refuted: this launch has a fault: shared race at line 15, and 1 more kinds of faults"


def test_a_gather_is_proven_for_its_contents_only():
    program = gather()
    launch = launch_of(program, 2, 4, (np.zeros(8, np.float32), np.zeros(8, np.int64), np.zeros(8, np.float32)))
    proof = prove(program, launch, CLEAN)
    assert (proof.holds, proof.text) == ("schedules", "race-free in every schedule of this launch")
    assert proof.reasons == ("for other contents: what `at` holds steers an index of `x` at line 13",)


def test_sums_of_atomics_round_by_their_order():
    program = split_k()
    proof = prove(program, covering(program, 8, 8, 10, (4, 4), depth=4, extra=(3,)), CLEAN, shapes=False)
    assert proof.holds == "contents"
    assert proof.reasons == ("values of `c` are the same up to the order of atomic sums, which changes their rounding",)


def test_a_ticket_leaves_a_run_observed_only():
    k = Kernel(n=("int64", 1), y=("float32", 1))
    k.store("y", (k.atomic("ticket", "n", (0,), 1),), 1.0)
    program = k.program()
    proof = prove(program, launch_of(program, 1, 4, (np.zeros(1, np.int64), np.zeros(4, np.float32))), CLEAN)
    assert proof.holds == "observed"
    assert proof.text == "observed only: what an atomic found in `n` steers an index of `y` at line 11"


def test_arguments_in_one_memory_leave_a_run_observed_only():
    program = naive()
    a, b, _ = matrices(8, 8, 8)
    proof = prove(program, launch_of(program, (2, 2), (4, 4), (a, b, a)), CLEAN)
    assert proof.text == "observed only: `a` and `c` share memory"


def test_equal_values_are_equal_for_these_contents():
    k = Kernel(y=("float32", 1))
    k.store("y", (0,), k.load("v", "y", TX + 1))
    program = k.program()
    launch = launch_of(program, 1, 4, (np.zeros(8, np.float32),))
    proof = prove(program, launch, Outcome({}, (SAME,)))
    assert proof.holds == "schedules"
    assert "threads write the same place, though equal values" in proof.reasons
    assert "may not be" in proof.all_contents.why


def test_blocks_that_were_not_run_must_be_apart():
    program = naive()
    launch = covering(program, 16, 16, 4, (4, 4))
    assert prove(program, launch, CLEAN, ran=1, shapes=False).holds == "contents"
    crowded = launch_of(program, (4, 4, 2), (4, 4), launch.args)
    proof = prove(program, crowded, CLEAN, ran=1, shapes=False)
    assert proof.text == "observed only: not every block was run, and blocks may meet in `c`"


def test_a_view_of_its_own_memory_is_no_output_to_prove():
    k = Kernel(y=("float32", 1))
    k.store("y", (BX * DX + TX,), 1.0)
    program = k.program()
    y = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (8,), (0,))
    assert prove(program, launch_of(program, 2, 4, (y,)), CLEAN).text == "observed only: elements of `y` share memory"
