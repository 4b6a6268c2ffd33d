"""A trace tells who reads and writes what, in the order of threads that go in step, and changes nothing."""

import json

import numpy as np
import pytest
from numba import cuda, float32

import gemmlab
from gemmlab.record import GemmlabError


@cuda.jit
def summed(x, y):
    s = cuda.shared.array(4, float32)
    i = cuda.threadIdx.x
    s[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    total = float32(0)
    for j in range(i + 1):
        total += s[j]
    y[cuda.grid(1)] = total


def traced(block=(0, 0, 0)):
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    return gemmlab.emulate(summed, 2, 4, x, y, engine="reference", trace=block, prove=False), x, y


def test_each_step_is_one_statement_of_all_its_threads():
    steps = traced()[0].trace.steps
    assert [(step.kind, step.array, step.threads) for step in steps] == [
        ("load", "x", (0, 1, 2, 3)),
        ("store", "s", (0, 1, 2, 3)),
        ("barrier", "", (0, 1, 2, 3)),
        ("load", "s", (0, 1, 2, 3)),
        ("load", "s", (1, 2, 3)),
        ("load", "s", (2, 3)),
        ("load", "s", (3,)),
        ("store", "y", (0, 1, 2, 3)),
    ]
    assert [step.epoch for step in steps] == [0, 0, 0, 1, 1, 1, 1, 1]
    assert [step.index[0] for step in steps if step.index] == [(0,), (0,), (0,), (1,), (2,), (3,), (0,)]
    assert steps[-1].value == (0, 1, 3, 6)


def test_another_block_may_be_traced():
    trace = traced((1, 0, 0))[0].trace
    assert trace.traced == (1, 0, 0)
    assert trace.steps[0].index == ((4,), (5,), (6,), (7,))
    assert trace.arrays["s"].space == "shared"
    assert trace.texts[str(trace.steps[0].line)] == "s[i] = x[cuda.grid(1)]"


def test_the_launch_itself_is_not_changed_by_it():
    _, _, y = traced((1, 0, 0))
    assert y.tolist() == [0, 1, 3, 6, 4, 9, 15, 22]


def test_it_is_json():
    told = json.loads(traced()[0].trace.to_json())
    assert (told["kernel"], told["block"], len(told["steps"])) == ("summed", [4, 1, 1], 8)
    assert (told["version"], told["faults"]) == (1, [])


@cuda.jit
def racing(y):
    s = cuda.shared.array(4, float32)
    i = cuda.threadIdx.x
    s[i] = i
    cuda.syncwarp(15)
    y[i] = s[i ^ 1]
    s[0] = y[i]


def test_waits_and_faults_are_told_too():
    trace = gemmlab.emulate(
        racing, 1, 4, np.zeros(4, np.float32), engine="reference", trace=(0, 0, 0), prove=False
    ).trace
    assert [step.kind for step in trace.steps] == ["store", "warpop", "load", "store", "load", "store"]
    (race, *_) = trace.faults
    assert (race.kind, race.array, race.threads[0].thread) == ("shared_race", "s", (1, 0, 0))


def test_a_block_that_is_not_there_is_refused():
    with pytest.raises(GemmlabError, match="not in a grid"):
        traced((2, 0, 0))
