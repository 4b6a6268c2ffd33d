"""A guard of tensors: it lets none pass that is not alike, whatever torch makes of it."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.peak.alike import alike, guards_of, never

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")


def told(tensor):
    """All that a guard has to know, one by one."""
    return (
        type(tensor), tensor.shape, tensor.stride(), tensor.dtype, tensor.device, tensor.layout, tensor.is_neg(),
    )  # fmt: skip


@st.composite
def tensors(draw):
    """Views of one memory, of few sizes, so that many are alike."""
    kind = draw(st.sampled_from([torch.float32, torch.bfloat16, torch.float16]))
    device = draw(st.sampled_from(["cpu", "cpu", "meta"]))
    sides = draw(st.lists(st.integers(1, 2), min_size=1, max_size=3))
    steps = draw(st.lists(st.integers(1, 2), min_size=len(sides), max_size=len(sides)))
    found = torch.empty(32, dtype=kind, device=device).as_strided(sides, steps, draw(st.integers(0, 3)))
    found = torch._neg_view(found) if draw(st.booleans()) else found
    return torch.nn.Parameter(found, requires_grad=False) if draw(st.integers(0, 9)) == 0 else found


@given(tensors(), tensors(), tensors(), tensors())
def test_what_passes_is_alike(one, other, first, second):
    check = alike(torch, (one, other))
    assert check(one, other)
    if check(first, second):
        assert (told(first), told(second)) == (told(one), told(other))
    elif one.requires_grad == first.requires_grad and other.requires_grad == second.requires_grad:
        assert (told(first), told(second)) != (told(one), told(other))


def test_others_do_not_pass():
    tensor = torch.zeros(3, 4)
    check = alike(torch, (tensor,))
    assert check(torch.zeros(3, 4))
    for other in (tensor.to_sparse(), torch.zeros(3, 5), torch.nn.Parameter(tensor), None, 3, "tensor"):
        assert not check(other)
    twice = alike(torch, (tensor, tensor))
    assert not twice(tensor, tensor)


def test_a_class_of_ones_own_never_passes():
    class Own(torch.Tensor):
        pass

    own = torch.zeros(3, 4).as_subclass(Own)
    check = alike(torch, (own,))
    assert check is never
    assert not check(own)


class Blind:
    """A guard that lets all pass."""

    def __init__(self, *tensors, **others):
        self.check = lambda *tensors: True


def refusing(*tensors, **others):
    raise TypeError("other arguments")


@pytest.mark.parametrize("guards", [None, Blind, refusing])
def test_a_torch_without_such_guards(guards):
    class Other:
        _C = SimpleNamespace(_dynamo=SimpleNamespace(guards=SimpleNamespace(TensorGuards=guards)))

        def __getattr__(self, name):
            return getattr(torch, name)

    other = Other()
    assert guards_of(other) is None
    tensor = torch.zeros(3, 4)
    assert not alike(other, (tensor,))(tensor)
