"""Orders of threads played access by access: the plain form against the emulator's compiled one, and what is told."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.emulator.serial import NAMED, run_schedule, with_horizon
from gemmlab.lab.asked import Schedules
from gemmlab.lab.playing import Stage, named_order, play
from gemmlab.lab.sources import chosen
from gemmlab.lab.stepping import Played
from gemmlab.record import GemmlabError

TWO_WRITERS = """
from numba import cuda, float32

@cuda.jit
def twice(a, b, c):
    tile = cuda.shared.array(4, float32)
    t = cuda.threadIdx.x
    row, col = cuda.blockIdx.y, cuda.blockIdx.x
    total = float32(0)
    for i in range(t, a.shape[1], 4):
        total += a[row, i] * b[i, col]
    tile[t] = total
    cuda.syncthreads()
    if t < 2:
        tile[t] += tile[t + 2]
    if t == 0:
        c[row, col] = tile[0] + tile[1]
"""
HANDED_OVER = """
from numba import cuda, float32

@cuda.jit
def handed(a, b, c):
    tile = cuda.shared.array(4, float32)
    t = cuda.threadIdx.x
    row, col = cuda.blockIdx.y, cuda.blockIdx.x
    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]
    tile[t] = total
    cuda.syncthreads()
    if t == 0:
        c[row, col] = tile[3]
