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

from experiment.quick_sweep import PLAN, items, main, run
from gemmlab.experiment.keys import Key, plan_of
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
    list(sweep(what, options.pop("run", run), found.extend, **options))
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
        # One shape of forty for each life, so that no kill comes too late.
        process = subprocess.Popen([*command, "1"], stdout=subprocess.PIPE, text=True)
        if kill % 5 == 0:  # while it starts, makes the file or looks what is done
            time.sleep(rng.uniform(0.0, 0.5))
        else:
            lines = rng.randrange(0, 3)
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
        (only,) = store.runs()
        assert only.finished
        assert sorted(row.key for row in store.records()) == undisturbed(tmp_path, how)
        assert len(store.keys(only)) == 80


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
    assert len(told) < 80
    with open_store(path) as store:
        assert {str(row.key) for row in store.records()} >= set(told)
        (only,) = store.runs()
        assert only.finished is None
        done = store.keys(only)
        assert store.begin("quick", PLAN).id == only.id
    again = kept(items(), done=done)
    assert len(again) == 80 - len(done)
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
    assert len(found) == 80


@pytest.mark.parametrize(
    ("error", "fault", "detail"),
    [
        (GemmlabError("no GPU here", "--backend cpu"), "refused", "no GPU here"),
        (MemoryError("too large"), "out of memory", "MemoryError: too large"),
        (ZeroDivisionError("division by zero"), "crashed", "ZeroDivisionError: division by zero"),
        (SystemExit(3), "crashed", "SystemExit: 3"),
    ],
)
def test_a_batch_that_raises_becomes_records_with_its_fault_and_the_others_are_measured(error, fault, detail):
    def fails(problem, contenders, options):
        if problem.m == 3:
            raise error
        return [timed(made_item(kernel=who.name)) for who in contenders]

    found = kept(items(), run=fails)
    assert len(found) == 80
    for item, record in found:
        measured = record.measurement
        assert (measured.backend, measured.kernel) == ("cpu", item.contender.name)
        if item.problem.m == 3:
            assert (measured.time_s, measured.fault) == (None, fault)
            assert detail in measured.fault_detail
            assert record.problem == item.problem.section()
        else:
            assert (measured.time_s, measured.fault) == (1e-3, "")


def test_what_is_done_is_not_measured_again():
    every = items()
    done = {item.key for item in every[::3]}
    found = kept(every, done=done)
    assert [item.key for item, _ in found] == [item.key for item in every if item.key not in done]
    assert kept(every, done={item.key for item in every}) == []


def test_an_item_that_stands_twice_is_measured_once():
    assert len(kept([*items(), *items()])) == 80


def test_contenders_of_one_multiplication_and_chip_are_timed_together():
    given = []

    def note(problem, contenders, options):
        given.append((problem.m, [who.name for who in contenders]))
        return [timed(made_item(kernel=who.name)) for who in contenders]

    shapes = [Shape(Gemm(8, 8, 8)), Shape(Gemm(9, 8, 8))]
    every = items_of(shapes, [contender("a"), contender("g", "cuda"), contender("b")], lambda who: who.backend)
    kept(every, run=note, done={every[0].key})
    assert given == [(8, ["g"]), (8, ["b"]), (9, ["a", "b"]), (9, ["g"])]


def test_a_device_runs_one_batch_at_a_time_and_all_devices_run():
    busy, most, used, lock = Counter(), Counter(), Counter(), threading.Lock()
    meet = threading.Barrier(4, timeout=30)

    def watch(problem, contenders, device):
        with lock:
            busy[device] += 1
            most[device] = max(most[device], busy[device])
            used[device] += 1
            first = used[device] == 1
        if first:
            meet.wait()  # all four at once, or this ends in a fault
        time.sleep(0.05 if device == 0 else 0.001)
        with lock:
            busy[device] -= 1
        return [timed(made_item(kernel=who.name)) for who in contenders]

    with ThreadPoolExecutor(16) as executor:
        found = kept(items(), run=watch, options=(0, 1, 2, 3), executor=executor)
    assert {record.measurement.fault for _, record in found} == {""}
    assert dict(most) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert sum(used.values()) == 40
    assert used[0] < max(used[1], used[2], used[3]), "a slow device held the others up"


def test_nothing_is_said_to_be_done_before_it_is_kept():
    order = []

    class Watcher:
        def begun(self, batch):
            order.append(("begun", batch.items[0].key))

        def ended(self, done):
            order.append(("ended", done[0].item.key))

    def keep(done):
        order.append(("kept", done[0].item.key))

    for done in sweep(items()[:6:2], run, keep, watcher=Watcher()):
        order.append(("given", done.item.key))
    assert order == [(what, item.key) for item in items()[:6:2] for what in ("begun", "kept", "ended", "given")]


