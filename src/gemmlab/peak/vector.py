"""One row times a matrix whose rows run along k: the kernel as data, and its launch."""

from __future__ import annotations

import ctypes
from functools import lru_cache

import msgspec

from gemmlab.kernels.nvrtc import kept
from gemmlab.peak.driver import Kernel, Launch
from gemmlab.peak.engine import FOLDER, OUTPUTS
from gemmlab.peak.stored import Stored
from gemmlab.units import ceil_div

CHUNK_BYTES = 16  # of a lane's load
KINDS = {"bfloat16": 0, "float16": 1, "float8_e4m3fn": 2, "float8_e5m2": 3}  # KIND of gemv.cu


class Vector(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled form of the kernel."""

    format: str  #: of both operands
    d_format: str
    rows: int = 1  #: of the matrix that a block takes
    warps: int = 4  #: of a block: each takes a share of k
    deep: int = 2  #: loads of each row that a lane has in flight
    early: bool = False

    def text(self) -> str:
        """The kernel's text with its macros before it."""
        macros: dict[str, object] = {
            "ELEMENT": 2 if self.format in ("bfloat16", "float16") else 1,
            "KIND": KINDS[self.format],
            "ROWS": self.rows,
            "WARPS": self.warps,
            "DEEP": self.deep,
            "OUT_BYTES": 4 if self.d_format == "float32" else 2,
            "OUT_KIND": f'"{OUTPUTS[self.d_format]}"',
            "EARLY": int(self.early),
        }
        head = "".join(f"#define {name} {value}\n" for name, value in macros.items())
        return head + (FOLDER / "gemv.cu").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def vector_kernel(form: Vector, device: int) -> Kernel:
    """The compiled kernel on a device, whose context is current."""
    return Kernel(kept(form.text()), "gemv")


def vector_launch(form: Vector, x: Stored, w: Stored, y: int, device: int, scale: float = 1.0) -> Launch:
    """y[n] = scale * sum_k x[k] w[n, k]: rows of W on the copy engine's road, k whole chunks of 16 bytes."""
    chunks = w.columns * w.element_bytes // CHUNK_BYTES
    arguments = (
        ctypes.c_void_p(w.address),
        ctypes.c_void_p(x.address),
        ctypes.c_void_p(y),
        ctypes.c_longlong(w.rows),
        ctypes.c_int(chunks),
        ctypes.c_longlong(w.ld * w.element_bytes),
        ctypes.c_float(scale),
    )
    blocks = ceil_div(w.rows, form.rows)
    return vector_kernel(form, device).prepare((blocks,), 32 * form.warps, arguments, early=form.early)
