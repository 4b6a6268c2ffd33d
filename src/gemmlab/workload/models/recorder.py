"""Every operator of a step, run on tensors without elements and written down. Imported where a model is traced alone.

Tensors of the model and its inputs are on PyTorch's `meta` device: they have a shape, strides and a format, and no
elements, so that neither memory nor a GPU is needed. Small tensors of integers that the program makes itself, such as
positions and masks, keep their elements, so that what depends on them alone is known as it is in a real run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec
import torch
import torch._meta_registrations  # rules of shapes, which older versions load late
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from gemmlab.workload.models import flexible, reading, shapes
from gemmlab.workload.models.arithmetic import arithmetic
from gemmlab.workload.models.failures import DataDependentError, MissingKernelError
from gemmlab.workload.models.places import Places
from gemmlab.workload.operation import Operation, Settings

META = torch.device("meta")
CPU = torch.device("cpu")
MOST_KNOWN = 1 << 22  #: elements of a tensor of integers that keeps them
MOST_KNOWN_FLOATS = 16  #: of other numbers, such as a random one that decides whether a layer runs
#: filled with one number, and written into as a rule: their elements say nothing
FILLED = ("zeros", "empty", "full", "new_zeros", "new_empty", "new_full", "empty_strided")
MASKS = ("ones", "new_ones")  #: filled too, but read: a mask that lets everything through is asked whether it does
FINITE = ("aten::isnan", "aten::isinf")  #: asked of unknown elements: the step that is traced is a sound one
#: operators whose result has a size that only elements say
ASKS_ELEMENTS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


class Event(msgspec.Struct, frozen=True):
    """One call of an operator that runs a kernel."""

    operation: Operation
    settings: Settings
    place: str
    phase: str
    bytes: int
    pointwise: bool  #: each element of the result needs the same element of its inputs alone
    reads: tuple[int, ...]  #: memory that it reads, and writes
    writes: tuple[int, ...]
    sizes: dict[int, int]  #: bytes of each


class Recorder(TorchDispatchMode):
    """Runs operators on shapes and keeps what ran, where and when."""

    def __init__(self, places: Places, names: reading.Names) -> None:
        super().__init__()
        self.places, self.names = places, names
        self.events: list[Event] = []
        self.phase = "forward"
        self.depth = 0  #: modules that were running as the backward pass began
        self.paused = False
        self.unknown: dict[int, torch.Tensor] = {}  #: memory with elements that were overwritten by unknown ones
        self.switches: dict[Settings, Settings] = {}
        self.held: list[Any] = []

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """torch.compile's machinery, which takes seconds to load, need not be kept out: all code runs as written."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        with torch._C.DisableTorchFunction():
            if not isinstance(func, torch._ops.OpOverload):
                return self.flexible(func, args)
            if any(isinstance(each, FakeTensor) for each in args):  # PyTorch looks into a function, and runs nothing
                return func(*args, **(kwargs or {}))
            return self.call(func, args, dict(kwargs or {}))

    def flexible(self, func: Any, args: tuple[Any, ...]) -> Any:
        """Attention with functions among its arguments."""
        lifted = tuple(self.lifted(each) if isinstance(each, torch.Tensor) else each for each in args)
        tensors, result = flexible.run(func, lifted)
        moved = sum(map(reading.touched_bytes, reading.flat([tensors, result])))
        self.keep(flexible.operation(func, tensors, result, self.names), moved, False, tensors, result)
        return result

    def call(self, func: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """One operator: its result, after it is written down."""
        given = list(reading.flat([args, keywords]))
        known = all(self.is_known(tensor) for tensor in given)
        if "device" in keywords:
            keywords["device"] = CPU if known else META
        if keywords.get("pin_memory"):
            keywords["pin_memory"] = None
        if not given:
            result = self.made(func, args, keywords)
        elif known:
            result = func(*args, **keywords)
            big = any(tensor.numel() > MOST_KNOWN for tensor in reading.flat(result))
            if big and not reading.written(func, args, keywords):
                result = lifted_all(self, result)
        else:
            args, keywords, result = self.run(func, args, keywords)
            if func._schema.name in FINITE and result.numel() <= MOST_KNOWN:
                result = torch.zeros(result.shape, dtype=torch.bool)
        if not self.paused:
            self.note(func, args, keywords, result)
        return result

    def made(self, func: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A tensor out of nothing: with its elements where it is small and they may decide something."""
        if "device" not in {argument.name for argument in func._schema.arguments}:
            return func(*args, **keywords)
        shape = func(*args, **{**keywords, "device": META})
        exact = not (shape.is_floating_point() or shape.is_complex())
        name = func._schema.name.partition("::")[2]
        blank = name in FILLED and (shape.dim() > 0 or "empty" in name)  # a lone zero is what masks are filled with
        most = MOST_KNOWN if exact or name in MASKS else 0 if blank else MOST_KNOWN_FLOATS
        return func(*args, **{**keywords, "device": CPU}) if shape.numel() <= most else shape

    def is_known(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor has elements, and they are the ones a real run would have."""
        here = tensor.device.type == "cpu"  # nothing runs on a GPU, where there is one
        return here and tensor.numel() <= MOST_KNOWN and reading.address(tensor) not in self.unknown

    def lifted(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor without its elements."""
        if tensor.is_meta:
            return tensor
        whole = self.unknown.get(reading.address(tensor))
        if whole is not None and whole.dtype == tensor.dtype:
            return whole.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=META)

    def run(
        self, func: Any, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
        """An operator on unknown elements: its arguments without elements, and its result."""
        args, keywords = self.without_masks(func, args, keywords)
        known = args[shapes.READ[func._schema.name]] if func._schema.name in shapes.READ else None
        if known is not None and not self.is_known(known):
            raise DataDependentError(func._schema.name)
        if ASKS_ELEMENTS & set(func.tags) and not shapes.says_its_size(func, args, keywords):
            raise DataDependentError(func._schema.name)
        for tensor in reading.written(func, args, keywords):
            self.forget(tensor)
        leaves, form = tree_flatten((args, keywords))
        plain = [self.lifted(leaf) if isinstance(leaf, torch.Tensor) and leaf is not known else leaf for leaf in leaves]
        own = {id(new): old for new, old in zip(plain, leaves, strict=True) if new is not old}
        args, keywords = tree_unflatten(plain, form)
        result = shapes.result_of(func, args, keywords)
        if result is NotImplemented:
            raise MissingKernelError(func._schema.name)
        # what is written into is returned as it was given
        found, form = tree_flatten(result)
        return args, keywords, tree_unflatten([own.get(id(each), each) for each in found], form)

    def without_masks(
        self, func: Any, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Indexing by a known mask as indexing by the places that it lets through."""
        if func._schema.name != "aten::index":
            return args, keywords
        indices: list[Any] = []
        for index in args[1]:
            mask = index is not None and index.dtype in (torch.bool, torch.uint8)
            indices.extend(index.nonzero(as_tuple=True) if mask and self.is_known(index) else [index])
        return (args[0], indices, *args[2:]), keywords

    def forget(self, tensor: torch.Tensor) -> None:
        """Elements that unknown ones are written over are known no longer."""
        if self.is_known(tensor):
            count = tensor.untyped_storage().nbytes() // tensor.element_size()
            self.unknown[reading.address(tensor)] = torch.empty(count, dtype=tensor.dtype, device=META)
            self.held.append(tensor.untyped_storage())

    def note(self, func: Any, args: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        """Write one call down."""
        if func._schema.name == "aten::_to_copy":
            self.follow(args[0], result)
        if reading.runs_no_kernel(func):
            return
        operation = reading.operation_of(func, args, keywords, result, self.names)
        moved = reading.traffic_bytes(func, args, keywords, result)
        pointwise = torch.Tag.pointwise in func.tags or func._schema.name in shapes.POINTWISE
        self.keep(operation, moved, pointwise, [args, keywords], result)

    def keep(self, operation: Operation, moved: int, pointwise: bool, given: Any, result: Any) -> None:
        """One call more."""
        place, phase = self.where()
        inputs, outputs = list(reading.flat(given)), list(reading.flat(result))
        self.held.extend(tensor.untyped_storage() for tensor in outputs if tensor.is_meta)
        switches = arithmetic()
        self.events.append(
            Event(
                operation=operation,
                settings=self.switches.setdefault(switches, switches),
                place=place,
                phase=phase,
                bytes=moved,
                pointwise=pointwise,
                reads=tuple(map(reading.address, inputs)),
                writes=tuple(map(reading.address, outputs)),
                sizes={reading.address(each): reading.touched_bytes(each) for each in (*inputs, *outputs)},
            )
        )

    def follow(self, source: torch.Tensor, copy: torch.Tensor) -> None:
        """A parameter in another format is that parameter still."""
        name = self.names.of(source)
        if name and copy.shape == source.shape:
            self.names.give(copy, name)

    def where(self) -> tuple[str, str]:
        """The module that the running operator belongs to, and the pass."""
        node = torch._C._current_autograd_node()
        running = self.places.running
        if node is None or len(running) > self.depth:
            return self.places.current, "forward" if node is None and self.phase == "forward" else "backward"
        return self.places.of_node(node._sequence_nr()), "backward"

    @contextlib.contextmanager
    def backward(self) -> Iterator[None]:
        """What runs meanwhile is the backward pass."""
        self.phase, self.depth = "backward", len(self.places.running)
        try:
            yield
        finally:
            self.phase, self.depth = "forward", 0

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """What runs meanwhile is no part of the step."""
        self.paused = True
        try:
            yield
        finally:
            self.paused = False


def lifted_all(recorder: Recorder, result: Any) -> Any:
    """All tensors of a result without elements."""
    leaves, form = tree_flatten(result)
    return tree_unflatten([recorder.lifted(x) if isinstance(x, torch.Tensor) else x for x in leaves], form)
