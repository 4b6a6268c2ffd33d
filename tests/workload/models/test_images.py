"""The order in memory of what convolutions return, beside PyTorch's own rule and a processor's kernels."""

import itertools

import pytest

torch = pytest.importorskip("torch", reason="pip install torch")

from gemmlab.workload.models import trace_model  # noqa: E402
from gemmlab.workload.models.images import channels_last  # noqa: E402

SIZES = ((2, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 1), (1, 3, 1, 5), (2, 1, 1, 1), (1, 1, 1, 1), (64, 64, 1, 1))


def views(size):
    """Tensors of a size in many orders in memory, broken ones among them."""
    for order in itertools.permutations(range(4)):
        whole = torch.empty([size[axis] for axis in order], device="meta")
        yield whole.permute([order.index(axis) for axis in range(4)])
    yield torch.empty(size, device="meta").to(memory_format=torch.channels_last)
    yield torch.empty([2 * side for side in size], device="meta")[:, ::2, ::2, 1::2][: size[0]]
    yield torch.empty(size[0], 1, *size[2:], device="meta").expand(size)


@pytest.mark.parametrize("size", SIZES)
def test_channels_last_as_pytorch_says(size):
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5):
        pytest.skip("PyTorch 2.4's rule in Python differs from the one that its kernels follow")
    suggested = pytest.importorskip("torch._prims_common").suggest_memory_format
    for each in views(size):
        assert channels_last(each) == (suggested(each) == torch.channels_last), (each.shape, each.stride())


@pytest.mark.parametrize("order", [torch.channels_last, torch.contiguous_format])
def test_a_whole_network_keeps_its_order(order):
    """Windows of one pixel and a stride, too: each convolution and both of its gradients."""
    layers = [torch.nn.Conv2d(8, 16, 1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 8, 3, 2, 1)]
    layers += [torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 8, 1, bias=False)]
    model = torch.nn.Sequential(*layers).to(memory_format=order)
    images = torch.randn(2, 8, 16, 16).to(memory_format=order).requires_grad_()
    found = [call.convolution for call in trace_model(model, (images,)).calls if call.convolution]
    assert len(found) == 9
    assert {each.order for each in found} == {"nhwc" if order is torch.channels_last else "nchw"}
