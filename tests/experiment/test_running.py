"""Kernels that were run as Records: what was asked, counted, predicted, measured and judged, side by side."""

from pathlib import Path

import msgspec
import pytest

from gemmlab import chips
from gemmlab.experiment import Options, run_one, run_together, running
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, Record
from gemmlab.run.contender import Contender
from gemmlab.run.fault import Fault
from gemmlab.run.measuring import Outcome
from gemmlab.run.registry import contenders
from gemmlab.run.timing import Protocol

RUN = Path(__file__).parents[1] / "run"
QUICK = Protocol(rounds=3, sample_s=0.001, warm_s=0.001, limit_s=60.0)
CHIP = chips.get("sapphire-rapids-56c")
PROBLEM = Gemm(32, 40, 48)


def options(**fields):
    """Quick ones on a CPU that a file describes."""
    return Options(**{"chip": CHIP, "protocol": QUICK, "threads": 1, **fields})


def made_up(source, **fields):
    """A program of made_up.py."""
    given = {"name": source, "backend": "cpu", "idea": "made up", "formats": ("float32",), **fields}
    return Contender(source=f"{RUN / 'made_up.py'}:{source}", **given)


def test_a_record_holds_everything_beside_its_time():
    record = run_one(PROBLEM, made_up("told:0.004", counted_by="naive", vendor=True), options())
    m = record.measurement
    assert (m.backend, m.kernel, m.idea, m.vendor, m.threads) == ("cpu", "told:0.004", "made up", True, 1)
    assert m.time_s == m.time_s_low == m.time_s_high == pytest.approx(0.004)
    assert m.samples == pytest.approx((0.004,) * 3)
    assert m.flop_per_s == pytest.approx(PROBLEM.flop / 0.004)
    assert m.fraction_of_limit == pytest.approx(m.limit_s / 0.004)
    assert m.environment["chip"] == CHIP.full_name
    assert record.verdict.ok
    assert record.kernel.name == "naive"
    assert record.count.global_load_elements == 2 * PROBLEM.m * PROBLEM.n * PROBLEM.k
    assert record.prediction.time_s > 0
    assert Record.from_json(record.to_json()) == record


def test_what_nobody_counts_has_no_count():
    record = run_one(PROBLEM, made_up("steady"), options())
    assert (record.kernel, record.count, record.prediction) == (None, None, None)
    assert record.problem == PROBLEM.section()
    assert record.measurement.fault == ""


def test_a_count_that_cannot_be_is_a_note_and_no_fault():
    record = run_one(PROBLEM, made_up("steady", counted_by="tiled", settings={"tile": "7"}), options())
    assert record.measurement.time_s is not None
    assert any(note.startswith("not counted: ") for note in record.measurement.notes)


def test_a_fault_has_no_time_and_keeps_its_verdict():
    own = contenders([f"{RUN / 'faulty.py'}:wrong", f"{RUN / 'faulty.py'}:raises"], ["cpu"])
    wrong, raised = run_together(PROBLEM, own, options())
    for record in (wrong, raised):
        m = record.measurement
        assert (m.time_s, m.time_s_low, m.flop_per_s, m.fraction_of_limit, m.samples) == (None, None, None, None, ())
    assert wrong.measurement.fault == "wrong"
    assert wrong.verdict.wrong_elements == 1
    assert raised.measurement.fault == "crashed"
    assert raised.measurement.fault_detail == "RuntimeError: boom, at faulty.py:62"
    assert raised.verdict is None


def test_records_come_in_the_order_of_the_contenders():
    names = ("told:0.001", "steady", "told:0.002")
    records = run_together(PROBLEM, [made_up(name) for name in names], options())
    assert tuple(record.measurement.kernel for record in records) == names


def test_the_limit_is_the_roofline_of_the_cores_that_work():
    narrow = running.with_cores(CHIP, 7)
    assert float(narrow.sm_count) == 7
    for name in CHIP.peaks:
        assert narrow.peak_flop_per_s(name) == pytest.approx(CHIP.peak_flop_per_s(name) * 7 / 56)
    assert narrow.level("dram") == CHIP.level("dram")
    assert running.with_cores(CHIP, 56) is CHIP
    large = Gemm(4096, 4096, 4096)
    assert running.limits_of(large, narrow).compute_s == pytest.approx(large.flop / narrow.peak_flop_per_s("float32"))
    slim = Gemm(1, 4096, 4096)
    dram = float(CHIP.level("dram").bandwidth_bytes_per_s)
    assert running.limits_of(slim, CHIP).least_s(from_dram=True) == pytest.approx(slim.compulsory_bytes / dram)


