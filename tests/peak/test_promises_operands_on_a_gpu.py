"""Operands of any strides and numbers: what lies outside never leaks in, infinities and NaN stay where they belong."""

import itertools

import pytest
from tests.peak.gpu import BOUND, DEVICE, LYING, TYPES, Lying, error, laid, random_numbers, result_type, torch

pytestmark = pytest.mark.gpu
INF, NAN = float("inf"), float("nan")
SIDES = ((70, 72, 77), (1, 136, 128), (130, 65, 64), (1, 65, 77), (3, 40, 333), (65, 1, 130))


@pytest.mark.parametrize("kind", TYPES)
def test_nothing_outside_an_operand_leaks_in(kind):
    """Between rows, before the first and behind the last everything is NaN."""
    from gemmlab import matmul

    for (m, n, k), at in itertools.product(SIDES, range(len(LYING))):
        left, right = LYING[at], LYING[(3 * at + 1) % len(LYING)]
        a, b = (
            laid(torch, random_numbers(m, k, kind), left, DEVICE),
            laid(torch, random_numbers(k, n, kind, 1), right, DEVICE),
        )
        d = matmul(a, b)
        assert d.isfinite().all(), (m, n, k, left, right)
        assert error(d, a, b) <= BOUND[d.dtype], (m, n, k, left, right)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float8_e4m3fn])
@pytest.mark.parametrize("past", range(16))
def test_rows_longer_than_a_warp_copies_at_once(kind, past):
    """Every shift of a repacked row, whose end is the memory's too; the same bits as from rows on the road."""
    from gemmlab import matmul

    for rows, k, gap in ((130, 1023, 0), (66, 1025, 3), (9, 4103, 1), (66, 64, 7)):
        step = k + gap
        count = (rows - 1) * step + k
        memory = torch.full((past + count,), NAN, device=DEVICE).to(kind)
        a = memory[past:].as_strided((rows, k), (step, 1))
        a.copy_(random_numbers(rows, k, kind).to(DEVICE))
        b = random_numbers(80, k, kind, 1).to(DEVICE).t()
        on_road = torch.empty(rows, k + -k % 16, device=DEVICE, dtype=kind)[:, :k]
        told = matmul(on_road.copy_(a), b, deterministic=True)
        assert torch.equal(matmul(a, b, deterministic=True), told), (rows, k, gap)
        assert error(told, a, b) <= BOUND[told.dtype]


@pytest.mark.parametrize("kind", TYPES)
def test_strides_that_repeat_or_overlap(kind):
    from gemmlab import matmul

    memory = random_numbers(1, 5000, kind).to(DEVICE).view(-1)
    b = laid(torch, random_numbers(48, 40, kind, 1), Lying(), DEVICE)
    for strides in ((0, 1), (1, 0), (0, 0), (1, 1), (3, 1), (1, 3), (7, 2), (100, 2), (2, 90)):
        a = memory.as_strided((33, 48), strides)
        assert torch.equal(matmul(a, b, deterministic=True), matmul(a.contiguous(), b, deterministic=True)), strides
        other = memory.as_strided((48, 33), strides[::-1])
        left = b.t().contiguous()
        told = matmul(left, other.contiguous(), deterministic=True)
        assert torch.equal(matmul(left, other, deterministic=True), told), strides


