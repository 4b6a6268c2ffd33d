"""Bytes of what multiplies no matrices, where a source tells an operator's inputs and not its outputs: a trace does so.

Each input is read once and the result written once; the result is as large as the largest input, but for sums and what
writes in place. Views and what only calls other operators move nothing of their own and are in no table.
"""

from __future__ import annotations

from math import prod
from typing import Any, TypeGuard

from gemmlab.formats import names, storage_bytes
from gemmlab.workload.elementwise import FLOP_PER_ELEMENT, PREFIX
from gemmlab.workload.operation import Operation, Tensor

#: these write their first tensor and read nothing
WRITES = frozenset(("fill_", "zero_", "normal_", "uniform_", "bernoulli_", "exponential_", "random_"))
#: these read each input, the first of which is the result
INTO = frozenset(("copy_",))
#: one value is left of many
REDUCES = frozenset(("sum", "mean", "norm", "linalg_vector_norm", "var", "var_mean", "argmax", "argmin", "all", "any"))
#: comparisons, choices and copies do no FLOP and move all the same
SILENT = frozenset(
    (
        *("relu", "clamp", "clamp_min", "clamp_max", "threshold_backward", "hardtanh", "leaky_relu", "where", "neg"),
        *("masked_fill", "eq", "ne", "lt", "le", "gt", "ge", "abs", "sign", "maximum", "minimum", "cat", "isneginf"),
        *("logical_and", "logical_not", "bitwise_and", "bitwise_not", "max_pool2d_with_indices", "triu", "tril"),
        *("max_pool2d_with_indices_backward", "argmax", "argmin", "all", "any", "roll", "flip", "index_copy"),
    )
)
#: sizes of what is no number format of the package's
BYTES = {"bool": 1, "int64": 8, "uint64": 8, "complex32": 4, "complex64": 8, "complex128": 16}


def moved_bytes(operation: Operation) -> int | None:
    """Counted bytes of an operator that multiplies no matrices; None for one that no table knows."""
    if not operation.name.startswith("aten::"):
        return None
    name = operation.name.removeprefix("aten::").removeprefix(PREFIX)
    bare = name.removesuffix("_")
    inputs = operation.inputs
    tensors = [each for value in inputs for each in (value if isinstance(value, list) else [value]) if is_tensor(each)]
    if not tensors or any(bytes_of(each) is None for each in tensors):
        return None
    if name == "index_select":
        return looked_up(inputs)
    if name == "embedding_dense_backward":
        return summed_up(inputs)
    sizes = [bytes_of(each) or 0 for each in tensors]
    if name in WRITES:
        return sizes[0]
    if name in INTO:
        return sum(sizes)
    if bare not in FLOP_PER_ELEMENT and bare not in SILENT:
        return None
    if bare in REDUCES:
        return sum(sizes)
    if name == "cat":
        return 2 * sum(sizes)
    first = inputs[0]
    own = sum(bytes_of(each) or 0 for each in first) if isinstance(first, list) else sizes[0]
    return sum(sizes) + (own if name.endswith("_") or isinstance(first, list) else max(sizes))


def looked_up(inputs: tuple[Any, ...]) -> int | None:
    """Rows of a table that are read and written, and which ones: `index_select(table, axis, which)`."""
    if len(inputs) < 3 or not is_tensor(inputs[0]) or not is_tensor(inputs[2]) or not isinstance(inputs[1], int):
        return None
    table, axis, which = inputs[0], inputs[1], inputs[2]
    if not -len(table.shape) <= axis < len(table.shape) or not table.shape[axis]:
        return None
    row = (bytes_of(table) or 0) // table.shape[axis]
    return 2 * row * prod(which.shape) + (bytes_of(which) or 0)


def summed_up(inputs: tuple[Any, ...]) -> int | None:
    """A table's gradient, written whole, and the rows it sums: `embedding_dense_backward(rows, which, number, ...)`."""
    if len(inputs) < 3 or not is_tensor(inputs[0]) or not is_tensor(inputs[1]) or not isinstance(inputs[2], int):
        return None
    rows, which, number = inputs[0], inputs[1], inputs[2]
    width = (bytes_of(rows) or 0) // max(1, prod(which.shape))
    return (bytes_of(rows) or 0) + (bytes_of(which) or 0) + width * number


def is_tensor(value: Any) -> TypeGuard[Tensor]:
    """Whether an input is a tensor."""
    return isinstance(value, Tensor)


def bytes_of(tensor: Tensor) -> int | None:
    """Bytes of its distinct elements: what an expanded tensor repeats counts once; None for an unknown format."""
    strides = tensor.strides or (1,) * len(tensor.shape)
    elements = prod(side for side, stride in zip(tensor.shape, strides, strict=True) if stride or side == 0)
    if tensor.format in BYTES:
        return BYTES[tensor.format] * elements
    return storage_bytes(tensor.format, elements) if tensor.format in names() else None