def test_more_than_the_peak_is_no_time():
    chip = msgspec.structs.replace(
        CHIP,
        peaks={
            name: msgspec.structs.replace(peak, flop_per_s=chips.Figure(1e6, "slow", True))
            for name, peak in CHIP.peaks.items()
        },
    )
    record = run_one(Gemm(128, 128, 128), made_up("told:0.001"), options(chip=chip, threads=56))
    assert record.measurement.fault == "above the limit"
    assert record.measurement.time_s is None


def test_a_contender_that_could_not_be_tried_is_a_record_too():
    record = running.failed(PROBLEM, made_up("steady"), GemmlabError("no room", "a smaller shape"))
    assert record.measurement.fault == "refused"
    assert record.measurement.fault_detail == "no room; a smaller shape"
    assert record.problem == PROBLEM.section()


def test_a_gpu_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr("gemmlab.chips.nvidia.gpus", list)
    running.chip_of.cache_clear()
    with pytest.raises(GemmlabError, match="backend cuda needs an NVIDIA GPU"):
        running.chip_of("cuda")


def test_a_software_adapter_is_counted_but_neither_predicted_nor_held_against_a_limit():
    from gemmlab.run.backends.webgpu.adapters import Adapter
    from gemmlab.run.backends.webgpu.chip import chip_of

    chip = chip_of(Adapter(name="llvmpipe", backend="Vulkan", kind="CPU", driver="Mesa"))
    record = run_one(PROBLEM, made_up("told:0.004", backend="webgpu", counted_by="naive"), options(chip=chip))
    m = record.measurement
    assert record.count.global_load_elements == 2 * PROBLEM.m * PROBLEM.n * PROBLEM.k
    assert (record.kernel.name, record.prediction) == ("naive", None)
    assert (m.software, m.limit_s, m.fraction_of_limit) == (True, None, None)
    assert m.environment["chip"] == "llvmpipe, a software adapter"
    assert any("not ranked beside a chip's" in note for note in m.notes)


def test_backends_of_one_chip_are_timed_in_turn_and_others_apart(monkeypatch):
    of = {"cuda": "h100-sxm", "webgpu": "h100-sxm", "cpu": "sapphire-rapids-56c"}
    monkeypatch.setattr(running, "chip_of", lambda backend, device=0: chips.get(of[backend]))
    together = []

    def measured(problem, contenders, *given, **how):
        together.append([each.backend for each in contenders])
        return [Outcome(contender=each, fault=Fault("crashed")) for each in contenders]

    monkeypatch.setattr(running, "measure", measured)
    given = [made_up("steady", backend=backend) for backend in ("cuda", "cpu", "webgpu")]
    records = run_together(PROBLEM, given, options(chip=None))
    assert together == [["cuda", "webgpu"], ["cpu"]]
    assert [record.measurement.backend for record in records] == ["cuda", "cpu", "webgpu"]


@pytest.mark.parametrize("name", ["naive", "ikj", "blocks", "packed"])
def test_the_rungs_of_a_cpu_are_counted_by_their_own_loops_and_predicted(name):
    from gemmlab.count.cpu import count_cpu

    (who,) = contenders([name], ["cpu"])
    record = run_one(PROBLEM, who, options())
    assert record.verdict.ok
    assert record.count == count_cpu(PROBLEM, name, 1)
    assert record.count.arrays
    assert record.prediction.time_s > 0
    assert record.prediction.bound in ("compute", "latency", "calls of Python", "l1", "l2", "l3", "dram")
    assert record.kernel is None
    assert any("NumPy's library" in note for note in record.measurement.notes) == (name == "blocks")
    assert Record.from_json(record.to_json()) == record


def test_a_rung_that_refuses_is_not_counted():
    (who,) = contenders(["amx"], ["cpu"])
    record = run_one(PROBLEM, who, options())
    assert (record.measurement.fault, record.count, record.prediction) == ("refused", None, None)
