"""The published counts at n=1024, emulated: every thread run, every load counted, the product right."""

import numpy as np
import pytest

from gemmlab.emulator import emulate
from gemmlab.kernels.ladder import load

N = 1024


@pytest.mark.parametrize(
    ("kernel", "side", "loads"),
    [
        (load("naive:kernel"), 16, 2_147_483_648),
        (load("tiled:tiled")(8), 8, 268_435_456),
        (load("tiled:kernel"), 16, 134_217_728),
    ],
    ids=["naive", "T=8", "T=16"],
)
def test_loads_of_a_thousand_squared(kernel, side, loads):
    drawn = np.random.default_rng(0)
    a, b = (drawn.integers(-3, 4, (N, N)).astype(np.float32) for _ in "ab")
    c = np.full((N, N), np.nan, np.float32)
    found = emulate(kernel, (N // side, N // side), (side, side), a, b, c, outputs=[c], prove=False)
    assert found.global_load.elements == loads
    assert found.blocks.run == (N // side) ** 2
    assert not found.faults
    assert np.array_equal(c, a @ b)
