"""Calls of PyTorch's operators as Operations, and what each moves."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from gemmlab.workload.operation import Operation, Tensor

#: operators that look at a tensor's head alone, or whose kernel nobody waits for
FREE = frozenset(
    f"aten::{name}"
    for name in (
        *(
            "empty",
            "empty_like",
            "empty_strided",
            "new_empty",
            "new_empty_strided",
            "empty_permuted",
            "detach",
            "alias",
        ),
        *("_unsafe_view", "_reshape_alias", "lift_fresh", "resolve_conj", "resolve_neg", "set_", "resize_", "alias"),
        *("is_same_size", "sym_size", "sym_stride", "sym_numel", "sym_storage_offset", "_local_scalar_dense", "item"),
        *("_version", "dim", "size", "stride", "is_contiguous", "result_type", "_nested_tensor_size"),
    )
)
#: what is written over, unread
OVERWRITES = ("copy_", "zero_", "fill_", "normal_", "uniform_", "bernoulli_", "exponential_", "random_", "zero", "fill")
#: of their first tensor these read no more than they write
GATHERS = ("embedding", "index_select", "gather", "index")
#: arguments whose shape alone counts, or of which a number a row is read
UNREAD = {
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward", "zeros_like", "ones_like", "full_like"), 0),
    **dict.fromkeys(("rand_like", "randn_like", "new_zeros", "new_ones", "new_full", "select_backward"), 0),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), 1),
}
#: products over groups whose sizes are elements of a tensor
GROUPED = ("aten::_grouped_mm", "aten::_scaled_grouped_mm")
EVEN = "experts: each is given the same number of rows, as even routing would; a real step's trace has its own"


class Names:
    """Which parameter or buffer a tensor is, or is a view of."""

    def __init__(self) -> None:
        self.by_storage: dict[int, str] = {}
        self.held: list[Any] = []  #: so that no address comes to mean another

    def give(self, tensor: Any, name: str) -> None:
        """All that shares this tensor's memory goes by that name."""
        self.by_storage[address(tensor)] = name
        self.held.append(tensor.untyped_storage())

    def of(self, tensor: Any) -> str:
        """The name, empty for a tensor that has none."""
        return self.by_storage.get(address(tensor), "")


def address(tensor: Any) -> int:
    """What tensors that share memory have in common."""
    return int(tensor.untyped_storage()._cdata)


def format_of(dtype: Any) -> str:
    """A dtype's name, which is ml_dtypes' own for each format that both know."""
    return str(dtype).removeprefix("torch.")


def described(tensor: Any, names: Names) -> Tensor:
    """A tensor's head."""
    return Tensor(
        shape=tuple(tensor.shape),
        format=format_of(tensor.dtype),
        strides=tuple(tensor.stride()),
        offset_bytes=tensor.storage_offset() * tensor.element_size(),
        parameter=names.of(tensor),
    )


def operation_of(func: Any, args: tuple[Any, ...], keywords: dict[str, Any], outputs: Any, names: Names) -> Operation:
    """One call, its arguments in the order of the operator's schema, what was left out at its default."""
    inputs = []
    for index, argument in enumerate(func._schema.arguments):
        given = args[index] if index < len(args) else keywords.get(argument.name, argument.default_value)
        if argument.name == "offs" and given is not None and func._schema.name in GROUPED:
            given = even_ends(args[0], args[1], given)
        inputs.append(value_of(given, names))
    told = tuple(described(each, names) for each in flat(outputs))
    return Operation(name=func._schema.name, inputs=tuple(inputs), outputs=told)


def even_ends(a: Any, b: Any, offs: Any) -> list[int]:
    """Where the groups of a grouped product end if all of them are alike: which rows an expert gets, only data says."""
    whole = b.shape[-1] if a.dim() == 3 else a.shape[-1] if b.dim() == 2 else a.shape[0]
    groups = offs.numel()
    return [whole * (index + 1) // groups for index in range(groups)]


def value_of(given: Any, names: Names) -> Any:
    """An argument as an Operation holds it."""
    import torch

    if isinstance(given, torch.Tensor):
        return described(given, names)
    if isinstance(given, list | tuple):
        return [value_of(each, names) for each in given]
    if isinstance(given, torch.dtype):
        return format_of(given)
    return given if isinstance(given, bool | int | float | str) else None


def flat(values: Any) -> Iterable[Any]:
    """The tensors in arguments or results, lists and tuples opened."""
    import torch

    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for each in values:
            yield from flat(each)
    elif isinstance(values, dict):
        yield from flat(list(values.values()))


def runs_no_kernel(func: Any) -> bool:
    """Whether an operator makes another view of memory, or a tensor without contents."""
    schema = func._schema
    views = [each.alias_info for each in schema.returns if each.alias_info is not None]
    return schema.name in FREE or any(not info.is_write for info in views)


def written(func: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
    """The tensors that an operator writes into."""
    given = [
        args[index] if index < len(args) else keywords.get(argument.name)
        for index, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    return list(flat(given))


def traffic_bytes(func: Any, args: tuple[Any, ...], keywords: dict[str, Any], outputs: Any) -> int:
    """Bytes of an operator's inputs read once and its outputs written once.

    What an expanded tensor repeats counts once; a lookup reads no more of its table than it returns.
    """
    name = func._schema.name.partition("::")[2]
    read, results = list(args), sum(map(touched_bytes, flat(outputs)))
    if name in OVERWRITES and read:
        read[0] = None
    if UNREAD.get(name, len(read)) < len(read):
        read[UNREAD[name]] = None
    if name in GATHERS and read:
        read[0] = None
        results *= 2
    return results + sum(map(touched_bytes, flat([read, keywords])))


def touched_bytes(tensor: Any) -> int:
    """Bytes of a tensor's distinct elements."""
    sides = [side for side, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride or side == 0]
    return int(prod(sides) * tensor.element_size())
