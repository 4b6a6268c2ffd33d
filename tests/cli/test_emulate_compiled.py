"""`gemmlab emulate` by compiled code, on kernels of the ladder, so that little is compiled for it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RACY = ("emulate", "tiled_without_first_barrier", "--shape", 32, 32, 32)


def emulation(result):
    assert result.status in (0, 1), result.err
    return result.records[0].emulation


def test_both_engines_count_alike(run):
    words = ("emulate", "tiled", "--shape", 33, 17, 20, "--json", "--no-proof")
    compiled, interpreted = run(*words), run(*words, "--engine", "reference")
    assert compiled.status == interpreted.status == 0
    one, other = (emulation(result) for result in (compiled, interpreted))
    assert one.arrays == other.arrays
    assert [(row.line, set(row.accesses), row.flop, row.fma) for row in one.lines if row.accesses or row.flop] == [
        (row.line, set(row.accesses), row.flop, row.fma) for row in other.lines if row.accesses or row.flop
    ]
    assert (one.branches, one.divergent_branches, one.barrier_waits) == (
        other.branches,
        other.divergent_branches,
        other.barrier_waits,
    )
    assert compiled.records[0].verdict == interpreted.records[0].verdict


def test_a_missing_barrier_is_found_and_its_worst_order_replays(run):
    result = run(*RACY, "--schedule", "worst", "--witness", "worst.json", "--json")
    assert result.status == 1
    told = emulation(result)
    assert {fault.kind for fault in told.faults} == {"shared_race"}
    assert result.records[0].verdict.ok  # in lockstep: no test of the result alone would fail
    (worst,) = [tried for tried in told.schedules if tried.worst]
    assert worst.wrong_elements > 0
    assert next(tried for tried in told.schedules if tried.name == "lockstep").wrong_elements == 0
    assert told.proof.holds == "refuted"
    assert Path("worst.json").exists()
    again = emulation(run(*RACY, "--schedule", "witness:worst.json", "--json"))
    assert [(tried.wrong_elements, tried.max_error) for tried in again.schedules] == [
        (worst.wrong_elements, worst.max_error)
    ]


def test_a_named_order_of_a_right_kernel_does_no_harm(run):
    result = run("emulate", "tiled", "--shape", 33, 17, 20, "--schedule", "alternating", "--json", "--no-proof")
    assert result.status == 0
    assert [tried.wrong_elements for tried in emulation(result).schedules] == [0]


def test_a_witness_is_only_written_where_there_is_one(run):
    result = run("emulate", "tiled", "--shape", 33, 17, 20, "--schedule", "worst", "--witness", "w.json")
    assert result.status == 2
    assert "no order of threads" in result.err
    assert not Path("w.json").exists()


def test_huge_launches_are_counted_by_class(run):
    result = run("emulate", "tiled", "--shape", 8192, 8192, 8192, "--no-values", "--json")
    told = emulation(result)
    assert told.global_load.elements == 2 * 8192**3 // 16
    assert told.fma == 8192**3
    assert (told.blocks.total, told.blocks.run) == (512 * 512, 1)
    assert result.records[0].verdict is None


def test_any_kernel_is_counted_without_values_too(run):
    words = ["emulate", "tiled", "--grid", "2x3", "--block", "16x16", "--json", "--no-proof"]
    for sides in ("40,33", "33,20", "40,20"):
        words += ["--arg", f"float32[{sides}]"]
    with_values, without = emulation(run(*words)), emulation(run(*words, "--no-values"))
    assert with_values.arrays == without.arrays
    assert with_values.lines == without.lines
    assert (without.blocks.total, without.values, with_values.values) == (6, False, True)
    assert without.blocks.run < 6


def test_a_page_and_json_at_once(run):
    result = run(*RACY, "--html", "page.html", "--json", "--no-proof")
    assert result.status == 1
    assert json.loads(result.out)["emulation"]["kernel"] == "tiled_without_first_barrier"
    assert "race in shared memory" in Path("page.html").read_text()
    assert result.err == "wrote page.html\n"


ENDLESS = """
from numba import cuda

@cuda.jit
def endless(x):
    while x[0] < 1:
        x[1] += 1
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_an_interrupt_ends_it_quietly(tmp_path):
    (tmp_path / "k.py").write_text(ENDLESS + "\nopen('imported', 'w').close()\n")
    words = ["emulate", "k.py:endless", "--grid", "1", "--block", "1", "--arg", "float32[2]:zeros"]
    words += ["--step-limit", str(10**15), "--no-proof"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-m", "gemmlab", *words], cwd=tmp_path, **pipes)
    while not (tmp_path / "imported").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(3)  # it is at its loop by now, or still compiling: both must end
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == b""
    assert b"KeyboardInterrupt" not in err


def test_a_kernel_without_end_is_stopped(run):
    Path("k.py").write_text(ENDLESS)
    words = ("emulate", "k.py:endless", "--grid", 1, "--block", 1, "--arg", "float32[2]:zeros", "--step-limit", 1000)
    result = run(*words)
    assert result.status == 2
    assert "1000" in result.err
    assert "--step-limit" in result.err
