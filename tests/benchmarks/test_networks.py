"""The benchmark of whole networks without a GPU: its records hold their bars, and its pieces work on tiny networks."""

import gzip
import importlib.util
import json
import statistics
import sys
from argparse import Namespace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULT = json.loads((BENCHMARKS / "results" / "networks.json").read_text())
PARTS = json.loads((BENCHMARKS / "results" / "networks_parts.json").read_text())


def module(name):
    pytest.importorskip("torch", reason="pip install torch")
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    before = set(sys.modules)
    yield module
    for name in set(sys.modules) - before:
        if name.startswith("networks"):
            del sys.modules[name]


def test_five_networks_are_recorded_on_the_gpu_that_is_predicted():
    assert RESULT["chip"] == "NVIDIA H200"
    assert {row["network"] for row in RESULT["rows"]} == {"bert", "gpt2", "llama", "mixture", "resnet50"}


@pytest.mark.parametrize("row", RESULT["rows"], ids=lambda row: f"{row['network']} {row['change']}")
def test_multiplications_take_what_the_model_alone_predicts(row):
    trace, model = row["trace"], row["model"]
    assert abs(model["multiplying_s"] / trace["multiplying_s"] - 1) <= 0.2
    assert model["flop"] == pytest.approx(trace["flop"], rel=1e-6)
    assert model["unread"] == 0
    assert trace["unread_s"] <= 0.001 * trace["busy_s"]
    assert trace["limit_s"] <= trace["multiplying_s"] <= trace["busy_s"] <= trace["span_s"]
    assert trace["multiplying_s"] + trace["rest_s"] == pytest.approx(trace["busy_s"], rel=0.02)


@pytest.mark.parametrize("gain", RESULT["gains"], ids=lambda each: f"{each['network']} {each['advice']}")
def test_what_is_advised_gains_what_is_predicted(gain):
    rows = {row["change"]: row for row in RESULT["rows"] if row["network"] == gain["network"]}
    measured = rows[gain["before"]]["step_s"] - rows[gain["after"]]["step_s"]
    assert gain["measured_s"] == pytest.approx(measured)
    assert gain["lines"]
    assert abs(gain["predicted_s"] / measured - 1) <= 0.3


def test_the_page_says_what_was_found():
    said = " ".join((BENCHMARKS.parent / "docs" / "concepts" / "workloads.md").read_text().split())
    both = next(gain for gain in RESULT["gains"] if gain["advice"] == "together")
    found = f"{both['predicted_s'] * 1e3:.1f} ms predicted from its trace, {both['measured_s'] * 1e3:.1f} ms measured"
    assert found in said
    assert f"{len(RESULT['rows'])} steps and {len(RESULT['gains'])} pieces of advice" in said


def test_the_first_advice_of_every_network_was_taken():
    assert {each["network"] for each in RESULT["gains"] if each["first"]} == {row["network"] for row in RESULT["rows"]}


def test_steps_wait_for_the_device():
    """A step is measured by what its kernels take, not by its launches: a gain of kernels is one of the step."""
    for row in RESULT["rows"]:
        assert row["step_s"] <= 1.06 * row["trace"]["busy_s"], (row["network"], row["change"])
        low, high = row["quartiles_s"]
        assert high <= 1.02 * low, (row["network"], row["change"])


def test_a_trace_of_a_step_that_waits_has_the_profilers_time_in_it():
    """Why what a device waits in a trace is no measure of what graphs gain."""
    for each in RESULT["launches"]:
        assert each["busy_s"] < each["step_s"] < each["traced_s"]
        waited = each["traced_s"] - each["busy_s"]
        assert each["waited_s"] == pytest.approx(each["step_s"] - each["busy_s"])
        assert waited > 2 * each["waited_s"]
        assert each["profiler_s"] * each["operators"] == pytest.approx(each["traced_s"] - each["step_s"])


def test_bert_is_nearly_all_multiplications_by_work_and_not_by_time():
    bert = next(row for row in RESULT["rows"] if (row["network"], row["change"]) == ("bert", "given"))
    for source in ("trace", "model"):
        assert bert[source]["flop_share"] == pytest.approx(0.998, abs=0.001)
    assert 0.4 < bert["trace"]["time_share"] < 0.8
    assert RESULT["bars"]["bert_time_share"]["published"]["time_share"] == 0.61


