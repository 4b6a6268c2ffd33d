"""This CPU's own multiply-adds against the emulated chain."""

import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.numerics.backends import cpu
from gemmlab.record import GemmlabError


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_chain_of_fused_multiply_adds_is_the_emulated_one(dtype):
    rng = np.random.default_rng(0)
    spread = 30
    a, b, c = (
        np.ldexp(rng.uniform(-1, 1, shape), rng.integers(-spread, spread, shape)).astype(dtype)
        for shape in ((9, 21), (21, 7), (9, 7))
    )
    a[0, 3], b[4, 2], c[8, 6], a[5, 5] = np.inf, -0.0, -np.inf, np.finfo(dtype).smallest_subnormal
    found = cpu.fma_chain(a, b, c)
    assert np.array_equal(found, numerics.mma(f"cpu.fma.{np.dtype(dtype)}", a, b, c), equal_nan=True)
    # Two roundings a step would be another unit.
    apart = c.copy()
    with np.errstate(invalid="ignore"):
        for k in range(a.shape[1]):
            apart = apart + a[:, k, None] * b[None, k]
    assert not np.array_equal(found, apart, equal_nan=True)


def test_the_library_multiplies():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((5, 40)).astype(np.float32), rng.standard_normal((40, 3)).astype(np.float32)
    assert cpu.vendor(a, b) == pytest.approx(a.astype(np.float64) @ b, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (np.ones((2, 2), np.float16), np.ones((2, 2), np.float16), "float16"),
        (np.ones((2, 2), np.float32), np.ones((2, 2)), "A is float32 and B is float64"),
        (np.ones((2, 3)), np.ones((2, 3)), "do not multiply"),
    ],
)
def test_what_it_does_not_take(a, b, said):
    for call in (cpu.fma_chain, cpu.vendor):
        with pytest.raises(GemmlabError, match=said):
            call(a, b)


def test_c_of_another_type_is_refused():
    a = np.ones((2, 2), np.float32)
    with pytest.raises(GemmlabError, match="C is float64"):
        cpu.fma_chain(a, a, np.ones((2, 2)))
