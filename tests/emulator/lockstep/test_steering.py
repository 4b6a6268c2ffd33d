"""Who executes what where threads leave functions and loops, against the plain interpreter."""

import numpy as np
import pytest
from numba import cuda

from emulator.lockstep.compared import both, faults, rows, same_values
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lockstep.running import run
from gemmlab.emulator.lower import program_of


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


@cuda.jit
def to_the_ends(far, out):
    t = cuda.threadIdx.x
    for i in range(far - t, far, 5):
        out[t] += i % 7
    for i in range(t - far, -far - 1, -4):
        out[t] += 100 * (i % 7)


def test_ranges_to_the_ends_of_int64():
    args = 2**63 - 1, np.zeros(12, np.int64)
    program = program_of(to_the_ends, *args)
    run(program, launch_of(program, 1, 12, args), step_limit=1000)
    assert args[1].tolist() == [expected(2**63 - 1, t) for t in range(12)]


def expected(far, t):
    return sum(i % 7 for i in range(far - t, far, 5)) + 100 * sum(i % 7 for i in range(t - far, -far - 1, -4))


@cuda.jit
def triangular(a, b, c):
    x = cuda.threadIdx.x
    total = 0.0
    for i in range(x + 1):
        total += a[0, i] * b[i % 2, x % 3, i]
    for i in range(x, x + 3):
        for j in range(i % 3, -x, -1):
            total += b[j % 2, i % 3, (x + j) % 16] - a[i % 16, x]
    c[0, x] = total


def test_bounds_of_threads_outlive_indices_of_several_axes():
    random = np.random.default_rng(4)

    def make():
        a = random.integers(-4, 5, (16, 16)).astype(np.float64)
        return a, np.arange(96.0).reshape(2, 3, 16), np.zeros((1, 16))

    made = make()
    (one, arrays), (other, others) = both(triangular, (1,), (16,), lambda: tuple(each.copy() for each in made))
    assert same_values(arrays, others)
    assert rows(one) == rows(other)
    assert faults(one) == faults(other) == set()
