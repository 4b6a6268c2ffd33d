"""The stated errors of predictions are those of the file that they name."""

import json
from pathlib import Path

import pytest

from gemmlab.experiment.workload.accuracy import MEASURED, accuracy_of

RESULT = json.loads((Path(__file__).parents[3] / "benchmarks" / "results" / "networks.json").read_text())


def test_errors_are_those_that_were_found():
    told = MEASURED["h200-sxm"]
    rows, gains = RESULT["rows"], RESULT["gains"]
    assert (told.steps, told.networks, told.taken) == (len(rows), len({row["network"] for row in rows}), len(gains))
    steps = [(row["model"]["multiplying_s"] + row["model"]["rest_s"]) / row["step_s"] - 1 for row in rows]
    for said, found in (
        (told.multiplications, [row["model"]["error"] for row in rows]),
        (told.step, steps),
        (told.gains_of_models, [each["error_from_model"] for each in gains]),
        (told.gains_of_traces, [each["error"] for each in gains]),
    ):
        assert said == pytest.approx((min(found), max(found)), abs=6e-4)


def test_nothing_is_known_of_a_chip_that_ran_no_network():
    assert accuracy_of("tpu-v4") is None
    assert all(chip == told.chip for chip, told in MEASURED.items())
