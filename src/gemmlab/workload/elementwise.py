"""Arithmetic of what multiplies no matrices: normalisations, activations, sums, optimisers, by FLOP an element.

An addition, subtraction, multiplication, division, root or transcendental function is 1 FLOP; comparisons, copies and
casts are none. So counted, a layer of BERT-large does what Ivanov et al. found (Data Movement Is All You Need,
arXiv 2007.00072, table A.1): 7 FLOP an element for layer normalisation and 9 + 4 for its gradients, 4 for a softmax and
4 for its gradient, 1 for a bias, a dropout or a residual.
"""

from __future__ import annotations

from math import prod
from typing import Any

from gemmlab.workload.operation import Operation, Tensor

#: FLOP for each element of the largest tensor that the operator reads or writes; a trailing `_` writes in place
FLOP_PER_ELEMENT: dict[str, int] = {
    **dict.fromkeys(("add", "sub", "rsub", "mul", "div", "exp", "log", "sqrt", "rsqrt", "reciprocal", "erf"), 1),
    **dict.fromkeys(("pow", "sin", "cos", "tanh", "sum", "cumsum", "add_bias", "logaddexp", "bias"), 1),
    **dict.fromkeys(("native_dropout", "native_dropout_backward", "dropout", "_fused_dropout"), 1),
    **dict.fromkeys(("embedding_dense_backward", "index_add", "scatter_add", "index_put", "mean"), 1),
    **dict.fromkeys(("avg_pool2d", "avg_pool2d_backward", "_adaptive_avg_pool2d"), 1),
    **dict.fromkeys(("_adaptive_avg_pool2d_backward", "tanh_backward", "norm", "linalg_vector_norm"), 2),
    **dict.fromkeys(("addcmul", "addcdiv", "mse_loss"), 2),
    **dict.fromkeys(("sigmoid", "lerp", "var", "var_mean"), 3),  # exp, add, divide
    "sigmoid_backward": 3,
    **dict.fromkeys(("_softmax", "_log_softmax", "_safe_softmax", "softmax"), 4),  # subtract, exp, add, divide
    **dict.fromkeys(("_softmax_backward_data", "_log_softmax_backward_data"), 4),  # multiply, add, subtract, multiply
    "silu": 4,
    "silu_backward": 7,
    "gelu": 5,  # scale, erf, add, two products
    "gelu_backward": 10,
    # add, subtract, square, add, times the inverse deviation, weight, bias
    **dict.fromkeys(("native_layer_norm", "layer_norm", "native_group_norm", "native_batch_norm"), 7),
    **dict.fromkeys(("cudnn_batch_norm", "batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"), 7),
    **dict.fromkeys(("native_layer_norm_backward", "native_group_norm_backward"), 13),  # 9 of the input, 4 of weights
    **dict.fromkeys(("native_batch_norm_backward", "cudnn_batch_norm_backward", "batch_norm_backward"), 13),
    **dict.fromkeys(("rms_norm", "_fused_rms_norm"), 4),  # square, add, times the inverse root, weight
    "_fused_rms_norm_backward": 9,
    **dict.fromkeys(("_fused_adam", "_fused_adamw"), 14),  # two averages, root, divide, step, decay, bias corrections
    "_fused_sgd": 4,
}
PREFIX = "_foreach_"  # the same over a list of tensors


def flop_of(operation: Operation) -> int | None:
    """Counted FLOP of an operator that multiplies no matrices; None for one that the table does not know.

    Views, copies, casts and comparisons are in no table and do none: a caller may take None for 0.
    """
    name = operation.name.partition("::")[2] or operation.name
    name = name.removeprefix(PREFIX)
    each = FLOP_PER_ELEMENT.get(name, FLOP_PER_ELEMENT.get(name.removesuffix("_")))
    if each is None:
        return None
    return each * max(elements(operation.inputs), elements(operation.outputs))


def elements(values: tuple[Any, ...]) -> int:
    """Elements of the largest tensor, or of the largest list of tensors, all of a list together."""
    sizes = [0]
    for value in values:
        if isinstance(value, Tensor):
            sizes.append(prod(value.shape))
        elif isinstance(value, list | tuple):
            sizes.append(sum(prod(each.shape) for each in value if isinstance(each, Tensor)))
    return max(sizes)