def test_bars_say_what_the_rows_say():
    assert all(RESULT["bars"][name]["holds"] for name in ("bert_flop_share", "times", "gains"))


def test_parts_are_all_there():
    assert not [row for row in PARTS["rows"] if "fault" in row]
    for row in PARTS["rows"]:
        assert row["time_s"] == pytest.approx(statistics.median(row["times_s"]), abs=1e-9)
        assert row["launches"] >= len(row["kernels"]) >= 1


def test_steps_of_tiny_networks(scripts, tmp_path):
    steps, models = scripts("networks_steps"), scripts("networks_models")
    network = models.NETWORKS["mixture"]
    options = Namespace(dry=True, traces=tmp_path)
    rows = steps.measured("mixture", network, options, steps.Watch())
    assert [row["change"] for row in rows] == ["given", *network.changes]
    for row in rows:
        assert row["step_s"] > 0
        events = json.loads(gzip.decompress((tmp_path / row["trace"]).read_bytes()))["traceEvents"]
        assert {"aten::mm", "aten::bmm"} & {event.get("name") for event in events}


@pytest.mark.parametrize("name", ["resnet50", "mixture"])
def test_changes_of_a_network_are_the_same_network(scripts, name):
    """The same function of the same numbers but for what is padded, cast, or summed in another order."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    models = scripts("networks_models")
    network = models.NETWORKS[name]
    for change, choice in network.changes.items():
        if choice.padded and not choice.batched:
            continue
        before = network.given._replace(padded=choice.padded)
        losses = []
        for each in (before, choice):
            torch.manual_seed(0)
            model, inputs = network.make(each, True)
            with torch.autocast("cpu", torch.bfloat16, enabled=each.precision == "bfloat16"):
                losses.append(float(model(*inputs).detach()))
        assert losses[1] == pytest.approx(losses[0], rel=0.03), change


def test_answers_are_made_from_the_model_alone(scripts):
    models, networks = scripts("networks_models"), scripts("networks")
    found = networks.modelled("mixture", models.NETWORKS["mixture"].given)
    row = next(row for row in RESULT["rows"] if (row["network"], row["change"]) == ("mixture", "given"))
    assert found["flop"] == row["model"]["flop"]
    assert found["multiplying_s"] == pytest.approx(row["trace"]["multiplying_s"], rel=0.2)
    assert found["changes"][0]["cause"] == "alignment"


def test_every_trace_is_small_and_of_the_gpu():
    folder = Path(__file__).parents[1] / "workload" / "data"
    for path in folder.glob("h200_*.json.gz"):
        assert path.stat().st_size < 150_000
        trace = json.loads(gzip.decompress(path.read_bytes()))
        assert trace["deviceProperties"][0]["name"] == "NVIDIA H200"
        assert any(event.get("cat") == "kernel" for event in trace["traceEvents"])


def test_parts_count_what_they_multiply(scripts):
    from gemmlab.problem import Convolution

    parts = scripts("networks_parts")
    for row, _ in parts.convolutions():
        window, side = row["window"], row["side"]
        told = {"kernel": (window, window), "stride": (row["stride"],) * 2, "padding": (window // 2,) * 2}
        own = Convolution(row["images"], row["in"], side, side, row["out"], groups=row["groups"], **told)
        assert row["flop"] == own.gemm("forward").flop, row
    kinds = {row["kind"] for part in parts.PARTS.values() for row, _ in part()}
    assert kinds == {row["kind"] for row in PARTS["rows"]}
    assert sum(1 for part in parts.PARTS.values() for _ in part()) == len(PARTS["rows"])


def test_traces_name_no_folder_of_the_machine(scripts):
    traces = scripts("networks_traces")
    place = f"{traces.ROOT}/benchmarks/networks_traces.py(40): forward"
    found = traces.cleaned({"traceName": "/home/x", "host_name": "vm", "traceEvents": [{"name": place}]})
    assert json.loads(gzip.decompress(found)) == {
        "traceEvents": [{"name": "benchmarks/networks_traces.py(40): forward"}]
    }
