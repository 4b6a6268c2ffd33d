"""`gemmlab.matmul` as torch's users call it: gradients, compiled, captured, on streams and threads, under its modes."""

import threading

import pytest
from tests.peak.gpu import BOUND, DEVICE, Lying, error, laid, random_numbers, torch

from gemmlab.record import GemmlabError

pytestmark = pytest.mark.gpu
BF16 = torch.bfloat16


def pair(m, n, k, kind=BF16, seed=0):
    """A and B, both along k."""
    return random_numbers(m, k, kind, seed).to(DEVICE), random_numbers(n, k, kind, seed + 1).to(DEVICE).t()


def test_gradients_are_those_of_torch():
    from gemmlab import matmul

    for shapes in (
        ((64, 40), (40, 48)),
        ((2, 32, 40), (40, 48)),
        ((2, 64, 40), (2, 40, 48)),
        ((2, 3, 4), (4, 0)),
        ((2, 3, 0), (0, 5)),
    ):
        for needs in ((True, True), (True, False), (False, True)):
            given = [
                torch.randn(shape, device=DEVICE).requires_grad_(need)
                for shape, need in zip(shapes, needs, strict=True)
            ]
            found = []
            for product in (torch.matmul, matmul):
                d = product(*given)
                assert d.requires_grad
                wanted = [each for each in given if each.requires_grad]
                found.append((d, *torch.autograd.grad((d * d).sum(), wanted)))
            for theirs, ours in zip(*found, strict=True):
                assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-3), (shapes, needs)


def test_a_second_derivative():
    from gemmlab import matmul

    a, b = torch.randn(64, 40, device=DEVICE, requires_grad=True), torch.randn(40, 48, device=DEVICE)
    found = []
    for product in (torch.matmul, matmul):
        (first,) = torch.autograd.grad((product(a, b) ** 3).sum(), a, create_graph=True)
        found.append(torch.autograd.grad((first**2).sum(), a)[0])
    assert torch.allclose(*found, rtol=1e-3, atol=1e-3 * float(found[0].abs().max()))


def test_derivatives_that_go_forward_are_not_dropped():
    """Where a tangent cannot be carried on it must not be lost without a word."""
    from gemmlab import matmul

    forward = torch.autograd.forward_ad
    a, b = torch.randn(64, 40, device=DEVICE), torch.randn(40, 48, device=DEVICE)
    with forward.dual_level():
        dual = forward.make_dual(a, torch.ones_like(a))
        try:
            tangent = forward.unpack_dual(matmul(dual, b)).tangent
        except (RuntimeError, NotImplementedError, GemmlabError):
            return
        assert torch.allclose(tangent, torch.ones_like(a) @ b, atol=1e-3)


def test_parameters_subclasses_and_inference():
    from gemmlab import matmul

    class Named(torch.Tensor):
        pass

    a, b = pair(64, 48, 40, torch.float32)
    told = matmul(a, b)
    assert torch.equal(matmul(a, torch.nn.Parameter(b)), told)
    assert torch.equal(matmul(a.as_subclass(Named), b).as_subclass(torch.Tensor), told)
    with torch.inference_mode():
        x = a.clone()
        out = torch.empty_like(told)
        assert torch.equal(matmul(x, b), told)
        assert torch.equal(matmul(x, b, out=out), told)
        assert torch.equal(matmul(x, b.requires_grad_()), told)
    b.requires_grad_(False)
    with torch.no_grad():
        assert not matmul(a.clone().requires_grad_(), b).requires_grad


def test_autocast_changes_nothing():
    """As the docstring says: types and accuracy are what is asked for."""
    from gemmlab import matmul

    a, b = pair(64, 48, 40, torch.float32)
    told = matmul(a, b)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert torch.equal(matmul(a, b), told)
        with pytest.raises(GemmlabError, match="bfloat16"):
            matmul(a.bfloat16(), b)


def test_compiled_whole():
    from gemmlab import matmul

    def layer(x, w, v):
        return matmul(torch.relu(matmul(x, w)), v).sum(-1)

    x, w, v = (torch.randn(sides, device=DEVICE, requires_grad=True) for sides in ((64, 40), (40, 48), (48, 64)))
    told = layer(x, w, v)
    grads = torch.autograd.grad(told.square().sum(), (x, w, v))
    found = torch.compile(layer, fullgraph=True)(x, w, v)
    again = torch.autograd.grad(found.square().sum(), (x, w, v))
    for ours, theirs in zip((found, *again), (told, *grads), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-3, atol=1e-2 * float(theirs.abs().max()))


def test_nothing_to_multiply_has_torchs_shape():
    from gemmlab import matmul

    for a, b in (
        ((0, 4), (4, 3)), ((3, 4), (4, 0)), ((3, 0), (0, 5)), ((2, 3, 0), (0, 5)), ((2, 0, 4), (4, 5)),
        ((0, 3, 4), (4, 5)), ((2, 0, 4), (2, 4, 5)), ((0, 3, 4), (0, 4, 5)), ((2, 3, 0), (2, 0, 5)),
        ((0, 2, 3, 4), (0, 2, 4, 5)),
    ):  # fmt: skip
        left, right = torch.randn(a, device=DEVICE), torch.randn(b, device=DEVICE)
        told, found = left @ right, matmul(left, right)
        assert found.shape == told.shape, (a, b)
        assert not found.any()
        out = torch.ones_like(told)
        assert matmul(left, right, out=out) is out
        assert not out.any()


def test_shapes_that_are_refused():
    from gemmlab import matmul

    for a, b, said in (
        ((4,), (4, 3), "do not multiply"), ((3, 4), (4,), "do not multiply"), ((), (4, 3), "do not multiply"),
        ((3, 4), (5, 3), "do not multiply"), ((2, 3, 4), (3, 4, 5), "differ"), ((3, 4), (2, 4, 5), "differ"),
    ):  # fmt: skip
        with pytest.raises(GemmlabError, match=said) as raised:
            matmul(torch.randn(a, device=DEVICE), torch.randn(b, device=DEVICE))
        assert "hint" in str(raised.value)


def test_types_and_devices_that_are_refused():
    from gemmlab import matmul

    a, b = torch.randn(8, 16, device=DEVICE), torch.randn(16, 8, device=DEVICE)
    for left, right, said in (
        (a.double(), b.double(), "float64"), (a.int(), b.int(), "int32"), (a.bool(), b.bool(), "bool"),
        (a.cfloat(), b.cfloat(), "complex64"), (a, b.half(), "float16"), (a.half(), b.to(torch.float8_e5m2), "e5m2"),
        (a, b.to("meta"), "meta"), (a.to("meta"), b, "meta"), (a.to_sparse(), b, "layout"), (a, None, "NoneType"),
        (3, b, "int"),
    ):  # fmt: skip
        with pytest.raises((GemmlabError, RuntimeError, NotImplementedError), match=said):
            matmul(left, right)
    with pytest.raises(GemmlabError, match="accuracy"):
        matmul(a, b, accuracy="exact")


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


def test_after_an_error_the_next_call_is_right():
    from gemmlab import matmul

    a, b = pair(64, 72, 80)
    for bad in ((a, b.t()), (a.double(), b.double())):
        with pytest.raises(GemmlabError):
            matmul(*bad)
    assert error(matmul(a, b), a, b) <= 4e-3


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
