"""Accesses by table and one by one side by side: places relative to thread 0, and indices near the ends of int64."""

import numpy as np
import pytest
from numba import cuda, float32, int32

from emulator.lockstep.compared import both, faults, rows, same_values

THREADS = 33


@cuda.jit
def turned(which, far, a, out):
    t = cuda.threadIdx.x
    own = cuda.local.array(5, float32)
    if which == 0:  # one load out of range beside one that runs backwards from thread 0
        out[t] = a[t + 20] + 100 * a[a.shape[0] - 1 - t]
    elif which == 1:  # thread 4 writes the element before the one that thread 0 writes
        own[(t + 1) % 5] = t
        out[t] = own[(t + 6) % 5] + own[0 - 5 + (t + 1) % 5]
    elif which == 2:
        out[t] = own[(t + 1) % 5]
    elif which == 3:  # past the largest int64
        out[t] = a[t + far]
        a[t + far] = 1


@pytest.mark.parametrize("which", range(4))
def test_places_relative_to_thread_0(which):
    def make_args():
        return which, 2**63 - 1, np.arange(40, dtype=np.float32), np.zeros(THREADS, np.float32)

    (one, arrays), (other, others) = both(turned, 1, THREADS, make_args)
    assert rows(one) == rows(other)
    assert faults(one) == faults(other)
    assert [f.count for f in one.faults] == [f.count for f in other.faults]
    assert [f.kind for f in one.faults] == (["out_of_bounds"], [], ["uninitialised_read"], ["out_of_bounds"] * 2)[which]
    assert same_values(arrays, others)


@cuda.jit
def dynamic(out):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(0, int32)
    part = tile[2:6]
    tile[t] = t
    cuda.syncthreads()
    out[t] = tile[THREADS - 1 - t] + part[3]
    part[0] = 1  # read by another in this epoch, and written by all


def test_dynamic_shared_memory_read_by_all_threads():
    make_args, bytes_there = (lambda: (np.zeros(THREADS, np.int64),)), 4 * THREADS
    (one, arrays), (other, _) = both(dynamic, 1, THREADS, make_args, dynamic_shared_bytes=bytes_there)
    assert rows(one) == rows(other)
    assert {f.kind for f in one.faults} == {f.kind for f in other.faults} == {"shared_race"}
    assert arrays[0].tolist() == [THREADS - 1 - t + 5 for t in range(THREADS)]
