"""What a library makes of a multiplication: torch.matmul and torch._scaled_mm, whose C is hidden."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from gemmlab.numerics.backends import device
from gemmlab.numerics.operands import typed
from gemmlab.record import GemmlabError, unknown_name

ACCUMULATES = {
    "float16": "float32",
    "bfloat16": "float32",
    "tfloat32": "float32",
    "float8_e4m3fn": "float32",
    "float8_e5m2": "float32",
    "int8": "int32",
}
ALONG = 16  # _scaled_mm and _int_mm take rows of a multiple of 16 elements
ROWS = 32  # _int_mm wants more than 16 rows


class Torch:
    """torch's product as a callable `mma(a, b)`: C is hidden, the kernel is the library's choice.

    float8 goes through torch._scaled_mm with scales of 1, `fast` being its use_fast_accum; int8 through torch._int_mm;
    anything else through torch.mm with a float32 result. After a call `kernel` has the name of the kernel that ran;
    its machine code is not read, so `opcode` says that it is unknown. Raises GemmlabError without torch or a GPU.
    """

    opcode = "unknown: the machine code of a library's kernel is not read"

    def __init__(self, a_format: str, *, b_format: str | None = None, fast: bool = False) -> None:
        self.a_format, self.b_format, self.fast = a_format, b_format or a_format, fast
        for name in (self.a_format, self.b_format):
            if name not in ACCUMULATES:
                raise unknown_name("format", name, ACCUMULATES)
        eight = self.a_format.startswith("float8") and self.b_format.startswith("float8")
        if self.a_format != self.b_format and not eight:
            raise GemmlabError(f"torch does not multiply {a_format} by {b_format}", "one format, or two of float8")
        if self.a_format == self.b_format == "float8_e5m2":
            raise GemmlabError("torch._scaled_mm takes no float8_e5m2 x float8_e5m2", "one of them float8_e4m3fn")
        self.accumulate = ACCUMULATES[self.a_format]
        self.torch = device.torch_here()
        self.kernel = ""  #: of the first call

    def __call__(self, a: Any, b: Any) -> npt.NDArray[Any]:
        """D = A @ B of shapes (m, k), (k, n), zeros filling up what the library wants whole."""
        asked = device.problem(a, b, None, self.a_format, self.b_format, self.accumulate)
        whole = device.padded(asked, ROWS, ALONG, ALONG)
        left, right = device.upload(whole.a, self.a_format), device.upload(whole.b, self.b_format).t()
        if not self.kernel:
            self.kernel = self.profiled(left, right)
        d = self.multiplied(left, right)
        return typed(device.download(d)[: asked.shape[0], : asked.shape[1]], self.accumulate)

    def multiplied(self, left: Any, right: Any) -> Any:
        """The library's product of two tensors."""
        torch = self.torch
        if self.a_format == "int8":
            return torch._int_mm(left, right)
        if self.a_format.startswith("float8"):
            one = torch.ones((), device="cuda")
            return torch._scaled_mm(
                left, right, scale_a=one, scale_b=one, out_dtype=torch.float32, use_fast_accum=self.fast
            )
        if self.a_format == "tfloat32":
            before = torch.backends.cuda.matmul.allow_tf32
            torch.backends.cuda.matmul.allow_tf32 = True
            try:
                return torch.mm(left, right)
            finally:
                torch.backends.cuda.matmul.allow_tf32 = before
        return torch.mm(left, right, out_dtype=torch.float32)

    def profiled(self, left: Any, right: Any) -> str:
        """The name of the kernel that ran longest in one call."""
        profiler = self.torch.profiler
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA, profiler.ProfilerActivity.CPU]) as seen:
            self.multiplied(left, right)
            self.torch.cuda.synchronize()
        ran = [event for event in seen.events() if str(event.device_type).endswith("CUDA")]
        return str(max(ran, key=lambda event: event.time_range.elapsed_us()).name) if ran else "unknown"
