"""Whole schedules by compiled code give the bits of the plain reference, output by output."""

import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.numerics import fast
from gemmlab.numerics.fast import running
from gemmlab.numerics.schedule import Schedule
from numerics.fast.inputs import operand, problem

FLOATS = ("float32", "float16", "bfloat16")
NAMES = (
    "hopper.wgmma.float8_e4m3fn", "ampere.mma.float16", "hopper.mma.float16.float16", "hopper.mma.float64",
    "hopper.mma.int8", "blackwell.tcgen05.mxfp8_e4m3fn",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(48))
def test_drawn_schedules(seed):
    rng = np.random.default_rng(seed)
    unit = numerics.unit(NAMES[seed % len(NAMES)])
    floats = unit.accumulate != "int32"
    whole = not floats and seed % 4 < 2
    schedule = Schedule(
        promote=int(rng.choice([0, 1, 2])) * unit.k if floats else 0,
        split_k=int(rng.integers(1, 4)),
        reduce=str(rng.choice(FLOATS)) if floats else "float32",
        reduce_sum=str(rng.choice(FLOATS)),
    )
    a, b, _, scales = problem(rng, unit, (2, 3, int(rng.integers(0, 4 * unit.k))), ("values", "sprinkled")[seed % 2])
    beta = float(rng.choice([0, 1] if whole else [0, 1, -0.7]))
    c = operand(rng, "int32" if whole else str(rng.choice(FLOATS)), (2, 3), "codes") if beta else None
    alpha = 1.0 if whole else float(rng.choice([1, 1.5, -0.3]))
    target = "int32" if whole else str(rng.choice([*FLOATS, "float8_e4m3fn"]))
    given = unit, schedule, a, b, c, scales, alpha, beta, target, 1
    best = fast.paths(unit, a.format, b.format, scales[0].format if scales else "")[0]
    want, got = running.scheduled(*given, path="plain"), running.scheduled(*given, path=best)
    assert got.dtype == want.dtype
    assert np.array_equal(got, want), (schedule, alpha, beta, target, got, want)


def test_two_levels_of_accumulation_lose_less():
    """All ones stick at 16,384 in one of Hopper's FP8 accumulators, and don't where they are promoted."""
    ones = np.ones((1, 32768), np.float32)
    unit = "hopper.wgmma.float8_e4m3fn"
    assert numerics.gemm(ones, ones.T, unit=unit)[0, 0] == 16384
    assert numerics.gemm(ones, ones.T, unit=unit, schedule=Schedule(promote=128))[0, 0] == 32768
