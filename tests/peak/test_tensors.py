"""What can be held without a GPU: refusals, and what torch.compile is told of the operator."""

import subprocess
import sys

import pytest

import gemmlab
from gemmlab.record import GemmlabError


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: pip install torch")


def test_without_torch_the_remedy_is_named():
    text = "import sys; sys.modules['torch'] = None; import gemmlab; gemmlab.matmul"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert "torch is not installed" in done.stderr
    assert "hint: pip install torch" in done.stderr


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (lambda t: t.zeros(4, 4), lambda t: t.zeros(4, 4), "a is on cpu"),
        (lambda t: [[1.0]], lambda t: t.zeros(4, 4), "a is of type list"),
    ],
)
def test_what_is_on_no_gpu_is_refused(torch, a, b, said):
    with pytest.raises(GemmlabError, match=said):
        gemmlab.matmul(a(torch), b(torch))


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [((4, 5), (5, 6), (4, 6)), ((2, 3, 5), (5, 6), (2, 3, 6)), ((7, 4, 5), (7, 5, 6), (7, 4, 6))],
)
def test_the_operator_tells_shapes_and_types(torch, a, b, shape):
    import gemmlab.peak.operator  # noqa: F401 - it registers the operator

    for name, result in (("float32", "float32"), ("bfloat16", "bfloat16"), ("float8_e4m3fn", "bfloat16")):
        left, right = (torch.empty(sides, dtype=getattr(torch, name), device="meta") for sides in (a, b))
        found = torch.ops.gemmlab.matmul(left, right, "vendor", False)
        assert (tuple(found.shape), found.dtype) == (shape, getattr(torch, result))


def test_gradients_have_their_operands_shapes(torch):
    import gemmlab.peak.operator  # noqa: F401

    for a, b in (((4, 5), (5, 6)), ((2, 3, 5), (5, 6)), ((7, 4, 5), (7, 5, 6))):
        left, right = (torch.empty(sides, device="meta", requires_grad=True) for sides in (a, b))
        torch.ops.gemmlab.matmul(left, right, "vendor", False).sum().backward()
        assert (left.grad.shape, right.grad.shape) == (left.shape, right.shape)


def test_overlapping_results_are_seen(torch):
    from gemmlab.peak.asking import overlap

    memory = torch.zeros(100)
    assert overlap(memory[:50].view(5, 10), memory[49:].view(51, 1))
    assert not overlap(memory[:50].view(5, 10), memory[50:].view(5, 10))
    assert not overlap(memory[:0], memory)


def test_how_operands_lie(torch):
    from gemmlab.peak.stored import stored

    a = torch.zeros(64, 72, dtype=torch.bfloat16)
    assert (stored(a, 1).ld, stored(a, 1).along_k) == (72, True)
    assert (stored(a, 0).ld, stored(a, 0).along_k) == (72, False)
    assert stored(a.t(), 0).along_k
    assert stored(a[:, ::2], 1) is None
    assert stored(a[:, :1], 1).columns == 1
    assert stored(a[:1].expand(8, 72), 1) is None  # rows lie over one another
    assert not stored(a[:, 1:], 1).on_road
    assert stored(a[:, 8:], 1).on_road
    assert not stored(torch.zeros(4, 71, dtype=torch.bfloat16), 1).on_road
