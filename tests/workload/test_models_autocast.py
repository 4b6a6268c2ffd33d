"""Autocast's lists beside those that PyTorch registers, and what they do to a model."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from torch import nn  # noqa: E402

from gemmlab.record import GemmlabError  # noqa: E402
from gemmlab.workload.models import trace_model  # noqa: E402
from gemmlab.workload.models.autocast import BANNED, FLOAT32, FLOAT32_RESULT, LOWER, RECENT, WIDEST  # noqa: E402

#: no program calls them: a processor's operators run instead, or PyTorch's own parts of others
INNER = {
    *("_scaled_dot_product_flash_attention", "_thnn_fused_gru_cell", "_thnn_fused_lstm_cell", "_cudnn_rnn"),
    *("cudnn_convolution", "cudnn_convolution_transpose"),
}
#: as Python calls what is registered by another name, or what is made of registered operators
NAMES = {
    *("__matmul__", "__rmatmul__", "__pow__", "__rpow__", "multi_dot", "vecdot", "vector_norm", "matrix_norm"),
    *("lstm", "gru", "rnn_tanh", "rnn_relu", "cross_entropy", "cross_entropy_loss", "grid_sample", "interpolate"),
    *("linalg_matmul", "linalg_matrix_power", "matrix_power", "linalg_norm", "special_expm1", "special_log1p"),
    *("special_logsumexp", "special_softmax", "special_log_softmax", "nll_loss_nd"),
}


def registered():
    """Operators for which PyTorch has a kernel under autocast for CUDA."""
    found = set()
    for schema in torch._C._jit_get_all_schemas():
        name = f"{schema.name}.{schema.overload_name}".rstrip(".")
        try:
            there = torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCUDA")
        except RuntimeError:  # TorchScript's own
            continue
        if there:
            found.add(schema.name.removeprefix("aten::"))
    return found


def test_the_lists_are_pytorchs_own():
    known = LOWER | FLOAT32 | FLOAT32_RESULT | WIDEST | BANNED
    assert registered() - INNER - set(RECENT) == known - NAMES - set(RECENT)
    assert sum(map(len, (LOWER, FLOAT32, FLOAT32_RESULT, WIDEST, BANNED))) == len(known)


def formats(forward, *inputs, **options):
    """Formats of what a function returns under autocast, and of gradients of its inputs."""
    seen = []

    class Body(nn.Module):
        def forward(self, *inputs):
            output = forward(*inputs)
            seen.append(output.dtype)
            for each in inputs:
                each.register_hook(lambda gradient: seen.append(gradient.dtype))
            return output

    trace_model(Body(), [each.requires_grad_() for each in inputs], autocast="bfloat16", **options)
    return [str(each).removeprefix("torch.") for each in seen]


@pytest.mark.parametrize(
    ("forward", "given", "result"),
    [
        (lambda x: x @ x, "float32", "bfloat16"),
        (lambda x: torch.einsum("ij,jk->ik", x, x), "float32", "bfloat16"),
        (lambda x: nn.functional.linear(x, x), "float32", "bfloat16"),
        (lambda x: x.exp(), "bfloat16", "float32"),
        (lambda x: x**2, "bfloat16", "float32"),
        (lambda x: x.softmax(-1), "bfloat16", "float32"),
        (lambda x: x.softmax(-1, dtype=torch.float64), "bfloat16", "float64"),
        (lambda x: nn.functional.layer_norm(x, (8,)), "bfloat16", "float32"),
        (lambda x: x.sum(0), "bfloat16", "float32"),
        (lambda x: nn.functional.mse_loss(x, x * 2), "bfloat16", "float32"),
        (lambda x: nn.functional.cross_entropy(x, torch.zeros(8, dtype=torch.int64)), "bfloat16", "float32"),
        (lambda x: torch.dot(x[0], x[0].float()), "bfloat16", "float32"),
        (lambda x: x + 1, "bfloat16", "bfloat16"),
        (nn.functional.gelu, "bfloat16", "bfloat16"),
        (lambda x: x.mean(), "bfloat16", "bfloat16"),
        (lambda x: torch.cat([x, x.float()]), "bfloat16", "float32"),
        (lambda x: x.double() @ x.double(), "float32", "float64"),
    ],
)
def test_what_a_call_returns(forward, given, result):
    found = formats(forward, torch.randn(8, 8, dtype=getattr(torch, given)))
    assert found == [result, given]


def test_a_weight_is_cast_once_in_a_region_and_again_in_the_next():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8, bias=False)

        def forward(self, x):
            for _ in range(2):
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    x = self.layer(self.layer(x))
            return x

    workload = trace_model(Twice(), torch.randn(4, 8), training=False)
    [casts] = [other.count for other in workload.others if other.name == "aten::_to_copy"]
    assert casts == 1 + 2  # the input, and the weight in each region


def test_what_pytorch_refuses():
    with pytest.raises(GemmlabError, match="unsafe to autocast"):
        formats(lambda x: nn.functional.binary_cross_entropy(x, x.detach()), torch.rand(8))


def test_a_processors_autocast_is_none_of_a_gpus():
    class Inside(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return self.layer(x)

    assert trace_model(Inside(), torch.randn(4, 8)).calls[0].problem.a_format == "float32"


@pytest.mark.parametrize(
    ("function", "format"),
    [
        (torch.linalg.matmul, "bfloat16"),
        (lambda x, y: torch.linalg.matrix_power(x, 3), "bfloat16"),
        (lambda x, y: torch.linalg.norm(x.bfloat16()), "float32"),
        (lambda x, y: torch.special.softmax(x.bfloat16(), -1), "float32"),
        (lambda x, y: torch.special.logsumexp(x.bfloat16(), -1), "float32"),
    ],
)
def test_other_names_of_what_autocast_knows(function, format):
    seen = []

    class Body(nn.Module):
        def forward(self, x, y):
            result = function(x, y)
            seen.append(str(result.dtype).removeprefix("torch."))
            return result

    trace_model(Body(), [torch.randn(4, 4), torch.randn(4, 4)], training=False, autocast="bfloat16")
    assert seen == [format]
