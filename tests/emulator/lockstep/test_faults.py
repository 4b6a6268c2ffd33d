"""Faults as the engine names them: threads, lines, index, epoch; and what must not be called a fault."""

import numpy as np
import pytest
from numba import cuda, float32, int32

from emulator.reference import faulty
from gemmlab.emulator import tallies as t
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lockstep import replay, running
from gemmlab.emulator.lockstep.running import run
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.reference import run_reference
from gemmlab.record import GemmlabError


def faults(kernel, grid, block, *args, threads=None, outputs=(), **more):
    program = program_of(kernel, *args)
    launch = launch_of(program, grid, block, args, **more)
    return run(program, launch, threads=threads, outputs=outputs).faults


def line_of(kernel, text):
    """The number of the only line of a kernel's source that has this text."""
    import inspect

    lines, first = inspect.getsourcelines(kernel.py_func)
    (found,) = [first + i for i, line in enumerate(lines) if text in line]
    return found


@cuda.jit
def shared_faults(which, out):
    s = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    if which == 0:
        s[i] = i  # own
        out[i] = s[(i + 1) % 64]  # the next thread's
    elif which == 1:
        s[i] = i
        cuda.syncthreads()
        out[i] = s[(i + 1) % 64]
    elif which == 2:
        s[5] = 7  # all the same
        cuda.syncthreads()
        out[i] = s[5]
    elif which == 3:
        s[i // 2] = i  # two of a word
    elif which == 4:
        out[i] = s[i]  # nobody wrote it
    elif which == 5:
        if i < 40:
            cuda.syncthreads()
        out[i] = 1
    elif which == 6:
        out[i + 1] = 1  # one too far
    elif which == 7:
        s[i] = i
        cuda.syncthreads()
        cuda.syncthreads()
        s[63 - i] = s[i]  # third interval


def test_a_race_names_both_threads_both_lines_the_word_and_the_epoch():
    (race,) = faults(shared_faults, 1, 64, 0, np.zeros(64, np.float32))
    assert (race.kind, race.array, race.access, race.epoch) == (t.SHARED_RACE, "s", "read-write", 0)
    assert {race.line.number, race.other_line.number} == {
        line_of(shared_faults, "# own"),
        line_of(shared_faults, "# the next thread's"),
    }
    (block, reader), (other_block, writer) = race.threads
    assert block == other_block == (0, 0, 0)
    assert race.index == writer[:1] == ((reader[0] + 1) % 64,)
    assert race.count == 64


def test_epochs_count_barriers():
    found = faults(shared_faults, 2, 64, 7, np.zeros(64, np.float32))
    assert {f.kind for f in found} == {t.SHARED_RACE}
    assert {f.epoch for f in found} == {2}


@pytest.mark.parametrize(
    ("which", "kinds"),
    [
        (1, set()),
        (2, {t.SAME_VALUE}),
        (3, {t.SHARED_RACE}),
        (4, {t.UNINITIALISED}),
        (5, {t.DIVERGENCE}),
        (6, {t.OUT_OF_BOUNDS}),
    ],
)
def test_kinds(which, kinds):
    assert {f.kind for f in faults(shared_faults, 1, 64, which, np.zeros(64, np.float32))} == kinds


def test_divergence_names_one_that_waits_and_one_that_is_absent():
    (fault,) = faults(shared_faults, 1, 64, 5, np.zeros(64, np.float32))
    assert [thread for _, thread in fault.threads] == [(0, 0, 0), (40, 0, 0)]


def test_out_of_bounds_names_index_and_shape():
    (fault,) = faults(shared_faults, 1, 64, 6, np.zeros(64, np.float32))
    assert (fault.index, fault.detail, fault.threads) == ((64,), "shape (64,)", (((0, 0, 0), (63, 0, 0)),))


@cuda.jit
def global_faults(which, x, out):
    i = cuda.grid(1)
    if which == 0:
        out[i % 32] = i  # block 0 and block 1
    elif which == 1:
        out[i] = x[(i + 40) % 64] + out[(i + 32) % 64]  # another block's
    elif which == 2:
        cuda.atomic.add(out, i % 4, 1.0)
    elif which == 3:
        cuda.atomic.add(out, i % 4, 1.0)
        if i == 63:
            out[3] = 0  # beside atomics
    elif which == 4:
        out[i % 32] = 1  # the same, from both blocks
    elif which == 5:
        if i != 17:
            out[i] = x[i]
    elif which == 6:
        out[i] = x[i]
        out[i] += x[63 - i]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("which", "kinds"),
    [
        (0, {t.BLOCK_RACE}),
        (1, {t.BLOCK_RACE}),
        (2, set()),
        (3, {t.GLOBAL_RACE, t.BLOCK_RACE}),
        (4, {t.SAME_VALUE}),
        (5, {t.UNWRITTEN}),
        (6, set()),
    ],
)
def test_blocks_race_however_many_run_at_once(which, kinds, threads):
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    outputs = ("out",) if which in (5, 6) else ()
    found = faults(global_faults, 2, 32, which, x, out, threads=threads, outputs=outputs)
    assert {f.kind for f in found} == kinds
    if which == 0:
        assert {thread[0][0] for f in found for thread in f.threads} == {0, 1}
    if which == 5:
        assert (found[0].index, found[0].count) == ((17,), 1)


