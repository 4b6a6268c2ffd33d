"""One multiplication of an operation, and what is raised where its sizes are not told."""

from __future__ import annotations

import msgspec

from gemmlab.problem import Convolution, Gemm
from gemmlab.workload.operation import Tensor


class Product(msgspec.Struct, frozen=True):
    """One multiplication of an operation, with the tensors that it multiplies."""

    problem: Gemm
    operands: tuple[Tensor, ...] = ()  #: A, B, and C or a bias, but what a fused kernel keeps on chip
    convolution: Convolution | None = None  #: None where its stride or padding is not told
    convolution_pass: str = ""
    fused: str = ""
    causal: bool = False


Products = tuple[Product, ...]


class UnreadableError(Exception):
    """The operation multiplies, but its arguments do not say which sizes; the text says what is missing."""
