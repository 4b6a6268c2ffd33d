"""A kernel that mixes types keeps each exact: what is one number beside another of a wider type stays what it is."""

import numpy as np
from numba import cuda, float32, int64

from emulator.lockstep.compared import both, rows, same_values

LARGE = (1 << 60) + 1  # no float64


@cuda.jit
def mixed(whole, single, small, given, yes, out):
    t = cuda.threadIdx.x
    a = cuda.atomic.add(whole, t % 3, 1)
    b = cuda.atomic.max(single, t % 2, float32(t))
    c = cuda.atomic.add(small, t % 4, 1)
    flag = a > b
    other = not flag if t % 5 == 0 else flag
    yes[t] = other
    for i in range(2):
        k = int64(i) if t < 7 else given[i]
        out[t, i] = k + int64(c) + (3 if other else given[2])


def arrays():
    return (
        np.full(3, LARGE),
        np.zeros(2, np.float32),
        np.zeros(4, np.int32),
        np.arange(LARGE, LARGE + 3),
        np.zeros(40, np.bool_),
        np.zeros((40, 2), np.int64),
    )


def test_types_beside_one_another():
    (one, some), (other, others) = both(mixed, 1, 40, arrays)
    assert same_values(some, others)
    assert rows(one) == rows(other)
    assert some[0].sum() == 3 * LARGE + 40
    assert 0 < some[4].sum() < 40
