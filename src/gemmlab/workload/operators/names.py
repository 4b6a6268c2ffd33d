"""What an operator's or a kernel's name alone says: which entry of the table it is, and whether it multiplies."""

from __future__ import annotations

import re

from gemmlab.workload.operators.table import OPERATORS

#: operators that multiply, but whose sizes their arguments do not say
UNREADABLE: dict[str, str] = {
    **dict.fromkeys(
        ("aten::_sparse_mm", "aten::_sparse_addmm", "aten::sparse_sampled_addmm", "aten::_sparse_sparse_matmul",
         "aten::sspaddmm", "aten::hspmm", "aten::smm", "aten::_sparse_mm_reduce_impl",
         "aten::_sparse_mm_reduce_impl_backward"),
        "a sparse operand: its products are those of its nonzeros, which its shape does not count",
    ),
    **dict.fromkeys(
        ("aten::_triton_bsr_dense_mm", "triton::bsr_dense_mm", "aten::_sparse_bsr_mm"),
        "a block-sparse operand: its products are those of its blocks, which its shape does not count",
    ),
    **dict.fromkeys(
        ("aten::_cslt_sparse_mm", "aten::_sparse_semi_structured_mm", "aten::_sparse_semi_structured_addmm",
         "aten::_sparse_semi_structured_linear"),
        "a 2:4 sparse operand, compressed with its metadata in a form of the library's own",
    ),
    **dict.fromkeys(
        ("aten::_dyn_quant_matmul_4bit", "aten::_mixed_dtypes_linear", "aten::fbgemm_linear_fp16_weight",
         "aten::fbgemm_linear_fp16_weight_fp32_activation", "aten::fbgemm_linear_int8_weight",
         "aten::fbgemm_linear_int8_weight_fp32_activation", "aten::_weight_int4pack_mm_with_scales_and_zeros",
         "mkldnn_prepacked::conv2d_run", "mkldnn_prepacked::linear_run"),
        "its weight is packed in a form of the library's own, which does not tell the sizes",
    ),
    **dict.fromkeys(
        ("aten::matmul_backward", "aten::_nested_tensor_bmm", "aten::_triton_multi_head_attention",
         "aten::_transformer_encoder_layer_fwd"),
        "its operands are nested, or its inner operators tell them",
    ),
    **dict.fromkeys(
        ("aten::_convolution_double_backward", "aten::conv_tbc_backward", "aten::_lstm_mps", "aten::lstm_mps_backward",
         "aten::quantized_lstm_cell", "aten::quantized_gru_cell"),
        "its sizes are not read",
    ),
    **dict.fromkeys(
        ("symm_mem::fused_all_gather_matmul", "symm_mem::fused_matmul_reduce_scatter", "symm_mem::_async_input_mm",
         "symm_mem::fused_all_gather_scaled_matmul", "symm_mem::fused_scaled_matmul_reduce_scatter"),
        "a multiplication joined with a collective: the parts that other devices hold are not told",
    ),
}  # fmt: skip
NOT_READ = "its name is that of a multiplication, but the order of its arguments is not known"

#: autograd's nodes, regions, what the compiler fused without a multiplication, and PyTorch's operators of no table
WRAPPERS = re.compile(r"Backward\d*$|^autograd::|^nn\.Module|^ProfilerStep|^triton_(poi|red|per|for)_|^aten::")
#: parts of names that only multiplications have: those of BLAS, of convolutions and of attention in libraries' kernels
CERTAIN = re.compile(
    r"gemm|gemv|nvjet|cijk_|xmma|fused_moe|fprop|dgrad|wgrad|winograd|implicit_con|fmha|flash_?(attn_?)?(fwd|bwd)",
    re.IGNORECASE,
)
PARTS = re.compile(r"matmul|einsum|convolution|convolve|attention|attn|sdpa", re.IGNORECASE)
WORDS = frozenset(("mm", "bmm", "addmm", "baddbmm", "addbmm", "conv1d", "conv2d", "conv3d", "conv", "lstm", "gru"))
LIBRARY_WORDS = frozenset(("linear", "rnn", "bilinear", "mv", "addmv", "dot"))  # beside a namespace alone
PACKS = re.compile(r"prepare_|prepack|_pack\b|pack_gemm|reorder|flatten_weight", re.IGNORECASE)
#: what names hold that only prepare or finish a multiplication, or whose words mean something else
ELSE = re.compile(
    r"memcpy|memset|elementwise|softmax|layer_?norm|splitkreduce|im2col|upsample|interpolat|transpose_kernel|permute"
    r"|nchwToNhwc|nhwcToNchw|choice|workspace|heuristic",
    re.IGNORECASE,
)


def canonical(name: str) -> str:
    """The table's name for one as PyTorch, its compiler or a trace writes it: `extern_kernels.mm` is `aten::mm`."""
    name = name.removeprefix("torch.ops.").removeprefix("higher_order.").removeprefix("higher_order::")
    name = name.replace("extern_kernels.", "aten::", 1) if name.startswith("extern_kernels.") else name
    if "::" not in name and name.count(".") in (1, 2):
        space, _, rest = name.partition(".")
        name = f"{space}::{rest}"
    space, joint, rest = name.partition("::")
    base = f"{space}{joint}{rest.partition('.')[0]}"
    return base if known(base) or not known(base.removesuffix("_")) else base.removesuffix("_")


def known(name: str) -> bool:
    """Whether a name is in one of the tables."""
    return name in OPERATORS or name in UNREADABLE


def multiplies(name: str) -> bool:
    """Whether an operator or a kernel multiplies matrices, by its name alone.

    PyTorch's own operators by the tables, all others by the words that libraries and compilers name them with; nodes of
    autograd and regions, which only hold operators, do not.
    """
    if not isinstance(name, str):
        return False
    if known(canonical(name)):
        return True
    if WRAPPERS.search(name) or PACKS.search(name):
        return False
    if CERTAIN.search(name) or ELSE.search(name):
        return CERTAIN.search(name) is not None
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    if PARTS.search(name) or WORDS & words:
        return True
    return "::" in name and "(" not in name and "<" not in name and bool(LIBRARY_WORDS & words)


def why_not(name: str) -> str | None:
    """Why the sizes of a multiplication of that name cannot be read; None for what multiplies nothing."""
    return UNREADABLE.get(canonical(name)) or (NOT_READ if multiplies(name) else None)
