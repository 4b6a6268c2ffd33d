"""`gemmlab.matmul` against float64 on a Hopper GPU: any sides, strides, offsets, formats; and its refusals."""

import random

import pytest

from gemmlab.record import GemmlabError

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("no Hopper GPU is here", allow_module_level=True)
pytestmark = pytest.mark.gpu

TYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
BOUND = {
    torch.float32: 2e-6,
    torch.float16: 5e-4,
    torch.bfloat16: 4e-3,
    torch.float8_e4m3fn: 4e-3,
    torch.float8_e5m2: 4e-3,
}


def drawn(source, rows, columns, kind):
    """A matrix of random numbers with random strides and offset, of any layout."""
    turned, gap, offset = source.random() < 0.5, source.choice([0, 0, 1, 3, 8, 16]), source.choice([0, 0, 1, 2, 8])
    tall, wide = (columns, rows) if turned else (rows, columns)
    memory = torch.randn(offset + tall * (wide + gap), device="cuda").to(kind)
    found = memory[offset:].as_strided((tall, wide), (wide + gap, 1))
    return found.t() if turned else found


@pytest.mark.parametrize("seed", range(60))
def test_any_sides_strides_and_formats(seed):
    from gemmlab import matmul

    source = random.Random(seed)
    torch.manual_seed(seed)
    m, n, k = (source.choice([1, 2, 7, 8, 16, 33, 64, 100, 129, 257, 500, 1000, 1025]) for _ in range(3))
    kind = source.choice(TYPES)
    a, b = drawn(source, m, k, kind), drawn(source, k, n, kind)
    accuracy, fixed = source.choice(["vendor", "best"]), source.random() < 0.5
    d = matmul(a, b, accuracy=accuracy, deterministic=fixed)
    exact = a.double() @ b.double()
    assert d.isfinite().all()
    assert (d.double() - exact).norm() <= BOUND[kind] * exact.norm()
    again = matmul(a, b, accuracy=accuracy, deterministic=fixed)
    assert torch.equal(d, again)


@pytest.mark.parametrize("kind", TYPES)
def test_a_long_k_over_few_tiles(kind):
    from gemmlab import matmul

    a, b = torch.randn(130, 40_000, device="cuda").to(kind), torch.randn(70, 40_000, device="cuda").to(kind).t()
    exact, d = a.double() @ b.double(), matmul(a, b)
    assert (d.double() - exact).norm() <= 2 * BOUND[kind] * exact.norm()


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e-30, 1e38])
def test_float32_that_cannot_be_split(value):
    from gemmlab import matmul

    a, b = torch.randn(100, 200, device="cuda"), torch.randn(200, 64, device="cuda")
    a[3, 7] = value
    d, exact = matmul(a, b), torch.matmul(a.double(), b.double())
    plain = torch.matmul(a, b)
    assert torch.equal(d.isnan(), plain.isnan())
    fine = plain.isfinite()
    assert torch.equal(fine, d.isfinite())
    bound = 1e-5 * (a.double().abs() @ b.double().abs())
    assert ((d.double() - exact).abs()[fine] <= bound[fine]).all()


def test_batches_gradients_and_graphs():
    from gemmlab import matmul

    a, b = torch.randn(3, 40, 50, device="cuda"), torch.randn(3, 50, 60, device="cuda")
    assert torch.allclose(matmul(a, b), a @ b, atol=1e-4)
    x, w = (
        torch.randn(2, 5, 32, device="cuda", requires_grad=True),
        torch.randn(32, 16, device="cuda", requires_grad=True),
    )
    matmul(x, w).square().sum().backward()
    got = x.grad.clone(), w.grad.clone()
    x.grad = w.grad = None
    (x @ w).square().sum().backward()
    for ours, theirs in zip(got, (x.grad, w.grad), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    left, right = torch.randn(96, 64, device="cuda").half(), torch.randn(64, 80, device="cuda").half()
    out = torch.empty(96, 80, device="cuda").half()
    matmul(left, right, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        matmul(left, right, out=out)
    left.copy_(torch.randn_like(left))
    graph.replay()
    assert torch.allclose(out, left @ right, atol=1e-2)


def test_refusals():
    from gemmlab import matmul

    a, b = torch.randn(8, 16, device="cuda"), torch.randn(16, 8, device="cuda")
    for given, said in (
        ((a.cpu(), b.cpu()), "cpu"),
        ((a, b.half()), "float16"),
        ((a, a), "do not multiply"),
        ((a, b, a[:, :8]), "overlaps"),
        ((a, b, torch.empty(3, 3, device="cuda")), "shape"),
        ((a.int(), b.int()), "int32"),
    ):
        with pytest.raises(GemmlabError, match=said):
            matmul(*given)
    with pytest.raises(GemmlabError, match="accuracy"):
        matmul(a, b, accuracy="exact")


def test_nothing_to_multiply():
    from gemmlab import matmul

    for m, n, k in ((0, 3, 4), (3, 0, 4), (3, 4, 0)):
        d = matmul(torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda"))
        assert d.shape == (m, n)
        assert not d.any()
