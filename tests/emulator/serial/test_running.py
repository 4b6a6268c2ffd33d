import threading
import time
from _thread import interrupt_main
from dataclasses import replace

import numpy as np
import pytest
from numba import cuda, float32, int32

from emulator.serial import kernels
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.serial import NAMED, Schedule, parse, replay, run_schedule, search, with_horizon
from gemmlab.record import GemmlabError

ORDERS = ("serial", "reverse", "alternating", "lockstep", "random:seed=2,horizon=40")


def launched(kernel, grid, block, *args, **options):
    """A program and its launch."""
    program = program_of(kernel, *args)
    return program, launch_of(program, grid, block, args, **options)


@cuda.jit
def waits(flags, out):
    """The last thread lets the first go on; a kernel that needs a fair schedule."""
    t = cuda.threadIdx.x
    if t == 0:
        while flags[0] == 0:
            pass
        out[0] = 1
    else:
        flags[0] = 1


@cuda.jit
def absent(out):
    t = cuda.threadIdx.x
    if t == 3:
        return
    if t % 2 == 0:
        cuda.syncthreads()
        out[t] = 1
    else:
        cuda.syncthreads()
        out[t] = 2


@cuda.jit
def votes(out):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.syncthreads_count(int32(t % 3 == 0))
    out[t, 1] = cuda.syncthreads_and(int32(t < 100))
    out[t, 2] = cuda.syncthreads_or(int32(t == 5))
    out[t, 3] = cuda.shfl_sync(0xFFFFFFFF, t, 7)
    out[t, 4] = cuda.shfl_up_sync(0xFFFFFFFF, t, 2)
    out[t, 5] = cuda.shfl_down_sync(0xFFFFFFFF, t, 30)
    out[t, 6] = cuda.shfl_xor_sync(0xFFFFFFFF, t, 5)
    out[t, 7] = cuda.ballot_sync(0xFFFFFFFF, t % 32 < 3)
    out[t, 8] = cuda.any_sync(0xFFFFFFFF, t == 40)
    out[t, 9] = cuda.all_sync(0xFFFFFFFF, t < 32)
    out[t, 10] = cuda.eq_sync(0xFFFFFFFF, t < 16)


@cuda.jit
def lonely(out):
    t = cuda.threadIdx.x
    if t < 16:
        out[t] = cuda.shfl_sync(0xFFFFFFFF, t + 1, 0)


@cuda.jit
def backwards(a, out):
    i = cuda.grid(1)
    out[i] = a[-1 - i] + a[i + 5]


@pytest.mark.parametrize("name", ORDERS)
def test_barriers_and_warps_exchange_in_any_order(name):
    out = np.zeros((64, 11), np.int64)
    program, launch = launched(votes, 1, 64, out)
    ran = run_schedule(program, launch, parse(name))
    t = np.arange(64)
    lane = t % 32
    expected = [
        np.full(64, 22),
        np.full(64, 1),
        np.full(64, 1),
        t - lane + 7,
        np.where(lane >= 2, t - 2, t),
        np.where(lane < 2, t + 30, t),
        t ^ 5,
        np.full(64, 7),
        t >= 32,
        t < 32,
        t >= 32,
    ]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1))
    assert (ran.wrong_barriers, ran.stuck_warps) == (0, 0)


@pytest.mark.parametrize("name", ORDERS)
def test_a_barrier_that_a_thread_is_absent_from_opens_and_is_counted(name):
    out = np.zeros(8, np.int64)
    program, launch = launched(absent, 2, 8, out)
    ran = run_schedule(program, launch, parse(name))
    np.testing.assert_array_equal(out, [1, 2, 1, 0, 1, 2, 1, 2])
    assert ran.wrong_barriers == 2


def test_a_warp_operation_that_waits_for_absent_lanes_goes_on_and_is_counted():
    out = np.zeros(32, np.int64)
    program, launch = launched(lonely, 1, 32, out)
    run_schedule(program, launch, NAMED["serial"])
    np.testing.assert_array_equal(out, [1] * 16 + [0] * 16)


@pytest.mark.parametrize("name", ["serial", "reverse", "alternating"])
def test_a_thread_that_waits_for_another_gets_what_it_waits_for(name):
    flags, out = np.zeros(1, np.int64), np.zeros(1, np.int64)
    program, launch = launched(waits, 1, 2, flags, out)
    run_schedule(program, launch, NAMED[name])
    assert out[0] == 1


def test_in_lockstep_a_thread_waits_in_vain_for_one_on_the_other_branch():
    flags, out = np.zeros(1, np.int64), np.zeros(1, np.int64)
    program, launch = launched(waits, 1, 2, flags, out)
    with pytest.raises(GemmlabError, match="did not end"):
        run_schedule(program, launch, NAMED["lockstep"], step_limit=10_000)


def test_a_kernel_that_never_ends_meets_the_step_limit():
    flags, out = np.zeros(1, np.int64), np.zeros(1, np.int64)
    program, launch = launched(waits, 1, 1, flags, out)
    with pytest.raises(GemmlabError, match="waits did not end within 1000 steps"):
        run_schedule(program, launch, NAMED["serial"], step_limit=1000)


