"""The program as it would be on a GPU: what it asks of devices, of autocast and of attention. Imported while tracing.

Every tensor says that it is on `cuda:0`, moves between devices move nothing, and what PyTorch decides by the device is
decided here as on a GPU.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
import torch.utils.checkpoint
from torch.overrides import TorchFunctionMode

from gemmlab.workload.models.attention import attend
from gemmlab.workload.models.autocast import Autocast
from gemmlab.workload.models.recurrent import MODES, recur

GPU = torch.device("cuda", 0)
CAPABILITY = (9, 0)  #: what a program is told that asks which kernels the GPU has
ANSWERS: dict[Any, Any] = {
    torch.Tensor.device.__get__: GPU,
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.is_cpu.__get__: False,
    torch.Tensor.is_meta.__get__: False,
    torch.Tensor.get_device: 0,
}
MOVES = (torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.pin_memory)
#: by these PyTorch's own Python functions hand a call over whole, and what they call would not be seen
HANDOVERS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


class Pretending(TorchFunctionMode):
    """Answers for a GPU that is not there."""

    def __init__(self) -> None:
        super().__init__()
        self.autocast = Autocast()
        self.kernels: set[str] = set()  #: which ran for attention

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = dict(kwargs or {})
        if func in ANSWERS and not getattr(args[0], "on_processor", False):
            return ANSWERS[func]
        if func in MOVES:
            return args[0]
        if func is torch.Tensor.to:
            return moved(*args, **keywords)
        if keywords.get("device") is not None and takes_device(func):
            keywords["device"] = None
        name = getattr(func, "__name__", "")
        args, keywords = self.autocast.apply(name, args, keywords)
        if name == "isfinite":  # of parts that compare elements, which say nothing of what they are for
            return ~(torch.isinf(args[0]) | torch.isnan(args[0]))
        if name in MODES:
            return recur(name, func, *args)
        if name == "dropout":
            return dropped(func, *args, **keywords)
        if name == "scaled_dot_product_attention":
            kernel, result = attend(func, *args, **keywords)
            self.kernels.add(kernel)
            return result
        return func(*args, **keywords)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """The program runs as if a GPU were there; everything is put back."""
        with contextlib.ExitStack() as stack:
            for owner, name, value in self.changes():
                if hasattr(owner, name):
                    stack.enter_context(mock.patch.object(owner, name, value))
            # it compares devices of tensors that it keeps with those it makes again, and is told both kinds of truth
            checks = getattr(torch.utils.checkpoint, "_allowed_determinism_checks_to_fns", {})
            stack.enter_context(mock.patch.dict(checks, {"default": always(None)} if checks else {}))
            stack.enter_context(as_written())
            stack.enter_context(torch.device("cpu"))  # where the program made a GPU the default
            stack.enter_context(torch.autograd.set_detect_anomaly(False))  # it looks for NaN among elements
            stack.enter_context(self)
            yield

    def changes(self) -> Iterator[tuple[Any, str, Any]]:
        """What PyTorch says of the machine, or hands over, meanwhile."""
        clear = torch.clear_autocast_cache

        def cleared() -> None:
            self.autocast.clear()
            clear()

        yield torch, "clear_autocast_cache", cleared
        yield torch, "compile", uncompiled
        yield torch.cuda.amp.common, "amp_definitely_not_available", always(False)
        yield torch.cuda, "is_bf16_supported", always(True)
        yield torch.cuda, "get_device_capability", always(CAPABILITY)
        yield torch.cuda, "current_device", always(0)
        yield torch.cuda, "synchronize", always(None)
        # transformers before 5 looks through the inputs for padding, only to warn of it
        models = sys.modules.get("transformers.modeling_utils")
        yield getattr(models, "PreTrainedModel", None), "warn_if_padding_and_no_attention_mask", always(None)
        for module in (torch.nn.functional, torch.functional):
            for name in HANDOVERS:
                yield module, name, always(False)


def uncompiled(function: Any = None, *_args: Any, **_keywords: Any) -> Any:
    """torch.compile, as a function and as a decorator, of what runs as it is written."""
    return function if function is not None else lambda decorated: decorated


def dropped(own: Any, input: Any, p: float, train: bool) -> Any:
    """Dropout as one kernel, which is what a GPU runs where anything is dropped at all."""
    return torch.native_dropout(input, p, True)[0] if train and 0 < p < 1 else own(input, p, train)


def always(value: Any) -> Callable[..., Any]:
    """A function that returns it whatever it is asked."""
    return lambda *_args, **_keywords: value


def takes_device(func: Any) -> bool:
    """Whether `device=` of a call names where a tensor is made; a constructor's stays."""
    return not isinstance(func, type)


def moved(tensor: Any, *args: Any, **keywords: Any) -> Any:
    """Tensor.to, without the device."""
    keywords.pop("device", None)
    keywords.pop("non_blocking", None)
    kept: list[Any] = []
    for each in args:
        if isinstance(each, torch.Tensor):
            kept.append(each.dtype)
        elif isinstance(each, torch.dtype):
            kept.append(each)
        elif isinstance(each, torch.memory_format):
            keywords["memory_format"] = each
    if "other" in keywords:
        kept.append(keywords.pop("other").dtype)
    if keywords.get("dtype", 0) is None:
        keywords.pop("dtype")
    if not kept and not {"dtype", "memory_format"} & keywords.keys():
        return tensor.clone() if keywords.get("copy") else tensor
    return torch.Tensor.to(tensor, *kept, **keywords)


@contextlib.contextmanager
def as_written() -> Iterator[None]:
    """What torch.compile compiled runs as it was written; its machinery is touched only where it is loaded already."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is None:
        yield
        return
    stance = getattr(torch.compiler, "set_stance", None)  # PyTorch 2.6 and later
    with stance("force_eager") if stance else dynamo.config.patch(disable=True):
        yield
