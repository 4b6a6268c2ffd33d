"""What tests of `gemmlab.matmul` on a GPU share: whether one is there, formats, and operands that lie anyhow."""

import os
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
#: where tests that could also run without a GPU put their tensors, by a stand-in for the kernels
DEVICE = os.environ.get("GEMMLAB_TEST_DEVICE", "cuda")
if DEVICE == "cuda" and (not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0)):
    pytest.skip("no Hopper GPU is here", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from peak_bits import Lying, array, laid  # noqa: E402, F401 - tests take all three from here

TYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
#: whole numbers that a format holds: up to 15 where not told
MOST = {torch.float8_e4m3fn: 8, torch.float8_e5m2: 4}
#: norm-wise, of D beside float64: half a unit of D's format, and what the sums add
BOUND = {torch.float32: 2e-6, torch.float16: 5e-4, torch.bfloat16: 4e-3}
#: on the copy engine's road, off it by rows, by the first element, by both; each along k or along the side
LYING = [Lying(turned, gap, offset) for turned in (False, True) for gap, offset in ((0, 0), (3, 0), (16, 1), (1, 2))]


def random_numbers(rows, columns, kind, seed=0):
    """Normal numbers of a format, the same on every device."""
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)).to(kind)


def whole_numbers(source, shape, kind):
    """Of a format, on the CPU: sums of 10,000 products of such stay exact in float32."""
    most, drawn = MOST.get(kind, 15), torch.Generator().manual_seed(source.getrandbits(30))
    return torch.randint(-most, most + 1, shape, generator=drawn).to(kind)


def pair(m, n, k, kind=torch.bfloat16, seed=0):
    """A and B, both along k."""
    return random_numbers(m, k, kind, seed).to(DEVICE), random_numbers(n, k, kind, seed + 1).to(DEVICE).t()


def result_type(kind):
    """The format of D where none is named."""
    return kind if kind in BOUND else torch.bfloat16


def error(d, a, b):
    """Of D against float64, by norm."""
    exact = a.double() @ b.double()
    return float((d.double() - exact).norm() / exact.norm())