def test_an_interrupt_is_heard():
    flags, out = np.zeros(1, np.int64), np.zeros(1, np.int64)
    program, launch = launched(waits, 1, 1, flags, out)
    with pytest.raises(GemmlabError):
        run_schedule(program, launch, NAMED["serial"], step_limit=10)  # compiled by now

    def interrupt():
        time.sleep(0.2)
        interrupt_main()

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run_schedule(program, launch, NAMED["serial"], step_limit=10**12)


@pytest.mark.parametrize("name", ORDERS)
def test_a_schedule_does_the_same_again(name):
    a, b = kernels.matrices(9)
    c = np.zeros((9, 9), np.float32)
    program, launch = launched(kernels.tiled, (3, 3), (3, 3), a, b, c, *kernels.NO_FIRST)
    ran = run_schedule(program, launch, parse(name))
    first = c.copy()
    c[:] = 0
    assert run_schedule(program, launch, parse(name)) == ran
    np.testing.assert_array_equal(c, first)


def test_seeds_give_different_orders():
    a, b = kernels.matrices(9)
    c = np.zeros((9, 9), np.float32)
    program, launch = launched(kernels.tiled, (3, 3), (3, 3), a, b, c, *kernels.NO_FIRST)
    seen = set()
    for seed in range(6):
        run_schedule(program, launch, parse(f"random:seed={seed},horizon=100"))
        seen.add(c.tobytes())
    assert len(seen) == 6


def test_views_strides_and_read_only_arrays_are_where_they_are():
    whole = np.arange(40, dtype=np.float32)
    a = whole[::-4]
    a.flags.writeable = False
    out = np.zeros((5, 2), np.float32)
    program, launch = launched(backwards, 1, 5, a, out[:, 1])
    run_schedule(program, launch, NAMED["serial"])
    np.testing.assert_array_equal(out[:, 1], a[::-1][:5] + a[5:])
    assert (out[:, 0] == 0).all()


def test_an_array_given_twice_is_one_memory():
    a = np.arange(10, dtype=np.float32)
    program, launch = launched(backwards, 1, 5, a, a[:5])
    run_schedule(program, launch, NAMED["serial"])
    expected = np.arange(10, dtype=np.float32)
    for i in range(5):
        expected[i] = expected[-1 - i] + expected[i + 5]
    np.testing.assert_array_equal(a, expected)


def test_elements_that_lie_between_are_refused():
    pairs = np.zeros(8, np.dtype([("x", np.float32), ("y", np.int8)]))["x"]
    program, launch = launched(backwards, 1, 1, pairs, np.zeros(5, np.float32))
    with pytest.raises(GemmlabError, match="no multiple"):
        run_schedule(program, launch, NAMED["serial"])


def test_nan_fills_shared_memory_where_asked():
    @cuda.jit
    def unwritten(out):
        tile = cuda.shared.array(4, float32)
        mine = cuda.local.array(2, float32)
        t = cuda.threadIdx.x
        out[t, 0] = tile[t]
        out[t, 1] = mine[1]

    out = np.ones((4, 2), np.float32)
    program, launch = launched(unwritten, 1, 4, out)
    run_schedule(program, launch, NAMED["serial"])
    assert (out == 0).all()
    run_schedule(program, replace(launch, fill="nan"), NAMED["serial"])
    assert np.isnan(out).all()


def test_a_schedule_that_names_what_is_not_there_is_refused():
    out = np.zeros(8, np.int64)
    program, launch = launched(absent, 2, 8, out)
    with pytest.raises(GemmlabError, match="names thread 8; a block has 8"):
        run_schedule(program, launch, Schedule("serial", first=(8,)))
    with pytest.raises(GemmlabError, match="writes nothing on line 1 "):
        run_schedule(program, launch, parse("delayed-writer:delay=1"))
    with pytest.raises(GemmlabError, match="horizon"):
        run_schedule(program, launch, NAMED["random"])


def test_more_threads_at_once_than_memory_holds_are_refused():
    counts = np.zeros(1, np.int64)
    program, launch = launched(kernels.lost_update, 100_000, 1024, counts)
    with pytest.raises(GemmlabError, match="100000 blocks of 1024 threads at once need"):
        run_schedule(program, launch, parse("serial:together=100000"))


def test_a_horizon_is_found_without_touching_the_arrays():
    counts = np.zeros(1, np.int64)
    program, launch = launched(kernels.lost_update, 1, 6, counts)
    assert with_horizon(program, launch, NAMED["random"]).horizon == 12
    assert counts[0] == 0
    replay(program, launch, NAMED["random"])
    assert counts[0] > 0


def test_a_search_that_costs_too_much_says_where_it_stopped():
    a, b = kernels.matrices(9)
    c = np.zeros((9, 9), np.float32)
    program, launch = launched(kernels.tiled, (3, 3), (3, 3), a, b, c, *kernels.NO_FIRST)
    found = search(program, launch, budget=1)
    assert len(found.tries) == 1
    assert "were not tried" in found.notes[-1]


def test_an_output_that_is_no_array_is_refused():
    counts = np.zeros(1, np.int64)
    program, launch = launched(kernels.lost_update, 1, 2, counts)
    with pytest.raises(GemmlabError, match="no array 'sums'"):
        search(program, launch, outputs=["sums"])
