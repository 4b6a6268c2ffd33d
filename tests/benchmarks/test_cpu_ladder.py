"""The CPU ladder's benchmark: what it compares, what it believes, and that its groups name contenders there are."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

linux = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux pins processes to cores")


@pytest.fixture(scope="module")
def ladder():
    import cpu_ladder

    return cpu_ladder


def row(group, contender, n, seconds):
    return {"group": group, "contender": contender, "n": n, "median_s": seconds, "best_s": seconds / 2}


def test_groups_name_contenders_that_take_their_format(ladder):
    for group in ladder.GROUPS:
        assert all(group.form in ladder.TABLE[name].formats for name in group.names)


def test_a_rung_is_compared_with_the_library_of_its_own_group(ladder):
    bar = ladder.BARS[0]
    rows = [
        row(0, "packed", 512, 2.0),
        row(0, "numpy", 512, 1.8),
        row(3, "packed", 512, 90.0),
        row(3, "numpy", 512, 1.0),
    ]
    rows.append({"group": 0, "rung": "torch", "left_out": "torch is not installed"})
    found = ladder.against(bar, rows, 9.0, 2)
    assert found["median_s"] == pytest.approx({512: 0.9, "geometric_mean": 0.9})
    assert found["met"] is True
    rows += [row(0, "packed", 1024, 2.0), row(0, "numpy", 1024, 1.6)]
    assert ladder.against(bar, rows, 0.0, 2)["met"] is False, "0.8 is under what each size is asked"


def test_wall_times_of_a_loaded_machine_are_not_believed(ladder):
    rows = [row(2, "packed", 512, 1.0), row(2, "numpy", 512, 5.0)]
    assert ladder.against(ladder.BARS[1], rows, 0.1, 2)["met"] is True
    assert ladder.against(ladder.BARS[1], rows, 4.0, 2)["met"] == "not told: load average 4.0 before"
    assert ladder.against(ladder.BARS[1], rows, 4.0, 64)["met"] is True


def test_without_the_rung_there_is_no_verdict(ladder):
    assert "met" not in ladder.against(ladder.BARS[2], [row(1, "torch", 1024, 1.0)], 0.0, 2)


@linux
def test_one_small_group_is_measured_and_right(ladder, monkeypatch):
    monkeypatch.setattr(ladder, "GROUPS", (ladder.Group("float32", 1, (33,), ("ikj", "numpy"), 3),))
    monkeypatch.setattr(ladder, "SAMPLE_S", 0.001)
    rows = ladder.measured(False)
    assert [each["contender"] for each in rows] == ["ikj", "numpy"]
    assert all(each["right"] and each["median_s"] > 0 and each["environment"]["threads"] == "1" for each in rows)
