"""Updates that are lost between a load and its store, and threads that count on keeping step."""

import numpy as np
import pytest
from numba import cuda, float32

from emulator.serial import kernels
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.serial import NAMED, parse, replay, run_schedule, search
from gemmlab.emulator.serial.exhaustive import worst_of_all
from gemmlab.emulator.tallies import BLOCK_RACE, Fault, Place


def launched(kernel, grid, block, *args):
    """A program and its launch."""
    program = program_of(kernel, *args)
    return program, launch_of(program, grid, block, args)


def test_an_update_without_an_atomic_is_lost():
    counts = np.zeros(1, np.int64)
    program, launch = launched(kernels.lost_update, 1, 2, counts)
    run_schedule(program, launch, NAMED["serial"])
    assert counts[0] == 2
    for name, left in (("lockstep", 1), ("delayed-writer", 1), ("serial", 2)):
        counts[0] = 0
        run_schedule(program, launch, NAMED[name])
        assert counts[0] == left
    counts[0] = 5
    found = search(program, launch, judge=lambda outputs: (int(outputs["counts"][0] != 7), 0.0))
    assert (found.wrong_elements, counts[0]) == (1, 5)
    replay(program, launch, found.schedule)
    assert counts[0] == 6


@pytest.mark.parametrize("threads", [2, 3, 32])
def test_the_worst_of_lost_updates_leaves_one(threads):
    counts = np.zeros(1, np.int64)
    program, launch = launched(kernels.lost_update, 1, threads, counts)
    run_schedule(program, launch, NAMED["delayed-writer"])
    assert counts[0] == 1


def test_updates_of_two_blocks_are_lost_too():
    counts = np.zeros(1, np.int64)
    program, launch = launched(kernels.lost_update, 4, 1, counts)
    for name in ("serial", "serial:blocks=reverse"):
        counts[0] = 0
        run_schedule(program, launch, parse(name))
        assert counts[0] == 4
    counts[0] = 0
    line = next(site.line.number for site in program.sites if site.kind == "store")
    race = Fault(BLOCK_RACE, "counts", (0,), Place(program.files[0], line), Place(program.files[0], line))
    found = search(program, launch, [race], judge=lambda outputs: (int(outputs["counts"][0] != 4), 0.0))
    assert found.wrong_elements == 1
    replay(program, launch, found.schedule)
    assert counts[0] == 1


def test_blocks_that_share_an_element_are_interleaved_together():
    counts = np.zeros(1, np.int64)
    program, launch = launched(kernels.lost_update, 4, 1, counts)
    lost = worst_of_all(program, launch, {"counts": counts.copy()}, lambda memory: 4 - memory["counts"][0])
    assert lost.schedule.together == 4
    run_schedule(program, launch, lost.schedule)
    assert counts[0] == 1
    assert lost.ends == 4


def test_a_sum_in_shared_memory_without_an_atomic():
    counts = np.zeros(1, np.float32)
    program, launch = launched(kernels.shared_update, 1, 2, counts)
    found = search(program, launch, judge=lambda outputs: (int(outputs["counts"][0] != 2), 0.0))
    assert found.wrong_elements == 1
    replay(program, launch, found.schedule)
    assert counts[0] == 1


def test_an_atomic_loses_nothing_in_any_interleaving():
    @cuda.jit
    def counted(counts):
        cuda.atomic.add(counts, 0, 1)

    counts = np.zeros(1, np.int64)
    program, launch = launched(counted, 2, 2, counts)
    found = search(program, launch, judge=lambda outputs: (int(outputs["counts"][0] != 4), 0.0))
    assert found.wrong_elements == 0
    assert found.all_interleavings
    assert found.states > 1


def test_a_tree_sum_that_counts_on_a_warp_keeping_step():
    values = np.arange(64, dtype=np.float32)
    sums = np.zeros(1, np.float32)
    program, launch = launched(kernels.tree_sum, 1, 64, values, sums)
    run_schedule(program, launch, NAMED["lockstep"])
    assert sums[0] == values.sum()
    found = search(program, launch)
    assert found.wrong_elements == 1
    replay(program, launch, found.schedule)
    assert sums[0] != values.sum()


def test_a_tree_sum_with_syncwarp_is_right_under_every_schedule():
    @cuda.jit
    def mended(values, sums):
        partial = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        partial[t] = values[t]
        cuda.syncthreads()
        if t < 32:
            far = 32
            while far > 0:
                x = partial[t + far]
                cuda.syncwarp()
                partial[t] += x
                cuda.syncwarp()
                far //= 2
        if t == 0:
            sums[0] = partial[0]

    values = np.arange(64, dtype=np.float32)
    sums = np.zeros(1, np.float32)
    program, launch = launched(mended, 1, 64, values, sums)
    found = search(program, launch, judge=lambda outputs: (int(outputs["sums"][0] != values.sum()), 0.0))
    assert found.wrong_elements == 0
    assert len(found.tries) > 8
    assert all(done.ran.stuck_warps == done.ran.wrong_barriers == 0 for done in found.tries)
