"""A given result: wherever it lies, D is written and nothing beside it; where it cannot be, the error says why."""

import itertools

import pytest
from tests.peak.gpu import BOUND, DEVICE, TYPES, error, random_numbers, result_type, torch

from gemmlab.record import GemmlabError

pytestmark = pytest.mark.gpu
MARK = -77.0  # around a result: no product here gives it
SIDES = ((70, 72, 64), (129, 257, 80), (1, 136, 128), (40, 3, 4096), (200, 1, 64), (1, 33, 77))


def marked(count, kind):
    return torch.full((count,), MARK, device=DEVICE, dtype=kind)


@pytest.mark.parametrize("kind", TYPES)
def test_nothing_beside_a_result_is_written(kind):
    from gemmlab import matmul

    d_types = {result_type(kind), torch.float32} | ({torch.float16} if kind not in BOUND else set())
    for (m, n, k), d_type in itertools.product(SIDES, sorted(d_types, key=str)):
        a, b = random_numbers(m, k, kind).to(DEVICE), random_numbers(n, k, kind, 1).to(DEVICE).t()
        for gap, offset in ((0, 0), (8, 8), (1, 0), (5, 3)):
            memory = marked(offset + m * (n + gap) + 64, d_type)
            out = memory[offset:].as_strided((m, n), (n + gap, 1))
            assert matmul(a, b, out=out) is out
            # float8 leaves its accumulator every 128 of k, which keeps fewer bits than float32
            bound = 3e-4 if d_type == torch.float32 and kind not in BOUND else 2 * BOUND[d_type]
            assert error(out, a, b) <= bound, (m, n, k, d_type, gap, offset)
            out.fill_(MARK)
            assert (memory == MARK).all(), (m, n, k, d_type, gap, offset)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("offset", range(8))
def test_rows_of_a_result_at_every_shift(kind, offset):
    """The same bits as in rows on the road; tiles whole and ragged, few rows and many, ends of rows in every place."""
    from gemmlab import matmul

    for m, n in ((130, 512), (257, 515), (70, 1030), (24, 513), (40, 264), (9, 7)):
        a, b = random_numbers(m, 64, kind).to(DEVICE), random_numbers(n, 64, kind, 1).to(DEVICE).t()
        told = matmul(a, b, deterministic=True)
        for gap in range(8):
            memory = marked(offset + m * (n + gap) + 64, kind)
            out = memory[offset:].as_strided((m, n), (n + gap, 1))
            matmul(a, b, out=out, deterministic=True)
            assert torch.equal(out, told), (m, n, gap)
            out.fill_(MARK)
            assert (memory == MARK).all(), (m, n, gap)


def results(m, n, kind):
    """Results that no kernel writes as they are, by what they are."""
    yield "columns contiguous", marked(m * n, kind).view(n, m).t()
    yield "every second element", marked(2 * m * n, kind).view(m, 2 * n)[:, ::2]
    yield "rows further than columns", marked(m * n * 3, kind).as_strided((m, n), (3, 3 * m))
    yield "one more axis", marked(2 * m * n, kind).view(2, m, n)[1]


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
def test_results_of_any_strides(kind):
    from gemmlab import matmul

    a, b = random_numbers(70, 64, kind).to(DEVICE), random_numbers(64, 72, kind, 1).to(DEVICE)
    for name, out in results(70, 72, kind):
        assert matmul(a, b, out=out) is out, name
        assert error(out, a, b) <= BOUND[kind], name


def test_results_of_batches():
    from gemmlab import matmul

    a, b = (random_numbers(3 * 40, 48, torch.bfloat16, seed).to(DEVICE).view(3, 40, 48) for seed in range(2))
    exact = a.double() @ b.double().mT
    for name, out in (
        ("contiguous", marked(3 * 1600, torch.bfloat16).view(3, 40, 40)),
        ("batch inside", marked(3 * 1600, torch.bfloat16).view(40, 3, 40).transpose(0, 1)),
        ("batch last", marked(3 * 1600, torch.bfloat16).view(40, 40, 3).permute(2, 0, 1)),
        ("turned", marked(3 * 1600, torch.bfloat16).view(3, 40, 40).mT),
    ):
        assert matmul(a, b.mT, out=out) is out
        assert (out.double() - exact).norm() <= 4e-3 * exact.norm(), name
    folded = marked(3 * 40 * 40, torch.bfloat16).view(3, 40, 40)
    assert matmul(a, b[0].mT, out=folded) is folded
    assert error(folded.view(120, 40), a.view(120, 48), b[0].mT) <= 4e-3


