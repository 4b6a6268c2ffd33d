"""Traces that record_cpu.py recorded with several versions of PyTorch: the FLOP that each counted meanwhile."""

import gzip
import json
from pathlib import Path

import pytest

from gemmlab.workload.traces import read_trace

RECORDED = sorted((Path(__file__).parent / "data").glob("cpu_torch_*.json.gz"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_flop_places_phases_and_times(path):
    workload = read_trace(path)
    assert workload.flop == json.loads(gzip.decompress(path.read_bytes()))["flop"]
    assert workload.steps == 2
    assert not workload.unread
    assert {place for call in workload.calls for place in call.places} == {
        "Net_0", "Net_0.Conv2d_0", "Net_0.Linear_0", "Net_0.Linear_1",
    }  # fmt: skip
    assert {call.phase for call in workload.calls} == {"forward", "backward"}
    assert all(call.count % 2 == 0 for call in workload.calls)
    parts = (*workload.calls, *workload.others)
    assert sum(part.time_s for part in parts) == pytest.approx(workload.busy_s)
    assert {other.phase for other in workload.others} == {"forward", "backward", "optimizer"}
    assert (workload.chip, workload.settings) == ("CPU", ())
