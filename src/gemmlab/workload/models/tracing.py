"""One step of a model as a workload: forward and backward, without a GPU and without weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gemmlab.record import GemmlabError, require_type
from gemmlab.workload.workload import Workload

AUTOCAST = {"bfloat16": "bfloat16", "bf16": "bfloat16", "float16": "float16", "fp16": "float16", "half": "float16"}
WRAPPERS = ("DataParallel", "DistributedDataParallel")


def trace_model(
    model: Any,
    inputs: Any = (),
    keywords: Mapping[str, Any] | None = None,
    *,
    training: bool = True,
    loss: Any = None,
    autocast: str | None = None,
    optimizer: str = "",
    source: str = "",
) -> Workload:
    """Every multiplication of one step of a torch.nn.Module, each with its sizes, strides, formats, place and pass.

    `inputs` and `keywords` are what the model is called with; of tensors among them the shapes count, and the elements
    of whole numbers. `training` traces forward and backward, else the forward pass alone; `loss(output)` returns what
    the backward pass begins from, without it the output's own `loss`, or the sum of all floating outputs. `autocast` is
    `bfloat16` or `float16`: the step runs under torch.autocast("cuda") in it. `optimizer` adds one step of that
    optimiser. The model, its gradients, its buffers and the state of all random numbers are left as they were.

    Raises GemmlabError where PyTorch is missing, where the model fails, and where what it does depends on data.
    """
    torch = pytorch()
    require_type("model", model, torch.nn.Module, "gemmlab.profile_model(model, *inputs)")
    model, notes = unwrapped(model)
    source = source or type(getattr(model, "_orig_mod", model)).__name__
    inputs = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    from gemmlab.workload.models.step import Step

    step = Step(model, source, notes)
    with preserved(model, training):
        step.run(inputs, dict(keywords or {}), training=training, loss=loss, autocast=lower_format(autocast))
    return step.workload(training, optimizer)


def pytorch() -> Any:
    """PyTorch; raises GemmlabError where it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise GemmlabError(
            "a model is traced with PyTorch, which is not installed here",
            "pip install torch: a processor's build is enough",
        ) from error
    return torch


def lower_format(autocast: Any) -> str:
    """The format that autocast casts to, empty without it."""
    if autocast in (None, "", False):
        return ""
    name = str(autocast).removeprefix("torch.").lower()
    if name not in AUTOCAST:
        raise GemmlabError(f"autocast is {autocast!r}", "bfloat16 or float16")
    return AUTOCAST[name]


def unwrapped(model: Any) -> tuple[Any, list[str]]:
    """The module that one process runs, and a note where a wrapper was left out."""
    notes = []
    while type(model).__name__ in WRAPPERS:
        notes.append(f"{type(model).__name__} is left out: its communication is no multiplication")
        model = model.module
    return model, notes


@contextlib.contextmanager
def preserved(model: Any, training: bool) -> Iterator[None]:
    """Random numbers, and which modules train, as they were.

    A model that is in the wrong mode is put in the right one; else each module stays in its own, such as a
    normalisation that is frozen on purpose.
    """
    import random
    import sys

    import torch

    flags = [(module, module.training) for module in model.modules()]
    states = (torch.get_rng_state(), random.getstate())
    numpy = sys.modules.get("numpy.random")
    array_state = numpy.get_state() if numpy else None
    try:
        if model.training != training:
            model.train(training)
        torch.default_generator.manual_seed(0)
        random.seed(0)
        yield
    finally:
        for module, flag in flags:
            module.training = flag
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        if numpy:
            numpy.set_state(array_state)


def kept_strides(tensors: Sequence[Any]) -> str:
    """How the four-dimensional tensors of a model are laid out, `channels-last` or `contiguous`; empty without any."""
    import torch

    images = [tensor for tensor in tensors if tensor.dim() == 4 and tensor.shape[1] > 1]
    wide = [tensor for tensor in images if tensor.shape[2] * tensor.shape[3] > 1]
    if not wide:
        return ""
    last = sum(tensor.is_contiguous(memory_format=torch.channels_last) for tensor in wide)
    return "channels-last" if last == len(wide) else "contiguous" if not last else f"channels-last {last}/{len(wide)}"
