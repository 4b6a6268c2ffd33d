"""Operands on a GPU and back, as codes, through torch; under TRITON_INTERPRET=1 on the CPU."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics.operands import Codes, operand
from gemmlab.record import GemmlabError

#: formats -> torch's types, where they have other names
TORCH = {"tfloat32": "float32"}
ACCUMULATORS = {"int8": ("int32",), "float16": ("float32", "float16"), "float64": ("float64",)}


class Problem(NamedTuple):
    """One multiplication as codes, before padding."""

    a: Codes  #: (m, k)
    b: Codes  #: (n, k): float8 tensor cores want both operands along k
    c: Codes  #: (m, n)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m, n, k)."""
        return len(self.a), len(self.b), self.a.shape[1]


def problem(a: Any, b: Any, c: Any, a_format: str, b_format: str, accumulate: str) -> Problem:
    """A (m, k), B (k, n) and C (m, n) or None as codes; raises GemmlabError for shapes and values that do not fit."""
    left, right = operand(a, a_format, "A").codes, operand(b, b_format, "B").codes
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0] or 0 in (*left.shape, *right.shape):
        raise GemmlabError(f"A of shape {left.shape} and B of shape {right.shape} do not multiply", "(m, k) and (k, n)")
    shape = (left.shape[0], right.shape[1])
    addend = np.zeros(shape, code_type(formats.get(accumulate))) if c is None else operand(c, accumulate, "C").codes
    if addend.shape != shape:
        raise GemmlabError(f"C has shape {addend.shape}, A @ B has {shape}", "the same shape")
    return Problem(left, np.ascontiguousarray(right.T), addend)


def padded(asked: Problem, m: int, n: int, k: int) -> Problem:
    """The same with zeros up to multiples of m, n and k.

    What a chain ended with passes through further zeros unchanged on every unit known. Raises GemmlabError for
    operands of 2**31 elements, which the kernels' indices do not reach.
    """
    over = [-size % step for size, step in zip(asked.shape, (m, n, k), strict=True)]
    a = np.pad(asked.a, ((0, over[0]), (0, over[2])))
    b = np.pad(asked.b, ((0, over[1]), (0, over[2])))
    c = np.pad(asked.c, ((0, over[0]), (0, over[1])))
    if max(a.size, b.size, c.size) >= 1 << 31:
        raise GemmlabError(
            f"an operand of {max(a.size, b.size, c.size)} elements", "fewer than 2**31; multiply in parts"
        )
    return Problem(a, b, c)


def interpreting() -> bool:
    """Whether Triton's interpreter takes the place of a GPU."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def torch_here(gpu: bool = True) -> Any:
    """The package torch; raises GemmlabError where it is not installed, or sees no NVIDIA GPU."""
    try:
        import torch
    except ImportError as error:
        raise GemmlabError(f"torch cannot be imported: {error}", 'pip install "gemmlab[torch]"') from None
    if gpu and not torch.cuda.is_available():
        raise GemmlabError("torch sees no GPU", "an emulated unit (--unit) needs none; nor does numerics sass")
    return torch


def architecture() -> str:
    """The GPU's, as sm_90; sm_90 where there is none."""
    torch = torch_here(gpu=False)
    if not torch.cuda.is_available():
        return "sm_90"
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def upload(codes: Codes, name: str) -> Any:
    """A tensor of the format's own type on the GPU."""
    torch = torch_here(gpu=not interpreting())
    signed = np.ascontiguousarray(codes).view(codes.dtype.str.replace("u", "i"))
    there = torch.from_numpy(signed.copy()).to("cpu" if interpreting() else "cuda")
    return there.view(getattr(torch, TORCH.get(name, name)))


def poisoned(shape: tuple[int, ...], name: str) -> Any:
    """A tensor to be written, whose every element is one that no sum of this kind would leave."""
    worst = formats.get(name)
    word = np.full(shape, (1 << worst.storage_bits) - 1, code_type(worst))
    return upload(word, name)


def download(tensor: Any) -> npt.NDArray[Any]:
    """The codes of a tensor."""
    torch = torch_here(gpu=False)
    kind = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    codes: npt.NDArray[Any] = tensor.contiguous().view(kind).cpu().numpy()
    return codes.view(codes.dtype.str.replace("i", "u"))
