"""What a program asks of one operator, as a trace or a traced model tells it."""

from __future__ import annotations

from typing import Any

import msgspec


class Tensor(msgspec.Struct, frozen=True):
    """A tensor as an operator is given it, sizes in elements."""

    shape: tuple[int, ...]
    format: str  #: by its ml_dtypes name; what is no number format keeps the source's own, such as `bool`
    strides: tuple[int, ...] | None = None  #: elements between neighbours along each axis; None where nobody tells
    offset_bytes: int = 0  #: how far its first element lies past an aligned address
    parameter: str = ""  #: the parameter or buffer that it is, or is a view of, by its name in the model


class Operation(msgspec.Struct, frozen=True):
    """One call of an operator.

    `inputs` follow the operator's schema by position, keywords included: a Tensor, a list of them, a number, a list of
    numbers, a string, True or False; None is left out or not told.
    """

    name: str  #: `aten::addmm`, without its overload
    inputs: tuple[Any, ...] = ()
    outputs: tuple[Tensor, ...] = ()  #: empty where the source does not tell them


class Settings(msgspec.Struct, frozen=True):
    """What the program allows arithmetic to be, where the operator's arguments do not say it: PyTorch's defaults."""

    matmul_tf32: bool = False  #: torch.set_float32_matmul_precision is "high" or "medium"
    convolution_tf32: bool = True  #: torch.backends.cudnn.allow_tf32
