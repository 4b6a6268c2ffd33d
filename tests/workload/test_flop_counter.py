"""Whole networks, forward and backward: the FLOP that PyTorch counts, in all and by operator."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from torch.nn import functional  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count, flop_registry  # noqa: E402

from gemmlab.workload.models import trace_model  # noqa: E402
from gemmlab.workload.traces import read_trace  # noqa: E402
from workload.networks import GROUPED, HAVE_HEADS, NETWORKS  # noqa: E402

aten = torch.ops.aten
HAS_SHAPES = torch._C._dispatch_has_kernel_for_dispatch_key("aten::_scaled_dot_product_flash_attention", "Meta")
PAIR = (1, 2, 1, 1), (1, 2, 3, 3), (2, 1, 3, 3)
#: whether this PyTorch counts every channel with every filter for a weight's gradient, whatever the groups
COUNTS_ALL_PAIRS = (
    flop_registry[aten.convolution_backward].__wrapped__(
        *PAIR, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 2, [False, True], out_shape=PAIR[1:]
    )
    == 2 * 2 * 2 * 9
)


def backward_in_groups(
    gradient, image, weight, bias, stride, padding, dilation, transposed, extra, groups, mask, **out
):
    """PyTorch's formula, but the weight's gradient multiplies the channels of a group with its own filters alone."""
    formula = flop_registry[aten.convolution_backward].__wrapped__  # of shapes
    count = formula(gradient, image, weight, bias, stride, padding, dilation, transposed, extra, groups, mask, **out)
    if mask[1] and COUNTS_ALL_PAIRS:
        turned = [list(each[1::-1]) + list(each[2:]) for each in (gradient, image, weight)]
        pair = turned[:2] if transposed else turned[1::-1]
        of_weight = conv_flop_count(*pair, turned[2])
        count -= of_weight - of_weight // groups
    return count


class Flash(TorchFunctionMode):
    """Attention as the fused operator that a GPU runs, for a processor and for tensors without elements."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is functional.scaled_dot_product_attention:
            return aten._scaled_dot_product_flash_attention(*args, 0.0, kwargs.get("is_causal", False))[0]
        return func(*args, **kwargs)


def count(network, inputs, training, custom=None):
    """FLOP by operator as PyTorch counts them, on tensors without elements."""
    network = network.to("meta")
    with FlopCounterMode(display=False, custom_mapping=custom) as counter:
        result = network(*(each.to("meta") for each in inputs))
        if training:
            result.backward(torch.empty_like(result))
    counts = counter.get_flop_counts().get("Global", {})
    return {str(name).replace(".", "::", 1): flop for name, flop in counts.items() if flop}


def traced(network, inputs, training):
    """FLOP by operator as gemmlab reads them."""
    workload = trace_model(network, inputs, training=training)
    assert workload.unread == ()
    found = {}
    for call in workload.calls:
        found[call.operator] = found.get(call.operator, 0) + call.flop
    assert sum(found.values()) == workload.flop
    return found


@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "lstm"])
def test_operator_by_operator(name, training):
    make, inputs = NETWORKS[name]
    custom = {aten.convolution_backward: backward_in_groups} if name in GROUPED else None
    with sdpa_kernel(SDPBackend.MATH):
        ours, theirs = traced(make(), inputs, training), count(make(), inputs, training, custom)
    assert ours == theirs
    assert sum(theirs.values()) > 0


@pytest.mark.skipif(not HAS_SHAPES, reason="this PyTorch has no rule of shapes for flash attention")
@pytest.mark.parametrize("name", HAVE_HEADS)
def test_fused_attention_makes_the_scores_again(name):
    make, inputs = NETWORKS[name]
    custom = {aten.convolution_backward: backward_in_groups} if name in GROUPED else None
    low = make().to(torch.bfloat16), [each.to(torch.bfloat16) if each.is_floating_point() else each for each in inputs]
    ours = traced(*low, True)
    with Flash():
        theirs = count(*low, True, custom)
    assert ours == theirs
    assert "aten::_scaled_dot_product_flash_attention_backward" in ours


@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
def test_a_recurrent_layer_multiplies_as_much_as_its_steps(training):
    """A GPU runs one operator of cuDNN's, which PyTorch does not count; a processor runs every step."""
    make, inputs = NETWORKS["lstm"]
    ours, theirs = traced(make(), inputs, training), count(make(), inputs, training)
    assert sum(ours.values()) == sum(theirs.values())


@pytest.mark.skipif(not COUNTS_ALL_PAIRS, reason="this PyTorch counts the pairs of a group")
@pytest.mark.parametrize("name", GROUPED)
def test_pytorch_counts_all_pairs_of_channels_for_the_gradient_of_a_grouped_weight(name):
    make, inputs = NETWORKS[name]
    with sdpa_kernel(SDPBackend.MATH):
        ours, theirs = traced(make(), inputs, True), count(make(), inputs, True)
    assert {each for each in theirs if ours[each] != theirs[each]} == {"aten::convolution_backward"}
    assert ours["aten::convolution_backward"] < theirs["aten::convolution_backward"]


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_a_trace_of_the_network_multiplies_as_much_as_the_network(name, tmp_path):
    """One is read from what PyTorch's profiler wrote of a run, the other from shapes without any run."""
    make, inputs = NETWORKS[name]
    network = make()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        network(*inputs).sum().backward()
    recorded.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = read_trace(tmp_path / "trace.json")
    assert trace.unread == ()
    assert trace.flop == trace_model(network, inputs).flop
