"""The emulator's counts of ragged multiplications equal those of `count`'s formulas, which were written without it."""

import random

import numpy as np
import pytest

from gemmlab import kernels
from gemmlab.count import count
from gemmlab.emulator import emulate
from gemmlab.kernels.ladder import RUNGS, load
from gemmlab.problem import Gemm

CASES = 500  # of each kernel


@pytest.mark.parametrize("name", ["naive", "tiled"])
def test_ragged_shapes(name):
    rung, drawn = RUNGS[name], random.Random(name)
    kernel = load(rung.source)
    for _ in range(CASES):
        m, n, k = (drawn.choice((drawn.randint(1, 9), drawn.randint(1, 70), drawn.randint(1, 150))) for _ in "mnk")
        problem = Gemm(m, n, k, "float32")
        expected = count(problem, kernels.get(name, problem=problem))
        arrays = [np.ones(shape, np.float32) for shape in ((m, k), (k, n), (m, n))]
        found = emulate(kernel, *rung.launch(m, n), *arrays, prove=False, threads=1)
        case = f"{name} {m}x{n}x{k}"
        assert not found.faults, case
        assert found.global_load.elements == expected.global_load_elements, case
        assert found.global_load.sectors == expected.sectors_requested, case
        assert found.global_load.requests == expected.load_requests, case
        assert found.global_store.bytes == expected.global_store_bytes, case
        assert found.global_store.sectors == expected.store_sectors, case
        assert found.global_store.requests == expected.store_requests, case
        if name == "naive":  # tiled also multiplies the zeros with which it fills a ragged tile
            assert found.flop == expected.flop, case
