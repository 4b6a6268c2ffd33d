"""What torch.compile would fuse: chains of pointwise operators inside a compiled module.

Rule: in one pass of one compiled module, pointwise operators that hand memory on to each other are one kernel, unless
an operator of another kind stands between them in the program. The kernel reads once what comes from outside, and
writes what anything outside it reads later; what only passes between its operators is never in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from gemmlab.workload.elementwise import flop_of

RULE = (
    "torch.compile: pointwise operators that follow each other in a compiled module are counted as one kernel, which "
    "reads and writes only what passes its ends; other fusion is not assumed"
)
NAME = "compiled pointwise"


class Fused(msgspec.Struct, frozen=True):
    """One kernel of several pointwise operators."""

    phase: str
    bytes: int
    flop: int


def fused(events: Sequence[Any], region_of: Callable[[str], str]) -> tuple[list[Any], list[Fused]]:
    """The events that stay as they are, and the kernels that the others become."""
    last = last_reads(events)
    rest: list[Any] = []
    kernels: list[Fused] = []
    chain: list[int] = []
    for index, event in enumerate(events):
        joins = event.pointwise and bool(region_of(event.place))
        if joins and (not chain or continues(events, chain, index, region_of)):
            chain.append(index)
            continue
        close(events, chain, last, rest, kernels)
        chain = [index] if joins else []
        if not joins:
            rest.append(event)
    close(events, chain, last, rest, kernels)
    return rest, kernels


def last_reads(events: Sequence[Any]) -> dict[int, int]:
    """For each piece of memory, the last event that reads it."""
    return {memory: index for index, event in enumerate(events) for memory in event.reads}


def continues(events: Sequence[Any], chain: list[int], index: int, region_of: Callable[[str], str]) -> bool:
    """Whether an event takes something from the chain before it, in the same pass of the same compiled module."""
    first, event = events[chain[0]], events[index]
    made = {memory for each in chain for memory in events[each].writes}
    same = event.phase == first.phase and region_of(event.place) == region_of(first.place)
    return same and bool(made & {*event.reads})


def close(events: Sequence[Any], chain: list[int], last: dict[int, int], rest: list[Any], kernels: list[Fused]) -> None:
    """A chain as a kernel; a single operator stays itself."""
    if len(chain) == 1:
        rest.append(events[chain[0]])
    if len(chain) < 2:
        return
    inside = [events[index] for index in chain]
    sizes = {memory: size for event in inside for memory, size in event.sizes.items()}
    made: set[int] = set()
    reads: set[int] = set()
    for event in inside:
        reads.update(memory for memory in event.reads if memory not in made)
        made.update(event.writes)
    kept = {memory for memory in made if last.get(memory, len(events)) > chain[-1]}
    flop = sum(flop_of(event.operation) or 0 for event in inside)
    moved = total(sizes, reads) + total(sizes, kept)
    kernels.append(Fused(phase=inside[0].phase, bytes=moved, flop=flop))


def total(sizes: dict[int, int], memories: Iterable[int]) -> int:
    """Bytes of pieces of memory."""
    return sum(sizes[memory] for memory in memories)
