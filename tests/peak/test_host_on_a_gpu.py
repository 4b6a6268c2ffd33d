"""Warm calls on a Hopper GPU: launches kept and moved, under graphs, streams, threads, batches and freed tensors."""

import threading

import pytest

from gemmlab.record import GemmlabError

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("no Hopper GPU is here", allow_module_level=True)
pytestmark = pytest.mark.gpu

#: m, n, k and formats that take every way: D by blocks, rows off the road, k in shares, one row, float32 in two parts
CASES = [
    (256, 256, 256, torch.bfloat16),
    (255, 257, 259, torch.float16),
    (64, 64, 20_000, torch.bfloat16),
    (130, 66, 40_000, torch.float32),
    (1, 512, 1024, torch.bfloat16),
    (100, 300, 200, torch.float32),
    (128, 256, 512, torch.float8_e4m3fn),
]


def drawn(m, n, k, kind):
    """A and B whose rows run along k."""
    return torch.randn(m, k, device="cuda").to(kind), torch.randn(n, k, device="cuda").to(kind).t()


def near(d, a, b):
    """Whether d is the product, so far as its format goes."""
    exact = a.double() @ b.double()
    bound = {torch.float32: 2e-6, torch.float16: 1e-3}.get(d.dtype, 8e-3)
    return bool((d.double() - exact).norm() <= bound * exact.norm())


@pytest.fixture(autouse=True)
def fresh():
    from gemmlab.peak import tensors

    tensors.forget()
    tensors._kept.warm.clear()
    return tensors


@pytest.mark.parametrize("case", CASES)
def test_one_chain_for_all_addresses(case, fresh):
    from gemmlab import matmul

    m, n, k, kind = case
    for _ in range(5):
        a, b = drawn(m, n, k, kind)
        assert near(matmul(a, b), a, b)
        torch.empty(1 << 20, device="cuda").normal_()  # what was freed is written over
    (kept,) = fresh._kept.warm.values()
    bits = matmul(a, b)
    assert torch.equal(matmul(a, b), bits)
    memory = torch.zeros(4 * m * k, device="cuda", dtype=torch.float32).to(kind)
    for offset in (0, 64, 128):  # the same alignment: the same launches
        moved = memory[offset:].as_strided((m, k), (k, 1))
        moved.copy_(a)
        assert torch.equal(matmul(moved, b), bits)
    assert list(fresh._kept.warm.values()) == [kept]


def test_every_address_by_its_alignment(fresh):
    from gemmlab import matmul

    memory = torch.randn(20_000, device="cuda").bfloat16()
    b = torch.randn(64, 72, device="cuda").bfloat16().t()
    for offset in range(20):
        a = memory[offset:].as_strided((100, 72), (72, 1))
        assert near(matmul(a, b), a, b)
    assert len(fresh._kept.warm) == 8


def test_results_given_are_checked_at_each_call():
    from gemmlab import matmul

    memory = torch.randn(4, 64, 64, device="cuda").bfloat16()
    a, b, out = memory[0], memory[1], memory[2]
    version = out._version
    assert matmul(a, b, out=out) is out
    assert out._version > version
    matmul(a, memory[3], out=out)
    for overlapped in (a, b):
        with pytest.raises(GemmlabError, match="overlaps"):
            matmul(a, b, out=overlapped)
    with pytest.raises(GemmlabError, match="shape"):
        matmul(a, b, out=out[:32])
    assert near(matmul(a, b, out=out), a, b)
    turned = torch.empty(64, 64, device="cuda").bfloat16().t()
    assert near(matmul(a, b, out=turned), a, b)
    tracked = torch.zeros(64, 64, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="differentiation"):
        matmul(a.float(), b.float(), out=tracked)


@pytest.mark.parametrize("case", CASES)
def test_a_graph_beside_calls_that_are_not_in_it(case):
    from gemmlab import matmul

    m, n, k, kind = case
    a, b = drawn(m, n, k, kind)
    matmul(a, b)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        first = matmul(a, b)
        second = matmul(a, b)
    other_a, other_b = drawn(m, n, k, kind)
    torch.cuda.synchronize()
    for turn in range(8):
        a.copy_(torch.randn(m, k, device="cuda"))
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):  # at once with calls of the stream that it was captured on
            for _ in range(4):
                graph.replay()
        eager = [matmul(other_a, other_b) for _ in range(16)]
        torch.cuda.synchronize()
        assert near(first, a, b), turn
        assert torch.equal(first, second)
        assert all(near(each, other_a, other_b) for each in eager[::5])


