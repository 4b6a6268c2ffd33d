"""What a kernel's name says for certain: that it multiplies matrices, for which pass, and in which arithmetic."""

from __future__ import annotations

import re
from functools import lru_cache

#: names of kernels that multiply: of cuBLAS, cuDNN, CUTLASS, Triton, rocBLAS and flash attention
MULTIPLIES = re.compile(
    r"gemm|gemv|cutlass|wgmma|xmma|nvjet|(?<![a-z0-9])sm\d{2,3}_|matmul|triton_tem_|Cijk_|wvSplitK"
    r"|implicit_conv|fprop|dgrad|wgrad|winograd|fmha|flash_(?:fwd|bwd)|flash_attn|_sdpa_|(?<![a-z])(?:b|add|badd|grouped_|scaled_)?mm(?![a-z])|fused_moe",
    re.IGNORECASE,
)
#: names of kernels that such patterns would take for one; Inductor names a pointwise kernel for what it follows, too
OTHERS = re.compile(
    r"nccl|triton_(?:poi|per|red|for)_|elementwise|reduce_kernel|nchwToNhwc|nhwcToNchw|Philox", re.IGNORECASE
)
TF32 = re.compile(r"tf32|(?:tensorop|ampere|sm80|sm90)_s1688", re.IGNORECASE)
FLOAT32 = re.compile(r"sgemm|f32f32_f32f32|simt_s|gemmSN|scudnn|gemv|ffma", re.IGNORECASE)
PASSES = (
    ("wgrad", re.compile("wgrad|bwd_?filter|bwdw", re.IGNORECASE)),
    ("dgrad", re.compile("dgrad|bwd_?data|bwdd", re.IGNORECASE)),
)


@lru_cache(maxsize=65536)
def multiplies(name: str) -> bool:
    """Whether a kernel of this name multiplies matrices."""
    return MULTIPLIES.search(name) is not None and OTHERS.search(name) is None


@lru_cache(maxsize=65536)
def tf32(name: str) -> bool | None:
    """Whether a kernel that multiplies float32 does so in tfloat32; None where its name does not tell.

    cuBLAS and CUTLASS name the instruction: of float32 operands s1688 reads tfloat32, an sgemm float32.
    """
    if TF32.search(name):
        return True
    return False if FLOAT32.search(name) else None


@lru_cache(maxsize=65536)
def convolution_pass(name: str) -> str:
    """`dgrad` or `wgrad` for a kernel named so, else nothing."""
    return next((step for step, pattern in PASSES if pattern.search(name)), "")
