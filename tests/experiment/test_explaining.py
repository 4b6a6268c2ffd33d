"""`explain` of every chip, of many formats and shapes, of extremes, and the same in every process."""

import hashlib
import math
import os
import subprocess
import sys
import time

import pytest

from gemmlab import Gemm, Record, explain
from gemmlab.chips import load, names
from gemmlab.kernels import get
from gemmlab.model.machine import stand_in
from gemmlab.record import GemmlabError

FORMATS = ("float32", "float16", "bfloat16", "float8_e4m3fn", "int8", "float64", "tfloat32", "float4_e2m1fn")
SMALL = ((1, 1, 1), (1, 4096, 4096), (300, 300, 300), (17, 33, 5))
LARGE = ((4096, 50257, 768), (8192, 8192, 8192))  # simulated, so each chip takes them in one of its formats
HUGE = 1 << 40


def check(prediction, problem):
    """What holds of any prediction."""
    assert math.isfinite(prediction.time_s)
    assert prediction.time_s > 0
    assert prediction.dram_bytes_low <= prediction.dram_bytes <= prediction.dram_bytes_high
    assert prediction.dram_read_bytes >= problem.compulsory_read_bytes * (1 - 1e-4) - 4  # whole bytes
    assert prediction.dram_bytes == pytest.approx(prediction.dram_read_bytes + prediction.dram_write_bytes)
    assert 0 < prediction.wave_efficiency <= 1
    assert prediction.time_s >= prediction.compute_time_s * (1 - 1e-9)
    assert math.fsum(term.time_s for term in prediction.terms) == pytest.approx(prediction.time_s, rel=1e-9)
    for level in prediction.levels:
        assert level.bytes > 0
        assert math.isfinite(level.time_s)
    assert prediction.lower_bound_bytes >= problem.compulsory_bytes * (1 - 1e-12)


@pytest.mark.parametrize("chip", names())
def test_every_chip_answers_or_says_which_formats_it_has(chip):
    computes = [name for name in FORMATS if stand_in(load(chip), name)]
    assert computes
    for name in computes:
        shapes = SMALL + LARGE if name == computes[names().index(chip) % len(computes)] else SMALL
        for sides in shapes:
            problem = Gemm(*sides, name)
            record = explain(problem, chip, advice=False)
            check(record.prediction, problem)
            assert Record.from_json(record.to_json()) == record
    for name in set(FORMATS) - set(computes):
        with pytest.raises(GemmlabError, match=f"unknown format on {chip} `{name}`") as raised:
            explain(Gemm(64, 64, 64, name), chip)
        assert raised.value.hint


@pytest.mark.parametrize("chip", ["h200-sxm", "a100-pcie-80gb", "mi300x", "m1", "sapphire-rapids-56c"])
@pytest.mark.parametrize("kernel", ["naive", "tiled", "register"])
def test_named_kernels(chip, kernel):
    for sides in ((1, 1, 1), (1000, 1000, 1000), (1, 5000, 3)):
        problem = Gemm(*sides)
        check(explain(problem, chip, kernel, advice=False).prediction, problem)


@pytest.mark.parametrize("sides", [(1 << 20,) * 3, (HUGE,) * 3, (1, 1, HUGE), (HUGE, 1, HUGE)])
@pytest.mark.parametrize("kernel", [None, "naive"])
def test_extremes_answer_in_a_moment(sides, kernel):
    """Half a second of processor time; the limit leaves room for a slow machine, not for a walk of 2^40 tiles."""
    explain(Gemm(64, 64, 64, "float16"), advice=False)
    for chip in ("h100-sxm", "m1"):
        problem = Gemm(*sides, "float16")
        begin = time.process_time()
        prediction = explain(problem, chip, kernel, advice=False).prediction
        assert time.process_time() - begin < 4.0
        check(prediction, problem)


def test_measured_time_is_kept_beside_the_limit():
    record = explain(Gemm(4096, 4096, 4096, "float16"), "h200-sxm", measured_time_s=0.25e-3, advice=False)
    assert record.measurement.backend == "reported"
    assert record.measurement.flop_per_s == pytest.approx(2 * 4096**3 / 0.25e-3)
    assert record.measurement.fraction_of_limit == pytest.approx(2 * 4096**3 / 989.4e12 / 0.25e-3, rel=1e-3)


