"""Who executes what where threads leave functions and loops, against the plain interpreter."""

import numpy as np
import pytest
from numba import cuda

from emulator.lockstep.compared import both, faults, rows, same_values


@cuda.jit(device=True)
def place_of(a, wanted):
    for i in range(a.shape[0]):
        if a[i] == wanted:
            return i  # of a loop that all threads walk together
    return -1


@cuda.jit
def searched(a, n, out):
    t = cuda.threadIdx.x
    found = place_of(a, n)
    out[t] = found * 100 + place_of(a, 9)


@cuda.jit
def searched_by_some(a, n, out):
    t = cuda.threadIdx.x
    if t > 20:
        return
    for i in range(4):
        found = place_of(a, i)
        if found > t:
            continue
        out[t] += found * n + 1


@pytest.mark.parametrize("kernel", [searched, searched_by_some])
def test_a_device_function_that_all_leave_from_a_loop(kernel):
    def make_args():
        return np.array([5, 3, 1, 3, 2]), 3, np.zeros(40, np.int64)

    (one, arrays), (other, others) = both(kernel, 1, 33, make_args)
    assert rows(one) == rows(other)
    assert faults(one) == faults(other) == set()
    assert same_values(arrays, others)
    assert arrays[2].any()
