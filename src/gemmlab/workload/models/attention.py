"""Which kernel a GPU runs for scaled_dot_product_attention, and the call of it.

The conditions are those of torch's aten/src/ATen/native/transformers/cuda/sdp_utils.cpp for a GPU of compute capability
8.0 or more; what the program switched off stays off. cuDNN's kernel, which some versions prefer on some chips, does the
same multiplications as flash attention and is not told apart.
"""

from __future__ import annotations

from typing import Any

FLASH, EFFICIENT, MATH = "flash attention", "memory-efficient attention", "unfused attention"
WIDEST_FLASH_HEAD = 256
PADDED_HEAD = 8  #: flash attention takes heads of a multiple of this many elements, and PyTorch pads the others
PADDED_BIAS = 16  #: the same of a mask's rows in memory-efficient attention


def kernel_for(query: Any, key: Any, value: Any, mask: Any, causal: bool, grouped: bool) -> str:
    """The first kernel of those that PyTorch tries which takes these operands."""
    import torch

    low = query.dtype in (torch.float16, torch.bfloat16)
    heads = {query.shape[-1], key.shape[-1], value.shape[-1]}
    if query.dim() != 4 or not (query.dtype == key.dtype == value.dtype):
        return MATH
    dense = all(tensor.stride(-1) == 1 or tensor.shape[-1] == 1 for tensor in (query, key, value))
    square = not causal or query.shape[-2] == key.shape[-2]
    fits = len(heads) == 1 and query.shape[-1] <= WIDEST_FLASH_HEAD
    if torch.backends.cuda.flash_sdp_enabled() and low and mask is None and fits and square and dense:
        return FLASH
    alignment = 8 if low else 4
    aligned = query.shape[-1] == key.shape[-1] and all(side % alignment == 0 for side in heads)
    taken = low or query.dtype == torch.float32
    if torch.backends.cuda.mem_efficient_sdp_enabled() and taken and aligned and dense and not grouped:
        return EFFICIENT
    return MATH


def attend(
    math: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[str, Any]:
    """The kernel's name and the result of scaled_dot_product_attention; `math` is PyTorch's own, which decomposes."""
    import torch
    from torch.nn.functional import pad

    kernel = kernel_for(query, key, value, attn_mask, is_causal, enable_gqa and query.shape[-3] != key.shape[-3])
    if kernel == MATH:
        keywords = {"enable_gqa": True} if enable_gqa else {}  # PyTorch 2.4 does not know the word
        return kernel, math(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **keywords)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if kernel == EFFICIENT:
        keep = any(tensor.requires_grad for tensor in (query, key, value)) and torch.is_grad_enabled()
        bias = None if attn_mask is None else bias_of(attn_mask, query, key)
        run = torch.ops.aten._scaled_dot_product_efficient_attention
        return kernel, run(query, key, value, bias, keep, dropout_p, is_causal, scale=scale)[0]
    size = query.shape[-1]
    missing = -size % PADDED_HEAD
    if missing:
        query, key, value = (pad(tensor, (0, missing)) for tensor in (query, key, value))
    run = torch.ops.aten._scaled_dot_product_flash_attention
    result = run(query, key, value, dropout_p, is_causal, False, scale=scale)[0]
    return kernel, result[..., :size] if missing else result


def bias_of(mask: Any, query: Any, key: Any) -> Any:
    """A mask as what is added to the scores, its rows aligned as the kernel wants them."""
    import torch
    from torch.nn.functional import pad

    if mask.dtype == torch.bool:
        zeros = torch.zeros_like(mask, dtype=query.dtype)
        mask = zeros.masked_fill_(mask.logical_not(), float("-inf"))
    missing = -mask.shape[-1] % PADDED_BIAS
    if missing:
        mask = pad(mask, (0, missing))[..., : mask.shape[-1]]
    return mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