def test_sections_are_about_the_same_multiplication():
    problem = Gemm(1000, 2000, 3000, "float16", beta=1.0)
    record = explain(problem, "a100-pcie-80gb", advice=False)
    assert Gemm.from_section(record.problem) == problem
    assert record.chip.name == "a100-pcie-80gb"
    assert record.count.flop == problem.flop
    assert record.count.programs / (record.prediction.waves * record.prediction.programs_per_sm) == pytest.approx(108)
    assert record.advice is None
    assert record.emulation is None


def test_a_kernel_by_name_or_by_value_is_the_same():
    problem = Gemm(1000, 1000, 1000)
    by_name = explain(problem, "h200-sxm", "tiled", advice=False)
    assert explain(problem, load("h200-sxm"), get("tiled", problem=problem), advice=False) == by_name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((Gemm(64, 64, 64), "h100-sxn"), "unknown chip `h100-sxn`"),
        ((Gemm(64, 64, 64), "h100-sxm", "tilde"), "unknown kernel `tilde`"),
        ((Gemm(64, 64, 64, "float64"), "m1"), "unknown format on m1 `float64`"),
    ],
)
def test_what_cannot_be_used(arguments, said):
    with pytest.raises(GemmlabError) as raised:
        explain(*arguments)
    assert said in raised.value.text
    assert raised.value.hint


def test_the_same_in_every_process():
    """Whatever the seed of Python's hashes: a launch near the edge of L2, simulated with noise."""
    code = (
        "from gemmlab import Gemm, explain\n"
        "import hashlib\n"
        "text = explain(Gemm(8192, 8192, 8192, 'float16'), 'a100-pcie-80gb', 'tensor', advice=False).to_json()\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    text = explain(Gemm(8192, 8192, 8192, "float16"), "a100-pcie-80gb", "tensor", advice=False).to_json()
    assert digests == {hashlib.sha256(text.encode()).hexdigest()}


def test_the_limit_of_a_measured_time_is_the_roofline():
    """A vector is limited by its matrix's bytes, a large square by its arithmetic."""
    row, square = Gemm(1, 4096, 4096, "bfloat16"), Gemm(8192, 8192, 8192, "bfloat16")
    dram = load("h200-sxm").level("dram").bandwidth_bytes_per_s
    told = explain(row, "h200-sxm", measured_time_s=row.compulsory_bytes / dram, advice=False)
    assert told.measurement.fraction_of_limit == pytest.approx(1)
    peak = load("h200-sxm").peak_flop_per_s("bfloat16")
    told = explain(square, "h200-sxm", measured_time_s=2 * square.flop / peak, advice=False)
    assert told.measurement.fraction_of_limit == pytest.approx(0.5)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e-300, 1e300])
def test_a_time_that_nothing_takes_is_refused(seconds):
    with pytest.raises(GemmlabError, match="not a time that anything takes"):
        explain(Gemm(64, 48, 32), measured_time_s=seconds)


@pytest.mark.parametrize(
    "problem",
    [
        Gemm(HUGE, 8, 8, "float16", batch=4, layout="nt"),  # folding the batch into m
        Gemm(8, HUGE - 1, HUGE - 3, "float16"),  # padding n and k, and their leading dimensions
        Gemm(2, 2, 2, batch=HUGE),  # launching several together
    ],
)
def test_advice_does_not_ask_past_the_largest_side(problem):
    assert explain(problem).advice


def test_bytes_are_floats_where_there_is_no_l2():
    record = explain(Gemm(8, 19178028845, 1115, "int8", batch=15082), "tpu-v1", advice=False)
    assert Record.from_json(record.to_json()) == record


def test_a_tpu_has_no_warps_and_a_stand_in_is_named_with_its_peak():
    from gemmlab.report import terminal

    record = explain(Gemm(300, 200, 500), "tpu-v5e", advice=False)
    said = " ".join(terminal(record, width=80, color=False).split())
    assert record.kernel.warps == 0
    assert "warps" not in said.partition("What it moves")[0]
    assert "peak 197 TFLOP/s in bfloat16" in said
    assert "of bfloat16's arithmetic peak" in said
    own = " ".join(terminal(explain(Gemm(300, 200, 500, "bfloat16"), "tpu-v5e", advice=False), color=False).split())
    assert "of the arithmetic peak" in own
    assert " in bfloat16" not in own
