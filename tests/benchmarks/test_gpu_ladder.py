"""The GPU ladder's benchmark without a GPU: what it measures; a launch that breaks loses nothing but itself."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from gemmlab.run.worker import split_drive

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

WORKER = """
import json, os, sys
todo, log = json.load(open(sys.argv[1])), open(sys.argv[2], "a", buffering=1)
for item in todo:
    print(json.dumps({"begin": item["id"]}), file=log)
    if item["id"].startswith("crash"):
        os._exit(7)
    row = {"id": item["id"], "time_s": 1.0}
    print(json.dumps({"id": item["id"], "fault": "illegal address"} if "fault" in item["id"] else row), file=log)
    if "fault" in item["id"]:
        sys.exit("left behind")
"""


def module(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def ladder(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", list(sys.path))
    found = module("gpu_ladder")
    (tmp_path / "gpu_ladder_work.py").write_text(WORKER)
    monkeypatch.setattr(found, "HERE", tmp_path)
    return found


def test_what_breaks_loses_itself_alone(ladder):
    asked = [{"id": name} for name in ("one", "crash a", "two", "fault b", "three", "crash c")]
    rows, _ = ladder.worked(asked, 60)
    assert [row["id"] for row in rows] == [each["id"] for each in asked]
    assert [row.get("time_s") for row in rows] == [1.0, None, 1.0, None, 1.0, None]
    assert "its process broke" in rows[1]["fault"]
    assert rows[3]["fault"] == "illegal address"


def test_what_time_does_not_allow_says_so(ladder):
    rows, _ = ladder.worked([{"id": "one"}], 0)
    assert rows == [{"id": "one", "fault": "no time was left"}]


@pytest.mark.parametrize("quick", [True, False])
def test_every_item_is_named_once_and_counted_where_it_is_the_rung_itself(ladder, quick):
    items = ladder.items(quick)
    assert len({each["id"] for each in items}) == len(items)
    for each in items:
        assert split_drive(each["source"])[2].count(":") >= 1
        assert bool(ladder.counted(each)) == (not each["variant"])


def test_the_order_is_asked_of_rungs_that_fill_the_chip(ladder):
    def row(kernel, time_s, programs):
        words = {"kernel": kernel, "variant": "", "format": "float32", "layout": "nn", "n": 1024}
        return {**words, "time_s": time_s, "programs": programs}

    rows = [row("naive", 3.0, 4096), row("coalesced", 3.1, 4096), row("tiled", 2.0, 4096), row("warp_tile", 5.0, 64)]
    assert ladder.ordered(rows)["float32 1024"] == {"rungs": [["naive", "coalesced"], ["tiled"]], "holds": True}
    for slow in (0, 1):
        changed = [{**each, "time_s": 1.5} if number == slow else each for number, each in enumerate(rows)]
        assert ladder.ordered(changed)["float32 1024"]["holds"] is False


def test_figures_of_rounds():
    work = module("gpu_ladder_work")
    found = work.figures(([2.0, 4.0, 2.0], [1.0, 1.0, 1.0]))
    assert (found["time_s"], found["vendor_time_s"], found["share"]) == (2.0, 1.0, 0.5)


def test_the_verdict_is_that_of_the_check():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from gemmlab.check import check_bounds, operands
    from gemmlab.problem import Gemm

    work = module("gpu_ladder_work")
    for name in ("float32", "bfloat16"):
        problem = Gemm(40, 24, 64, name)
        given = operands(problem)
        a, b = (torch.from_numpy(np.asarray(given[i].array, np.float64)) for i in (0, 1))
        ground = work.Ground(problem, given, 1, None, a @ b, a.abs() @ b.abs())
        right = (a @ b).numpy().astype(given.d.array.dtype)
        wrong = right.copy()
        wrong[3, 5] *= 2
        for result in (right, wrong, given.d.array):
            expected = check_bounds(problem, given.a.array, given.b.array, result, unit_roundoff=2.0**-24)
            found = work.judged(torch, ground, result, 2.0**-24)
            assert found["right"] == expected.ok
            assert found["wrong_elements"] == expected.wrong_elements + expected.unwritten_elements
