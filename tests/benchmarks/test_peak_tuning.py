"""The benchmark that tunes every row, without a GPU: what it writes, where it goes on, and what stops it."""

import json
import sys
from pathlib import Path

import pytest
from tests.peak.test_tuning import Clock, by_model

from gemmlab.peak import asking, store, tuning
from gemmlab.peak.candidates import various
from gemmlab.peak.choosing import plan_for

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
H200 = store.Device(name="NVIDIA H200", capability="9.0", sm_count=132)


@pytest.fixture
def peak(monkeypatch, tmp_path):
    """The script with operands that have no memory, and a clock by which a second plan of large squares is fastest."""
    pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    import peak_tuning as found

    monkeypatch.setattr(asking, "sm_count", lambda torch, index: 132)
    monkeypatch.setattr(store, "device_of", lambda torch, index: H200)
    monkeypatch.setattr(tuning, "versions_of", lambda torch: {"torch": "2.11"})
    searched = []

    def measured(torch, given, compiler, most, held):
        searched.append(given)
        if given in found.broken:
            raise found.broken[given]
        request = found.described(torch, given)
        fast = various(request, 2)[-1]
        gain = 0.5 if request.m == 2048 else 1.0
        return tuning.search(request, Clock(lambda plan: gain * 1e-4 if plan == fast else 1e-4))

    found.broken, found.searched = {}, searched
    monkeypatch.setattr(found, "measured", measured)
    monkeypatch.setattr(found.Compiler, "begin", lambda self, plans: None)
    return found


def run(peak, monkeypatch, tmp_path, *words):
    monkeypatch.setattr(sys, "argv", ["peak_tuning.py", "--out", str(tmp_path / "o.json"), "--store",
                                      str(tmp_path / "h200.json"), *words])  # fmt: skip
    peak.searched.clear()
    status = peak.main()
    return status, json.loads((tmp_path / "o.json").read_text())


CUBES = ("--groups", "aligned", "--rows", "4")


def test_a_row_keeps_all_times_and_the_store_what_is_better(peak, monkeypatch, tmp_path, capsys):
    status, found = run(peak, monkeypatch, tmp_path, *CUBES)
    rows = found["rows"]["aligned"]
    assert [row["m"] for row in rows] == [512, 1024, 1536, 2048]
    assert [row["better"] for row in rows] == [False, False, False, True]
    assert [row["model_share"] for row in rows] == [1, 1, 1, 0.5]
    assert found["all"]["mean"] == pytest.approx(0.5**0.25)
    assert (status, found["all"]["holds"]) == (1, False)
    (entry,) = store.read(tmp_path / "h200.json", H200)
    assert (entry.request.m, entry.measured_s, entry.model_s) == (2048, 0.5e-4, 1e-4)
    assert store.plan_of(entry) != plan_for(entry.request)
    for row in rows:
        tried = row["tried"]
        assert len(tried["plans"]) > 10
        for kind, fields, *_ in tried["plans"]:
            own = dict(zip(tried["fields"][kind], fields, strict=True))
            assert store.KERNELS[kind](**tried["shared"][kind], **own)
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 5
    assert all(len(line) < 400 for line in told)


def test_what_the_store_holds_is_tried_first(peak, monkeypatch, tmp_path):
    run(peak, monkeypatch, tmp_path, *CUBES)
    (entry,) = store.read(tmp_path / "h200.json", H200)
    asked = []

    def measured(torch, given, compiler, most, held):
        asked.append(peak.begun_with(peak.described(torch, given), most, held))
        return tuning.search(peak.described(torch, given), Clock(lambda plan: 1e-4), asked[-1])

    monkeypatch.setattr(peak, "measured", measured)
    run(peak, monkeypatch, tmp_path, *CUBES, "--again", "--first", "5")
    assert [len(first) for first in asked] == [5, 5, 5, 6]
    assert asked[-1][0] == store.plan_of(entry)
    assert asked[-1][1] == plan_for(entry.request)


def test_it_goes_on_where_it_stopped(peak, monkeypatch, tmp_path):
    run(peak, monkeypatch, tmp_path, *CUBES[:3], "2")
    assert [given[0] for given in peak.searched] == [512, 1024]
    _, found = run(peak, monkeypatch, tmp_path, *CUBES)
    assert [given[0] for given in peak.searched] == [1536, 2048]
    assert len(found["rows"]["aligned"]) == 4
    run(peak, monkeypatch, tmp_path, *CUBES, "--again")
    assert len(peak.searched) == 4


def test_rows_of_some_sides_alone(peak, monkeypatch, tmp_path):
    run(peak, monkeypatch, tmp_path, *CUBES)
    _, found = run(peak, monkeypatch, tmp_path, *CUBES, "--again", "--sides", "1024", "1024", "1024")
    assert [given[:3] for given in peak.searched] == [(1024, 1024, 1024)]
    assert len(found["rows"]["aligned"]) == 4


def test_no_row_is_begun_when_time_is_up(peak, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(peak, "written", lambda *_: None)
    (tmp_path / "o.json").write_text('{"rows": {}}')
    run(peak, monkeypatch, tmp_path, *CUBES, "--seconds", "-1")
    assert not peak.searched
    assert "out of time" in capsys.readouterr().err


def test_a_fault_costs_its_row_and_what_ends_the_process_is_left_out(peak, monkeypatch, tmp_path):
    first, second = [(side, side, side, "bfloat16", "nt") for side in (512, 1024)]
    peak.broken = {first: RuntimeError("CUDA error"), second: KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        run(peak, monkeypatch, tmp_path, *CUBES)
    _, found = run(peak, monkeypatch, tmp_path, *CUBES)
    assert [row.get("fault") for row in found["rows"]["aligned"]] == [
        "RuntimeError: CUDA error", "it ended the process", None, None,
    ]  # fmt: skip
    assert [given[0] for given in peak.searched] == [1536, 2048]


def test_a_better_plan_that_is_none_any_more_leaves_the_store(peak, monkeypatch, tmp_path):
    run(peak, monkeypatch, tmp_path, *CUBES)
    monkeypatch.setattr(peak, "measured", lambda torch, given, *_: tuning.search(
        peak.described(torch, given), Clock(by_model)))  # fmt: skip
    run(peak, monkeypatch, tmp_path, *CUBES, "--again")
    assert store.read(tmp_path / "h200.json", H200) == []


def test_requests_are_those_of_the_operands(peak):
    import torch

    of = {given: peak.described(torch, given) for given in (
        (4095, 4097, 4099, "bfloat16", "nt"), (4096, 4096, 4096, "bfloat16", "nt+1/4104"),
        (4096, 4096, 4096, "bfloat16", "tn"), (64, 512, 512, "float8_e4m3fn fast", "nt"))}  # fmt: skip
    unaligned, past, turned, eight = of.values()
    assert (unaligned.a_on_road, unaligned.b_on_road, unaligned.d_on_road) == (False, False, False)
    assert (past.a_on_road, past.b_on_road, past.d_on_road) == (False, False, True)
    assert (turned.a_along_k, turned.b_along_k, turned.a_on_road) == (False, False, True)
    assert (eight.accuracy, eight.d_format, eight.b_along_k) == ("fast", "bfloat16", True)
