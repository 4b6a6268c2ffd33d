"""Which operators multiply matrices, and which multiplications they are."""

from __future__ import annotations

import msgspec

from gemmlab.problem import Convolution, Gemm
from gemmlab.workload.operation import Operation, Settings, Tensor


class Product(msgspec.Struct, frozen=True):
    """One multiplication of an operation, with the tensors that it multiplies."""

    problem: Gemm
    operands: tuple[Tensor, ...] = ()
    convolution: Convolution | None = None
    convolution_pass: str = ""
    fused: str = ""
    causal: bool = False


class UnreadableError(Exception):
    """The operation multiplies, but its arguments do not say which sizes; the text says what is missing."""


def products(operation: Operation, settings: Settings) -> tuple[Product, ...] | None:
    """The multiplications of an operation, in the order that it makes them; None for an operator that makes none.

    Raises UnreadableError where the operator multiplies and its arguments do not say which sizes.
    """
    raise NotImplementedError(operation.name, settings)
