"""Traced models beside PyTorch's own count of FLOP, and beside real runs of the same models."""

from collections import Counter

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from gemmlab.workload.models import trace_model  # noqa: E402
from gemmlab.workload.models.outcome import outcome_of  # noqa: E402
from workload.models.networks import NETWORKS  # noqa: E402

PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}
IMAGES = {"resnet", "mobile", "unet", "vit"}


def real_step(model, inputs):
    outcome = outcome_of(model(*inputs))
    torch.autograd.backward(outcome.tensors, [torch.ones_like(each) for each in outcome.tensors])


@pytest.mark.parametrize("name", sorted(set(NETWORKS) - {"mobile"}))
def test_flop_is_pytorchs_own_count(name):
    make, inputs = NETWORKS[name]
    with sdpa_kernel(SDPBackend.MATH):
        workload = trace_model(make(), inputs())
        with FlopCounterMode(display=False) as counter:
            real_step(make(), inputs())
    assert workload.flop == counter.get_total_flops() > 0
    assert not workload.unread


def test_grouped_convolutions_count_as_pytorch_counts_their_forward():
    make, inputs = NETWORKS["mobile"]
    with FlopCounterMode(display=False) as counter:
        make()(*inputs())
    assert trace_model(make(), inputs(), training=False).flop == counter.get_total_flops()
    # backwards PyTorch takes the filters of every group for each: a count `groups` times too large
    backward = [call for call in trace_model(make(), inputs()).calls if call.convolution_pass in ("dgrad", "wgrad")]
    depthwise = {call.convolution_pass: call.flop for call in backward if call.convolution.groups == 16}
    once = 2 * 2 * 13 * 13 * 16 * 9
    assert depthwise == {"dgrad": depthwise["dgrad"], "wgrad": once}


class Watch(TorchDispatchMode):
    """What a real run hands to the operators that multiply."""

    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func._schema.name in PRODUCTS:
            tensors = [each for each in args if isinstance(each, torch.Tensor)]
            told = tuple((tuple(each.shape), each.stride(), str(each.dtype)[6:]) for each in tensors[-2:])
            self.seen[func._schema.name, told] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", sorted(set(NETWORKS) - IMAGES))
def test_shapes_strides_and_formats_are_those_of_a_real_run(name):
    make, inputs = NETWORKS[name]
    with sdpa_kernel(SDPBackend.MATH):
        workload = trace_model(make(), inputs())
        with Watch() as watch:
            real_step(make(), inputs())
    traced = Counter()
    for call in workload.calls:
        told = tuple((tensor.shape, tensor.strides, tensor.format) for tensor in call.operands[:2])
        traced[call.operator, told] += call.count
    assert traced == watch.seen


@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention_counts_as_pytorch_counts_it(causal):
    class Attention(torch.nn.Module):
        def forward(self, query, key, value):
            return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)

    operands = [torch.randn(2, 3, 8, 16, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    forward = trace_model(Attention(), operands, training=False)
    both = trace_model(Attention(), operands)
    once = 2 * 2 * 3 * 8 * 8 * 16
    assert forward.flop == 2 * once
    assert both.flop == 7 * once  # the backward pass multiplies the scores again
    assert {call.fused for call in both.calls} == {"flash attention"}
    assert {call.causal for call in both.calls} == {causal}