"""
RANDOM = "random:seed=4,preemptions=0,blocks=forward"
ORDERS = ("serial", "reverse", "alternating", "lockstep", "delayed-writer", RANDOM)


def sensible(schedule):
    """Without delays where there is no queue to wait in."""
    return replace(schedule, delay=()) if schedule.order in ("lockstep", "turns") else schedule


def schedules():
    """Any schedule that runs one block at a time."""
    few = st.lists(st.integers(0, 63), max_size=3, unique=True).map(tuple)
    return st.builds(
        replace,
        st.sampled_from([NAMED[name] for name in ("serial", "reverse", "alternating", "lockstep", "random")]),
        blocks=st.sampled_from(["forward", "reverse", "shuffled"]),
        seed=st.integers(-(2**40), 2**40),
        preemptions=st.integers(0, 5),
        horizon=st.integers(1, 6000),
        first=few,
        last=few,
        delay=st.sampled_from([(), ("*",), ("tiled.py:22",), ("26",)]),
        turns=st.lists(st.tuples(st.integers(0, 63), st.integers(0, 40)), max_size=6).map(tuple),
        order=st.sampled_from(["forward", "reverse", "alternating", "shuffled", "lockstep", "turns"]),
    ).map(sensible)


def both(asked, schedule):
    """C as the plain form and as the compiled form leave it, from the same operands."""
    left = []
    with chosen(asked, asked.without) as (named, _):
        for compiled in (False, True):
            stage = Stage(named, asked)
            given = with_horizon(stage.program, stage.launch, schedule)
            if compiled:
                run_schedule(stage.program, stage.launch, given)
            else:
                Played(named.kernel, stage.program, stage.launch, given)
            left.append(stage.filled.result.copy())
    return left


@settings(max_examples=40)
@given(
    schedules(),
    st.sampled_from([(), (0,), (1,), (0, 1)]),
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20)),
    st.sampled_from(["zero", "nan"]),
)
def test_equals_the_compiled_form_bit_for_bit(schedule, without, sides, fill):
    m, n, k = sides
    plain, compiled = both(Schedules(kernel="tiled_8", m=m, n=n, k=k, without=without, fill=fill), schedule)
    np.testing.assert_array_equal(plain, compiled)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kernel", ["naive", "split_k_with_plain_adds", "tiled_with_early_return"])
def test_other_kernels_too(kernel, order):
    plain, compiled = both(Schedules(kernel=kernel, m=18, n=17, k=9), named_order(order))
    np.testing.assert_array_equal(plain, compiled)


@pytest.mark.parametrize("order", ORDERS)
def test_ones_own_source(order):
    asked = Schedules(source=TWO_WRITERS, m=3, n=3, k=9, block=(4,))
    with pytest.raises(GemmlabError, match="blocks"):
        play(Schedules(source=TWO_WRITERS, m=3, n=3, k=9, block=(4,), schedule="random:together=2"))
    assert play(asked).kernel == "twice"


def test_a_whole_kernel_is_right_in_any_order_and_has_no_race():
    for order in ORDERS:
        told = play(Schedules(kernel="tiled_8", m=9, n=10, k=11, schedule=order))
        assert told.wrong == []
        assert told.race is None
        assert told.faults == ()
        assert [barrier.kept for barrier in told.barriers] == [True, True]


def test_a_missing_barrier_shows_its_race_and_the_wrong_cells():
    told = play(Schedules(kernel="tiled_8", m=16, n=16, k=16, without=(0,)))
    steps, race = told.steps, told.race
    one, other = race.steps
    assert steps.epoch[one] == steps.epoch[other] == race.epoch
    assert steps.thread[one] != steps.thread[other]
    assert steps.array[one] == steps.array[other] == "a_tile"
    assert steps.index[one] == steps.index[other] == race.index
    assert "store" in (steps.kind[one], steps.kind[other])
    assert len(told.wrong) == 252  # the four corners' last threads find all of both tiles
    assert {fault.kind for fault in told.faults} >= {"shared_race"}
    assert [barrier.kept for barrier in told.barriers] == [False, True]
    assert told.source[str(told.barriers[0].line)].strip().startswith("pass")


def test_the_same_barrier_missing_does_no_harm_in_lockstep():
    told = play(Schedules(kernel="tiled_8", m=16, n=16, k=16, without=(0,), schedule="lockstep"))
    assert told.wrong == []
    assert told.race is not None


def test_the_second_barrier_is_idle_in_one_tile():
    for order in ORDERS:
        assert play(Schedules(kernel="tiled_8", m=8, n=8, k=8, without=(1,), schedule=order)).wrong == []


def test_the_worst_order_is_found_and_played():
    told = play(Schedules(kernel="tiled_8", m=16, n=16, k=16, without=(1,), schedule="worst"))
    most = max(each.wrong_elements for each in told.tried)
    assert len(told.wrong) == most > 0


def test_steps_follow_from_c_as_it_was_left():
    told = play(Schedules(kernel="tiled_8", m=8, n=8, k=8, without=(0,), schedule="reverse"))
    stored = {
        index: value
        for kind, array, index, value in zip(
            told.steps.kind, told.steps.array, told.steps.index, told.steps.value, strict=True
        )
        if (kind, array) == ("store", told.operands[2])
    }
    assert [[stored[row, column] for column in range(8)] for row in range(8)] == told.c
    product = np.array(told.a) @ np.array(told.b)
    assert sorted(told.wrong) == sorted(map(tuple, np.argwhere(np.array(told.c) != product).tolist()))


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("head", "written"),
    [
        ("", "cuda.syncthreads()"),
        ("", "cuda.syncthreads(\n    )"),
        ("", "cuda.\\\n    syncthreads()"),
        ("", "(cuda\n        .syncthreads\n    ())  # all of them"),
        ("", "t += 0; cuda.syncthreads(\n    ); t += 0"),
        ("", "if t >= 0: cuda.syncthreads()"),
        ("", "s = 'é🙂'; cuda.syncthreads()"),
        ("\ufeff", "cuda.syncthreads()"),
        ("# coding: latin-1\n", "ê = t; cuda.syncthreads()"),
    ],
)
def test_a_barrier_is_left_out_however_it_is_written(head, written, ending):
    source = head + HANDED_OVER.replace("cuda.syncthreads()", written)
    lines = source.removeprefix("\ufeff").split("\n")
    asked = {"source": source.replace("\n", ending), "m": 2, "n": 2, "k": 9, "block": (4,)}
    whole = play(Schedules(**asked))
    told = play(Schedules(**asked, without=(0,)))
    assert (whole.race, len(whole.barriers)) == (None, 1)
    assert told.race is not None
    assert not told.barriers[0].kept
    assert "barrier" not in told.steps.kind
    # lines keep their numbers
    assert {lines[line - 1].strip()[:5] for pair in told.races for line in pair.lines} <= {"tile[", "c[row"}


def test_two_barriers_on_one_line_are_two():
    source = HANDED_OVER.replace("cuda.syncthreads()", "cuda.syncthreads(); cuda.syncthreads(\n    )")
    for without, races in (((), 0), ((0,), 0), ((1,), 0), ((0, 1), 1), ((1, 0, 1), 1)):
        told = play(Schedules(source=source, m=2, n=2, k=9, block=(4,), without=without))
        assert (told.race is not None, len(told.barriers)) == (bool(races), 2), without


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"kernel": ""}, "no kernel is named"),
        ({"kernel": "tilde"}, "unknown kernel `tilde`"),
        ({"kernel": "/etc/passwd.py:x"}, "unknown kernel"),
        ({"kernel": "tiled", "without": (7,)}, "has no barrier 7"),
        ({"kernel": "tiled", "schedule": "witness:/etc/passwd"}, "unknown schedule `witness`"),
        ({"kernel": "tiled", "schedule": "serial:first=999"}, "names thread 999"),
        ({"kernel": "tiled", "schedule": "serial:only=99"}, "names block 99; the launch has 1"),
        ({"source": TWO_WRITERS.replace("total +=", "total += nothing +"), "block": (4,)}, "kernel.py:11: "),
        ({"kernel": "tiled", "traced": (5, 0, 0)}, "is not in a grid"),
        ({"kernel": "tiled_8", "schedule": "delayed-writer:delay=3"}, "writes nothing on line 3"),
        ({"kernel": "tiled", "m": 64, "n": 64, "k": 64}, "more than 400000 steps"),
        ({"source": "x = 1"}, "has no kernel under @cuda.jit"),
        ({"source": "raise SystemExit"}, "kernel.py fails to import"),
        ({"source": TWO_WRITERS, "kernel": "thrice", "block": (4,)}, "thrice"),
        ({"source": TWO_WRITERS}, "there is no --block"),
    ],
)
def test_what_cannot_be_played_is_said(asked, said):
    with pytest.raises(GemmlabError, match=said) as told:
        play(Schedules(**asked))
    assert "/tmp" not in str(told.value)
