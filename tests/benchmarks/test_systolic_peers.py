"""The comparison with SCALE-Sim: it skips where that is missing, and its committed figures are what is said of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULT = json.loads((ROOT / "benchmarks/results/systolic_peers.json").read_text())


@pytest.mark.parametrize("python", [sys.executable, "no-such-python"])
def test_without_the_peer_it_says_so_and_writes_nothing(python, tmp_path):
    target = tmp_path / "systolic.json"
    command = [sys.executable, ROOT / "benchmarks/systolic_peers.py", "--peer", python, "--out", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0
    assert "skipped" in done.stderr
    assert not target.exists()


def test_all_cases_are_equal():
    for name in ("full_tiles", "any_tiles"):
        assert RESULT[name]["cases"] == RESULT[name]["equal"] >= 1000


def test_the_ratios_are_those_of_the_times():
    for row in RESULT["rows"]:
        assert row["values_ratio"] == pytest.approx(row["scalesim_cpu_s"] / row["grid_cpu_s"])
        assert row["values_ratio"] >= 30
        assert row["grid_own_mib"] < 150
    assert RESULT["values_ratio_median"] >= 100
    assert RESULT["counts_ratio_median"] >= 10_000
