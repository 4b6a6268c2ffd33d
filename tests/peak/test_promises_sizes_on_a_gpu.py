"""Sizes that 32 bits do not count: elements, strides and rows past 2^31, each within 15 GB of the GPU's memory."""

import pytest
from tests.peak.gpu import DEVICE, torch

from gemmlab.record import GemmlabError

pytestmark = pytest.mark.gpu
if DEVICE != "cuda":
    pytest.skip("large tensors need a GPU", allow_module_level=True)
BF16, E4M3, GB = torch.bfloat16, torch.float8_e4m3fn, 1 << 30
PAST = 1 << 31


@pytest.fixture(autouse=True)
def room():
    """Memory for the largest of them; given back after each."""
    torch.cuda.empty_cache()
    if torch.cuda.mem_get_info()[0] < 30 * GB:
        pytest.skip("less than 30 GB of GPU memory is free")
    yield
    torch.cuda.empty_cache()


def filled(count, kind):
    """Many numbers quickly: a short run of them over and over."""
    short = torch.randn(1_000_003, device="cuda").to(kind)
    found = torch.empty(count, dtype=kind, device="cuda")
    for at in range(0, count, len(short) * 256):
        piece = found[at : at + len(short) * 256]
        piece.copy_(short.view(torch.uint8 if kind == E4M3 else kind).repeat(256)[: len(piece)].view(kind))
    return found


def right(d, a, b, bound=4e-3):
    """Rows at the ends, in the middle and around 2^31 elements, all columns; then columns at the ends, some rows."""
    m, n = d.shape
    rows = torch.tensor([0, 1, m // 2, PAST // n, PAST // n + 1, m - 2, m - 1], device="cuda").clamp(0, m - 1)
    columns = torch.tensor([0, n // 2, n - 1], device="cuda")
    some = torch.linspace(0, m - 1, 300, device="cuda").long()
    both = (a[rows], b, d[rows], "rows"), (a[some], b[:, columns], d[some][:, columns], "columns")
    for left, pick, given, of in both:
        exact = (left.double() @ pick.double()) if pick.shape[1] < 100_000 else (left.float() @ pick.float()).double()
        assert given.isfinite().all(), of
        assert (given.double() - exact).norm() <= bound * exact.norm(), of


@pytest.mark.parametrize(("kind", "m", "n"), [(BF16, 70_000, 40_000), (BF16, 70_001, 40_001), (E4M3, 70_001, 40_008)])
def test_results_of_more_than_two_thousand_million(kind, m, n):
    from gemmlab import matmul

    a, b = torch.randn(m, 64, device="cuda").to(kind), torch.randn(n, 64, device="cuda").to(kind).t()
    right(matmul(a, b), a, b)


def test_float32_results_of_more_than_two_thousand_million():
    from gemmlab import matmul

    a, b = torch.randn(50_001, 64, device="cuda"), torch.randn(64, 44_000, device="cuda")
    right(matmul(a, b), a, b, 2e-6)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("kind", "m", "k"), [(BF16, 60_000, 40_000), (BF16, 59_999, 40_003), (E4M3, 60_000, 40_000)])
def test_operands_of_more_than_two_thousand_million(kind, m, k, turned):
    from gemmlab import matmul

    if turned and kind == E4M3:
        k = 39_001
    a = filled(m * k, kind).view((k, m) if turned else (m, k))
    a = a.t() if turned else a
    b = torch.randn(64, k, device="cuda").to(kind).t()
    right(matmul(a, b), a, b)
    left, d = b.t(), matmul(b.t(), a.t())
    exact = left.double() @ a[-3:].double().t()
    assert (d[:, -3:].double() - exact).norm() <= 4e-3 * exact.norm()


@pytest.mark.parametrize(
    ("kind", "step"), [(E4M3, PAST + 16), (E4M3, PAST + 1), (BF16, (1 << 30) + 8), (torch.float32, (1 << 29) + 4)]
)
def test_rows_more_than_two_thousand_million_bytes_apart(kind, step):
    from gemmlab import matmul

    memory = torch.empty(3 * step + 4096, dtype=kind, device="cuda")
    a = memory.as_strided((4, 128), (step, 1))
    a.copy_(torch.randn(4, 128, device="cuda").to(kind))
    b = torch.randn(96, 128, device="cuda").to(kind).t()
    right(matmul(a, b), a, b)
    right(matmul(b.t(), a.t()), b.t(), a.t())


@pytest.mark.parametrize("kind", [BF16, torch.float32])
def test_results_whose_rows_are_far_apart(kind):
    from gemmlab import matmul

    step = (1 << 29) + 8
    memory = torch.empty(4 * step + 4096, dtype=kind, device="cuda")
    a, b = torch.randn(5, 128, device="cuda").to(kind), torch.randn(96, 128, device="cuda").to(kind).t()
    for rows, offset, apart in ((5, 0, step), (4, 3, step + 1)):
        left, out = a[:rows], memory[offset:].as_strided((rows, 96), (apart, 1))
        right(matmul(left, b, out=out), left, b)


def test_one_row_and_a_long_k():
    from gemmlab import matmul

    k = 1 << 30
    x, w = filled(k, BF16).view(1, k), filled(3 * k, BF16).view(3, k)
    d = matmul(x, w.t())
    pieces = [slice(at, at + (1 << 26)) for at in range(0, k, 1 << 26)]
    exact = sum(x[:, piece].double() @ w[:, piece].double().t() for piece in pieces)
    scale = (x.float().norm() * w[0].float().norm()).double()
    assert ((d.double() - exact).abs() <= 1e-5 * scale + 4e-3 * exact.abs()).all()


def test_sides_past_two_thousand_million_are_refused():
    from gemmlab import matmul

    memory = torch.zeros(PAST + 32, dtype=E4M3, device="cuda")
    row, one = memory.view(1, -1), memory[:1].view(1, 1)
    with pytest.raises(GemmlabError, match="side"):
        matmul(row, row.t())
    with pytest.raises(GemmlabError, match="side"):
        matmul(row.t(), one)
    with pytest.raises(GemmlabError, match="side"):  # folded, m is 2^31 + 16
        matmul(memory[: PAST + 16].view(2, -1, 1), one)


def test_sides_just_below_two_thousand_million():
    from gemmlab import matmul

    side = PAST - (1 << 12)
    memory = torch.ones(side, device="cuda", dtype=torch.uint8).mul_(0x38).view(E4M3)  # ones
    try:
        d = matmul(memory.view(side, 1), memory[:1].view(1, 1))
    except (GemmlabError, torch.OutOfMemoryError):
        return
    assert d.shape == (side, 1)
    for at in range(0, side, 1 << 28):
        assert (d[at : at + (1 << 28)] == 1).all(), at
