"""A deterministic D: its bits are those of `gemmlab.numerics`, and depend on its row of A and column of B alone."""

import pytest
from tests.peak.gpu import DEVICE, LYING, TYPES, Lying, laid, random_numbers, torch

pytestmark = pytest.mark.gpu
CHUNK = 20


@pytest.mark.parametrize("chunk", range(10))
def test_bits_are_those_of_a_cpu(chunk):
    """Two hundred cases: every format, accuracy and layout, sides off every road."""
    from peak_bits import cases, compared

    found = [compared(torch, of, DEVICE) for of in cases()[chunk * CHUNK : (chunk + 1) * CHUNK]]
    wrong = [row for row in found if row["wrong"]]
    assert not wrong, (len(wrong), wrong[0])


@pytest.mark.parametrize("accuracy", ["vendor", "best", "fast"])
@pytest.mark.parametrize("kind", TYPES)
def test_a_part_has_the_bits_of_the_whole(kind, accuracy):
    from gemmlab import matmul

    a, b = random_numbers(300, 333, kind).to(DEVICE), random_numbers(333, 260, kind, seed=1).to(DEVICE)
    whole = matmul(a, b, accuracy=accuracy, deterministic=True)
    parts = (0, 1, 0, 260), (7, 140, 3, 4), (299, 300, 5, 13), (20, 36, 0, 260), (0, 300, 16, 32)
    for top, below, left, past in parts:
        rows, columns = slice(top, below), slice(left, past)
        part = matmul(a[rows], b[:, columns], accuracy=accuracy, deterministic=True)
        assert torch.equal(part, whole[rows, columns]), (rows, columns)
        copied = matmul(a[rows].clone(), b[:, columns].clone(), accuracy=accuracy, deterministic=True)
        assert torch.equal(copied, whole[rows, columns]), (rows, columns, "copied")


@pytest.mark.parametrize("accuracy", ["vendor", "fast"])
@pytest.mark.parametrize("kind", TYPES)
def test_bits_do_not_depend_on_how_operands_lie(kind, accuracy):
    from gemmlab import matmul

    numbers = random_numbers(65, 200, kind), random_numbers(200, 72, kind, seed=1)
    first = None
    for at, lying in enumerate(LYING):
        a, b = laid(torch, numbers[0], lying, DEVICE), laid(torch, numbers[1], LYING[-at], DEVICE)
        d = matmul(a, b, accuracy=accuracy, deterministic=True)
        first = d if first is None else first
        assert torch.equal(d, first), (lying, LYING[-at])


def test_neighbours_in_a_batch_change_nothing():
    from gemmlab import matmul

    for kind in TYPES:
        a, b = random_numbers(3 * 40, 96, kind).view(3, 40, 96).to(DEVICE), random_numbers(3 * 96, 48, kind, seed=1)
        b = b.view(3, 96, 48).to(DEVICE)
        alone = matmul(a[1], b[1], deterministic=True)
        assert torch.equal(matmul(a, b, deterministic=True)[1], alone)
        a[0], b[2] = float("nan"), float("nan")
        assert torch.equal(matmul(a, b, deterministic=True)[1], alone)


def test_every_run_gives_the_same_bits():
    """Shares of k too, which programs bring in any order: they are added in the order of k."""
    from gemmlab import matmul

    for m, n, k in ((64, 64, 8192), (256, 256, 4096), (1, 512, 4096), (16, 2112, 7168), (130, 70, 4097)):
        a, b = random_numbers(m, k, torch.bfloat16).to(DEVICE), random_numbers(k, n, torch.bfloat16, seed=1).to(DEVICE)
        b = laid(torch, b, Lying(turned=True), DEVICE)
        first = matmul(a, b)
        assert all(torch.equal(matmul(a, b), first) for _ in range(50)), (m, n, k)
