"""The benchmark of large traces: what it writes is a trace of as many steps, and its figures are within their bars."""

import gzip
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from gemmlab.workload.traces import read_trace

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))


@pytest.fixture(scope="module")
def traces():
    import traces

    return traces


@pytest.mark.parametrize("name", ["operators and kernels", "with Python's stacks"])
def test_what_is_written_is_the_recorded_steps_over_and_over(traces, tmp_path, name):
    source = traces.RECORDED / traces.TRACES[name]
    recorded, once = json.loads(gzip.decompress(source.read_bytes())), read_trace(source)
    path = tmp_path / "trace.json"
    assert traces.write(path, recorded, 3_000_000) == len(json.loads(path.read_text())["traceEvents"])
    again = read_trace(path)
    turns = again.steps // once.steps
    assert turns > 3
    counts, before = (Counter({call.operator: 0 for call in once.calls}) for _ in range(2))
    for call in once.calls:
        before[call.operator] += call.count
    for call in again.calls:
        counts[call.operator] += call.count
    for operator, each in before.items():
        assert (turns - 1) * each <= counts[operator] <= (turns + 1) * each
    assert (turns - 1) * once.busy_s <= again.busy_s * (1 + 1e-9) <= (turns + 1) * once.busy_s


def test_published_figures_are_within_their_bars(traces):
    result = json.loads(traces.RESULT.read_text())
    assert result["within"]
    assert set(result["traces"]) == set(traces.TRACES)
    for each in result["traces"].values():
        assert each["bytes"] >= 200_000_000
        assert max(each["highest_s"], each["packed_s"]) < result["bars"]["time_s"]
        assert max(each["peak_bytes"], each["packed_peak_bytes"]) < result["bars"]["peak_bytes"]
