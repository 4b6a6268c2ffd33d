"""flex_attention, the one operator that PyTorch hands on with functions among its arguments."""

from __future__ import annotations

from typing import Any

from gemmlab.workload.models.failures import MissingKernelError
from gemmlab.workload.models.reading import Names, described
from gemmlab.workload.operation import Operation

FORWARD, BACKWARD = "flex_attention", "flex_attention_backward"
TENSORS = {FORWARD: 3, BACKWARD: 6}  #: the arguments that are multiplied or go with them, before the functions
DENSE = "flex_attention: every block of the scores is counted, those that a block mask leaves out too"


def run(func: Any, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
    """The tensors that it takes, and its result; raises MissingKernelError for any other operator of its kind."""
    import torch

    name = func.name()
    if name not in TENSORS:
        raise MissingKernelError(name)
    query, key, value = args[:3]
    if name == FORWARD:
        rows = query.shape[:-1]
        output = query.new_empty((*rows, value.shape[-1]))
        return args[:3], (output, *(query.new_empty(rows, dtype=torch.float32) for _ in range(2)))
    captured = args[-2] if isinstance(args[-2], tuple) else ()
    gradients = [each.new_empty(each.shape) for each in (query, key, value)]
    return args[:6], (*gradients, [each.new_empty(each.shape) if is_trained(each) else None for each in captured])


def is_trained(value: Any) -> bool:
    """Whether a gradient of it is asked for."""
    return bool(getattr(value, "requires_grad", False))


def operation(func: Any, tensors: tuple[Any, ...], result: Any, names: Names) -> Operation:
    """The call, as an Operation."""
    told = tuple(described(each, names) for each in result[:3])
    inputs = tuple(described(each, names) if each is not None else None for each in tensors)
    return Operation(name=func.name(), inputs=inputs, outputs=told)
