"""What the backward pass begins from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec

from gemmlab.record import GemmlabError


class Outcome(msgspec.Struct, frozen=True):
    """The tensors that gradients flow from, and how that is told."""

    tensors: tuple[Any, ...]
    told: str


def outcome_of(output: Any, loss: Any = None) -> Outcome:
    """The loss of a step: what `loss(output)` returns, the output's own `loss`, or the sum of all floating outputs.

    Raises GemmlabError where nothing of it depends on a parameter or an input that asks for a gradient.
    """
    if loss is not None:
        output, told = loss(output), "the given function"
    elif (own := own_loss(output)) is not None:
        output, told = own, "the output's `loss`"
    else:
        told = ""
    found = [tensor for tensor in tensors_in(output) if tensor.requires_grad and tensor.is_floating_point()]
    if not found:
        raise GemmlabError(
            "nothing that the model returns depends on a parameter that is trained",
            "training=False traces the forward pass alone",
        )
    scalar = len(found) == 1 and found[0].numel() == 1
    if not told:
        told = "the output" if scalar else "the sum of all floating outputs"
    elif not scalar:
        told += ", summed"
    return Outcome(tensors=tuple(found), told=told)


def own_loss(output: Any) -> Any:
    """The `loss` that an output carries; None where it carries none."""
    import torch

    found = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    return found if isinstance(found, torch.Tensor) else None


def tensors_in(output: Any, seen: set[int] | None = None) -> Iterable[Any]:
    """Every tensor in what a model returns: lists, dictionaries, dataclasses and objects opened, each once."""
    import torch

    seen = set() if seen is None else seen
    if id(output) in seen:
        return
    seen.add(id(output))
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, dict):
        for each in output.values():
            yield from tensors_in(each, seen)
    elif isinstance(output, list | tuple | set):
        for each in output:
            yield from tensors_in(each, seen)
    elif is_dataclass(output) and not isinstance(output, type):
        for field in fields(output):
            yield from tensors_in(getattr(output, field.name, None), seen)
    elif hasattr(output, "__dict__") and not isinstance(output, type) and not callable(output):
        yield from tensors_in(vars(output), seen)
