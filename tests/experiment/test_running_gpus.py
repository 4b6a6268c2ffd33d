"""Kernels on GPUs that are made up: on which one each is run, how much memory it may take, what is refused."""

import os
from pathlib import Path

import pytest

from gemmlab import chips
from gemmlab.experiment import Options, run_together, running
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.contender import Contender
from gemmlab.run.environment import Gauge
from gemmlab.run.process import Pool, environment_of
from gemmlab.run.timing import Protocol

MADE_UP = Path(__file__).parents[1] / "run" / "made_up.py"
QUICK = Protocol(rounds=3, sample_s=0.001, warm_s=0.001, limit_s=60.0)
TELLING = Contender(name="telling", backend="cuda", source=f"{MADE_UP}:telling", idea="made up", formats=("float32",))


@pytest.fixture(autouse=True)
def gpus(monkeypatch):
    """Three of two kinds, none of them hidden."""
    found = [chips.get(name) for name in ("h200-sxm", "h100-sxm", "h200-sxm")]
    monkeypatch.setattr("gemmlab.chips.nvidia.gpus", lambda: found)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    running.chip_of.cache_clear()
    yield found
    running.chip_of.cache_clear()


@pytest.mark.parametrize(
    ("hidden", "device", "given", "number"),
    [(None, 2, "2", 2), (None, None, "all", 0), ("2,1", 1, "1", 1), ("2,1", 0, "2", 2), ("1", None, "1", 1)],
)
def test_the_process_is_given_the_device_and_the_record_names_it(monkeypatch, hidden, device, given, number, gpus):
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    (record,) = run_together(Gemm(32, 40, 48), [TELLING], Options(device=device, protocol=QUICK))
    assert record.measurement.fault == ""
    assert record.measurement.environment["given"] == given
    assert record.measurement.device == number
    assert record.measurement.environment["chip"] == gpus[number].full_name


def test_a_process_counts_devices_as_nvidia_smi_does():
    found = environment_of(1, 2)
    assert (found["CUDA_VISIBLE_DEVICES"], found["CUDA_DEVICE_ORDER"]) == ("2", "PCI_BUS_ID")
    assert "CUDA_VISIBLE_DEVICES" not in environment_of(1, None)


def test_the_processor_has_no_device():
    contender = Contender(
        name="steady", backend="cpu", source=f"{MADE_UP}:steady", idea="made up", formats=("float32",)
    )
    chip = chips.get("sapphire-rapids-56c")
    (record,) = run_together(Gemm(32, 40, 48), [contender], Options(chip=chip, protocol=QUICK, threads=1))
    assert record.measurement.device is None


@pytest.mark.parametrize(
    ("hidden", "device", "words", "hint"),
    [
        (None, 3, "there is no GPU 3", "0 to 2"),
        ("2,1", 2, "there is no GPU 2: CUDA_VISIBLE_DEVICES is `2,1`", "0 to 1"),
        ("", 0, "there is no GPU 0: CUDA_VISIBLE_DEVICES is ``", "--backend cpu"),
        ("7", 0, "CUDA_VISIBLE_DEVICES names GPU 7, and there are 3", "nvidia-smi -L"),
    ],
)
def test_a_device_that_there_is_not(monkeypatch, hidden, device, words, hint):
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    with pytest.raises(GemmlabError) as refused:
        run_together(Gemm(8, 8, 8), [TELLING], Options(device=device))
    assert (refused.value.text, refused.value.hint) == (words, hint)


def test_too_little_memory_is_said_before_anything_is_started(monkeypatch):
    """What is free is asked of the driver, for the very device; the chip's file says only how much there is."""
    asked = []

    def free(gauge):
        asked.append(gauge)
        return 5 << 30

    monkeypatch.setattr(Gauge, "free_bytes", free)
    monkeypatch.setattr(Pool, "take", lambda *given: pytest.fail("a process was started"))
    monkeypatch.setattr("gemmlab.run.measuring.operands", lambda *given: pytest.fail("operands were drawn"))
    with pytest.raises(GemmlabError) as refused:
        run_together(Gemm(16384, 16384, 16384), [TELLING, TELLING], Options(device=1, protocol=QUICK))
    assert refused.value.text == (
        "2 kernels with operands of their own: 10 GiB of memory are needed, and 5 GiB are free"
    )
    assert refused.value.hint == "fewer kernels at once, or a smaller shape"
    assert len(asked) == 1


def test_without_the_drivers_word_all_memory_of_the_chip_counts(gpus):
    found = running.fitted(QUICK, gpus[0], 0)
    if Gauge(0).free_bytes() is None:
        assert found.memory_bytes == int(gpus[0].level("dram").capacity_bytes)
    assert found.cache_bytes == int(gpus[0].level("l2").capacity_bytes)


def test_devices_are_not_mixed_up_by_what_the_parent_says(monkeypatch):
    """The parent's own choice of cards holds: device 1 of those it sees, whatever their numbers."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-c3, GPU-a1")
    assert environment_of(1, 1)["CUDA_VISIBLE_DEVICES"] == "GPU-a1"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-c3, GPU-a1"
