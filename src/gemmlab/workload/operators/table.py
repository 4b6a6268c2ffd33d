"""Operators that multiply matrices, by name: their parameters in the order of their schemas, and how they are read.

Parameters are named as in PyTorch's schemas (native_functions.yaml) and those of the libraries themselves; a schema may
go on after the last one that matters here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from gemmlab.workload.operation import Operation, Tensor
from gemmlab.workload.operators import attention as heads
from gemmlab.workload.operators import contraction, dense, recurrent, scaled
from gemmlab.workload.operators import convolution as windows
from gemmlab.workload.operators.product import Products


class Operator(NamedTuple):
    """One operator."""

    parameters: str
    read: Callable[..., Products]


def pair(parameters: str, a: str, b: str, **more: Any) -> Operator:
    """A product of two operands of fixed dimensions."""
    return Operator(parameters, partial(dense.dense, a=a, b=b, **more))


def attends(parameters: str, fused: str = "", sequence: int = -2) -> Operator:
    """An attention; axis -2 are queries and keys behind the heads, 1 before them."""
    return Operator(parameters, partial(heads.attention, fused=fused, sequence=sequence))


FLASH, EFFICIENT = "flash attention", "memory-efficient attention"
CUDNN, FUSED = "cuDNN attention", "fused attention"
QKV = "query key value"
PACKED_LENGTHS = "cu_seqlens_q cu_seqlens_k"
CONV = "input weight bias stride padding dilation transposed output_padding groups"
WITH_BIAS = "self weight bias padding stride dilation groups"  # the order of MIOpen's, oneDNN's and Metal's
ACTIVATED = "self weight bias stride padding dilation groups"
THNN = "self weight kernel_size bias stride padding"
TURNED = "input weight bias stride padding output_padding groups dilation"
CELL = "input hx w_ih w_hh b_ih b_hh"
RNN = "input hx params has_biases num_layers dropout train bidirectional batch_first"
CUDNN_RNN = (
    "input weight weight_stride0 weight_buf hx cx mode hidden_size proj_size num_layers batch_first dropout train "
    "bidirectional batch_sizes dropout_state"
)
CUDNN_RNN_BACKWARD = (
    "input weight weight_stride0 weight_buf hx cx output grad_output grad_hy grad_cy mode hidden_size proj_size "
    "num_layers batch_first dropout train bidirectional batch_sizes dropout_state reserve output_mask"
)
turned = partial(windows.convolution, transposed=True)
turned_back = partial(windows.backward, transposed=True)

OPERATORS: dict[str, Operator] = {
    "aten::mm": pair("self mat2 out_dtype", "self", "mat2"),
    "aten::_int_mm": pair("self mat2", "self", "mat2", rule="int32"),
    "aten::bmm": pair("self mat2 out_dtype", "self", "mat2", dims=(3, 3)),
    "aten::mv": pair("self vec", "self", "vec", dims=(2, 1)),
    "aten::dot": pair("self tensor", "self", "tensor", dims=(1, 1)),
    "aten::vdot": pair("self other", "self", "other", dims=(1, 1)),
    "aten::addmm": pair("self mat1 mat2 beta alpha", "mat1", "mat2", added="self"),
    "aten::_addmm_activation": pair(
        "self mat1 mat2 beta alpha use_gelu", "mat1", "mat2", added="self", activated=True
    ),
    "aten::baddbmm": pair("self batch1 batch2 beta alpha", "batch1", "batch2", dims=(3, 3), added="self"),
    "aten::addbmm": pair("self batch1 batch2 beta alpha", "batch1", "batch2", dims=(3, 3), added="self"),
    "aten::addmv": pair("self mat vec beta alpha", "mat", "vec", dims=(2, 1), added="self"),
    "aten::matmul": Operator("self other", dense.matmul),
    "aten::linalg_matmul": Operator("self other", dense.matmul),
    "aten::linear": Operator("input weight bias", dense.linear),
    "aten::mkldnn_linear": Operator("self weight bias", partial(dense.linear, a="self")),
    "aten::linear_backward": Operator("self grad_output weight output_mask", dense.linear_backward),
    "aten::mkldnn_linear_backward": Operator("self grad_output weight output_mask", dense.linear_backward),
    "aten::mkldnn_linear_backward_input": Operator("input_size grad_output weight", dense.linear_input),
    "aten::mkldnn_linear_backward_weights": Operator("grad_output input weight bias_defined", dense.linear_weight),
    "mkldnn::_linear_pointwise": Operator("X W B", partial(dense.linear, a="X", b="W", bias="B")),
    "mkl::_mkl_linear": Operator("X MKL_W ORI_W B", partial(dense.linear, a="X", b="ORI_W", bias="B")),
    "bitsandbytes::int8_linear_matmul": Operator("A B", partial(dense.linear, a="A", b="B", rule="int32")),
    "aten::inner": Operator("self other", dense.inner),
    "aten::chain_matmul": Operator("matrices", dense.chain),
    "aten::linalg_multi_dot": Operator("tensors", dense.chain),
    "aten::_foreach_mm": Operator("self mat2", dense.each),
    "inductor::_mm_plus_mm": Operator("a b c d", dense.sum_of_two),
    "aten::einsum": Operator("equation tensors path", contraction.einsum),
    "aten::tensordot": Operator("self other dims_self dims_other", contraction.tensordot),
    "aten::bilinear": Operator("input1 input2 weight bias", contraction.bilinear),
    "aten::_trilinear": Operator(
        "i1 i2 i3 expand1 expand2 expand3 sumdim unroll_dim", contraction.trilinear
    ),
    "aten::_scaled_mm": Operator(
        "self mat2 scale_a scale_b bias scale_result out_dtype use_fast_accum", scaled.scaled
    ),
    "aten::_scaled_mm_v2": Operator(
        "self mat2 scale_a recipe_a swizzle_a scale_b recipe_b swizzle_b bias out_dtype contraction_dim", scaled.scaled
    ),
    "_C::cutlass_scaled_mm": Operator("out a b scale_a scale_b bias", scaled.scaled),
    "aten::_grouped_mm": Operator("self mat2 offs bias out_dtype", scaled.grouped),
    "aten::_scaled_grouped_mm": Operator(
        "self mat2 scale_a scale_b offs bias scale_result out_dtype", scaled.grouped
    ),
    "aten::_scaled_grouped_mm_v2": Operator(
        "self mat2 scale_a recipe_a swizzle_a scale_b recipe_b swizzle_b offs bias out_dtype", scaled.grouped
    ),
    "aten::_weight_int8pack_mm": Operator("self mat2 scales", partial(scaled.packed, weight_format="int8")),
    "aten::_weight_int4pack_mm": Operator(
        "self mat2 qGroupSize qScaleAndZeros", partial(scaled.packed, weight_format="int4", tile=8)
    ),
    "aten::_weight_int4pack_mm_for_cpu": Operator(
        "self mat2 qGroupSize qScaleAndZeros", partial(scaled.packed, weight_format="int4")
    ),
    "aten::convolution": Operator(CONV, windows.convolution),
    "aten::convolution_overrideable": Operator(CONV, windows.convolution),
    "aten::_convolution": Operator(
        f"{CONV} benchmark deterministic cudnn_enabled allow_tf32", windows.convolution
    ),
    "aten::_convolution_mode": Operator("input weight bias stride padding dilation groups", windows.convolution),
    **dict.fromkeys(
        ("aten::conv1d", "aten::conv2d", "aten::conv3d"),
        Operator("input weight bias stride padding dilation groups", windows.convolution),
    ),
    **dict.fromkeys(
        ("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"), Operator(TURNED, turned)
    ),
    "aten::conv_tbc": Operator("self weight bias pad", windows.over_time),
    "aten::cudnn_convolution": Operator(
        "self weight padding stride dilation groups benchmark deterministic allow_tf32", windows.convolution
    ),
    "aten::cudnn_convolution_transpose": Operator(
        "self weight padding output_padding stride dilation groups benchmark deterministic allow_tf32", turned
    ),
    **dict.fromkeys(
        ("aten::cudnn_convolution_relu", "aten::miopen_convolution_relu"), Operator(ACTIVATED, windows.convolution)
    ),
    **dict.fromkeys(
        ("aten::cudnn_convolution_add_relu", "aten::miopen_convolution_add_relu"),
        Operator("self weight z alpha bias stride padding dilation groups", windows.convolution),
    ),
    **dict.fromkeys(
        ("aten::miopen_convolution", "aten::miopen_depthwise_convolution", "aten::mkldnn_convolution"),
        Operator(WITH_BIAS, windows.convolution),
    ),
    "aten::_mps_convolution": Operator(WITH_BIAS, windows.convolution),
    "aten::_mps_convolution_transpose": Operator(
        "self weight padding output_padding stride dilation groups", turned
    ),
    "aten::miopen_convolution_transpose": Operator(
        "self weight bias padding output_padding stride dilation groups", turned
    ),
    **dict.fromkeys(
        ("aten::_slow_conv2d_forward", "aten::thnn_conv2d", "aten::slow_conv3d", "aten::slow_conv3d_forward"),
        Operator(THNN, windows.convolution),
    ),
    **dict.fromkeys(
        ("aten::slow_conv_dilated2d", "aten::slow_conv_dilated3d", "aten::_conv_depthwise2d", "aten::conv_depthwise3d"),
        Operator(f"{THNN} dilation", windows.convolution),
    ),
    **dict.fromkeys(
        ("aten::slow_conv_transpose2d", "aten::slow_conv_transpose3d"),
        Operator(f"{THNN} output_padding dilation", turned),
    ),
    "aten::_nnpack_spatial_convolution": Operator("input weight bias padding stride", windows.convolution),
    "mkldnn::_convolution_pointwise": Operator("X W B padding stride dilation groups", windows.convolution),
    "mkldnn::_convolution_transpose_pointwise": Operator(
        "X W B padding output_padding stride dilation groups", turned
    ),
    "aten::convolution_backward": Operator(
        "grad_output input weight bias_sizes stride padding dilation transposed output_padding groups output_mask",
        windows.backward,
    ),
    "aten::convolution_backward_overrideable": Operator(
        "grad_output input weight stride padding dilation transposed output_padding groups output_mask",
        windows.backward,
    ),
    "aten::_slow_conv2d_backward": Operator(
        "grad_output self weight kernel_size stride padding output_mask", windows.backward
    ),
    "aten::mps_convolution_backward": Operator(
        "self grad_output weight padding stride dilation groups output_mask", windows.backward
    ),
    "aten::mps_convolution_transpose_backward": Operator(
        "self grad_output weight padding output_padding stride dilation groups output_mask", turned_back
    ),
    "aten::scaled_dot_product_attention": attends(
        f"{QKV} attn_mask dropout_p is_causal", "scaled dot product attention"
    ),
    "aten::_scaled_dot_product_attention_math": attends(f"{QKV} attn_mask dropout_p is_causal"),
    "aten::_scaled_dot_product_attention_math_for_mps": attends(f"{QKV} attn_mask dropout_p is_causal"),
    "aten::_scaled_dot_product_flash_attention": attends(f"{QKV} dropout_p is_causal", FLASH),
    "aten::_scaled_dot_product_flash_attention_for_cpu": attends(f"{QKV} dropout_p is_causal", FLASH),
    "aten::_scaled_dot_product_efficient_attention": attends(
        f"{QKV} attn_bias compute_log_sumexp dropout_p is_causal", EFFICIENT
    ),
    "aten::_scaled_dot_product_cudnn_attention": attends(
        f"{QKV} attn_bias compute_log_sumexp dropout_p is_causal", CUDNN
    ),
    "aten::_scaled_dot_product_fused_attention_overrideable": attends(
        f"{QKV} attn_bias dropout_p is_causal", FUSED
    ),
    "aten::_scaled_dot_product_flash_attention_backward": attends(
        f"grad_out {QKV} out logsumexp - - max_q max_k dropout_p is_causal", FLASH
    ),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": attends(
        f"grad_out {QKV} out logsumexp dropout_p is_causal", FLASH
    ),
    "aten::_scaled_dot_product_efficient_attention_backward": attends(
        f"grad_out_ {QKV} attn_bias out logsumexp philox_seed philox_offset dropout_p grad_input_mask is_causal",
        EFFICIENT,
    ),
    "aten::_scaled_dot_product_cudnn_attention_backward": attends(
        f"grad_out {QKV} out logsumexp philox_seed philox_offset attn_bias - - max_q max_k dropout_p is_causal", CUDNN
    ),
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": attends(
        f"grad_out {QKV} attn_bias grad_input_mask out logsumexp - - max_q max_k dropout_p is_causal", FUSED
    ),
    "aten::_flash_attention_forward": attends(
        f"{QKV} cum_seq_q cum_seq_k max_q max_k dropout_p is_causal return_debug_mask", FLASH, 1
    ),
    "aten::_flash_attention_forward_no_dropout_inplace": attends(
        f"out {QKV} cum_seq_q cum_seq_k max_q max_k dropout_p is_causal return_debug_mask", FLASH, 1
    ),
    "aten::_flash_attention_backward": attends(
        f"grad_out {QKV} out logsumexp cum_seq_q cum_seq_k max_q max_k dropout_p is_causal", FLASH, 1
    ),
    "aten::_efficient_attention_forward": attends(
        f"{QKV} bias cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k dropout_p custom_mask_type "
        "compute_log_sumexp scale seqlen_k",
        EFFICIENT, 1,
    ),
    "aten::_efficient_attention_backward": attends(
        f"grad_out_ {QKV} bias out cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k logsumexp dropout_p philox_seed "
        "philox_offset custom_mask_type",
        EFFICIENT, 1,
    ),
    "aten::_cudnn_attention_forward": attends(
        f"{QKV} attn_bias cum_seq_q cum_seq_k max_q max_k compute_log_sumexp dropout_p is_causal", CUDNN
    ),
    "aten::_cudnn_attention_backward": attends(
        f"grad_out {QKV} out logsumexp philox_seed philox_offset attn_bias cum_seq_q cum_seq_k max_q max_k dropout_p "
        "is_causal",
        CUDNN,
    ),
    "torch_attn::_varlen_attn": attends(f"{QKV} cu_seq_q cu_seq_k max_q max_k is_causal", FLASH, 1),
    "torch_attn::_varlen_attn_out": attends(f"out {QKV} cu_seq_q cu_seq_k max_q max_k is_causal", FLASH, 1),
    "torch_attn::_varlen_attn_backward": attends(
        f"grad_out {QKV} out lse cu_seq_q cu_seq_k max_q max_k is_causal", FLASH, 1
    ),
    "aten::_native_multi_head_attention": Operator(
        f"{QKV} embed_dim num_head qkv_weight qkv_bias proj_weight proj_bias", heads.multi_head
    ),
    "aten::_triton_scaled_dot_attention": attends("q k v dropout_p", FUSED),
    "flex_attention": attends(QKV, "flex attention"),
    "flex_attention_backward": attends(f"{QKV} out logsumexp grad_out", "flex attention"),
    "flash_attn::_flash_attn_forward": attends("q k v dropout_p softmax_scale causal", FLASH, 1),
    "flash_attn::_flash_attn_backward": attends(
        "dout q k v out softmax_lse dq dk dv dropout_p softmax_scale causal", FLASH, 1
    ),
    "flash_attn::_flash_attn_varlen_forward": attends(
        f"q k v {PACKED_LENGTHS} max_seqlen_q max_seqlen_k dropout_p softmax_scale causal", FLASH, 1
    ),
    "flash_attn::_flash_attn_varlen_backward": attends(
        f"dout q k v out softmax_lse dq dk dv {PACKED_LENGTHS} max_seqlen_q max_seqlen_k dropout_p softmax_scale "
        "causal",
        FLASH, 1,
    ),
    "flash_attn_3::_flash_attn_forward": attends(
        f"q k v k_new v_new qv out_ {PACKED_LENGTHS} cu_seqlens_k_new seqused_q seqused_k max_seqlen_q max_seqlen_k "
        "page_table kv_batch_idx leftpad_k rotary_cos rotary_sin seqlens_rotary q_descale k_descale v_descale "
        "softmax_scale causal",
        FLASH, 1,
    ),
    "xformers::efficient_attention_forward_cutlass": attends(
        f"{QKV} bias {PACKED_LENGTHS} max_seqlen_q max_seqlen_k dropout_p custom_mask_type compute_log_sumexp scale "
        "seqlen_k",
        EFFICIENT, 1,
    ),
    "xformers::efficient_attention_backward_cutlass": attends(
        f"grad_out {QKV} bias {PACKED_LENGTHS} max_seqlen_q max_seqlen_k logsumexp out dropout_p rng_seed rng_offset "
        "custom_mask_type",
        EFFICIENT, 1,
    ),
    "xformers_flash::flash_fwd": attends(
        f"{QKV} {PACKED_LENGTHS} seqused_k max_seqlen_q max_seqlen_k p softmax_scale is_causal", FLASH, 1
    ),
    "xformers_flash::flash_bwd": attends(
        f"dout {QKV} out softmax_lse dq dk dv {PACKED_LENGTHS} max_seqlen_q max_seqlen_k p softmax_scale is_causal",
        FLASH, 1,
    ),
    "aten::_cudnn_rnn": Operator(CUDNN_RNN, recurrent.recurrent),
    "aten::_cudnn_rnn_backward": Operator(CUDNN_RNN_BACKWARD, recurrent.recurrent),
    "aten::miopen_rnn": Operator(
        CUDNN_RNN.replace(" weight_buf", "").replace(" proj_size", ""), recurrent.recurrent
    ),
    "aten::miopen_rnn_backward": Operator(CUDNN_RNN_BACKWARD.replace(" proj_size", ""), recurrent.recurrent),
    **dict.fromkeys(
        ("aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu"), Operator(RNN, recurrent.recurrent)
    ),
    "aten::mkldnn_rnn_layer": Operator(
        "input weight0 weight1 weight2 weight3 hx_ cx_ reverse batch_sizes mode hidden_size num_layers has_biases "
        "bidirectional batch_first train",
        recurrent.one_layer,
    ),
    "aten::mkldnn_rnn_layer_backward": Operator(
        "input weight1 weight2 weight3 weight4 hx_ cx_tmp output hy_ cy_ grad_output grad_hy grad_cy reverse mode "
        "hidden_size num_layers has_biases train bidirectional batch_sizes batch_first",
        recurrent.one_layer,
    ),
    **dict.fromkeys(
        ("aten::lstm_cell", "aten::gru_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell"),
        Operator(CELL, recurrent.cell),
    ),
}  # fmt: skip


def a_number(value: Any) -> bool:
    """Whether an argument is a number, and neither a switch nor left out."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def at(index: int, test: Callable[[Any], bool]) -> Callable[[tuple[Any, ...]], bool]:
    """Whether there is an argument at a position that passes a test."""
    return lambda inputs: len(inputs) > index and test(inputs[index])


