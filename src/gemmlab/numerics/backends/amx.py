"""Intel AMX on this CPU: a live matrix unit, reached through LLVM's intrinsics without a compiler.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, chapter 18 (programming with AMX), and the Linux
kernel's Documentation/arch/x86/xstate.rst for the permission to use tile data.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.operands import operand
from gemmlab.record import GemmlabError, unknown_name

SIDE = 16  # rows of a tile; 64 bytes each
ROW_BYTES = 64
REQUEST = (158, 0x1023, 18)  # arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
#: operand formats -> the instruction
INSTRUCTIONS = {
    ("bfloat16", "bfloat16"): "tdpbf16ps",
    ("int8", "int8"): "tdpbssd",
    ("int8", "uint8"): "tdpbsud",
    ("uint8", "int8"): "tdpbusd",
    ("uint8", "uint8"): "tdpbuud",
}


@cache
def missing() -> str:
    """Why AMX cannot be used here; empty where it can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"{sys.platform} on {platform.machine()} is not Linux on x86-64"
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        words = set(next((line for line in file if line.startswith("flags")), "").split())
    lacking = {"amx_tile", "amx_bf16", "amx_int8"} - words
    if lacking:
        return f"this CPU has no {', '.join(sorted(lacking))}"
    if ctypes.CDLL(None).syscall(*REQUEST) != 0:
        return "the kernel does not permit tile data to this process"
    return ""


def available() -> bool:
    """Whether this CPU has AMX with bfloat16 and int8, and the kernel lets this process use it."""
    return not missing()


def mma(a: Any, b: Any, c: Any = None, *, a_format: str | None = None, b_format: str | None = None) -> npt.NDArray[Any]:
    """D = A @ B + C of shapes (m, k), (k, n), (m, n) on this CPU's tiles; C is loaded into the accumulator.

    bfloat16 gives float32; int8 and uint8, in any pair, give int32. An instruction takes 32 bfloat16 or 64 integers of
    k; what does not fill one is filled with zeros. Raises GemmlabError where there is no AMX, and for other formats.
    """
    if missing():
        raise GemmlabError(f"no AMX: {missing()}", "--unit amx.tdp.bfloat16 emulates it anywhere")
    left, right = operand(a, a_format, "A"), operand(b, b_format, "B")
    if (left.format, right.format) not in INSTRUCTIONS:
        raise unknown_name(
            "pair of formats on AMX", f"{left.format} x {right.format}", [" x ".join(pair) for pair in INSTRUCTIONS]
        )
    if left.codes.ndim != 2 or right.codes.ndim != 2 or left.codes.shape[1] != right.codes.shape[0]:
        raise GemmlabError(f"A of {left.codes.shape} and B of {right.codes.shape} do not multiply", "(m, k) and (k, n)")
    kind = np.dtype(np.float32 if left.format == "bfloat16" else np.int32)
    m, n = left.codes.shape[0], right.codes.shape[1]
    addend = np.zeros((m, n), kind) if c is None else np.asarray(c)
    if addend.shape != (m, n) or addend.dtype != kind:
        raise GemmlabError(f"C is {addend.dtype} of shape {addend.shape}", f"{kind} of shape {(m, n)}")
    from gemmlab.numerics.backends.amx_tiles import multiplied

    tiles = multiplied(
        INSTRUCTIONS[left.format, right.format],
        packed_rows(left.codes),
        packed_columns(right.codes),
        blocks(addend),
    )
    return np.ascontiguousarray(tiles.swapaxes(1, 2).reshape(-1, tiles.shape[1] * SIDE)[:m, :n])


def packed_rows(codes: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """A as tiles (down, along k, 16, 64 bytes)."""
    width = ROW_BYTES // codes.itemsize
    whole = padded(codes, SIDE, width)
    shape = (whole.shape[0] // SIDE, SIDE, whole.shape[1] // width, width)
    return np.ascontiguousarray(whole.reshape(shape).swapaxes(1, 2)).view(np.uint8)


def packed_columns(codes: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """B as tiles (across, along k, 16, 64 bytes): the 4 bytes of k that one product step takes lie side by side."""
    together = 4 // codes.itemsize
    whole = padded(codes, SIDE * together, SIDE)
    shape = (whole.shape[0] // (SIDE * together), SIDE, together, whole.shape[1] // SIDE, SIDE)
    return (
        np.ascontiguousarray(whole.reshape(shape).transpose(3, 0, 1, 4, 2))
        .reshape(shape[3], shape[0], SIDE, SIDE * together)
        .view(np.uint8)
    )


def blocks(c: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """C as tiles (down, across, 16, 16)."""
    whole = padded(c, SIDE, SIDE)
    shape = (whole.shape[0] // SIDE, SIDE, whole.shape[1] // SIDE, SIDE)
    return np.ascontiguousarray(whole.reshape(shape).swapaxes(1, 2))


def padded(array: npt.NDArray[Any], rows: int, columns: int) -> npt.NDArray[Any]:
    """Zeros behind, to whole multiples, at least one."""
    fill = [(0, -size % unit if size else unit) for size, unit in zip(array.shape, (rows, columns), strict=True)]
    return np.pad(array, fill)
