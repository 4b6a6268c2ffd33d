"""The vendor's library through PyTorch: torch.matmul, and torch._scaled_mm for 8-bit floats."""

from __future__ import annotations

from typing import Any

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.cuda.program import require
from gemmlab.run.backends.torch.program import TorchProgram, torch_with_gpu

FORMATS = ("float32", "tfloat32", "float16", "bfloat16")
SMALL_FORMATS = ("float8_e4m3fn", "float8_e5m2")


def matmul(problem: Gemm) -> TorchProgram:
    """`torch.matmul(a, b, out=d)`: float32 without tfloat32, sums of 16-bit operands never reduced in 16 bits.

    Raises GemmlabError for what it does not multiply, and where torch or a GPU is missing.
    """
    require(problem, FORMATS, layouts=("nn", "nt", "tn", "tt"))
    result = "float32" if problem.a_format == "tfloat32" else problem.a_format
    if problem.d_format != result:
        raise GemmlabError(f"torch.matmul of {problem.a_format} gives no {problem.d_format}", f"--d-format {result}")
    torch = torch_with_gpu()
    torch.backends.cuda.matmul.allow_tf32 = problem.a_format == "tfloat32"
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False

    def multiply(a: Any, b: Any, d: Any) -> None:
        torch.matmul(a, b, out=d)

    return TorchProgram(problem, multiply)


def scaled_mm(problem: Gemm) -> TorchProgram:
    """`torch._scaled_mm` with scales of 1, sums promoted to float32; B must be stored (n, k).

    Raises GemmlabError for what it does not multiply, and where torch or a GPU is missing.
    """
    require(problem, SMALL_FORMATS, layouts=("nt",))
    if problem.d_format not in ("bfloat16", "float16", "float32"):
        raise GemmlabError(f"torch._scaled_mm gives no {problem.d_format}", "--d-format bfloat16")
    torch = torch_with_gpu()
    one = torch.ones((), device="cuda")

    def multiply(a: Any, b: Any, d: Any) -> None:
        torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=d.dtype, use_fast_accum=False, out=d)

    return TorchProgram(problem, multiply)
