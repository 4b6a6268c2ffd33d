"""The kernel that is picked where nobody names one."""

import random

import pytest

from gemmlab import Gemm, explain
from gemmlab.chips import load, names
from gemmlab.kernels import default_for
from gemmlab.model import occupancy
from gemmlab.model.suited import suited

FORMATS = ("float64", "float32", "bfloat16", "float8_e4m3fn", "int8")


@pytest.mark.parametrize("name", names())
def test_a_picked_kernel_never_spills(name):
    """A kernel that keeps registers in local memory takes several times as long: no library has one."""
    chip, rng = load(name), random.Random(name)
    for format_name in FORMATS:
        if format_name not in chip.peaks:
            continue
        for _ in range(6):
            problem = Gemm(*(rng.randint(1, 9000) for _ in "mnk"), format_name)
            kernel = suited(problem, chip, default_for(problem))
            assert occupancy(problem, chip, kernel).spilled == 0, (problem, kernel)


@pytest.mark.parametrize("chip", ["h200-sxm", "h100-sxm", "a100-sxm-80gb"])
def test_float64_takes_no_longer_for_fewer_rows(chip):
    """Tiles of 128 x 256 hold twice the registers in float64: one was picked once, at five times the time."""
    for m in (64, 1152, 1912, 2816, 4928, 5376, 8832, 9984):
        here, more = (explain(Gemm(rows, 4352, 832, "float64"), chip, advice=False) for rows in (m, m + 256))
        assert more.prediction.time_s > 0.98 * here.prediction.time_s
