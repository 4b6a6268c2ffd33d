"""What torch.compile would fuse: pointwise operators inside a compiled module, and what normalises rows.

Rule: in one pass of one compiled module, such operators are one kernel where they share memory, unless an operator of
another kind that comes between them reads what the earlier ones made. The kernel reads once what comes from outside,
and writes what anything outside it reads; what only passes between its operators is never in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from gemmlab.workload.elementwise import flop_of

RULE = (
    "torch.compile: pointwise operators, norms and softmaxes of a compiled module that share memory are counted as one "
    "kernel where no other operator stands between them; it reads and writes only what passes its ends"
)
NAME = "compiled pointwise"
#: each row needs itself alone: the compiler's kernels hold one while they reduce it
ROWWISE = frozenset(
    f"aten::{name}"
    for name in (
        *("native_layer_norm", "native_layer_norm_backward", "_fused_rms_norm", "_fused_rms_norm_backward"),
        *("_softmax", "_softmax_backward_data", "_log_softmax", "_log_softmax_backward_data", "_safe_softmax", "mean"),
    )
)


class Fused(msgspec.Struct, frozen=True):
    """One kernel of several operators."""

    phase: str
    bytes: int
    flop: int


def fused(events: Sequence[Any], region_of: Callable[[str], str]) -> tuple[list[Any], list[Fused]]:
    """The events that stay as they are, and the kernels that the others become."""
    rest: list[Any] = []
    kernels: list[Fused] = []
    readers: dict[int, list[int]] = {}
    for index, event in enumerate(events):
        for memory in event.reads:
            readers.setdefault(memory, []).append(index)
    for run in runs(events, region_of):
        for group in groups(events, run):
            if len(group) > 1:
                kernels.append(kernel(events, group, readers))
            else:
                rest.append(events[group[0]])
    return rest, kernels


def runs(events: Sequence[Any], region_of: Callable[[str], str]) -> Iterable[list[int]]:
    """Stretches of operators that may be fused, and every other operator as a stretch of its own."""
    run: list[int] = []
    made: set[int] = set()
    at: tuple[str, str] = ("", "")
    for index, event in enumerate(events):
        region = region_of(event.place)
        if (event.pointwise or event.operation.name in ROWWISE) and region:
            if (region, event.phase) != at:
                yield run
                run, made, at = [], set(), (region, event.phase)
            run.append(index)
            made.update(event.writes)
            continue
        if made & {*event.reads}:
            yield run
            run, made = [], set()
        yield [index]
    yield run


def groups(events: Sequence[Any], run: Sequence[int]) -> Iterable[list[int]]:
    """The operators of a stretch that share memory, directly or through others."""
    found: list[tuple[set[int], list[int]]] = []
    for index in run:
        memory, members = {*events[index].reads, *events[index].writes}, [index]
        for other in [each for each in found if each[0] & memory]:
            found.remove(other)
            memory, members = memory | other[0], other[1] + members
        found.append((memory, members))
    return [sorted(members) for _, members in found]


def kernel(events: Sequence[Any], group: Sequence[int], readers: dict[int, list[int]]) -> Fused:
    """One kernel for all of a group."""
    inside = [events[index] for index in group]
    sizes: dict[int, int] = {}
    for event in inside:
        for memory, size in event.sizes.items():
            sizes[memory] = max(size, sizes.get(memory, 0))
    made: set[int] = set()
    reads: set[int] = set()
    for event in inside:
        reads.update(memory for memory in event.reads if memory not in made)
        made.update(event.writes)
    members = {*group}
    kept = {memory for memory in made if not readers.get(memory) or not members.issuperset(readers[memory])}
    return Fused(
        phase=inside[0].phase,
        bytes=sum(sizes[memory] for memory in reads) + sum(sizes[memory] for memory in kept),
        flop=sum(flop_of(event.operation) or 0 for event in inside),
    )