@cuda.jit
def reversed_onto(x, out):
    i = cuda.grid(1)
    out[i] = x[i]
    out[i] += x[63 - i]


def test_in_place_is_no_race_and_overlap_is_one():
    memory = np.arange(65, dtype=np.float32)
    assert not faults(reversed_onto, 2, 32, memory[:64].copy(), memory[:64])
    found = faults(reversed_onto, 2, 32, memory[:64], memory[1:])
    assert {f.kind for f in found} == {t.GLOBAL_RACE, t.BLOCK_RACE}


@cuda.jit
def in_a_warp(which, out):
    s = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    s[i] = i
    if which == 0:
        cuda.syncwarp()
    if which == 2:
        cuda.syncthreads()
    out[i] = s[i ^ 1]
    if which == 1:
        cuda.syncwarp()
        out[i] += s[i ^ 32]


def test_syncwarp_orders_lanes_of_a_warp_and_no_others():
    assert not faults(in_a_warp, 1, 64, 0, np.zeros(64, np.int32))
    assert not faults(in_a_warp, 1, 64, 2, np.zeros(64, np.int32))
    found = faults(in_a_warp, 1, 64, 1, np.zeros(64, np.int32))
    assert len(found) == 2  # the neighbour before the syncwarp, and the other warp's lane behind it
    assert {f.kind for f in found} == {t.SHARED_RACE}


@cuda.jit
def two_names(out, far):
    a = cuda.shared.array(0, float32)
    b = cuda.shared.array(0, int32)
    i = cuda.threadIdx.x
    a[i] = 1.5
    if far:
        b[32 + i] = 2
    else:
        b[i] = 2
    cuda.syncthreads()
    out[i] = a[i]


def test_dynamic_arrays_that_lie_over_each_other():
    out = np.zeros(32, np.float32)
    assert {f.kind for f in faults(two_names, 1, 32, out, False, dynamic_shared_bytes=256)} == {t.ALIASED}
    assert not faults(two_names, 1, 32, out, True, dynamic_shared_bytes=256)
    assert np.all(out == 1.5)


@cuda.jit
def endless(out):
    i = 0
    while i < 10:
        out[0] = i
        i -= 1


def test_a_kernel_without_end():
    out = np.zeros(1, np.float32)
    program = program_of(endless, out)
    launch = launch_of(program, 1, 1, (out,))
    with pytest.raises(GemmlabError, match="without an end") as found:
        run(program, launch, step_limit=10_000)
    assert "--step-limit" in found.value.hint


@cuda.jit
def several_lines(which, out):
    s = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    s[t] = t
    cuda.syncthreads()
    v = 0
    if which == 0:
        if t == 1:
            v = s[0]  # another reads
        if t == 2:
            v = s[0]  # the writer reads
        if t == 2:
            s[0] = v  # and writes
    elif which == 1:
        if t == 1:
            v = s[0]  # one reads
        if t == 2:
            v = s[0]  # two reads
        if t == 3:
            s[0] = v  # three writes
    elif which == 2:
        if cuda.blockIdx.x == 0 and t == 1:
            out[7] = 1
        if cuda.blockIdx.x == 0 and t == 2:
            out[7] = 2
        if cuda.blockIdx.x == 1 and t == 3:
            out[7] = 3
        if cuda.blockIdx.x == 2 and t == 3:
            v = out[7]
    out[t % 4] = v


