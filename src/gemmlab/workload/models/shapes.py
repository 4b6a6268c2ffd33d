"""Results of operators on tensors without elements, where PyTorch itself gives none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gemmlab.workload.models import images, recurrent

#: pointwise in what they ask of memory, and not marked so by every version of PyTorch
POINTWISE = frozenset(
    f"aten::{name}"
    for name in (
        *("_to_copy", "native_dropout", "native_dropout_backward", "gelu", "gelu_backward", "silu", "silu_backward"),
        *("threshold_backward", "sigmoid_backward", "tanh_backward", "where", "masked_fill", "clone", "copy_", "zero_"),
        *("fill_", "add_", "mul_", "div_", "sub_", "bernoulli_", "zeros", "ones", "full", "zeros_like", "ones_like"),
    )
)
#: products that take operands of one format alone
ALIKE = frozenset(
    f"aten::{name}" for name in ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "_addmm_activation")
)
#: a tensor that such an operator reads on the processor, by its position: its elements decide shapes
READ = {"aten::_pack_padded_sequence": 1}


def says_its_size(func: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether a call of an operator that may ask for elements can do without them."""
    import torch

    name = func._schema.name
    if name == "aten::index":
        return all(index is None or index.dtype not in (torch.bool, torch.uint8) for index in args[1])
    if name == "aten::repeat_interleave":
        return keywords.get("output_size") is not None or len(args) > 3
    return name in ("aten::_grouped_mm", "aten::_scaled_grouped_mm")


def result_of(func: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What an operator returns for tensors without elements; NotImplemented where nothing says its shape."""
    import torch

    if func._schema.name in ALIKE:
        check_formats(func, args)
    own = OWN.get(func._schema.name)
    if own is not None:
        return own(*args, **keywords)
    try:
        return func(*args, **keywords)
    except NotImplementedError:
        older = OLDER.get(func._schema.name)
        if older is not None:
            return older(*args, **keywords)
        from torch._decomp import decomposition_table

        known = decomposition_table.get(func)
        if known is not None:
            return known(*args, **keywords)
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            return func.decompose(*args, **keywords)
        return NotImplemented


def check_formats(func: Any, args: tuple[Any, ...]) -> None:
    """Raise RuntimeError for operands of several formats, which kernels refuse and PyTorch's rules of shapes take."""
    import torch

    formats = [str(each.dtype).removeprefix("torch.") for each in args if isinstance(each, torch.Tensor)]
    if len(set(formats)) > 1:
        name = func._schema.name.partition("::")[2]
        raise RuntimeError(f"{name} takes operands of one dtype, but they are {', '.join(formats)}")


def grouped(a: Any, b: Any, offs: Any = None, *_rest: Any, out_dtype: Any = None, **_keywords: Any) -> Any:
    """Products over groups of rows or of columns: PyTorch's own rule of shapes takes bfloat16 alone."""
    shape: tuple[int, ...] = (a.shape[-2], b.shape[-1])
    if a.dim() == 2 and b.dim() == 2:
        shape = (offs.numel(), a.shape[0], b.shape[1])
    elif a.dim() == 3 and b.dim() == 3:
        shape = (a.shape[0], a.shape[1], b.shape[2])
    return a.new_empty(shape, dtype=out_dtype or a.dtype)


def flash(query: Any, _key: Any, value: Any, *_rest: Any, **_keywords: Any) -> Any:
    """Results of flash attention: outputs in the queries' order in memory, and what the backward pass keeps."""
    import torch

    _, sums = attended(query, value)
    outputs = torch.empty_like(query)
    seed = query.new_empty(2).long()
    return (outputs, sums, None, None, query.shape[2], value.shape[2], seed, seed, query.new_empty(0))


def efficient(query: Any, _key: Any, value: Any, _bias: Any, keeps: bool, *_rest: Any, **_keywords: Any) -> Any:
    """Results of memory-efficient attention."""
    outputs, sums = attended(query, value)
    seed = query.new_empty(()).long()
    return (outputs, sums if keeps else sums[:, :, :0], seed, seed)


def normed_back(_gradient: Any, direction: Any, length: Any, *_rest: Any) -> Any:
    """Gradients of a weight's direction and length."""
    return direction.new_empty(direction.shape), length.new_empty(length.shape)


def attended(query: Any, value: Any) -> tuple[Any, Any]:
    """Outputs for queries of (batch, heads, length, size), heads beside each other, and their sums' logarithms."""
    import torch

    batch, heads, length, _ = query.shape
    outputs = query.new_empty((batch, length, heads, value.shape[3])).transpose(1, 2)
    return outputs, query.new_empty((batch, heads, length), dtype=torch.float32)


OWN: dict[str, Callable[..., Any]] = {
    "aten::_grouped_mm": grouped,
    "aten::convolution": images.convolved,
    "aten::convolution_backward": images.convolved_back,
    "aten::_cudnn_rnn": recurrent.forward_shapes,
    "aten::_cudnn_rnn_backward": recurrent.backward_shapes,
    "aten::_pack_padded_sequence": recurrent.packed,
    "aten::_pack_padded_sequence_backward": recurrent.unpacked,
}
#: what older versions, 2.4 among them, have no rule for
OLDER: dict[str, Callable[..., Any]] = {
    "aten::_scaled_dot_product_flash_attention": flash,
    "aten::_scaled_dot_product_efficient_attention": efficient,
    "aten::_weight_norm_interface_backward": normed_back,
}
