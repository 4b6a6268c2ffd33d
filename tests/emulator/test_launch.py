import numpy as np
import pytest

from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.program import Argument, Array, Const, Line, Program, Site, Store, Var
from gemmlab.record import GemmlabError


def program(static=0, arguments=(), body=(), arrays=()):
    """A program that declares `static` bytes of shared memory."""
    line = Line(0, 1)
    shared = Array("tile", "shared", "int8", (Const("int64", static),), line)
    return Program(
        name="kernel",
        files=("kernel.py",),
        arguments=arguments,
        arrays={"tile": shared, **{array.name: array for array in arrays}},
        variables={},
        body=body,
        sites=(Site(line, "store"),),
    )


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(4, (4, 1, 1)), ((4,), (4, 1, 1)), ([4, 2], (4, 2, 1)), ((np.int32(4), 2, 3), (4, 2, 3))],
)
def test_grid_and_block_are_three_axes(given, wanted):
    launch = launch_of(None, given, given, ())
    assert launch.grid == launch.block == wanted
    assert launch.blocks == launch.threads == np.prod(wanted)
    assert all(type(side) is int for side in launch.grid)


@pytest.mark.parametrize("bad", [0, -1, (4, 0), (), (1, 1, 1, 1), True, 2.0, (2, 2.0), (4, True), "8", None])
@pytest.mark.parametrize("which", ["grid", "block"])
def test_what_is_no_grid_is_refused(which, bad):
    sides = {"grid": 1, "block": 1, which: bad}
    with pytest.raises(GemmlabError, match=which):
        launch_of(None, sides["grid"], sides["block"], ())


def test_the_largest_grid_and_block():
    launch_of(None, (2**31 - 1, 65535, 65535), (1, 16, 64), ())
    for grid in ((2**31,), (1, 65536), (1, 1, 65536)):
        with pytest.raises(GemmlabError, match=r"grid\.[xyz] is"):
            launch_of(None, grid, 1, ())
    with pytest.raises(GemmlabError, match="33x32 has 1056 threads"):
        launch_of(None, 1, (33, 32), ())
    with pytest.raises(GemmlabError, match=r"block\.z is 65"):
        launch_of(None, 1, (1, 1, 65), ())


def test_python_numbers_take_the_types_numba_gives_them():
    values = launch_of(None, 1, 1, (1, 2**63, 1.5, True, np.float32(2), np.zeros((2, 2), np.float16))).args
    assert [value.dtype.name for value in values] == ["int64", "uint64", "float64", "bool", "float32", "float16"]


@pytest.mark.parametrize("bad", [1j, "a", None, [1.0], 2**64, np.zeros(2, ">f4"), np.zeros(()), np.zeros((1,) * 4)])
def test_what_no_kernel_takes_is_refused(bad):
    with pytest.raises(GemmlabError, match="argument 1"):
        launch_of(None, 1, 1, (bad,))


def test_arguments_are_those_of_the_program():
    taken = program(arguments=(Argument("a", "float32", 2), Argument("n", "int64", None)))
    a = np.zeros((2, 2), np.float32)
    launch_of(taken, 1, 1, (a, 2))
    with pytest.raises(GemmlabError, match="takes 2 arguments, got 1"):
        launch_of(taken, 1, 1, (a,))
    with pytest.raises(GemmlabError, match=r"a is float64\[:, :\]; kernel was read for float32\[:, :\]"):
        launch_of(taken, 1, 1, (a.astype(np.float64), 2))


def test_a_read_only_array_is_refused_only_where_it_is_stored_to():
    a = np.zeros(2, np.float32)
    a.flags.writeable = False
    arguments = (Argument("a", "float32", 1),)
    array = Array("a", "global", "float32", (Const("int64", 2),), Line(0, 1))
    store = Store(0, "a", (Const("int64", 0),), Var("float32", "x"))
    launch_of(program(arguments=arguments, arrays=[array]), 1, 1, (a,))
    with pytest.raises(GemmlabError, match="read-only"):
        launch_of(program(arguments=arguments, arrays=[array], body=(store,)), 1, 1, (a,))


def test_shared_memory_is_bounded_as_the_chip_bounds_it():
    launch_of(program(48 * 1024), 1, 1, ())
    with pytest.raises(GemmlabError, match=r"49153 bytes of static shared memory \(tile 49153\)"):
        launch_of(program(48 * 1024 + 1), 1, 1, ())
    launch_of(program(1024), 1, 1, (), dynamic_shared_bytes=226 * 1024)
    with pytest.raises(GemmlabError, match="CUDA has 232448 a block"):
        launch_of(program(1024), 1, 1, (), dynamic_shared_bytes=227 * 1024)
    with pytest.raises(GemmlabError, match="rtx-4090 has"):
        launch_of(program(1024), 1, 1, (), dynamic_shared_bytes=99 * 1024, chip="rtx-4090")
    with pytest.raises(GemmlabError, match="runs no kernels"):
        launch_of(None, 1, 1, (), chip="tpu-v4")
    for bad in (-1, True, 1.5):
        with pytest.raises(GemmlabError, match="dynamic shared memory"):
            launch_of(None, 1, 1, (), dynamic_shared_bytes=bad)


def test_an_unknown_fill_is_refused():
    with pytest.raises(GemmlabError, match="filled with 'ones'"):
        launch_of(None, 1, 1, (), fill="ones")