def test_a_graph_whose_rows_are_refused_now_and_then():
    from gemmlab import matmul

    a, b = drawn(100, 64, 200, torch.float32)
    matmul(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        d = matmul(a, b)
    for value in (1.0, 1e-30, 2.0, float("inf"), 3.0):
        a[3, 7] = value
        graph.replay()
        plain = torch.matmul(a, b)
        assert torch.equal(d.isfinite(), plain.isfinite())
        assert torch.allclose(d, plain, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("case", CASES)
def test_two_streams_at_once(case):
    from gemmlab import matmul

    m, n, k, kind = case
    operands = [drawn(m, n, k, kind) for _ in range(2)]
    told = [matmul(a, b) for a, b in operands]
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    found = [[], []]
    for _ in range(30):
        for of, (stream, (a, b)) in enumerate(zip(streams, operands, strict=True)):
            with torch.cuda.stream(stream):
                found[of].append(matmul(a, b))
    torch.cuda.synchronize()
    for of in range(2):
        assert all(torch.equal(each, told[of]) for each in found[of])


def test_threads_at_once():
    from gemmlab import matmul

    operands = [drawn(*case) for case in CASES]
    told = [matmul(a, b) for a, b in operands]
    torch.cuda.synchronize()
    wrong = []

    def work(turn):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for at in range(60):
                of = (at + turn) % len(CASES)
                a, b = (each.clone() if at % 2 else each for each in operands[of])
                b = b if b.stride() == operands[of][1].stride() else operands[of][1]
                if not torch.equal(matmul(a, b), told[of]):
                    wrong.append(CASES[of])
            stream.synchronize()

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_a_thread_that_has_used_no_gpu():
    from gemmlab import matmul

    a, b = drawn(64, 64, 64, torch.bfloat16)
    out = torch.empty(64, 64, device="cuda", dtype=torch.bfloat16)
    raised = []

    def work():
        try:
            matmul(a, b, out=out)
            matmul(a, b, out=out)
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not raised
    torch.cuda.synchronize()
    assert near(out, a, b)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("sides", [(5, 64, 48, 128), (9, 33, 31, 35), (3, 1, 65, 9)])
def test_batches_by_kept_launches(kind, sides, fresh):
    from gemmlab import matmul

    batch, m, n, k = sides
    a, b = torch.randn(batch, m, k, device="cuda").to(kind), torch.randn(batch, k, n, device="cuda").to(kind)
    out = torch.empty(batch, m, n, device="cuda", dtype=kind)
    for _ in range(2):
        matmul(a, b, out=out)
        assert torch.equal(matmul(a, b), out)
        for one, left, right in zip(out, a, b, strict=True):
            assert near(one, left, right)
        a = a.flip(0).contiguous()
    assert len(fresh._kept.warm) == 2


def test_a_batch_with_one_b_is_one_multiplication(fresh):
    from gemmlab import matmul

    a, b = torch.randn(6, 50, 64, device="cuda"), torch.randn(64, 40, device="cuda")
    d = matmul(a, b.expand(6, 64, 40))
    (kept,) = fresh._kept.warm.values()
    assert kept.count == 1
    assert near(d.flatten(0, 1), a.flatten(0, 1), b)
    assert torch.equal(d, matmul(a, b))


def test_what_must_be_copied_is_copied_at_each_call(fresh):
    from gemmlab import matmul

    a = torch.randn(64, 128, device="cuda")[:, ::2].bfloat16().repeat_interleave(2, 1)[:, ::2]
    b = torch.randn(64, 64, device="cuda").to(torch.bfloat16)
    eight = b.to(torch.float8_e4m3fn)  # along n, where float8 is read along k alone
    for _ in range(2):
        assert near(matmul(a, b), a, b)
        assert near(matmul(eight, eight), eight, eight)
        a = a * 2
    eights = [each for each in fresh._kept.warm if each[2] == torch.float8_e4m3fn]
    assert [each[7] for each in eights] == [(1, 64)], "what is kept is the copy's"


def test_heads_of_attention_are_copied_once_and_multiplied_at_once(fresh):
    """(batch, sequence, heads, width), heads moved forward: no axis of matrices is left as it lies."""
    from gemmlab import matmul

    q, k = (torch.randn(2, 50, 6, 64, device="cuda").bfloat16().transpose(1, 2) for _ in range(2))
    exact = q.double() @ k.double().mT
    for _ in range(2):
        found = matmul(q, k.mT)
        assert (found.double() - exact).norm() <= 4e-3 * exact.norm()
    (kept,) = fresh._kept.warm.values()
    assert (kept.count, len(kept.chains)) == (1, 1)
    out = torch.empty(2, 50, 6, 50, device="cuda").bfloat16().transpose(1, 2)
    assert matmul(q, k.mT, out=out) is out
    assert torch.equal(out, found)


def test_another_device():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU is here")
    from gemmlab import matmul

    a, b = (each.to("cuda:1") for each in drawn(64, 64, 64, torch.bfloat16))
    out = torch.empty(64, 64, device="cuda:1", dtype=torch.bfloat16)
    for _ in range(3):
        matmul(a, b, out=out)
        assert near(out, a, b)
        assert near(matmul(a, b), a, b)
    assert torch.cuda.current_device() == 0


def test_plans_are_chosen_again_where_they_are_forgotten(fresh):
    from gemmlab import matmul

    a, b = drawn(64, 64, 64, torch.bfloat16)
    matmul(a, b)
    (kept,) = fresh._kept.warm.values()
    matmul(a, b)
    assert list(fresh._kept.warm.values()) == [kept]
    fresh.forget()
    matmul(a, b)
    assert list(fresh._kept.warm.values()) != [kept]


def test_zeros_of_graphs_are_their_own():
    from gemmlab.peak.zeros import RESERVED_BYTES, Zeros

    zeros = Zeros(torch, 0)
    stream = torch.cuda.current_stream().cuda_stream
    _, eager = zeros.lent(stream, 1000)
    assert zeros.lent(stream, 5000)[1] == eager
    graph, captured = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        captured += [zeros.lent(stream, 1000)[1] for _ in range(3)]
        beyond, _ = zeros.lent(stream, 2 * RESERVED_BYTES)
        beyond += 1
    assert len({eager, *captured}) == 4
    for _ in range(2):
        graph.replay()
        assert beyond.eq(1).all()
