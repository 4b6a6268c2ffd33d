"""Multiplications of one geometry: asked, planned and made ready once, then called wherever their operands lie."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from gemmlab.peak.alike import never
from gemmlab.peak.asking import asked, extent, lies, request_of
from gemmlab.peak.batches import folds, whole_plan
from gemmlab.peak.chain import Chain, ImmovableError
from gemmlab.peak.driver import enter
from gemmlab.peak.ready import row_major
from gemmlab.peak.store import chosen, device_of
from gemmlab.peak.stored import ROAD_BYTES
from gemmlab.peak.zeros import Zeros
from gemmlab.record import GemmlabError

ROAD = -ROAD_BYTES  # of an address, all but what it is past a multiple of 16


class Warm:
    """What one thread keeps for tensors of some shapes, strides, types and alignments; none of their memory.

    `chains` are those of a batch's first matrices, after which alignments repeat; `steps` are bytes between its `count`
    matrices of A, B and D. A batch that one launch multiplies counts as one.
    """

    def __init__(
        self, torch: Any, a: Any, b: Any, d: Any, chains: list[Chain], steps: tuple[int, int, int], count: int
    ) -> None:
        self.torch, self.index, self.empty, self.written = torch, a.device.index, allocator(torch), marker(torch)
        self.result = (tuple(d.shape), tuple(d.stride()), d.dtype)
        self.a_bytes, self.b_bytes, self.d_bytes = (end - start for start, end in map(extent, (a, b, d)))
        self.chains, self.steps, self.count = chains, steps, count
        self.buffer_bytes = max(chain.buffer_bytes for chain in chains)
        self.buffer = ((self.buffer_bytes,), (1,), torch.uint8)
        self.zero_bytes = max(chain.zero_bytes for chain in chains)
        self.age = 0  #: of what was known when it was planned
        self.alike: Callable[..., bool] = never  #: whether it multiplies such tensors, were they aligned alike
        self.stream_of, self.several = raw_stream(torch), torch.cuda.device_count() > 1

    def __call__(self, a: Any, b: Any, out: Any, at_a: int, at_b: int, at_d: int) -> Any:
        """The product of tensors at these addresses, in `out` or, where that is None, in a new tensor."""
        if self.several and self.torch.cuda.current_device() != self.index:
            with self.torch.cuda.device(self.index):
                return self(a, b, out, at_a, at_b, at_d)
        if out is None:
            out = self.empty(*self.result)
            at_d = out.data_ptr()
        else:
            if (at_d < at_a + self.a_bytes and at_a < at_d + self.d_bytes) or (
                at_d < at_b + self.b_bytes and at_b < at_d + self.d_bytes
            ):
                asked(self.torch, a, b, out)
            self.written((out,))
        self.launch(at_a, at_b, at_d)
        return out

    def launch(self, at_a: int, at_b: int, at_d: int) -> None:
        """Put all on the current stream; what it needs beside the tensors is that stream's again behind it."""
        stream = self.stream_of(self.index)
        buffer = zeros = 0
        if self.buffer_bytes:
            held = self.empty(*self.buffer)
            buffer = held.data_ptr()
        if self.zero_bytes:
            _held, zeros = zeros_of(self.torch, self.index).lent(stream, self.zero_bytes)
        if self.count == 1:
            self.chains[0]((at_a & ROAD, at_b & ROAD, at_d & ROAD, buffer, zeros), stream)
            return
        to_a, to_b, to_d = self.steps
        for at in range(self.count):
            places = (at_a + at * to_a & ROAD, at_b + at * to_b & ROAD, at_d + at * to_d & ROAD, buffer, zeros)
            self.chains[at % len(self.chains)](places, stream)


