"""Faults that people met in public: each is named, its mended twin is clean, and right."""

import inspect
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

from emulator.public_fault import Launch, Pair
from gemmlab.emulator import emulate, timings

PAIRS: dict[str, Pair] = {
    path.stem: import_module(f"emulator.faults.{path.stem}").PAIR
    for path in sorted((Path(__file__).parent / "faults").glob("*.py"))
}


def run(launch: Launch):
    """The emulation, and what it left in the last argument."""
    arguments = launch.arguments()
    last = list(inspect.signature(launch.kernel.py_func).parameters)[-1]
    given = {"dynamic_shared": launch.dynamic_shared_bytes}
    return emulate(launch.kernel, launch.grid, launch.block, *arguments, outputs=(last,), **given), arguments[-1]


@pytest.mark.parametrize("name", PAIRS)
def test_the_fault_is_named(name, monkeypatch):
    # the search for the worst order, which a race starts, compiles a second form of the kernel: once is enough, below
    monkeypatch.setattr(timings, "UNASKED_ACCESSES", 0)
    pair = PAIRS[name]
    result, _ = run(pair.faulty)
    found = {fault.kind for fault in result.faults}
    assert pair.kinds <= found <= pair.kinds | pair.also
    assert {count: attrgetter(count)(result) for count, _, _ in pair.counts} == {c: n for c, n, _ in pair.counts}
    assert result.ok == (not pair.kinds)


@pytest.mark.parametrize("name", PAIRS)
def test_its_mended_twin_is_clean_and_right(name):
    pair = PAIRS[name]
    result, left = run(pair.mended)
    assert result.faults == ()
    np.testing.assert_array_equal(left, pair.answer(*pair.mended.arguments()))
    assert {count: attrgetter(count)(result) for count, _, _ in pair.counts} == {c: n for c, _, n in pair.counts}


@pytest.mark.parametrize("name", [name for name, pair in PAIRS.items() if pair.quiet])
def test_where_the_fault_cannot_show_none_is_reported(name):
    quiet = PAIRS[name].quiet
    result, left = run(quiet)
    assert result.faults == ()
    np.testing.assert_array_equal(left, PAIRS[name].answer(*quiet.arguments()))


def test_a_race_names_both_lines_and_both_threads_and_its_worst_order():
    pair = PAIRS["second_store_unseen"]
    result, _ = run(pair.faulty)
    race = next(fault for fault in result.faults if fault.kind == "shared_race")
    text, first = inspect.getsourcelines(pair.faulty.kernel.py_func)
    stores = {first + number for number, line in enumerate(text) if "word[0] = " in line}
    assert {race.line.number, race.other_line.number} <= stores
    assert {thread for _, thread in race.threads} == {(0, 0, 0), (1, 0, 0)}
    assert (race.array, race.index, race.epoch, race.access) == ("word", (0,), 0, "write-write")
    assert {tried.wrong_elements for tried in result.schedules} == {0, 1}
