"""The inputs of one operation by the names of its parameters; what is not there, or is no such thing, is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gemmlab.formats import names
from gemmlab.workload.operation import Operation, Settings, Tensor
from gemmlab.workload.operators.product import UnreadableError

FORMATS = frozenset(names())
#: torch's ScalarType by number (c10/core/ScalarType.h), as traces write an output's type
SCALAR_TYPES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 5: "float16", 6: "float32", 7: "float64", 15: "bfloat16",
    23: "float8_e5m2", 24: "float8_e4m3fn", 25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz", 44: "float8_e8m0fnu",
}  # fmt: skip


class Arguments:
    """What an operation was given; each reader takes all names that schemas have for the one parameter."""

    def __init__(self, operation: Operation, parameters: Iterable[str], settings: Settings) -> None:
        self.parameters = tuple(parameters)
        self.inputs: dict[str, Any] = dict(zip(self.parameters, operation.inputs, strict=False))
        self.outputs = tuple(sized(each, "the result") for each in operation.outputs if isinstance(each, Tensor))
        self.settings = settings

    def value(self, *parameters: str) -> Any:
        """The first of the parameters that was given; None where none was."""
        given = (self.inputs.get(name) for name in parameters)
        return next((each for each in given if each is not None), None)

    def maybe(self, *parameters: str) -> Tensor | None:
        """A tensor that may be left out; traces write one left out as a tensor without sizes."""
        found = self.value(*parameters)
        return sized(found, parameters[0]) if isinstance(found, Tensor) and found.shape != () else None

    def tensor(self, *parameters: str) -> Tensor:
        """A tensor; raises UnreadableError where it is not told."""
        found = self.value(*parameters)
        if not isinstance(found, Tensor):
            raise UnreadableError(f"the shape of `{parameters[0]}` is not told")
        return sized(found, parameters[0])

    def tensors(self, *parameters: str) -> tuple[Tensor, ...]:
        """A list of tensors; raises UnreadableError where it is not told."""
        found = self.value(*parameters)
        if not isinstance(found, list | tuple) or not all(isinstance(each, Tensor) for each in found):
            raise UnreadableError(f"the shapes of the tensors in `{parameters[0]}` are not told")
        return tuple(sized(each, parameters[0]) for each in found)

    def whole(self, *parameters: str) -> int | None:
        """A whole number; None where it is not told."""
        found = self.value(*parameters)
        return found if type(found) is int else None

    def wholes(self, *parameters: str, default: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
        """A list of whole numbers, one number as a list of one; None where it is not told.

        The default is for one that was left out, or that the schema does not have.
        """
        if all(name not in self.inputs for name in parameters):
            return default
        found = self.value(*parameters)
        if type(found) is int:
            return (found,)
        if isinstance(found, list | tuple) and all(type(each) is int for each in found):
            return tuple(found)
        return None

    def factor(self, parameter: str, default: float = 1.0) -> float:
        """A number; the schema's default where it is not told."""
        found = self.value(parameter)
        return float(found) if isinstance(found, int | float) else default

    def flag(self, *parameters: str) -> bool:
        """Whether a switch is told to be on."""
        return self.value(*parameters) is True

    def mask(self, parameter: str, length: int) -> tuple[bool, ...]:
        """A list of switches; raises UnreadableError where it is not told."""
        found = self.value(parameter)
        if isinstance(found, list | tuple) and len(found) >= length:
            return tuple(bool(each) for each in found)
        raise UnreadableError(f"`{parameter}`, which says what gradients are asked for, is not told")

    def result_format(self, rule: str, index: int = 0) -> str:
        """Format of an output: its own where it is told, else the one asked for, else the operator's rule."""
        if len(self.outputs) > index and self.outputs[index].format in FORMATS:
            return self.outputs[index].format
        asked = self.value("out_dtype")
        if isinstance(asked, str) and asked.isdigit():
            asked = int(asked)
        asked = SCALAR_TYPES.get(asked, "") if type(asked) is int else asked
        return asked if isinstance(asked, str) and asked in FORMATS else rule


def sized(tensor: Tensor, parameter: str) -> Tensor:
    """The tensor, its sizes and strides whole numbers; raises UnreadableError where they are not."""
    strides = () if tensor.strides is None else tensor.strides
    for values in (tensor.shape, strides):
        if not isinstance(values, list | tuple) or not all(type(each) is int and each >= 0 for each in values):
            raise UnreadableError(f"`{parameter}` has sizes or strides that are no numbers: {values!r:.80}")
    if tensor.strides is not None and len(strides) != len(tensor.shape):
        raise UnreadableError(f"`{parameter}` has {len(tensor.shape)} sizes and {len(strides)} strides")
    if type(tensor.offset_bytes) is not int:
        raise UnreadableError(f"`{parameter}` begins at {tensor.offset_bytes!r:.80}")
    return tensor
