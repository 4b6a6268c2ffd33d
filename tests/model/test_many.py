"""The vectorised call says what one call at a time says."""

import numpy as np
import pytest

from gemmlab.chips import load
from gemmlab.kernels import get
from gemmlab.model import Outlook, predict_many
from gemmlab.model.kernel_pairs import pairs_of_kernel
from gemmlab.model.time import times
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError


@pytest.mark.parametrize("chip", ["h100-sxm", "h200-sxm", "a100-pcie-80gb", "rtx-4090"])
def test_equals_one_kernel_at_a_time(chip):
    random = np.random.default_rng(3)
    m, n, k = (random.integers(1, 5000, 60) * 8 for _ in range(3))
    block_m, block_n = random.choice([64, 128], (2, 60))
    split = random.choice([1, 2, 4], 60)
    many = predict_many(m, n, k, block_m, block_n, chip=chip, split_k=split, format="float16")
    for i in range(60):
        problem = Gemm(int(m[i]), int(n[i]), int(k[i]), "float16")
        kernel = get(
            "tensor",
            problem=problem,
            tile=(int(block_m[i]), int(block_n[i]), 64),
            split_k=int(split[i]),
            group_m=8,
            stages=2,
            persistent=True,
            tiles_from="shared" if chip.startswith("h") else "registers",
        )
        look = Outlook(problem, load(chip), kernel)
        alone = times(pairs_of_kernel(problem, kernel, look.machine, 1), look.machine, look.constants)
        assert many.time_s[i] == pytest.approx(alone.total[0], rel=1e-12)
        assert many.dram_read_bytes[i] == pytest.approx(alone.reads[0], rel=1e-12)


def test_closed_traffic_is_near_the_simulated_one_in_the_middle():
    """Both are of the same launch; the closed form knows no drift, so it may lie below, by less than half."""
    random = np.random.default_rng(5)
    off = []
    for _ in range(25):
        m, n, k = (int(side) * 256 for side in random.integers(4, 40, 3))
        problem = Gemm(m, n, k, "bfloat16")
        kernel = get("tensor", problem=problem, tile=(128, 128, 64), group_m=8, stages=4)
        look = Outlook(problem, load("h200-sxm"), kernel)
        closed = predict_many(m, n, k, 128, 128, chip="h200-sxm").dram_read_bytes[0]
        off.append(closed / look.traffic.read - 1)
    assert np.median(np.abs(off)) <= 0.10
    assert np.max(np.abs(off)) <= 0.5


def test_sizes_broadcast_and_unknown_names_are_said():
    found = predict_many([1024, 2048], 4096, 512, [[128], [64]], 128)
    assert found.time_s.shape == (2, 2)
    assert set(found.bound.ravel()) <= {"compute", "dram", "launch"}
    with pytest.raises(GemmlabError, match="unknown chip"):
        predict_many(1, 1, 1, 64, 64, chip="h1000")


def test_a_hundred_thousand_pairs_are_finite():
    random = np.random.default_rng(0)
    m, n, k = random.integers(1, 20000, (3, 100_000))
    found = predict_many(m, n, k, 128, 256)
    assert np.isfinite(found.time_s).all()
    assert (found.time_s > 0).all()
    assert (found.dram_read_bytes >= 2 * (m * k + k * n) * (1 - 1e-12)).all()