def test_results_in_the_memory_of_an_operand_are_refused():
    from gemmlab import matmul

    memory = random_numbers(1, 20_000, torch.bfloat16).to(DEVICE).view(-1)
    a, b = memory[:4096].view(64, 64), random_numbers(64, 64, torch.bfloat16).to(DEVICE)
    before = memory.clone()
    for out in (a, memory[4095 : 4095 + 4096].view(64, 64), a.t(), memory[:8192].view(64, 128)[:, 64:], b):
        with pytest.raises(GemmlabError, match="overlaps"):
            matmul(a, b, out=out)
    assert torch.equal(memory, before)
    out = memory[4096:8192].view(64, 64)  # begins where A ends
    assert error(matmul(a, b, out=out), a, b) <= 4e-3


def test_a_result_beside_an_operand_in_the_same_rows():
    """A and D are columns of one matrix, as where a network's layers share a buffer: nothing overlaps."""
    from gemmlab import matmul

    memory = random_numbers(64, 200, torch.bfloat16).to(DEVICE)
    b = random_numbers(64, 72, torch.bfloat16, 1).to(DEVICE)
    a, out = memory[:, 8:72], memory[:, 72:144]
    before, given = memory.clone(), a.clone()
    matmul(a, b, out=out)
    assert error(out, given, b) <= 4e-3
    out.copy_(before[:, 72:144])
    assert torch.equal(memory, before)


def test_results_that_are_refused():
    from gemmlab import matmul

    a, b = torch.randn(8, 16, device=DEVICE), torch.randn(16, 8, device=DEVICE)
    for out, said in (
        (torch.empty(8, 9, device=DEVICE), "shape"),
        (torch.empty(1, 8, 8, device=DEVICE), "shape"),
        (torch.empty(64, device=DEVICE), "shape"),
        (torch.empty(8, 8, device=DEVICE, dtype=torch.bfloat16), "bfloat16"),
        (torch.empty(8, 8, device=DEVICE, dtype=torch.float64), "float64"),
        (torch.empty(8, 8, device="meta"), "meta"),
        ([1.0], "list"),
    ):
        with pytest.raises(GemmlabError, match=said):
            matmul(a, b, out=out)
    with pytest.raises(RuntimeError, match="single memory location"):
        matmul(a, b, out=torch.empty(8, 1, device=DEVICE).expand(8, 8))


def test_a_result_that_needs_a_gradient_is_refused_as_torch_does():
    from gemmlab import matmul

    a, b = torch.randn(8, 16, device=DEVICE), torch.randn(16, 8, device=DEVICE)
    for left, out in ((a.clone().requires_grad_(), torch.empty(8, 8, device=DEVICE)),
                      (a, torch.empty(8, 8, device=DEVICE, requires_grad=True))):  # fmt: skip
        for product in (torch.matmul, matmul):
            with pytest.raises(RuntimeError, match="automatic differentiation"):
                product(left, b, out=out)
        with torch.no_grad():
            matmul(left, b, out=out)
        assert torch.allclose(out, left @ b, atol=1e-4)


def test_a_result_that_was_written_is_known_to_autograd():
    """What was saved for a gradient and then written over must not be used: torch counts its versions."""
    from gemmlab import matmul

    a, b = torch.randn(8, 16, device=DEVICE), torch.randn(16, 8, device=DEVICE)
    weight, out = torch.randn(8, 8, device=DEVICE, requires_grad=True), torch.randn(8, 8, device=DEVICE)
    loss = (weight * out).sum()
    matmul(a, b, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
