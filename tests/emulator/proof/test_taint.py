import pytest

from emulator.proof.building import TX, E, Kernel
from emulator.proof.programs import gather, naive, split_k, tiled
from gemmlab.emulator import program as p
from gemmlab.emulator.proof.taint import taint


@pytest.mark.parametrize("program", [naive(), tiled(4), tiled(4, early=True)])
def test_a_multiplication_is_steered_by_its_launch_alone(program):
    found = taint(program)
    assert found.steers == found.orders == found.rounding == ()


def test_a_gather_is_steered_by_the_line_that_reads_at_loaded_places():
    found = taint(gather())
    steer = found.first("data")
    assert (steer.line.number, steer.what, steer.how) == (13, "what `at` holds", "an index of `x`")
    assert found.first("atomic") is None


def test_data_flow_through_shared_memory_and_variables_into_a_branch():
    k = Kernel(x=("int64", 1), y=("int64", 1))
    k.array("s", "shared", "int64", 8)
    k.store("s", (TX,), k.load("v", "x", TX))
    k.barrier()
    w = k.assign("w", k.load("u", "s", TX) + 1)
    with k.when(w < 3):
        k.store("y", (TX,), w)
    steer = taint(k.program()).first("data")
    assert (steer.line.number, steer.how) == (15, "a branch")


def test_shared_memory_of_launch_values_is_no_data():
    k = Kernel(y=("int64", 1))
    k.array("s", "shared", "int64", 8)
    k.store("s", (TX,), TX)
    k.barrier()
    k.store("y", (k.load("u", "s", TX),), TX)
    assert taint(k.program()).steers == ()


def test_data_flow_round_a_loop_against_program_order():
    k = Kernel(x=("int64", 1))
    i, j = k.assign("i", 0), k.assign("j", 0)
    with k.loop("t", 0, 5):
        k.load("v", "x", i)
        k.assign("i", j)
        k.assign("j", k.load("w", "x", TX))
    assert taint(k.program()).first("data").line.number == 13


def test_a_ticket_from_an_atomic_steers():
    k = Kernel(n=("int64", 1), y=("float32", 1))
    ticket = k.atomic("ticket", "n", (0,), 1)
    k.store("y", (ticket,), 1.0)
    found = taint(k.program())
    steer = found.first("atomic")
    assert (steer.line.number, steer.what, steer.how) == (11, "what an atomic found in `n`", "an index of `y`")
    assert found.orders == ("what atomics on `n` return",)


def test_float_sums_of_atomics_depend_on_their_order_in_rounding_only():
    found = taint(split_k())
    assert (found.steers, found.orders, found.rounding) == ((), (), ("c",))


@pytest.mark.parametrize(
    ("ops", "orders"),
    [(("add", "sub"), ()), (("max",), ()), (("exch",), 1), (("cas",), 1), (("add", "max"), 1)],
)
def test_which_atomics_commute(ops, orders):
    k = Kernel(y=("int64", 1))
    for op in ops:
        k.atomic(None, "y", (0,), TX, op)
    found = taint(k.program())
    assert found.orders == (("what atomics leave in `y`",) * orders if orders else ())
    assert found.rounding == ()


def test_counts_that_atomics_left_in_shared_memory_may_steer_where_they_commute():
    def program(op):
        k = Kernel(y=("int64", 1))
        k.array("s", "shared", "int64", 8)
        k.atomic(None, "s", (TX % 8,), TX, op)
        k.barrier()
        k.store("y", (k.load("u", "s", 0),), TX)
        return k.program()

    assert taint(program("add")).steers == ()
    assert taint(program("exch")).first("atomic").what == "what atomics left in `s`"


def test_a_value_of_another_lane_steers():
    k = Kernel(y=("float32", 1))
    k.variables["w"] = "int64"
    mask = p.Const("int64", 0xFFFFFFFF)
    k.add(p.WarpOp(k.site("warpop"), "shfl_xor", "w", mask, TX.node, p.Const("int64", 1)))
    k.store("y", (E(p.Var("int64", "w")),), 1.0)
    steer = taint(k.program()).first("warp")
    assert (steer.what, steer.how) == ("what `shfl_xor` gives", "an index of `y`")


def test_dynamic_shared_arrays_hold_what_is_stored_in_any_of_them():
    k = Kernel(x=("int64", 1), y=("int64", 1))
    for name in "st":
        k.arrays[name] = p.Array(name, "dynamic", "int64", (p.Extent(name, 0),), p.Line(0, 1))
    k.store("t", (TX,), k.load("v", "x", TX))
    k.barrier()
    k.store("y", (k.load("u", "s", TX),), TX)
    assert taint(k.program()).first("data").how == "an index of `y`"
