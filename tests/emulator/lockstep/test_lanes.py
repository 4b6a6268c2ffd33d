"""What syncwarps put in order, against the plain interpreter."""

import numpy as np
import pytest
from numba import cuda, int32

from emulator.lockstep.compared import both, faults
from gemmlab.emulator.tallies import DIVERGENCE


@cuda.jit
def neighbours(which, out):
    t = cuda.threadIdx.x
    s = cuda.shared.array(64, int32)
    s[t] = t
    if which == 0:  # the upper half of the warp meets nobody
        if t % 32 < 16:
            cuda.syncwarp(0xFFFF)
    elif which == 1:  # each half meets, and reads its own
        cuda.syncwarp(0xFFFF if t % 32 < 16 else 0xFFFF0000)
    elif which == 2:  # over the middle by one lane of each half: its half is before it
        cuda.syncwarp(0xFFFF if t % 32 < 16 else 0xFFFF0000)
        if t % 32 == 15 or t % 32 == 16:
            cuda.syncwarp(0x18000)
        if t % 32 == 15:
            out[t] = s[t + 9]
    elif which == 3:
        cuda.syncwarp(0xFFFF if t % 32 < 16 else 0xFFFF0000)
        out[t] = s[t ^ 16]
    else:
        cuda.syncwarp()
    out[t] += s[t ^ 1]


@pytest.mark.parametrize(("which", "races"), [(0, True), (1, False), (2, False), (3, True), (4, False)])
def test_lanes_that_meet_in_parts(which, races):
    (one, _), (other, _) = both(neighbours, 1, 64, lambda: (which, np.zeros(64, np.int64)))
    # whether a racing read comes before what it reads is the schedule's: the races are not
    found, expected = ({fault for fault in faults(some) if "race" in fault[0]} for some in (one, other))
    assert found == expected
    assert bool(found) == races


@cuda.jit
def members(which, out):
    t = cuda.threadIdx.x
    if which == 0:
        out[t] = cuda.shfl_sync(0xFFFFFFFF, t, 0)
    elif which == 1:  # lanes that name each other's halves
        out[t] = cuda.shfl_sync(0xFFFFFFFF if t < 8 else 0xFFFF00, t, 0)
    elif which == 2:  # somebody who is not named
        out[t] = cuda.shfl_sync(0xFE, t, 1)
    elif t < 8:  # somebody who is named is elsewhere
        out[t] = cuda.shfl_sync(0x1FF, t, 0)


@pytest.mark.parametrize(("which", "threads", "fault"), [(0, 40, False), (1, 24, True), (2, 8, True), (3, 24, True)])
def test_members_of_a_mask_are_here_and_name_the_same_but_for_lanes_that_the_block_never_had(which, threads, fault):
    (one, arrays), (other, others) = both(members, 1, threads, lambda: (which, np.zeros(64, np.int64)))
    told = [{(f.kind, f.line, f.threads) for f in outcome.faults} for outcome in (one, other)]
    assert told[0] == told[1]
    assert {kind for kind, _, _ in told[0]} == ({DIVERGENCE} if fault else set())
    assert np.array_equal(arrays[1], others[1])
