"""The comparison with peers: it skips where the peer is missing, and its figures are what they say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
RESULT = json.loads((ROOT / "benchmarks/results/peers.json").read_text())


@pytest.fixture(scope="module")
def peers():
    import peers

    return peers


@pytest.mark.parametrize("python", [sys.executable, "no-such-python"])
def test_without_the_peer_it_says_so_and_writes_nothing(python, tmp_path):
    target = tmp_path / "peers.json"
    command = [sys.executable, ROOT / "benchmarks/peers.py", "--peer-python", python, "--out", target]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0
    assert done.stdout == ""
    assert python in done.stderr
    assert "--peer-python PATH" in done.stderr
    assert not target.exists()


def test_groups_part_rows_by_length_and_alignment(peers):
    sides = [(4096, 4096, 4096), (4096, 4096, 4095), (4096, 4097, 4096), (4095, 4096, 4096), (64, 64, 64)]
    rows = [{"format": "float16", "m": m, "n": n, "k": k, "time_s": m * 1e-7} for m, n, k in sides]
    found = {name: mask.tolist() for name, mask in peers.groups_of(rows).items()}
    assert found == {
        "aligned": [True, False, False, True, False],  # k and n are strides, m is none
        "unaligned": [False, True, True, False, False],
        "under_20_us": [False, False, False, False, True],
    }


def test_figures_are_those_of_plain_arithmetic(peers):
    rows = [{"format": "float16", "m": 4096, "n": 4096, "k": 4096, "time_s": s} for s in (1e-3, 2e-3, 4e-3, 8e-3)]
    predicted = np.array([1.1e-3, 2.4e-3, 5.2e-3, np.nan])  # 10, 20 and 30% too long; the last is not answered
    found = peers.time_figures(rows, predicted)["aligned"]
    assert found["rows"] == 3
    assert found["median_error"] == 0.2
    assert found["p90_error"] == 0.28
    assert found["median_predicted_over_measured"] == {"float16": 1.2}
    assert found["level_set"]["median_error"] == pytest.approx(0.1 / 1.2, abs=1e-4)


def test_the_published_figures_follow_from_the_published_rows(peers):
    rows = RESULT["predicted_s"]
    for name, published in RESULT["times"].items():
        predicted = np.array([row.get(name, np.nan) for row in rows])
        found = peers.time_figures(rows, predicted)
        for group, figures in published.items():
            assert found[group]["rows"] == figures["rows"]
            assert found[group]["median_error"] == pytest.approx(figures["median_error"], abs=1e-3)
            assert found[group]["p90_error"] == pytest.approx(figures["p90_error"], abs=1e-3)


def test_the_published_errors_still_hold(peers):
    """Within a point: what a change of the model may move before the comparison has to be made again."""
    rows = RESULT["predicted_s"]
    chip = peers.gemmlab.chips.load("h200-sxm")
    for name, constants in (("gemmlab calibrated", peers.constants_of(chip)), ("gemmlab data sheet", peers.GENERIC)):
        found = peers.time_figures(rows, peers.predictions(rows, constants))
        published = RESULT["times"][name]["aligned"]
        assert found["aligned"]["rows"] == published["rows"]
        assert found["aligned"]["median_error"] == pytest.approx(published["median_error"], abs=0.01)
