"""A sweep measures each item once, keeps it before it says so, and goes on after whatever happens to one."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from experiment.quick_sweep import PLAN, items, main, run_one
from gemmlab.experiment.keys import Key
from gemmlab.experiment.sweep import items_of, sweep
from gemmlab.problem import Gemm, Shape
from gemmlab.record import GemmlabError
from gemmlab.store import open_store
from store.made import contender, timed
from store.made import item as made_item

SCRIPT = Path(__file__).with_name("quick_sweep.py")


def kept(what, **options):
    """What a sweep keeps, in order."""
    found = []
    list(sweep(what, options.pop("run_one", run_one), lambda item, record: found.append((item, record)), **options))
    return found


def undisturbed(folder, how):
    main(folder / "undisturbed.sqlite", how)
    with open_store(folder / "undisturbed.sqlite") as store:
        return sorted(row.key for row in store.records())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a system without SIGKILL")
@pytest.mark.parametrize("how", ["none", "threads"])
def test_killed_at_20_random_moments_it_ends_as_if_undisturbed(tmp_path, how, capsys):
    rng = random.Random(f"kill {how}")
    path = tmp_path / "killed.sqlite"
    command = [sys.executable, str(SCRIPT), str(path), how]
    told = []
    for kill in range(20):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if kill % 5 == 0:  # while it starts, makes the file or looks what is done
            time.sleep(rng.uniform(0.0, 0.5))
        else:
            lines = rng.randrange(0, 4)
            while lines and (line := process.stdout.readline()):
                told.append(line.strip())
                lines -= 1
            time.sleep(rng.uniform(0.0, 0.01))
        os.kill(process.pid, signal.SIGKILL)
        told += [line.strip() for line in process.communicate()[0].splitlines()]
        if path.exists():
            with open_store(path) as store:
                there = Counter(str(row.key) for row in store.records())
            assert set(told) - {"finished"} <= set(there), "what was said to be kept is not"
            assert set(there.values()) <= {1}
    assert "finished" not in told, "it was done before it was killed often enough"
    subprocess.run(command, check=True, capture_output=True)
    with open_store(path) as store:
        (run,) = store.runs()
        assert run.finished
        assert sorted(row.key for row in store.records()) == undisturbed(tmp_path, how)
        assert len(store.keys(run)) == 60


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is a signal")
def test_ctrl_c_keeps_what_is_done_and_the_same_sweep_goes_on(tmp_path):
    path = tmp_path / "runs.sqlite"
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(path), "threads"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    told = [process.stdout.readline().strip() for _ in range(5)]
    process.send_signal(signal.SIGINT)
    rest, error = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in error
    told += rest.split("\n")[:-1]
    assert len(told) < 60
    with open_store(path) as store:
        assert {str(row.key) for row in store.records()} >= set(told)
        (run,) = store.runs()
        assert run.finished is None
        done = store.keys(run)
        assert store.begin("quick", PLAN).id == run.id
    again = kept(items(), done=done)
    assert len(again) == 60 - len(done)
    assert not {item.key for item, _ in again} & done


@pytest.mark.parametrize("make", [lambda: None, lambda: ThreadPoolExecutor(2), lambda: ProcessPoolExecutor(2)],
                         ids=["here", "threads", "processes"])  # fmt: skip
def test_every_executor_keeps_the_same_records(make):
    executor = make()
    try:
        found = kept(items(), executor=executor, options=("a", "b"))
    finally:
        if executor:
            executor.shutdown()
    assert sorted((item.key, record) for item, record in found) == sorted(
        (item.key, record) for item, record in kept(items())
    )
    assert len(found) == 60


def test_an_item_that_raises_becomes_a_record_with_its_fault():
    errors = {
        "naive": GemmlabError("no GPU here", "use --backend cpu"), "ikj": MemoryError("too large"),
        "block": ZeroDivisionError("division by zero"), "packed": SystemExit(3),
    }  # fmt: skip

    def fails(problem, who, options):
        if who.name in errors:
            raise errors[who.name]
        return run_one(problem, who, options)

    faults = {}
    for item, record in kept(items(), run_one=fails):
        measured = record.measurement
        faults[item.contender.name] = (measured.fault, measured.fault_detail)
        assert (measured.time_s is None) == (item.contender.name != "numpy")
        assert record.problem == item.problem.section()
        assert (measured.backend, measured.kernel) == ("cpu", item.contender.name)
    assert faults == {
        "naive": ("refused", "no GPU here"), "ikj": ("out of memory", "MemoryError: too large"),
        "block": ("crashed", "ZeroDivisionError: division by zero"), "packed": ("crashed", "SystemExit: 3"),
        "numpy": ("", ""),
    }  # fmt: skip


def test_what_is_done_is_not_measured_again():
    every = items()
    done = {item.key for item in every[::3]}
    found = kept(every, done=done)
    assert [item.key for item, _ in found] == [item.key for item in every if item.key not in done]
    assert kept(every, done={item.key for item in every}) == []


def test_an_item_that_stands_twice_is_measured_once():
    assert len(kept([*items(), *items()])) == 60


def test_a_device_runs_one_item_at_a_time_and_all_devices_run():
    busy, most, used, lock = Counter(), Counter(), Counter(), threading.Lock()
    meet = threading.Barrier(4, timeout=30)

    def watch(problem, who, device):
        with lock:
            busy[device] += 1
            most[device] = max(most[device], busy[device])
            used[device] += 1
            first = used[device] == 1
        if first:
            meet.wait()  # all four at once, or this ends in a fault
        time.sleep(0.001 * (device == 0))
        with lock:
            busy[device] -= 1
        return timed(made_item(kernel=who.name))

    with ThreadPoolExecutor(16) as executor:
        found = kept(items(), run_one=watch, options=(0, 1, 2, 3), executor=executor)
    assert {record.measurement.fault for _, record in found} == {""}
    assert dict(most) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert sum(used.values()) == 60
    assert used[0] < max(used[1], used[2], used[3]), "a slow device held the others up"


def test_nothing_is_said_to_be_done_before_it_is_kept():
    order = []

    class Watcher:
        def begun(self, item):
            order.append(("begun", item.key))

        def ended(self, item, record):
            order.append(("ended", item.key))

    for done in sweep(items()[:3], run_one, lambda item, record: order.append(("kept", item.key)), watcher=Watcher()):
        order.append(("given", done.item.key))
    assert order == [(what, item.key) for item in items()[:3] for what in ("begun", "kept", "ended", "given")]


def test_a_keep_that_raises_ends_the_sweep_and_what_was_kept_stays():
    found = []

    def keep(item, record):
        if len(found) == 7:
            raise GemmlabError("the disk is full")
        found.append(item.key)

    with ThreadPoolExecutor(2) as executor, pytest.raises(GemmlabError, match="the disk is full"):
        list(sweep(items(), run_one, keep, options=(0, 1), executor=executor))
    assert len(set(found)) == 7


def dies(problem, who, options):
    os._exit(1)


def test_an_executor_whose_workers_die_ends_it_with_the_remedy():
    with ProcessPoolExecutor(1) as executor, pytest.raises(GemmlabError, match="workers of the sweep broke") as caught:
        kept(items(), run_one=dies, executor=executor)
    assert "the same command goes on" in caught.value.hint


def test_a_sweep_needs_a_device():
    with pytest.raises(GemmlabError, match="without a device"):
        kept(items(), options=())


def test_items_are_each_shape_by_each_kernel_that_takes_its_formats():
    shapes = [
        Shape(Gemm(8, 8, 8)),
        Shape(Gemm(8, 8, 8, "float16")),
        Shape(Gemm(8, 8, 8)),
        Shape(Gemm(9, 8, 8, "bfloat16")),
    ]
    found = items_of(shapes, [contender("naive"), contender("library", "cuda")], lambda who: f"chip of {who.backend}")
    assert [item.key for item in found] == [
        Key(f"{sides} {form}", f"chip of {backend}", backend, kernel)
        for sides, form in (("8x8x8", "float32"), ("9x8x8", "bfloat16"))
        for kernel, backend in (("naive", "cpu"), ("library", "cuda"))
    ]


def test_formats_replace_the_shapes_own():
    found = items_of(
        [Shape(Gemm(8, 8, 8, "float16", layout="nt"))], [contender()], lambda _: "epyc", ["float32", "bfloat16"]
    )
    assert [item.key.problem for item in found] == ["8x8x8 float32 layout=nt", "8x8x8 bfloat16 layout=nt"]