def test_a_keep_that_raises_ends_the_sweep_and_what_was_kept_stays():
    found = []

    def keep(done):
        if len(found) == 14:
            raise GemmlabError("the disk is full")
        found.extend(item.key for item, _ in done)

    with ThreadPoolExecutor(2) as executor, pytest.raises(GemmlabError, match="the disk is full"):
        list(sweep(items(), run, keep, options=(0, 1), executor=executor))
    assert len(set(found)) == 14


def dies(problem, contenders, options):
    os._exit(1)


def test_an_executor_whose_workers_die_ends_it_with_the_remedy():
    with ProcessPoolExecutor(1) as executor, pytest.raises(GemmlabError, match="workers of the sweep broke") as caught:
        kept(items(), run=dies, executor=executor)
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
        [Shape(Gemm(8, 8, 8, "float16", layout="nt"))], [contender()], lambda _: "", formats=["float32", "bfloat16"]
    )
    assert [item.key.problem for item in found] == ["8x8x8 float32 layout=nt", "8x8x8 bfloat16 layout=nt"]


def test_threads_are_those_of_the_contender_else_those_given_and_of_cpus_alone():
    who = [contender("own", threads=2), contender("free"), contender("gpu", "cuda")]
    assert [item.key.threads for item in items_of([Shape(Gemm(8, 8, 8))], who, lambda _: "", threads=4)] == [2, 4, 0]


def test_kernels_of_ones_own_are_told_apart_by_their_file(tmp_path):
    own = [
        contender("fast", source=f"gemmlab.run.own:program:{tmp_path}/{name}.py:fast") for name in ("first", "second")
    ]
    assert [item.key.kernel for item in items_of([Shape(Gemm(8, 8, 8))], own, lambda _: "")] == [
        "first.py:fast", "second.py:fast",
    ]  # fmt: skip


def test_two_kernels_of_one_key_are_refused(tmp_path):
    own = [contender("fast", source=f"own:program:{tmp_path}/{name}/mine.py:fast") for name in ("first", "second")]
    with pytest.raises(GemmlabError, match=r"mine\.py:fast would be kept as one") as caught:
        items_of([Shape(Gemm(8, 8, 8))], own, lambda _: "")
    assert "another name" in caught.value.hint


def test_a_plan_is_another_where_anything_that_it_says_is(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def fast(): ...")

    def plan(side=8, said="options", name="naive", **fields):
        return plan_of(items_of([Shape(Gemm(side, 8, 8))], [contender(name, **fields)], lambda _: "epyc"), said)

    source = f"gemmlab.run.own:program:{file}:fast"
    plans = [plan(), plan(9), plan(said="others"), plan(name="packed"), plan(threads=1), plan(source=source)]
    assert len(set(plans)) == len(plans)
    assert plan() == plans[0]
    assert plan(source=source) == plans[-1]
    file.write_text("def fast(): pass")
    assert plan(source=source) != plans[-1]


@pytest.mark.parametrize("ending", [".py", ".wgsl"])
def test_the_text_of_ones_own_kernel_counts_whatever_is_said_behind_its_name(tmp_path, ending):
    file = tmp_path / f"mine{ending}"
    own = contender("fast;tile=4x8", source=f"gemmlab.run.own:program:{file}:fast;tile=4x8")
    plans = []
    for text in ("one", "another"):
        file.write_text(text)
        items = items_of([Shape(Gemm(8, 8, 8))], [own], lambda _: "epyc")
        plans.append(plan_of(items))
    assert plans[0] != plans[1]
    assert items[0].key.kernel == f"mine{ending}:fast;tile=4x8"


def test_contenders_that_do_not_fit_together_are_run_alone_and_say_so():
    def small(problem, contenders, options):
        if len(contenders) > 1:
            raise GemmlabError("2 kernels need 3 GiB, and 2 GiB are free", "fewer kernels at once")
        if contenders[0].name == "naive" and problem.m == 2:
            raise GemmlabError("1 kernel needs 3 GiB, and 2 GiB are free")
        return [timed(made_item(kernel=contenders[0].name))]

    for item, record in kept(items()[:6], run=small):
        measured = record.measurement
        if item.problem.m == 2 and item.contender.name == "naive":
            assert (measured.fault, measured.time_s) == ("refused", None)
        else:
            assert measured.notes == ("not timed in turn with others: 2 kernels need 3 GiB, and 2 GiB are free",)
