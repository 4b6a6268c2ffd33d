"""Whether tensors are like others, asked of torch at once by what guards its compiled code, no public part of it.

Shapes, strides, types and devices asked one by one, through Python, cost a small multiplication as much as a launch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


def alike(torch: Any, tensors: tuple[Any, ...]) -> Callable[..., bool]:
    """What tells whether as many tensors are like these: by class, type, device, shape, strides and bits to be negated.

    Not by address; it keeps no tensor alive. It may deny it of tensors that are: of one that is given twice, and of
    these in torch's inference mode. Where torch has no such guard, or a class is the user's own, it denies it of all.
    """
    guards = guards_of(torch)
    if guards is None or any(type(each) not in (torch.Tensor, torch.nn.Parameter) for each in tensors):
        return never  # a guard knows a class by its place in memory, which another may take
    return guards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check  # type: ignore[no-any-return]


def never(*tensors: Any) -> bool:
    """Of no tensors."""
    return False


@cache
def guards_of(torch: Any) -> Any:
    """The class of torch's guards; None where it is not there, or does not tell apart what it has to."""
    found = getattr(getattr(getattr(torch._C, "_dynamo", None), "guards", None), "TensorGuards", None)
    if found is None:
        return None
    try:
        this = torch.empty((4, 4), dtype=torch.float32)
        check = found(this, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
        others = [this[:2], this.t(), this[0], this.to(torch.float64), this.to("meta"), torch._neg_view(this)]
        if check(torch.empty_like(this)) is True and not any(check(other) for other in others):
            return found
    except Exception:  # it is torch's own affair: whatever it raises, each is asked for itself
        return None
    return None
