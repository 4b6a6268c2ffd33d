"""Several GPUs side by side: each has one batch at a time, and Ctrl-C ends them all."""

import csv
import threading
import time
from pathlib import Path

import msgspec
import pytest

from gemmlab import chips
from gemmlab.experiment import running
from gemmlab.record import GemmlabError
from gemmlab.run import registry
from gemmlab.store import open_store
from store.made import contender, item, timed

CHOSEN = [contender("rung", "cuda"), contender("library", "torch"), contender("numpy", "cpu")]


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Two GPUs of one kind, a third of another, and a processor; `seen` is what ran where."""
    names = ("h200-sxm", "h200-sxm", "h100-sxm")
    cpu = chips.get("sapphire-rapids-56c")
    monkeypatch.setattr(
        running, "chip_of", lambda backend, device=0: cpu if backend == "cpu" else chips.get(names[device])
    )
    monkeypatch.setattr(registry, "contenders", lambda *given: CHOSEN)
    monkeypatch.setattr("gemmlab.cli.run.default_backends", lambda known: ("cuda",))
    (tmp_path / "s.csv").write_text("m,n,k\n" + "".join(f"{m},8,8\n" for m in range(1, 13)))
    seen, busy, lock = [], set(), threading.Lock()
    both = threading.Barrier(2, timeout=60)

    def together(problem, contenders, options, told, *more):
        device = "cpu" if contenders[0].backend == "cpu" else options.device
        with lock:
            assert device not in busy
            assert device != "cpu" or not busy
            assert "cpu" not in busy
            busy.add(device)
            first = device != "cpu" and [each[1] for each in seen].count(device) == 0
            seen.append((problem.m, device, [who.name for who in contenders]))
        try:
            if first:
                both.wait()  # both at once, or the test fails
            told("working")
            time.sleep(0.002)
        finally:
            with lock:
                busy.remove(device)
        return [timed(item(problem.m, kernel=who.name)) for who in contenders]

    monkeypatch.setattr(running, "run_together", together)
    return seen


def test_gpus_share_the_shapes_and_the_processor_works_alone(run, machine):
    ran = run("run", "s.csv", "--devices", "0,1", "--store", "r.sqlite", "--json")
    assert len(ran.records) == 36
    assert not [record.measurement.fault_detail for record in ran.records if record.measurement.fault]
    assert ran.status == 0
    assert [record.problem.m for record in ran.records] == sorted(record.problem.m for record in ran.records)
    on = [device for _, device, _ in machine]
    assert on[:12] == ["cpu"] * 12
    assert set(on[12:]) == {0, 1}
    assert sorted((m, names) for m, device, names in machine if device != "cpu") == [
        (m, ["rung", "library"]) for m in range(1, 13)
    ]
    with open_store("r.sqlite", write=False) as store:
        assert store.latest().chips == ("h200-sxm", "sapphire-rapids-56c")


def test_gpus_of_two_kinds_are_not_one_sweep(run, machine):
    ran = run("run", "s.csv", "--devices", "0,2", "--store", "r.sqlite")
    assert ran.status == 2
    assert "devices 0, 2 are h200-sxm, h100-sxm" in ran.err
    assert "of one kind" in ran.err
    assert machine == []


def test_ctrl_c_stops_every_device(run, machine, monkeypatch):
    plain, halted = running.run_together, threading.Event()

    def slow(problem, contenders, options, told, *more):
        if contenders[0].backend != "cpu" and options.device == 1 and problem.m > 2:
            try:
                for _ in range(12_000):
                    told("a round of many")
                    time.sleep(0.01)
            except BaseException:
                halted.set()
                raise
        return plain(problem, contenders, options, told, *more)

    monkeypatch.setattr(running, "run_together", slow)
    keep = open_store("r.sqlite").keep.__func__
    calls = []

    def keeps(self, begun, done):
        calls.append(len(done))
        if len(calls) == 17:
            raise KeyboardInterrupt
        return keep(self, begun, done)

    monkeypatch.setattr("gemmlab.store.store.Store.keep", keeps)
    before = time.monotonic()
    ran = run("run", "s.csv", "--devices", "0,1", "--store", "r.sqlite")
    assert ran.status == 130
    assert halted.is_set()
    assert time.monotonic() - before < 60
    assert "of 36 are kept" in ran.err
    with open_store("r.sqlite", write=False) as store:
        assert store.latest().records == sum(calls[:16])


def test_a_gpu_that_there_is_not(run, machine, monkeypatch):
    def none(backend, device=0):
        raise GemmlabError("backend cuda needs an NVIDIA GPU, and nvidia-smi finds none here", "--backend cpu")

    monkeypatch.setattr(running, "chip_of", none)
    ran = run("run", "s.csv", "--store", "r.sqlite")
    assert ran.status == 2
    assert "hint: --backend cpu" in ran.err


def test_each_row_names_the_device_whose_process_timed_it(run, monkeypatch, tmp_path):
    """Real processes on made-up GPUs: each says which one it was given, and both have had work."""
    made_up = Path(__file__).parents[1] / "run" / "made_up.py"
    telling = msgspec.structs.replace(contender("telling", "cuda"), source=f"{made_up}:telling")
    monkeypatch.setattr(running, "chip_of", lambda backend, device=0: chips.get("h200-sxm"))
    monkeypatch.setattr(registry, "contenders", lambda *given: [telling])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "s.csv").write_text("m,n,k,name\n" + "".join(f"{m},8,8,layer {m}\n" for m in range(1, 9)))
    quick = ("--backend", "cuda", "--rounds", 3, "--store", "r.sqlite")
    ran = run("run", "s.csv", "--devices", "2,5", *quick, "--json")
    assert ran.status == 0
    assert len(ran.records) == 8
    for record in ran.records:
        assert record.measurement.environment["given"] == str(record.measurement.device)
    assert {record.measurement.device for record in ran.records} == {2, 5}
    with open_store("r.sqlite", write=False) as store:
        kept = [row.record.measurement.device for row in store.records(run=store.latest().id)]
    assert sorted(kept) == sorted(record.measurement.device for record in ran.records)
    told = run("run", "s.csv", "--devices", "2,5", *quick, "--csv", "-")  # all are kept: nothing runs
    lines = list(csv.DictReader(told.out.splitlines()))
    assert {line["measurement.device"] for line in lines} == {"2", "5"}
    assert [line["name"] for line in lines] == [f"layer {line['problem.m']}" for line in lines]
    assert "\n  layer 3\n" in run("run", "s.csv", "--devices", "2,5", *quick).out
