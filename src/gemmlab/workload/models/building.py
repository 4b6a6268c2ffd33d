"""Models built without memory for their weights. Imported where a model is built alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

LARGEST_REAL = 1 << 16  #: elements; what a constructor reckons with small tensors it may look at
FACTORIES = frozenset(
    [
        *(torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.empty_strided),
        *(torch.randint, torch.normal, torch.eye),
    ]
)


class WithoutWeights(TorchFunctionMode):
    """Large tensors that a program makes have no elements; small ones are as ever."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = dict(kwargs or {})
        if func not in FACTORIES or keywords.get("out") is not None:
            return func(*args, **keywords)
        if any(isinstance(each, torch.Tensor) for each in args) or keywords.get("generator") is not None:
            return func(*args, **keywords)
        empty = func(*args, **{**keywords, "device": "meta"})
        return empty if empty.numel() > LARGEST_REAL else func(*args, **keywords)


def built(make: Callable[[], Any]) -> Any:
    """What `make` returns, its large tensors without elements.

    Where it mixes both kinds in a way that PyTorch refuses, it is called again with all of them empty. A region of
    autocast that it makes, such as a decorator of forward, is as on a GPU.
    """
    with (
        mock.patch.object(torch.cuda.amp.common, "amp_definitely_not_available", return_value=False),
        mock.patch.object(torch.cuda, "is_bf16_supported", return_value=True),
    ):
        try:
            with WithoutWeights():
                return make()
        except (RuntimeError, NotImplementedError) as error:
            try:
                with torch.device("meta"):
                    return make()
            except Exception:
                raise error from None
