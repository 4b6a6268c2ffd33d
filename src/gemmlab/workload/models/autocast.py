"""Autocast's rules for a GPU, for tensors that are on none.

PyTorch casts in its dispatcher, by the device that tensors are on; tensors without elements are on none that it knows.
So the same lists apply here, from torch's aten/src/ATen/autocast_mode.h: what runs in the lower precision, what runs in
float32, and what takes the widest of its operands.
"""

from __future__ import annotations

from typing import Any

LOWER = frozenset(
    [
        *("conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        *("convolution", "_convolution", "prelu", "addmm", "addmv", "addr", "matmul", "einsum", "mm", "mv", "linear"),
        *("__matmul__", "__rmatmul__", "vecdot", "linalg_vecdot", "addbmm", "baddbmm", "bmm", "chain_matmul"),
        *("linalg_matmul", "linalg_matrix_power", "matrix_power"),
        *("multi_dot", "linalg_multi_dot", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
        *("lstm", "gru", "rnn_tanh", "rnn_relu", "scaled_dot_product_attention"),
    ]
)
RECENT = ("rms_norm", "linalg_matrix_sqrth")  #: which older versions lack, or leave to what they are composed of
FLOAT32 = frozenset(
    [
        *("acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt"),
        *("sinh", "tan", "pow", "__pow__", "__rpow__", "softplus", "layer_norm", "native_layer_norm", "group_norm"),
        *("special_expm1", "special_log1p", "special_logsumexp"),
        *("frobenius_norm", "nuclear_norm", "norm", "dist", "pdist", "cdist", "renorm", "logsumexp"),
        *("cosine_similarity", "cosine_embedding_loss", "nll_loss", "cross_entropy", "cross_entropy_loss"),
        *(
            "nll_loss2d",
            "nll_loss_nd",
            "poisson_nll_loss",
            "hinge_embedding_loss",
            "kl_div",
            "l1_loss",
            "smooth_l1_loss",
            "huber_loss",
            "mse_loss",
        ),
        *("margin_ranking_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss"),
        *("multi_margin_loss", "binary_cross_entropy_with_logits"),
        *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d", "upsample_bilinear2d"),
        *("upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa"),
        *("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "interpolate"),
        *RECENT,
    ]
)
#: their result is float32 unless the program says which
FLOAT32_RESULT = frozenset(
    [
        *("prod", "softmax", "log_softmax", "cumprod", "cumsum", "vector_norm", "matrix_norm", "linalg_vector_norm"),
        *("linalg_matrix_norm", "linalg_norm", "special_softmax", "special_log_softmax", "sum"),
    ]
)
WIDEST = frozenset(
    [
        *("addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "index_put", "tensordot", "scatter_add"),
        *("grid_sampler", "grid_sample"),
    ]
)
BANNED = frozenset(["binary_cross_entropy"])  #: PyTorch refuses it in half precision


def registered(name: str) -> bool:
    """Whether this PyTorch has a rule of autocast's for an operator."""
    import torch

    try:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "AutocastCUDA"))
    except RuntimeError:  # no such operator in this version
        return False


class Autocast:
    """The casts of one traced step; weights are cast once in each region, as PyTorch's own cache has it."""

    def __init__(self) -> None:
        self.cached: dict[tuple[int, Any], tuple[Any, Any]] = {}
        self.seen: set[str] = set()  #: formats that regions asked for

    def clear(self) -> None:
        """A region ends."""
        self.cached.clear()

    def apply(self, name: str, args: Any, keywords: Any) -> tuple[Any, Any]:
        """A call's arguments as autocast would hand them on."""
        import torch

        if not torch.is_autocast_enabled("cuda"):
            return args, keywords
        lower = torch.get_autocast_dtype("cuda")
        self.seen.add(str(lower).removeprefix("torch."))
        if name in BANNED:
            raise RuntimeError(f"{name} is unsafe to autocast: binary_cross_entropy_with_logits is not")
        if name in RECENT and not registered(name):
            return args, keywords
        if name in LOWER:
            return self.all_to(lower, args), self.all_to(lower, keywords)
        if name in FLOAT32:
            return self.all_to(torch.float32, args), self.all_to(torch.float32, keywords)
        if name in FLOAT32_RESULT:
            low = bool(args) and getattr(args[0], "dtype", None) in (torch.bfloat16, torch.float16)
            chosen = keywords.get("dtype") is not None or any(isinstance(each, torch.dtype) for each in args)
            return args, {**keywords, "dtype": torch.float32} if low and not chosen else keywords
        if name in WIDEST and torch.float32 in formats_in([args, keywords]):
            return self.all_to(torch.float32, args), self.all_to(torch.float32, keywords)
        return args, keywords

    def all_to(self, dtype: Any, values: Any) -> Any:
        """Every floating tensor in that format, float64 left as it is."""
        import torch

        if isinstance(values, torch.Tensor):
            eligible = values.is_floating_point() and values.dtype not in (dtype, torch.float64)
            return self.cast(dtype, values) if eligible else values
        if isinstance(values, dict):
            return {key: self.all_to(dtype, each) for key, each in values.items()}
        if type(values) in (list, tuple):
            return type(values)(self.all_to(dtype, each) for each in values)
        return values

    def cast(self, dtype: Any, tensor: Any) -> Any:
        """One tensor in another format; a float32 weight's is kept until the region ends."""
        import torch

        lasting = tensor.requires_grad and tensor.is_leaf and tensor.dtype == torch.float32 and not tensor._is_view()
        if not (lasting and dtype != torch.float32 and torch.is_autocast_cache_enabled()):
            return tensor.to(dtype)
        if (id(tensor), dtype) not in self.cached:
            self.cached[id(tensor), dtype] = (
                tensor,
                tensor.to(dtype),
            )  # the tensor itself, so that its id stays its own
        return self.cached[id(tensor), dtype][1]


def formats_in(values: Any) -> set[Any]:
    """Formats of the floating tensors in a call."""
    from gemmlab.workload.models.reading import flat

    return {tensor.dtype for tensor in flat(values) if tensor.is_floating_point()}
