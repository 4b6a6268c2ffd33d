"""How convolutions lay out what they return, which PyTorch's rules of shapes for tensors without a device leave open."""

from __future__ import annotations

from typing import Any


def convolved(*args: Any, **keywords: Any) -> Any:
    """A convolution's result: channels last where a GPU's kernels make it so, as its images or its filters are."""
    import torch

    order = order_of(args[0], args[1])
    return torch.ops.aten.convolution.default(*args, **keywords).contiguous(memory_format=order)


def convolved_back(*args: Any, **keywords: Any) -> Any:
    """Gradients of a convolution's images, filters and bias, the first two in the convolution's order."""
    import torch

    order = order_of(args[1], args[2])
    found = torch.ops.aten.convolution_backward.default(*args, **keywords)
    return tuple(
        each.contiguous(memory_format=order) if each is not None and each.dim() == args[1].dim() else each
        for each in found
    )


def order_of(images: Any, filters: Any) -> Any:
    """The order in memory that a GPU's kernels give a convolution's result (cudnn_conv_suggest_memory_format)."""
    import torch
    from torch._prims_common import are_strides_like_channels_last

    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(images.dim())
    if last and any(are_strides_like_channels_last(each.shape, each.stride()) for each in (images, filters)):
        return last
    return torch.contiguous_format