def told(found):
    return {(f.kind, f.array, f.index, f.line, f.other_line, f.threads, f.epoch, f.access, f.count) for f in found}


def test_a_race_is_told_between_the_lines_that_race():
    (race,) = faults(several_lines, 1, 4, 0, np.zeros(8, np.int32))
    lines = [line_of(several_lines, "# and writes"), line_of(several_lines, "# another reads")]
    assert [race.line.number, race.other_line.number] == lines
    found = faults(several_lines, 1, 4, 1, np.zeros(8, np.int32))
    readers = {line_of(several_lines, "# one reads"), line_of(several_lines, "# two reads")}
    assert {f.other_line.number for f in found} == readers


@pytest.mark.parametrize("grid", [1, 3])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_races_are_those_of_the_plain_interpreter_to_the_last_thread_and_count(which, grid):
    expected = run_reference(several_lines, grid, 4, which, np.zeros(8, np.int32)).faults
    for threads in (1, 2):
        out = np.zeros(8, np.int32)
        assert told(faults(several_lines, grid, 4, which, out, threads=threads)) == told(expected)


def test_a_second_look_leaves_what_the_launch_computed(monkeypatch):
    once, again = np.zeros(8, np.int32), np.zeros(8, np.int32)
    faults(several_lines, 3, 4, 2, once)
    monkeypatch.setattr(running, "second_look", lambda *_, **__: None)
    faults(several_lines, 3, 4, 2, again)
    assert np.array_equal(once, again)


def test_a_second_look_is_bounded_and_says_so(monkeypatch):
    monkeypatch.setattr(replay, "MOST_CALLS", 4)
    found = faults(several_lines, 3, 4, 1, np.zeros(8, np.int32))
    assert {f.kind for f in found} >= {t.SHARED_RACE}
    assert {f.detail for f in found} == {"pairs of lines are those of 0 of 3 blocks that race and of 5 elements"}


def test_a_read_of_what_nobody_wrote_counts_once_an_element():
    out = np.zeros(4)
    counts = [
        sorted((f.kind, f.array, f.count) for f in some if f.kind == t.UNINITIALISED)
        for some in (
            faults(faulty.aliased, 1, 4, out, True, dynamic_shared_bytes=64),
            run_reference(faulty.aliased, 1, 4, out, True, dynamic_shared_bytes=64).faults,
            faults(faulty.aliased, 1, 1, out, True, dynamic_shared_bytes=64),
        )
    ]
    assert counts == [[], [], [(t.UNINITIALISED, "b", 1)]]


@cuda.jit
def two_types(which, out, other):
    i = cuda.grid(1)
    if which == 0:
        out[i] = i
        other[i] = i  # into another's element: two of one are four bytes each, the other is eight
    elif which == 1:
        out[i // 2] = other[i]
    elif which == 2:
        other[i] = 0
    else:
        cuda.atomic.add(out, i // 2, 1)
        other[i] = i


@pytest.mark.parametrize("which", range(4))
def test_arrays_of_two_types_over_one_buffer(which):
    def made():
        memory = np.zeros(17, np.int64)
        return memory[1:], memory.view(np.int32)[3:]

    for block in (8, 4):
        grid = 8 // block
        (out, other), (expected, _) = made(), made()
        found = faults(two_types, grid, block, which, out, other)
        right = run_reference(two_types, grid, block, which, expected, _).faults
        assert {key(f) for f in found} == {key(f) for f in right}
        assert bool(found) == (which != 2)


def key(f):
    return f.kind, frozenset((f.line.number, f.other_line.number)), f.access


def test_an_output_is_written_where_all_its_bytes_are():
    memory = np.zeros(8, np.int64)
    found = faults(two_types, 1, 15, 2, memory, memory.view(np.int32), outputs=("out",))
    assert [(f.kind, f.index, f.count) for f in found] == [(t.UNWRITTEN, (7,), 1)]
