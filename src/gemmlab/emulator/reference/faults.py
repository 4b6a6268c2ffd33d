"""Faults by brute force: every pair of accesses to one cell that nothing orders is looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from gemmlab.emulator.reference.block import Access, Block
from gemmlab.emulator.reference.translation import Node
from gemmlab.emulator.tallies import (
    ALIASED,
    BLOCK_RACE,
    DIVERGENCE,
    GLOBAL_RACE,
    OUT_OF_BOUNDS,
    SAME_VALUE,
    SHARED_RACE,
    UNINITIALISED,
    Fault,
)

Cell = tuple[Any, int]
ByCell = dict[Cell, list[Access]]


def by_cell(accesses: Iterable[Access]) -> ByCell:
    """Accesses in range, by each cell they touch."""
    found: ByCell = defaultdict(list)
    for access in accesses:
        if access.byte is not None:
            for cell in access.array.cells(access.byte):
                found[cell].append(access)
    return found


def collected(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """One of each kind, array and pair of lines: the first, with how many there are."""
    found: dict[Any, Fault] = {}
    for fault in faults:
        lines = frozenset((fault.line, fault.other_line))
        key = (fault.kind, fault.array, lines, fault.access)
        found[key] = replace(found[key], count=found[key].count + fault.count) if key in found else fault
    return tuple(found.values())


def within_block(nodes: Sequence[Node], block: Block) -> Iterator[Fault]:
    """The faults of one block."""
    for absence in block.absences:
        who = [absence.thread, *([absence.absent] if absence.absent else [])]
        threads = tuple((block.index, thread.index) for thread in who)
        yield Fault(DIVERGENCE, "", (), nodes[absence.node].place, threads=threads, epoch=absence.epoch)
    for access in block.accesses:
        line, who_did = nodes[access.node].place, ((block.index, access.thread.index),)
        name = access.array.name
        if access.byte is None:
            shape = f"shape {access.array.values.shape}"
            yield Fault(OUT_OF_BOUNDS, name, access.index, line, None, who_did, access.epoch, detail=shape)
        if access.fresh:
            yield Fault(UNINITIALISED, name, access.index, line, None, who_did, access.epoch)
    yield from races(nodes, block)
    yield from aliases(nodes, block)


def races(nodes: Sequence[Node], block: Block) -> Iterator[Fault]:
    """Pairs of threads of a block that no barrier and no syncwarp orders."""
    epochs: dict[int, list[Access]] = defaultdict(list)
    for access in block.accesses:
        if access.array.storage.space != "local":
            epochs[access.epoch].append(access)
    for epoch in sorted(epochs):
        seen: set[Any] = set()
        for here in by_cell(epochs[epoch]).values():
            for fault, pair in conflicts(nodes, here, unordered, race_kind):
                if pair not in seen:  # an element of several cells is one element
                    seen.add(pair)
                    yield fault


def across_blocks(nodes: Sequence[Node], accesses: Iterable[Access]) -> Iterator[Fault]:
    """Pairs of blocks that meet on a global cell; nothing orders blocks."""
    seen: set[Any] = set()
    for here in by_cell(a for a in accesses if a.array.storage.space == "global").values():
        for fault, pair in conflicts(nodes, here, other_block, lambda _: BLOCK_RACE):
            if pair not in seen:
                seen.add(pair)
                yield fault


def unordered(first: Access, second: Access) -> bool:
    """Whether two threads of a block did these at times that nothing orders."""
    one, other = first.thread.number, second.thread.number
    return one != other and not (
        second.clock.get(one, 0) >= first.clock[one] or first.clock.get(other, 0) >= second.clock[other]
    )


def other_block(first: Access, second: Access) -> bool:
    """Whether two blocks did these."""
    return first.block != second.block


def race_kind(access: Access) -> str:
    """The kind of a race within a block."""
    return SHARED_RACE if access.array.storage.space == "shared" else GLOBAL_RACE


def conflicts(
    nodes: Sequence[Node],
    accesses: list[Access],
    apart: Callable[[Access, Access], bool],
    kind: Callable[[Access], str],
) -> Iterator[tuple[Fault, Any]]:
    """The conflicting pairs on one cell: not both reads, not both atomics.

    Where all pairs are writes of equal bits, and nothing else happens to the cell, that is the benign kind.
    """
    if all(access.kind == "load" for access in accesses):
        return
    distinct: dict[Any, Access] = {}
    for a in accesses:
        distinct.setdefault((a.thread, a.kind, a.node, id(a.clock), bits(a)), a)
    pairs = [(a, b) for a, b in combinations(distinct.values(), 2) if apart(a, b) and conflicting(a, b)]
    concerned = {id(a): a for pair in pairs for a in pair}.values()
    benign = {a.kind for a in concerned} == {"store"} and len({bits(a) for a in concerned}) == 1
    for first, second in pairs:
        who = ((second.block, second.thread.index), (first.block, first.thread.index))
        fault = Fault(
            SAME_VALUE if benign else kind(second),
            second.array.name,
            second.index,
            nodes[second.node].place,
            nodes[first.node].place,
            who,
            second.epoch,
            "read-write" if "load" in (first.kind, second.kind) else "write-write",
        )
        yield fault, (who, first.node, second.node, second.index, fault.kind)


def conflicting(first: Access, second: Access) -> bool:
    """Whether the order of two accesses to a cell matters."""
    return {first.kind, second.kind} not in ({"load"}, {"atomic"})


def bits(access: Access) -> bytes:
    """The bits that were read or written."""
    return bytes(access.array.values.dtype.type(access.value).tobytes())


def aliases(nodes: Sequence[Node], block: Block) -> Iterator[Fault]:
    """Dynamic shared arrays of different names over the same bytes, at least one of them written."""
    dynamic = (a for a in block.accesses if a.array.storage.key[0] == "dynamic")
    for here in by_cell(dynamic).values():
        for first, second in combinations({(a.array.name, a.node): a for a in reversed(here)}.values(), 2):
            later, earlier = first, second
            if first.array.declared != second.array.declared and {first.kind, second.kind} != {"load"}:
                yield Fault(
                    ALIASED,
                    later.array.name,
                    later.index,
                    nodes[later.node].place,
                    nodes[earlier.node].place,
                    ((block.index, later.thread.index), (block.index, earlier.thread.index)),
                    later.epoch,
                    detail=f"over {earlier.array.name}",
                )