a_list = at(3, lambda value: isinstance(value, list | tuple))
typed = at(3, lambda value: isinstance(value, str))
after_bias = at(4, lambda value: isinstance(value, list | tuple))
PACKED_RNN = "data batch_sizes hx params has_biases num_layers dropout train bidirectional"

#: overloads and older versions whose parameters stand elsewhere, and what of the arguments tells them
VARIANTS: dict[str, tuple[Callable[[tuple[Any, ...]], bool], str]] = {
    "aten::addmm": (typed, "self mat1 mat2 out_dtype beta alpha"),
    "aten::baddbmm": (typed, "self batch1 batch2 out_dtype beta alpha"),
    "aten::_scaled_mm": (  # 2.4: the second scale stands where the result's format stood
        at(3, lambda value: not isinstance(value, Tensor)),
        "self mat2 bias out_dtype scale_a scale_b scale_result use_fast_accum",
    ),
    **dict.fromkeys(("aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu"), (a_list, PACKED_RNN)),
    "aten::_scaled_dot_product_cudnn_attention": (at(3, a_number), f"{QKV} dropout_p is_causal"),  # 2.4
    "aten::_scaled_dot_product_cudnn_attention_backward": (
        at(8, a_number), f"grad_out {QKV} out logsumexp - - max_q max_k dropout_p is_causal",
    ),
    "aten::_scaled_dot_product_flash_attention": (
        lambda inputs: len(inputs) > 7, f"{QKV} q_descale k_descale v_descale dropout_p is_causal",
    ),
    "mkldnn::_linear_pointwise": (at(3, lambda value: not isinstance(value, str)), "X other W B"),
    "mkldnn::_convolution_pointwise": (after_bias, "X other W B padding stride dilation groups"),
}  # fmt: skip


def parameters_of(name: str, operation: Operation) -> list[str]:
    """The names of an operation's inputs, by the overload that its arguments are those of."""
    variant = VARIANTS.get(name)
    chosen = variant[1] if variant is not None and variant[0](operation.inputs) else OPERATORS[name].parameters
    return chosen.split()
