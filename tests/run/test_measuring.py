"""Contenders in their processes: timed in turn, checked, and whatever happens to one, the others go on."""

import os
import time
from pathlib import Path

import msgspec
import pytest

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.contender import Contender
from gemmlab.run.fault import FAULTS
from gemmlab.run.measuring import measure
from gemmlab.run.process import Pool
from gemmlab.run.registry import contenders
from gemmlab.run.timing import Limits, Protocol
from run.patience import with_patience
from run.test_process import gone

HERE = Path(__file__).parent
QUICK = Protocol(rounds=3, sample_s=0.001, warm_s=0.001, limit_s=64.0, cache_bytes=1 << 16)
PROBLEM = Gemm(17, 19, 23)


def own(*names):
    """The kernels of that name in faulty.py."""
    return contenders([f"{HERE / 'faulty.py'}:{name}" for name in names], ["cpu"])


def made_up(name, **fields):
    """A program of made_up.py."""
    source = f"{HERE / 'made_up.py'}:{name}"
    return Contender(name=name, backend="cpu", source=source, idea="", formats=("float32",), **fields)


def test_a_right_one_is_timed_and_checked_beside_every_faulty_one():
    names = ("wrong", "abort", "never", "right")
    *faulty, right = with_patience(
        lambda limit_s: measure(PROBLEM, own(*names), msgspec.structs.replace(QUICK, limit_s=limit_s)),
        lambda outcomes: [outcome.fault.kind for outcome in outcomes if outcome.fault],
    )
    assert [outcome.fault.kind for outcome in faulty] == ["wrong", "crashed", "never ended"]
    assert all(outcome.timing is None for outcome in faulty)
    assert right.fault is None
    assert right.verdict.ok
    assert right.verdict.informative
    assert len(right.timing.samples) == 3
    assert right.timing.median_s > 0


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("wrong", "wrong", "of 323 elements 1 wrong; D[1, 2] is "),
        ("nan", "wrong", "D[0, 0] is nan"),
        ("lazy", "wrong", "of 323 elements 19 never written"),
        ("once", "wrong", "of 323 elements 323 never written"),
        ("abort", "crashed", "SIGABRT: the last words"),
        ("out_of_bounds", "crashed", "SIGSEGV"),
        ("memory", "out of memory", "MemoryError: no room for panels"),
        ("raises", "crashed", "RuntimeError: boom, at faulty.py:62"),
        ("leaves", "crashed", "exit status 3"),
        ("mute", "crashed", "MuteError"),
        ("crooked", "crashed", r"RuntimeError: a file \udcff of another locale"),
        ("interrupts", "crashed", "KeyboardInterrupt"),
        ("forks", "crashed", "it forks, and its child comes back as well"),
        ("orphans", "crashed", "exit status 5"),
        ("closes", "crashed", "it closed its files"),
        ("kills_its_group", "crashed", "SIGKILL"),
        ("scribbles", "crashed", "its answer cannot be read"),
        ("spends", "wrong", "of 323 elements"),
        ("spends_slowly", "wrong", "the second time on the same operands, of 323 elements"),
        ("returns", "wrong", "323 never written"),
        ("absent", "refused", "`faulty.py` has no function `absent`; FILE.py:FUNC"),
    ],
)
def test_each_fault_has_its_name(name, kind, said):
    (outcome,) = measure(PROBLEM, own(name), QUICK)
    assert outcome.fault.kind == kind
    assert kind in FAULTS
    assert said in outcome.fault.detail
    assert "Traceback" not in outcome.fault.detail
    assert outcome.fault.detail.encode()
    assert outcome.timing is None


def test_what_a_kernel_started_ends_with_it(tmp_path, monkeypatch):
    monkeypatch.setenv("GEMMLAB_TEST_PIDS", str(tmp_path / "pids"))
    (outcome,) = measure(PROBLEM, own("leaves_children"), QUICK)
    assert outcome.fault is None
    assert gone([int((tmp_path / "pids").read_text())])


def test_more_rounds_than_the_budget_has_room_for_cost_nothing():
    (outcome,) = measure(PROBLEM, own("right"), msgspec.structs.replace(QUICK, rounds=10**12, budget_s=0.01))
    assert outcome.timing.repetitions * len(outcome.timing.samples) >= 3
    assert len(outcome.timing.samples) <= 50  # a slow machine takes fewer of them, none takes all


def test_a_limit_longer_than_any_wait_of_the_system():
    (outcome,) = measure(PROBLEM, own("right"), msgspec.structs.replace(QUICK, limit_s=1e12))
    assert outcome.fault is None


def test_what_a_kernel_prints_breaks_nothing(capfd):
    (outcome,) = measure(PROBLEM, own("chatty"), QUICK)
    assert outcome.fault is None
    assert capfd.readouterr().out == ""


def test_a_hanging_kernel_is_ended_after_the_limit():
    start = time.monotonic()
    (outcome,) = measure(PROBLEM, own("never"), Protocol(rounds=1, limit_s=0.5))
    assert outcome.fault.kind == "never ended"
    assert outcome.fault.detail == "not done within 0.5 s"
    assert time.monotonic() - start < 30


def test_a_time_above_the_chip_is_refused():
    honest, bold = measure(PROBLEM, [made_up("steady"), renamed("told:1e-7")], QUICK, limits=Limits(compute_s=1e-4))
    assert honest.fault is None
    assert bold.fault.kind == "above the limit"
    assert bold.timing is None
    assert bold.verdict.ok


