"""One kernel of all that places and types may be, run thread by thread and by the plain interpreter."""

import math

import numpy as np
import pytest
from numba import cuda, float32, int16, uint8

from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.reference import run_reference
from gemmlab.emulator.serial import parse, run_schedule


@cuda.jit(device=True)
def clipped(x, most):
    if x > most:
        return most
    for step in range(3):
        if x + step > most:
            return x + step
    return x * 2


@cuda.jit
def mixed(h, f, whole, sums, maxima, out):
    bytes_ = cuda.shared.array(0, uint8)
    halves = cuda.shared.array((2, 16), np.float16)
    mine = cuda.local.array(3, int16)
    part = f[1:]
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    t = x + y * cuda.blockDim.x + 32 * cuda.blockIdx.x
    halves[y, x] = h[t] * h[t] + np.float16(0.1)
    bytes_[x + 16 * y] = whole[t] * 37
    for i in range(3):
        mine[i] = whole[t] * 9000 + i
    cuda.syncthreads()
    near = halves[1 - y, 15 - x]
    turned = bytes_[-1 - (x + 16 * y)]
    cuda.atomic.add(sums, 0, 1)
    cuda.atomic.max(maxima, x % 2, whole[t])
    seen = 0
    while seen < 5:
        seen += 2
        if turned % 3 == 0:
            continue
        if turned % 5 == 0:
            break
        seen += mine[1] % 2
    other = -1 if near > part[t] else seen
    out[t, 0] = near
    out[t, 1] = turned // -7 + (mine[2] >> 2) % -5
    out[t, 2] = clipped(float32(turned), part[t]) ** 2
    out[t, 3] = math.sqrt(abs(near)) + other
    out[t, 4] = cuda.fma(part[t], part[t], float32(-near)) if whole[t] > 2 and t != 5 else min(float32(near), part[t])
    out[t, 5] = cuda.popc(turned) + cuda.clz(whole[t]) + (~whole[t] ^ 12)


def arguments():
    rng = np.random.default_rng(8)
    return (
        rng.normal(size=64).astype(np.float16),
        rng.normal(size=130).astype(np.float32)[::2],
        rng.integers(-9, 9, 64),
        np.zeros(1, np.int32),
        np.full(2, -99, np.int64),
        np.zeros((64, 6)),
    )


@pytest.mark.parametrize("name", ["serial", "reverse", "lockstep", "random:seed=4,horizon=90", "serial:together=2"])
def test_threads_one_by_one_do_what_the_plain_interpreter_does(name):
    expected, got = arguments(), arguments()
    assert not run_reference(mixed, (2,), (16, 2), *expected, dynamic_shared_bytes=32).faults
    program = program_of(mixed, *got)
    run_schedule(program, launch_of(program, 2, (16, 2), got, dynamic_shared_bytes=32), parse(name))
    for wanted, array in zip(expected, got, strict=True):
        np.testing.assert_array_equal(array, wanted)
    assert got[3][0] == 64
    assert (got[5] != 0).any(axis=0).all()
