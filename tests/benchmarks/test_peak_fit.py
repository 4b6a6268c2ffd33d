"""The fit of the model's constants finds those that readings were made with, and tells regret as it is."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from tests.peak.test_store import SQUARE
from tests.peak.test_tuning import Clock, by_model

from gemmlab.peak import predicting, tuning
from gemmlab.peak.candidates import various
from gemmlab.peak.engine import Engine

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SHAPES = [replace(SQUARE, m=m, n=n, k=k) for m, n, k in (
    (4096, 4096, 4096), (512, 512, 512), (64, 8192, 8192), (256, 256, 65536), (2048, 2048, 256), (128, 2112, 7168),
)]  # fmt: skip


@pytest.fixture
def fit(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import peak_fit

    before = peak_fit.constants()
    yield peak_fit
    peak_fit.put(before)


def made(fit, changed):
    """Readings of a chip whose constants are others."""
    plans = [(request, plan.kernel) for request in SHAPES for plan in various(request, 12)]
    begin = fit.constants()
    fit.put(begin | changed)
    found = [
        fit.Reading(str(request.m), request, kernel, predicting.engine_seconds(request, kernel))
        for request, kernel in plans
        if isinstance(kernel, Engine)
    ]
    fit.put(begin)
    return found


def test_it_finds_the_constants_that_times_were_made_with(fit):
    begin = fit.constants(["CLOCK_HZ", "PORT_BYTES"])
    changed = {("DRAM_BYTES_PER_S", ""): 2.5e12, ("STEP_SHARE", ""): 0.5, ("LAUNCH_S", ""): 6e-6}
    of = made(fit, changed)
    found = fit.fitted(of, begin, near=1e3)
    before, after = fit.logs(of, begin), fit.logs(of, found)
    assert np.abs(before).max() > 0.3
    assert np.abs(after).max() < 0.03
    for name, value in changed.items():
        assert found[name] == pytest.approx(value, rel=0.25)  # constants of alike effect share a change
    assert np.abs(fit.crossed(of, begin, 3)).max() < np.abs(before).max()
    assert fit.constants(["CLOCK_HZ", "PORT_BYTES"]) == begin  # the model is as it was


def test_regret_is_the_chosen_plan_s_time_over_the_fastest_s(fit):
    kernels = [plan.kernel for plan in various(SQUARE, 3)]
    other = replace(SQUARE, n=512)
    of = [
        *(fit.Reading("a", SQUARE, kernel, seconds) for kernel, seconds in zip(kernels, (3.0, 2.0, 4.0), strict=True)),
        *(fit.Reading("b", other, kernel, 1.0) for kernel in kernels),
    ]
    predicted = np.array([1.0, 2.0, 3.0, 1.0, 1.0, 1.0])
    found = fit.regrets(of, np.log(predicted / [each.seconds for each in of]))
    assert found["a"] == pytest.approx((1.5, 1.5))
    assert found["b"] == pytest.approx((1.0, 1.0))
    assert found["all"] == pytest.approx((math.sqrt(1.5), 1.5))


def test_it_reads_what_the_tuning_writes(fit, tmp_path, capsys):
    import msgspec

    import peak_tuning

    searches = [tuning.search(request, Clock(by_model)) for request in SHAPES]
    rows = [{"request": msgspec.to_builtins(each.request)} | peak_tuning.told(each, 1.0) for each in searches]
    path = tmp_path / "peak_tuning.json"
    path.write_text(json.dumps({"rows": {"aligned": [*rows, {"m": 1, "fault": "it ended the process"}]}}))
    of = fit.readings(path)
    tried = [each for search in searches for each in search.tried if isinstance(each.plan.kernel, Engine)]
    assert [(each.kernel, each.seconds) for each in of] == [
        (each.plan.kernel, pytest.approx(each.plan.predicted_s, rel=1e-3)) for each in tried
    ]
    fit.report(of[:40], fit.constants(), 2)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("before: error 0.0%")
    assert all(len(line) <= 80 for line in said)
