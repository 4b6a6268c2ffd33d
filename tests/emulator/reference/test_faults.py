import inspect

import numpy as np
import pytest
from numba import cuda

from emulator.reference import faulty
from gemmlab.emulator.reference import run_reference
from gemmlab.emulator.tallies import (
    ALIASED,
    BLOCK_RACE,
    DIVERGENCE,
    GLOBAL_RACE,
    OUT_OF_BOUNDS,
    SAME_VALUE,
    SHARED_RACE,
    UNINITIALISED,
    UNWRITTEN,
)

B0, B1 = (0, 0, 0), (1, 0, 0)


def out(*shape):
    return np.zeros(shape, np.int64)


def faults(kernel, block, *args, grid=1, **options):
    return run_reference(kernel, grid, block, *args, **options).faults


def kinds(found):
    return {fault.kind for fault in found}


def text(kernel, place):
    lines, first = inspect.getsourcelines(kernel.py_func)
    return lines[place.number - first].strip()


def thread(x, block=B0):
    return block, (x, 0, 0)


def test_a_shared_race_names_both_threads_lines_and_the_element():
    unready, race = faults(faulty.neighbour, 8, out(8))
    assert (unready.kind, unready.count) == (
        UNINITIALISED,
        7,
    )  # one thread after the other, all but the last read early
    assert (race.kind, race.array, race.access, race.epoch, race.count) == (SHARED_RACE, "s", "read-write", 0, 8)
    assert (race.index, race.threads) == ((0,), (thread(7), thread(0)))
    assert text(faulty.neighbour, race.line).startswith("out[t]")
    assert text(faulty.neighbour, race.other_line) == "s[t] = t"
    assert faults(faulty.neighbour_mended, 8, out(8)) == ()


def test_a_thread_alone_races_with_nobody():
    assert faults(faulty.neighbour, 1, out(1)) == ()


def test_syncwarp_orders_lanes_of_its_warp_and_no_others():
    assert faults(faulty.within_warps, 64, out(64)) == ()
    assert kinds(faults(faulty.across_warps, 64, out(64))) == {SHARED_RACE}


def test_order_is_passed_on_from_one_syncwarp_to_the_next():
    assert faults(faulty.passed_on, 3, out(1)) == ()


def test_stores_of_one_block_to_one_element():
    assert kinds(faults(faulty.stores, 8, out(4), 7, 1)) == {SAME_VALUE}
    (race,) = faults(faulty.stores, 8, out(4), -1, 1)
    assert (race.kind, race.access, race.count, race.index) == (GLOBAL_RACE, "write-write", 28, (1,))


def test_stores_of_two_blocks_to_one_element():
    assert kinds(faults(faulty.stores, 1, out(4), 7, 1, grid=2)) == {SAME_VALUE}
    (race,) = faults(faulty.stores, 1, out(4), -1, 1, grid=2)
    assert (race.kind, race.threads) == (BLOCK_RACE, (thread(0, B1), thread(0)))


def test_equal_stores_are_a_race_once_somebody_reads():
    found = faults(faulty.stores_and_reads, 2, out(3))
    assert {(fault.kind, fault.access) for fault in found} == {
        (GLOBAL_RACE, "write-write"),
        (GLOBAL_RACE, "read-write"),
    }


def test_atomics_race_with_plain_accesses_only():
    assert faults(faulty.atomics_only, 8, out(1), grid=2) == ()
    (race,) = faults(faulty.atomic_and_store, 3, out(1))
    assert (race.kind, race.access, race.count) == (GLOBAL_RACE, "write-write", 2)


@pytest.mark.parametrize("kernel", [faulty.guarded_barrier, faulty.early_return, faulty.two_barriers])
def test_a_thread_is_absent_from_a_barrier(kernel):
    assert faults(kernel, 8, out(8), 8) == ()
    found = faults(kernel, 8, out(8), 5)
    assert kinds(found) == {DIVERGENCE}
    assert found[0].threads == (thread(0), thread(5))
    assert text(kernel, found[0].line) == "cuda.syncthreads()"


def test_a_barrier_that_some_threads_skip_for_a_round():
    assert kinds(faults(faulty.skipping, 3, out(3))) == {DIVERGENCE}


def test_a_warp_operation_names_a_lane_that_is_not_there():
    assert faults(faulty.absent_lane, 32, out(32), 32) == ()
    (fault,) = faults(faulty.absent_lane, 32, out(32), 20)
    assert (fault.kind, fault.threads) == (DIVERGENCE, (thread(0), thread(20)))


def test_indices_out_of_range():
    values, stored = np.arange(1, 4), out(2, 2)
    found = faults(faulty.outside, 3, values, stored)
    indices = {(fault.array, fault.index, fault.detail, fault.count) for fault in found if fault.kind == OUT_OF_BOUNDS}
    assert indices == {("a", (3,), "shape (3,)", 1), ("out", (0, -3), "shape (2, 2)", 3)}
    assert stored.tolist() == [[3, 0], [0, 0]]  # out of range a load gives zero and a store does nothing


def test_shared_and_local_elements_that_nobody_wrote():
    result = np.zeros(4)
    found = faults(faulty.unwritten, 4, result)
    assert {(fault.kind, fault.array, fault.index, fault.count) for fault in found} == {
        (UNINITIALISED, "s", (0,), 1),
        (UNINITIALISED, "mine", (1,), 2),
    }
    assert result.tolist() == [2, 2, 3, 2]
    faults(faulty.unwritten, 4, result, fill="nan")
    assert np.isnan(result).tolist() == [True, True, False, True]


def test_outputs_that_stay_unwritten():
    assert faults(faulty.stores, 1, out(3), 7, 1) == ()
    (fault,) = faults(faulty.stores, 1, out(3), 7, 1, outputs=["out"])
    assert (fault.kind, fault.array, fault.index, fault.count) == (UNWRITTEN, "out", (0,), 2)


def test_dynamic_shared_arrays_over_the_same_bytes():
    assert faults(faulty.aliased, 4, np.zeros(4), False, dynamic_shared_bytes=32) == ()
    result = np.zeros(4)
    found = faults(faulty.aliased, 4, result, True, dynamic_shared_bytes=32)
    assert kinds(found) == {ALIASED}
    assert found[0].detail == "over a"
    assert np.array_equal(result.astype(np.float64), np.arange(4, dtype=np.float32).view(np.float64).repeat(2))


def test_two_parameters_over_one_array_are_one_memory():
    base = np.zeros(9, np.int64)
    assert kinds(faults(overlapping, 4, base[:-1], base[1:])) == {GLOBAL_RACE}
    assert faults(overlapping, 4, base[:4], base[4:]) == ()


def overlapping(a, b):
    t = cuda.threadIdx.x
    a[t] = t
    b[t] = -t