def renamed(source):
    """A made-up program with its argument."""
    return Contender(
        name=source, backend="cpu", source=f"{HERE / 'made_up.py'}:{source}", idea="", formats=("float32",)
    )


def test_samples_repeat_until_they_last_and_rotate_the_copies():
    protocol = Protocol(rounds=4, sample_s=0.02, warm_s=0.001, cache_bytes=1 << 14)
    (outcome,) = measure(PROBLEM, [made_up("steady")], protocol)
    assert outcome.timing.repetitions == 20
    assert outcome.timing.copies == 3 * (1 << 14) // PROBLEM.compulsory_bytes + 1
    assert outcome.timing.samples == pytest.approx([0.001] * 4)
    assert outcome.timing.sustained_s is None
    assert outcome.environment["library"] == "made up"
    assert outcome.environment["answer"] == "42"
    assert outcome.environment["numpy"]


def test_sustained_work_is_timed_too():
    protocol = Protocol(rounds=1, sample_s=0.01, warm_s=0.001, sustained_s=2.0, cache_bytes=1)
    (outcome,) = measure(PROBLEM, [made_up("steady")], protocol)
    assert outcome.timing.sustained_s == pytest.approx(0.001)


def test_refusals_are_words():
    (outcome,) = measure(PROBLEM, [made_up("refusing")], QUICK)
    assert (outcome.fault.kind, outcome.fault.detail) == ("refused", "only multiples of 7 are multiplied; pad m")
    (outcome,) = measure(Gemm(8, 8, 8, "float64"), [made_up("steady")], QUICK)
    assert outcome.fault.detail == "steady takes float32, not float64"


def test_a_result_of_another_shape_is_wrong():
    (outcome,) = measure(PROBLEM, [made_up("flat")], QUICK)
    assert (outcome.fault.kind, outcome.fault.detail) == ("wrong", "D has the shape (323,), not (17, 19)")


@pytest.mark.parametrize("problem", [Gemm(9, 7, 5, layout="tt", lda=11, ldc=8), Gemm(6, 5, 4, "float64", batch=3)])
def test_layouts_gaps_and_batches_arrive_whole(problem):
    (outcome,) = measure(problem, contenders(["numpy"], ["cpu"]), QUICK)
    assert outcome.fault is None
    assert outcome.verdict.elements == problem.batch * problem.m * problem.n


def test_threads_reach_the_libraries():
    for threads in (1, 2):
        (outcome,) = measure(PROBLEM, own("right"), QUICK, threads=threads)
        assert outcome.environment["threads"] == str(min(threads, len(os.sched_getaffinity(0))))


def test_what_cannot_be_checked_is_refused_before_anything_starts():
    with pytest.raises(GemmlabError, match="epilogue `relu` cannot be run"):
        measure(Gemm(8, 8, 8, epilogue="relu"), own("right"), QUICK)
    with pytest.raises(
        GemmlabError, match="1 kernel with operands of their own: 20 MiB of memory are needed, and 1 MiB are free"
    ):
        measure(Gemm(1024, 1024, 1024), own("right"), Protocol(memory_bytes=1 << 20))
    with pytest.raises(GemmlabError, match="drawing the operands and checking results takes 24 MiB of memory"):
        measure(Gemm(1024, 1024, 1024), own("right"), Protocol(memory_bytes=1 << 30, host_bytes=20 << 20))


def test_a_pool_keeps_the_processes_of_those_that_did_well():
    with Pool() as pool:
        first = [measure(PROBLEM, own("right", "wrong"), QUICK, pool=pool), list(pool.idle.values())]
        (kept,) = first[1]
        second = measure(Gemm(8, 9, 10), own("right"), QUICK, pool=pool)
        assert list(pool.idle.values()) == [kept]
        assert first[0][0].fault is second[0].fault is None
        assert second[0].verdict.elements == 72
    assert kept.child.poll() is not None


def test_a_kept_process_that_died_is_replaced():
    with Pool() as pool:
        measure(PROBLEM, own("right"), QUICK, pool=pool)
        (kept,) = pool.idle.values()
        kept.child.kill()
        kept.child.wait()
        (outcome,) = measure(PROBLEM, own("right"), QUICK, pool=pool)
        assert outcome.fault is None


def test_a_gpu_is_read_while_it_works(monkeypatch):
    read = []

    class Told:
        def __init__(self, device):
            read.append(device)

        def read(self):
            read.append("working")

        def words(self):
            return {"sm_clock": "1455 MHz"}

    monkeypatch.setattr("gemmlab.run.measuring.Gauge", Told)
    source = f"{HERE / 'made_up.py'}:steady"
    on_gpu = Contender(name="steady", backend="cuda", source=source, idea="", formats=("float32",))
    (outcome,) = measure(PROBLEM, [on_gpu], QUICK, device=1)
    assert read[0] == 1
    assert read.count("working") >= len(outcome.timing.samples)
    assert outcome.environment["sm_clock"] == "1455 MHz"


def test_what_a_program_finds_out_while_it_is_timed_is_kept():
    (outcome,) = measure(PROBLEM, [made_up("changing")], QUICK)
    assert outcome.environment["timed"] == "another clock"
