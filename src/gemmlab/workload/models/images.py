"""How convolutions lay out what they return, which PyTorch leaves open for tensors that are on no device."""

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

    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(images.dim())
    return last if last and (channels_last(images) or channels_last(filters)) else torch.contiguous_format


def channels_last(tensor: Any) -> bool:
    """Whether strides grow from the channels outwards, sides of one element told by their strides (c10's rule)."""
    least, images = 0, tensor.dim() - 1
    if tensor.stride(1) == 0:
        return False
    for axis in (1, *range(images, 1, -1), 0):
        size, stride = tensor.shape[axis], tensor.stride(axis)
        if size == 0 or stride < least or (axis == 0 and least == tensor.stride(1)):
            return False
        least = stride * max(1, size)
    return True