@pytest.mark.parametrize("accuracy", ["vendor", "best", "fast"])
@pytest.mark.parametrize("kind", TYPES)
def test_infinities_and_nan_stay_in_their_rows_and_columns(kind, accuracy):
    """At the ends of a ragged k too: zeros that fill a tile up must not meet them."""
    from gemmlab import matmul

    values = [NAN] if kind == torch.float8_e4m3fn else [NAN, INF, -INF]
    for (m, n, k), (at, value) in itertools.product(SIDES, enumerate(values)):
        left, right = LYING[at], LYING[2 * at + 1]
        a, b = random_numbers(m, k, kind), random_numbers(k, n, kind, 1)
        a[0, k - 1], a[m - 1, 0], b[k - 1, n - 1] = value, value, value
        b[0, : n // 2] = 0  # an infinity times zero is no number
        a, b = laid(torch, a, left, DEVICE), laid(torch, b, right, DEVICE)
        d, exact = matmul(a, b, accuracy=accuracy), a.double() @ b.double()
        assert torch.equal(d.isnan(), exact.isnan()), (m, n, k, value)
        assert torch.equal(d.isinf(), exact.isinf()), (m, n, k, value)
        assert torch.equal(d[d.isinf()].double(), exact[exact.isinf()])
        fine = exact.isfinite()
        bound = 2e-3 if accuracy == "fast" and kind == torch.float32 else 2 * BOUND[d.dtype]
        assert (d.double() - exact)[fine].norm() <= bound * exact[fine].norm()


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_the_smallest_numbers_are_not_flushed(kind):
    from gemmlab import matmul

    least = 2.0 ** {torch.float16: -24, torch.bfloat16: -133, torch.float8_e4m3fn: -9, torch.float8_e5m2: -16}[kind]
    for m, n in ((1, 64), (48, 64)):
        a = torch.full((m, 64), least, dtype=torch.float64).to(kind).to(DEVICE)
        b = torch.full((64, n), 1.0).to(kind).to(DEVICE)
        d = matmul(a, b.t().contiguous().t())
        assert (d.double() == 64 * least).all(), (m, n, d.flatten()[0])
        d = matmul(a, (-b.float()).to(kind))
        assert (d.double() == -64 * least).all()


def test_what_a_result_cannot_hold_becomes_an_infinity():
    from gemmlab import matmul

    for kind, large in ((torch.float16, 60000.0), (torch.bfloat16, 3e38), (torch.float32, 3e38)):
        a, b = (
            torch.full((40, 64), large, device=DEVICE, dtype=kind),
            torch.full((64, 48), -large, device=DEVICE, dtype=kind),
        )
        assert (matmul(a, b).float() == -INF).all(), kind
    a = torch.full((40, 64), 400.0, device=DEVICE).to(torch.float8_e4m3fn)
    out = torch.empty(40, 40, device=DEVICE, dtype=torch.float16)
    assert (matmul(a, a.t(), out=out) == INF).all()


@pytest.mark.parametrize("size", [1e-38, 1e-30, 1e-20, 1e20, 1e30, 1e38])
def test_float32_of_any_size(size):
    """Large times small: the product is near one, whatever its operands' sizes are; in one order even at the ends."""
    from gemmlab import matmul

    a, b = random_numbers(70, 100, torch.float32).to(DEVICE), random_numbers(100, 64, torch.float32, 1).to(DEVICE)
    a, b = a.clamp(-3, 3) * size, b.clamp(-3, 3) / size
    exact = a.double() @ b.double()
    for left, right, told in ((a, b, exact), (b.t(), a.t(), exact.t())):
        for fixed in (True, False)[: 2 if 1e-31 < size < 1e31 else 1]:
            d = matmul(left, right, deterministic=fixed)
            assert d.isfinite().all(), (size, fixed)
            assert (d.double() - told).norm() <= 2e-6 * told.norm(), (size, fixed)
    a[::2], b[:, ::2] = a[::2] / size, b[:, ::2] * size  # rows and columns of different size
    exact, d = a.double() @ b.double(), matmul(a, b, deterministic=True)
    fits = exact.abs() < 3e38
    told = exact[fits].float().double()  # what is below float32's smallest is lost in every order
    bound = 4e-6 * (a.double().abs() @ b.double().abs())[fits] + 2.0**-149
    assert ((d.double()[fits] - told).abs() <= bound).all(), size


def test_a_negated_view_is_read_as_it_reads():
    """The imaginary part of a conjugate: the same memory and geometry as that of the number itself, and negative."""
    from gemmlab import matmul

    numbers = torch.randn(40, 1, dtype=torch.complex64, device=DEVICE)
    b, out = torch.ones(1, 8, device=DEVICE), torch.empty(40, 8, device=DEVICE)
    for a in (numbers.imag, numbers.conj().imag, numbers.imag):
        assert torch.allclose(matmul(a, b), a.clone() @ b, rtol=1e-5)
        assert torch.allclose(matmul(a, b, out=out), a.clone() @ b, rtol=1e-5)


def test_signed_zeros_and_zeros():
    from gemmlab import matmul

    for kind in TYPES:
        a = torch.zeros(40, 64, device=DEVICE).to(kind)
        b = (-torch.ones(64, 48, device=DEVICE)).to(kind)
        d = matmul(a, b)
        assert d.dtype == result_type(kind)
        assert (d.double() == 0).all()
