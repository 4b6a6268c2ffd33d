"""A model's tensors without their elements, for a while; then everything in it as it was."""

from __future__ import annotations

import contextlib
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from typing import Any

from gemmlab.record import GemmlabError
from gemmlab.workload.models.reading import Names

MOST_KNOWN = 1 << 22  #: elements of a buffer of integers that keeps them
PLAIN = (dict, OrderedDict, defaultdict, list, set)  #: collections whose contents are put back


@contextlib.contextmanager
def stand_ins(model: Any, names: Names, notes: list[str]) -> Iterator[None]:
    """Put tensors without elements in place of the model's own, which nothing touches meanwhile.

    Names what it puts there, by the first name that the model has for it, all names of a tied one together.
    Raises GemmlabError for tensors of which nobody knows how they are stored.
    """
    kept = [(module, state_of(module)) for module in model.modules()]
    try:
        replace(model, names, notes)
        yield
    finally:
        for module, state in kept:
            put_back(module, state)


def state_of(module: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A module's attributes, and what the collections among them hold: hooks and children too."""
    attributes = dict(module.__dict__)
    inner = {
        name: (list(value.items()) if isinstance(value, dict) else list(value))
        for name, value in attributes.items()
        if type(value) in PLAIN
    }
    return attributes, inner


def put_back(module: Any, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """A module as it was, the same objects in the same collections."""
    attributes, inner = state
    module.__dict__.clear()
    module.__dict__.update(attributes)
    for name, held in inner.items():
        collection = attributes[name]
        if isinstance(collection, list):
            collection[:] = held
        else:
            collection.clear()
            collection.update(held)


def replace(model: Any, names: Names, notes: list[str]) -> None:
    """Swap every parameter, buffer and bare tensor of the model's modules; what is tied stays tied."""
    import torch

    swapped: dict[int, Any] = {}
    told: dict[int, list[str]] = {}
    hooked = 0
    for path, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise GemmlabError(
                f"module `{path or type(model).__name__}` is TorchScript, whose weights are its own",
                "give the nn.Module that it was scripted from",
            )
        for holder in (module._parameters, module._buffers, module.__dict__):
            for name, tensor in list(holder.items()):
                if not isinstance(tensor, torch.Tensor):
                    continue
                whole = f"{path}.{name}".strip(".").replace("_orig_mod.", "")
                told.setdefault(id(tensor), []).append(whole)
                if id(tensor) not in swapped:
                    hooked += has_hooks(tensor)
                    swapped[id(tensor)] = stand_in(tensor, whole)
                holder[name] = swapped[id(tensor)]
        follow_flat_weights(module)
    for number, given in told.items():
        if swapped[number].is_meta:
            names.give(swapped[number], " = ".join(dict.fromkeys(given)))
    if hooked:
        notes.append(f"hooks of {hooked} parameters did not run: they may change what they are given")


def stand_in(tensor: Any, name: str) -> Any:
    """A tensor of the same shape, strides and format without elements; small whole numbers are copied instead."""
    import torch

    if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        raise GemmlabError(f"`{name}` has no shape yet", "run the lazy module once, on any tensor of the right shape")
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.is_quantized or tensor.layout != torch.strided:
        kind = "quantised" if tensor.is_quantized else type(tensor).__name__
        raise GemmlabError(
            f"`{name}` is stored in a way that only its own kernels read ({kind}, {tensor.layout})",
            "give the model before it is quantised, distributed or made sparse, or a trace of a real step",
        )
    whole = not (tensor.is_floating_point() or tensor.is_complex() or tensor.is_meta)
    if whole and tensor.numel() <= MOST_KNOWN and not isinstance(tensor, torch.nn.Parameter):
        return tensor.detach().cpu().clone()
    empty = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
    if not isinstance(tensor, torch.nn.Parameter):
        return empty.requires_grad_(tensor.requires_grad and tensor.is_leaf)
    parameter = torch.nn.Parameter(empty, requires_grad=tensor.requires_grad)
    parameter.__dict__.update(tensor.__dict__)
    return parameter


def has_hooks(tensor: Any) -> bool:
    """Whether the program hung something on a tensor's gradient."""
    return bool(getattr(tensor, "_backward_hooks", None) or getattr(tensor, "_post_accumulate_grad_hooks", None))


def follow_flat_weights(module: Any) -> None:
    """A recurrent module holds its weights a second time, in a list of its own."""
    flat = module.__dict__.get("_flat_weights_names")
    if flat is not None:
        module.__dict__["_flat_weights"] = [module._parameters.get(name) for name in flat]
