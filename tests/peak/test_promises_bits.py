"""float32 by pieces on a CPU, of any size: a row's and a column's scale never pass a float's range between them."""

import numpy as np
import pytest

from gemmlab.peak.bits import reproduced
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.request import Request

FORM = {"a_format": "float32", "b_format": "float32", "d_format": "float32", "deterministic": True}


@pytest.mark.parametrize("size", [1e-38, 1e-30, 1e-10, 1e10, 1e30, 1e37])
def test_large_times_small(size):
    random = np.random.default_rng(0)
    a = (random.standard_normal((20, 70)).clip(-3, 3) * size).astype(np.float32)
    b = (random.standard_normal((70, 16)).clip(-3, 3) / size).astype(np.float32)
    d = reproduced(plan_for(Request(m=20, n=16, k=70, **FORM)), a, b)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.linalg.norm(d - exact) <= 3e-7 * np.linalg.norm(exact)


def test_what_is_out_of_range_goes_out_of_it():
    big, small = np.full((1, 64), 1e30, np.float32), np.full((1, 64), 1e-30, np.float32)
    plan = plan_for(Request(m=1, n=1, k=64, **FORM))
    assert np.isinf(reproduced(plan, big, big.T)).all()
    assert (reproduced(plan, small, small.T) == 0).all()
