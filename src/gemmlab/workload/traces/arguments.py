"""An operator's recorded arguments as an Operation."""

from __future__ import annotations

import ast
from typing import Any

import msgspec

from gemmlab.workload.operation import Operation, Tensor
from gemmlab.workload.traces.types import CONSTANTS, TENSORS, format_of

#: an operator's name and what its event says of `Input Dims`, `Input type`, `Input Strides` and `Concrete Inputs`
Signature = tuple[str, bytes, bytes, bytes, bytes]


def operation_of(signature: Signature) -> Operation:
    """The operation that a signature describes; without `Input Dims` it has no inputs."""
    name, *recorded = signature
    shapes, types, strides, values = (decoded(each) for each in recorded)
    inputs = []
    for index, shape in enumerate(shapes):
        kind = str(at(types, index) or "")
        inputs.append(argument(shape, kind, at(strides, index), at(values, index)))
    return Operation(name, tuple(inputs))


def decoded(recorded: bytes) -> list[Any]:
    """The list that an event holds under one key; empty where it holds none."""
    if not recorded:
        return []
    try:
        value = msgspec.json.decode(recorded)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    return value if isinstance(value, list) else []


def at(values: list[Any], index: int) -> Any:
    """An element of a list that may be shorter than the others."""
    return values[index] if index < len(values) else None


def argument(shape: Any, kind: str, strides: Any, value: Any) -> Any:
    """One input by position: a Tensor, a list of them, a number, a list of numbers, a string, or None."""
    if kind == TENSORS:
        several = strides if isinstance(strides, list) else []
        sizes = shape if isinstance(shape, list) else []
        return [tensor(each, "", at(several, index)) for index, each in enumerate(sizes) if is_sizes(each)]
    if kind in CONSTANTS:
        return constant(value)
    return tensor(shape, format_of(kind), strides) if is_sizes(shape) else None


def is_sizes(shape: Any) -> bool:
    """Whether a recorded shape is a list of sizes."""
    return isinstance(shape, list) and all(type(size) is int and 0 <= size < 1 << 63 for size in shape)


def tensor(shape: list[int], format_name: str, strides: Any) -> Tensor:
    """A tensor of a recorded shape; strides of another length are not told."""
    told = is_sizes(strides) and len(strides) == len(shape)
    return Tensor(tuple(shape), format_name, tuple(strides) if told else None)


def constant(value: Any) -> Any:
    """What PyTorch printed of a number, a list of them or a flag; a string stays one, nothing is None."""
    if not isinstance(value, str):
        return value if isinstance(value, int | float) else None
    text = value.strip()
    if text in ("", "None"):
        return None
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered in ("inf", "-inf", "nan"):
        return float(lowered)
    try:
        read = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    if isinstance(read, list | tuple):
        return list(read)
    return read if isinstance(read, int | float | complex) else text