def warm(
    torch: Any, tensors: tuple[Any, Any, Any], operands: tuple[Any, Any, Any], accuracy: str, deterministic: bool
) -> Warm | None:
    """What multiplies `tensors`, A, B and D, as the `operands` that `asked` makes of them.

    None where one of them must be copied at each call, or where a launch cannot be moved. Raises GemmlabError as
    planning does.
    """
    a, b, d = tensors
    left, right, to = operands
    if any(each.data_ptr() != given.data_ptr() for each, given in zip(operands, tensors, strict=True)):
        return None
    if left.dim() == 3 and folds(left, right, to):
        left, right, to = left.flatten(0, 1), right[0], to.flatten(0, 1)
    count = left.shape[0] if left.dim() == 3 else 1
    if count > 1:
        with torch.cuda.device(a.device):
            enter(a.device.index)
            try:
                whole = chain_of(torch, left, right, to, accuracy, deterministic)
            except GemmlabError:  # a map of several matrices that the driver refuses: one by one, or that says why not
                whole = None
        if whole is not None:
            return Warm(torch, a, b, d, [whole], (0, 0, 0), 1)
    steps = tuple(each.stride(0) * each.element_size() if each.dim() == 3 else 0 for each in (left, right, to))
    period = min(count, math.lcm(*(ROAD_BYTES // math.gcd(ROAD_BYTES, step) for step in steps)))
    chains = []
    with torch.cuda.device(a.device):
        enter(a.device.index)
        for at in range(period):
            first, second, result = (each[at] if each.dim() == 3 else each for each in (left, right, to))
            found = chain_of(torch, first, second, result, accuracy, deterministic)
            if found is None:
                return None
            chains.append(found)
    return Warm(torch, a, b, d, chains, (steps[0], steps[1], steps[2]), count)


def chain_of(torch: Any, a: Any, b: Any, d: Any, accuracy: str, deterministic: bool) -> Chain | None:
    """The chain of three matrices, or batches, whose device is current.

    None where an operand must be copied, where the chain cannot move, or where a batch's matrices go one by one.
    """
    left, right = lies(a, 1), lies(b, 0)
    if left is None or right is None:
        return None
    request = request_of(torch, a, b, d, accuracy, deterministic)
    choose = partial(chosen, device=device_of(torch, a.device.index))
    plan = choose(request) if left.batch == 1 else whole_plan(request, choose)
    if plan is None:
        return None
    try:
        return Chain(torch, plan, left, right, row_major(d), (a.shape[-2], b.shape[-1], a.shape[-1]), a.device.index)
    except ImmovableError:
        return None


@cache
def raw_stream(torch: Any) -> Callable[[int], int]:
    """What tells the current stream of a device as the driver knows it; torch's own short way where it has one."""
    found = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return found or (lambda index: int(torch.cuda.current_stream(index).cuda_stream))


@cache
def allocator(torch: Any) -> Callable[[Any, Any, Any], Any]:
    """What makes a tensor of a shape, strides and a type on the current device: what compiled code calls, or torch."""
    found = getattr(getattr(getattr(torch._C, "_dynamo", None), "guards", None), "_empty_strided_cuda", None)
    try:
        if found is not None and found((2, 3), (3, 1), torch.float16).stride() == (3, 1):
            return found  # type: ignore[no-any-return]
    except Exception:  # it is torch's own affair: whatever it raises, there is the other way
        found = None
    return lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype, device="cuda")


@cache
def marker(torch: Any) -> Callable[[tuple[Any, ...]], None]:
    """What counts up the versions of tensors, as torch's own functions do where they write: a short way, or torch's."""
    found = getattr(torch._C, "_increment_version", None)
    with torch.inference_mode(False):  # whose tensors have no version
        probe = torch.empty(1, dtype=torch.uint8)
    try:
        if found is not None:
            found((probe,))  # older versions of torch take no tuple
            if probe._version == 1:
                return found  # type: ignore[no-any-return]
    except Exception:  # it is torch's own affair: whatever it raises, there is the other way
        found = None

    def each(tensors: tuple[Any, ...]) -> None:
        for tensor in tensors:
            torch.autograd.graph.increment_version(tensor)

    return each


@cache
def zeros_of(torch: Any, index: int) -> Zeros:
    """The zeros of a device."""
    return Zeros(torch, index)
