"""`gemmlab.matmul` as torch's users call it: gradients, compiled, under its modes, and what is refused."""

import pytest
from tests.peak.gpu import DEVICE, error, pair, torch

from gemmlab.record import GemmlabError

pytestmark = pytest.mark.gpu


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


def test_after_an_error_the_next_call_is_right():
    from gemmlab import matmul

    a, b = pair(64, 72, 80)
    for bad in ((a, b.t()), (a.double(), b.double())):
        with pytest.raises(GemmlabError):
            matmul(*bad)
    assert error(matmul(a, b), a, b) <= 4e-3
