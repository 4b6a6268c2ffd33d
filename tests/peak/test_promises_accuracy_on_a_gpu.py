"""The accuracy that is stated: `vendor` errs no more than torch, `best` no more than that, `fast` as its format."""

import pytest
from tests.peak.gpu import BOUND, DEVICE, TYPES, Lying, error, laid, random_numbers, result_type, torch

pytestmark = pytest.mark.gpu
#: sides that take each way: one row, few rows, shares of k, whole tiles, off the road, a long k
SIDES = ((1, 1024, 4096), (8, 512, 2048), (64, 64, 32768), (512, 512, 1024), (333, 257, 1001), (128, 96, 20000))


def torchs(a, b, *, fast=False):
    """Torch's default; of float8 its scaled product, which adds in two levels, or fast in one."""
    if a.dtype in BOUND:
        return a @ b
    one = torch.ones((), device=DEVICE)
    m, n = a.shape[0], b.shape[1]
    found = torch._scaled_mm(sixteens(a), sixteens(b.t()).t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)
    return found[:m, :n]


def sixteens(rows):
    """Rows and columns filled up with zeros to multiples of 16, which torch's product asks for."""
    tall, wide = rows.shape
    found = torch.zeros(-(-tall // 16) * 16, -(-wide // 16) * 16, dtype=rows.dtype, device=DEVICE)
    found[:tall, :wide] = rows
    return found


def drawn(m, n, k, kind, shape):
    """Normal numbers, or numbers above zero, whose sums grow and lose more."""
    a, b = random_numbers(m, k, torch.float32), random_numbers(n, k, torch.float32, 1)
    if shape == "positive":
        a, b = a.abs(), b.abs()
    return laid(torch, a.to(kind), Lying(), DEVICE), laid(torch, b.to(kind), Lying(), DEVICE).t()


def fast_bound(a, b, shape):
    """Of `fast`: float8 in one accumulator is as far off as torch's. Torch has none for e5m2: there each step of 32
    products cuts 33 numbers off 13 bits below the largest, which is half as much of the last sum on the average.
    """
    if a.dtype == torch.float32:
        return 2e-3
    if a.dtype == torch.float8_e4m3fn:
        return 1.05 * error(torchs(a, b, fast=True), a, b)
    lost = a.shape[1] / 32 * 33 * 2.0**-14 if a.dtype == torch.float8_e5m2 and shape == "positive" else 0.0
    return 2e-2 + min(1.0, lost)


@pytest.mark.parametrize("shape", ["normal", "positive"])
@pytest.mark.parametrize("kind", TYPES)
def test_errors_are_no_larger_than_stated(kind, shape):
    from gemmlab import matmul

    for m, n, k in SIDES:
        a, b = drawn(m, n, k, kind, shape)
        vendor, best, fast = (error(matmul(a, b, accuracy=accuracy), a, b) for accuracy in ("vendor", "best", "fast"))
        told = (m, n, k, vendor, best, fast)
        if kind != torch.float8_e5m2:  # what torch multiplies
            theirs = error(torchs(a, b), a, b)
            # float32 by pieces: a tensor core cuts sums of one sign, each 64 of k; torch's is less where k is short
            floor = 3e-7 if kind == torch.float32 and shape == "positive" else 1e-7
            assert vendor <= max(1.05 * theirs, floor), (*told, theirs)
            assert best <= max(1.05 * theirs, floor), (*told, theirs)
        assert best <= max(1.05 * vendor, 1e-7), told
        assert fast <= fast_bound(a, b, shape), told
        assert vendor <= 2 * BOUND[result_type(kind)], told


@pytest.mark.parametrize("kind", TYPES)
def test_no_element_is_lost(kind):
    """Small sums among large ones: each element against |A||B|, not only the whole."""
    from gemmlab import matmul

    for m, n, k in SIDES:
        a, b = drawn(m, n, k, kind, "normal")
        a, b = a.double(), b.double()
        a[:, ::3] *= 2.0**-6
        b[::5] *= 2.0**-6
        a, b = a.to(kind), b.t().to(kind).t()
        d = matmul(a, b)
        exact, size = a.double() @ b.double(), a.double().abs() @ b.double().abs()
        half = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[d.dtype]
        sums = 2e-6 if kind == torch.float32 else 2e-4 if kind in BOUND else 4e-3
        assert ((d.double() - exact).abs() <= half * exact.abs() * 1.01 + sums * size + 2.0**-25).all(), (m, n, k)
