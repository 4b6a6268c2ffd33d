"""Products at once and one behind another: captured, early, on streams and threads, in memory that is used again."""

import threading

import pytest
from tests.peak.gpu import BOUND, DEVICE, Lying, error, laid, pair, random_numbers, torch

pytestmark = pytest.mark.gpu
BF16 = torch.bfloat16


def test_captured_without_a_call_before():
    """The first call of its kind inside the capture: compiling and loading a kernel must not break it."""
    from gemmlab import matmul

    for m, n, k, kind in (
        (72, 56, 104, torch.float16),
        (71, 57, 105, torch.float16),
        (8, 200, 6000, BF16),
        (72, 56, 104, torch.float32),
    ):
        a, b = pair(m, n, k, kind)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            d = matmul(a, b)
        for seed in (5, 7):
            x, y = pair(m, n, k, kind, seed)
            a.copy_(x)
            b.copy_(y)
            graph.replay()
            torch.cuda.synchronize()
            assert error(d, a, b) <= BOUND[kind], (m, n, k, kind)


def test_branches_of_a_graph_and_what_runs_beside_it():
    """What kernels count in is a multiplication's own in a graph: branches, and the streams beside it, run at once."""
    from gemmlab import matmul

    given = [
        pair(m, n, k, BF16, seed) for seed, (m, n, k) in enumerate(((64, 64, 16384), (96, 40, 20000), (8, 72, 9000)))
    ]
    told = [matmul(a, b) for a, b in given]
    outs = [torch.empty_like(each) for each in told]
    torch.cuda.synchronize()
    graph, side, beside = torch.cuda.CUDAGraph(), torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        side.wait_stream(torch.cuda.current_stream())
        matmul(*given[0], out=outs[0])
        with torch.cuda.stream(side):
            matmul(*given[1], out=outs[1])
            matmul(*given[2], out=outs[2])
        torch.cuda.current_stream().wait_stream(side)
    for _ in range(30):
        for out in outs:
            out.fill_(float("nan"))
        graph.replay()
        with torch.cuda.stream(beside):
            other = matmul(*given[0])
        torch.cuda.synchronize()
        assert torch.equal(other, told[0])
        assert all(torch.equal(out, each) for out, each in zip(outs, told, strict=True))


#: kernels in a row: one row by threads; shares of k; whole tiles; repacked; float32 by pieces
CHAINS = ((1, 512, BF16), (1, 1024, BF16), (16, 512, BF16), (64, 2048, BF16), (33, 333, BF16), (40, 256, torch.float32))


@pytest.mark.parametrize(("m", "n", "kind"), CHAINS)
def test_chains_read_what_the_last_one_wrote(m, n, kind):
    """Two results in turn, so that each product overwrites what the one before read, and kernels may start early."""
    from gemmlab import matmul

    steps = 60
    weights = [torch.linalg.qr(torch.randn(n, n, device=DEVICE))[0].to(kind) for _ in range(3)]
    start = torch.randn(m, n, device=DEVICE).to(kind)

    def run(xs, wait):
        xs[0].copy_(start)
        for step in range(steps):
            matmul(xs[step % 2], weights[step % 3].t(), out=xs[(step + 1) % 2])
            if wait:
                torch.cuda.synchronize()

    told, xs = ([torch.empty_like(start) for _ in range(2)] for _ in range(2))
    run(told, wait=True)
    for _ in range(10):
        run(xs, wait=False)
        torch.cuda.synchronize()
        assert torch.equal(xs[0], told[0])
        assert torch.equal(xs[1], told[1])
    if DEVICE == "cuda":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run(xs, wait=False)
        for _ in range(20):
            graph.replay()
            torch.cuda.synchronize()
            assert torch.equal(xs[0], told[0])
            assert torch.equal(xs[1], told[1])


def many(count, m, n, k, kind):
    from gemmlab import matmul

    given = [pair(m, n, k, kind, 2 * seed) for seed in range(count)]
    told = []
    for a, b in given:
        told.append(matmul(a, b))
        torch.cuda.synchronize()
    return given, told


#: unaligned, so that operands are repacked; pieces; shares of k with numbers in global memory
REUSED = ((129, 131, 133, BF16), (64, 48, 96, torch.float32), (64, 64, 16384, BF16))


def test_memory_that_is_used_again_is_not_overwritten_early():
    """Buffers of one call are the next one's, while the first may still run."""
    from gemmlab import matmul

    for m, n, k, kind in REUSED:
        given, told = many(8, m, n, k, kind)
        for _ in range(10):
            found = [matmul(a, b) for a, b in given]
            torch.cuda.synchronize()
            assert all(torch.equal(ours, theirs) for ours, theirs in zip(found, told, strict=True)), (m, n, k, kind)


def test_streams_do_not_disturb_one_another():
    from gemmlab import matmul

    for m, n, k, kind in REUSED:
        given, told = many(4, m, n, k, kind)
        streams = [torch.cuda.Stream() for _ in given]
        found = [[] for _ in given]
        for _ in range(15):
            for stream, (a, b), to in zip(streams, given, found, strict=True):
                with torch.cuda.stream(stream):
                    to.append(matmul(a, b))
        torch.cuda.synchronize()
        for all_, theirs in zip(found, told, strict=True):
            assert all(torch.equal(each, theirs) for each in all_), (m, n, k, kind)


def test_threads_of_a_program():
    """A thread that has touched no GPU before, kernels kept and new ones."""
    from gemmlab import matmul

    for m, n, k, kind in (*REUSED, (64, 72, 80, BF16)):
        a, b = pair(m, n, k, kind)
        told, out = matmul(a, b), torch.empty(m, n, dtype=kind, device=DEVICE)
        matmul(a, b, out=out)
        torch.cuda.synchronize()
        out.zero_()
        torch.cuda.synchronize()
        faults, outs = [], [torch.empty_like(out) for _ in range(3)]

        def work(to, a=a, b=b, told=told, faults=faults):
            try:
                for _ in range(20):
                    matmul(a, b, out=to)
                torch.cuda.synchronize()
                if not torch.equal(to, told):
                    faults.append("wrong")
            except Exception as error:
                faults.append(repr(error))

        threads = [threading.Thread(target=work, args=(to,)) for to in (out, *outs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults, faults[0]


def test_a_kernel_that_a_thread_is_the_first_to_use():
    """Such a thread has no context of CUDA's yet: loading a kernel must not need one."""
    from gemmlab import matmul

    a, b = pair(64, 88, 80, torch.float16)
    told, out, faults = a @ b, torch.empty(64, 88, dtype=torch.float16, device=DEVICE), []

    def work():
        try:
            matmul(a, b, out=out)
        except Exception as error:
            faults.append(repr(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert not faults, faults[0]
    assert torch.allclose(out, told, atol=1e-2)


def test_memory_of_another_that_is_gone():
    """A kept launch is found by address and shape: what lies there now counts, whatever lay there before."""
    from gemmlab import matmul

    out = torch.empty(64, 72, dtype=BF16, device=DEVICE)
    for seed in range(6):
        a, b = pair(64, 72, 80, BF16, seed)
        assert error(matmul(a, b, out=out), a, b) <= 4e-3
        del a, b
    turned = laid(torch, random_numbers(64, 80, BF16, 9), Lying(turned=True), DEVICE)
    _, b = pair(64, 72, 80, BF16, 9)
    assert error(matmul(turned, b, out=out), turned, b) <= 4e-3
