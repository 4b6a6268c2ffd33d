"""Shared loads counted as the wide loads that a compiler makes of them."""

import numpy as np
import pytest
from numba import cuda, float32

from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lockstep.running import run
from gemmlab.emulator.lower import program_of
from gemmlab.kernels.ladder import RUNGS, load

T = 16


def shared_loads(kernel, grid, block, *args, merge):
    program = program_of(kernel, *args)
    outcome = run(program, launch_of(program, grid, block, args), merge=merge)
    rows = [tally for key, tally in outcome.tallies.items() if key.kind == "load" and key.array not in ("a", "b", "c")]
    return sum(t.threads for t in rows), sum(t.requests for t in rows), sum(t.pieces for t in rows)


@pytest.mark.parametrize(
    ("merge", "requests", "wavefronts"), [(0, 26880, 26880), (8, 20160, 20160), (16, 16800, 20160)]
)
def test_a_tiled_kernel_as_an_h200_ran_it(merge, requests, wavefronts):
    """ncu on an H200, numba-cuda's code, 100x70x33: 16,800 shared-load instructions in 20,160 wavefronts."""
    m, n, k = 100, 70, 33
    arrays = np.ones((m, k), np.float32), np.ones((k, n), np.float32), np.zeros((m, n), np.float32)
    elements = 2 * T * T * T * 5 * 7 * 3  # whatever they are counted as, the program asks for as many
    grid, block = (5, 7), (T, T)
    kernel = load(RUNGS["tiled"].source)
    assert shared_loads(kernel, grid, block, *arrays, merge=merge) == (elements, requests, wavefronts)


@cuda.jit
def four_by_hand(out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    for i in range(4):
        s[4 * t + i] = t
    cuda.syncthreads()
    out[t] = s[4 * t] + s[4 * t + 1] + s[4 * t + 2] + s[4 * t + 3] + s[4 * t + 1]


@cuda.jit
def never_aligned(out):
    s = cuda.shared.array(160, float32)
    t = cuda.threadIdx.x
    for i in range(4):
        s[4 * t + i + 1] = t
    cuda.syncthreads()
    out[t] = s[4 * t + 1] + s[4 * t + 2] + s[4 * t + 3] + s[4 * t + 4]


def test_straight_text_is_merged_where_it_is_aligned():
    out = np.zeros(32, np.float32)
    assert shared_loads(four_by_hand, 1, 32, out, merge=0) == (160, 5, 20)  # stride 4: each request takes 4 wavefronts
    assert shared_loads(four_by_hand, 1, 32, out, merge=16) == (160, 2, 8)  # four quarter-warps, and the one read twice
    assert shared_loads(never_aligned, 1, 32, out, merge=16)[1] == 3  # only 4t + 2 and 4t + 3 make a pair
