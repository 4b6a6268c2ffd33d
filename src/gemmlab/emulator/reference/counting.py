"""Rows of counts from what the threads of a block did, by sets: lanes at one place in one round are one request."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from gemmlab.emulator.reference.block import Access, Block
from gemmlab.emulator.reference.thread import Position
from gemmlab.emulator.reference.translation import Node
from gemmlab.emulator.tallies import Key, Tally

SECTOR = 32  #: bytes
BANKS = 32
WORD = 4  #: bytes of a bank


def counted(nodes: Sequence[Node], block: Block) -> dict[Key, Tally]:
    """The rows of one block."""
    rows: dict[Key, Tally] = defaultdict(Tally)
    requests: dict[tuple[Position, int], list[Access]] = defaultdict(list)
    for access in block.accesses:
        requests[access.position, access.thread.warp].append(access)
    for request in requests.values():
        node = nodes[request[0].node]
        pieces, conflicts = moved(request)
        rows[Key(node.place, node.kind, request[0].array.name)] += Tally(len(request), 1, pieces, conflicts)
    tests: dict[tuple[Position, int], list[bool]] = defaultdict(list)
    for position, warp, _, taken in block.tests:
        tests[position, warp].append(taken)
    for (position, _), taken_by in tests.items():
        node = nodes[position[-1]]
        rows[Key(node.place, node.kind, "")] += Tally(len(taken_by), 1, 0, int(len(set(taken_by)) > 1))
    arrivals: dict[tuple[Position, int], int] = defaultdict(int)
    for position, warp, _ in block.waits:
        arrivals[position, warp] += 1
    for (position, _), threads in arrivals.items():
        node = nodes[position[-1]]
        rows[Key(node.place, node.kind, "")] += Tally(threads, 1)
    for (number, array), times in block.work.items():
        node = nodes[number]
        rows[Key(node.place, node.kind, array)] += Tally(flop=times * node.flop, fma=times * node.fma)
    return dict(rows)


def moved(request: list[Access]) -> tuple[int, int]:
    """Sectors of a global request; wavefronts and bank conflicts of a shared one; nothing of a local one."""
    array, kind = request[0].array, request[0].kind
    size = array.values.itemsize
    lanes = {int(a.thread.laneid): a.byte for a in request if a.byte is not None}
    if array.storage.space == "global":
        return sectors(lanes, size, kind), 0
    if array.storage.space == "shared":
        return wavefronts(lanes, size, kind)
    return 0, 0


def sectors(lanes: dict[int, int], size: int, kind: str) -> int:
    """Sectors of a global request, by lane and first byte.

    An atomic takes each sector as often as most lanes name one place in it: those go one after another.
    """
    times = Counter(lanes.values())
    most: dict[int, int] = {}
    for byte, lanes_there in times.items():
        for sector in range(byte // SECTOR, (byte + size - 1) // SECTOR + 1):
            most[sector] = max(most.get(sector, 1), lanes_there if kind == "atomic" else 1)
    return sum(most.values())


def wavefronts(lanes: dict[int, int], size: int, kind: str) -> tuple[int, int]:
    """Wavefronts of a shared request, by lane and first byte, and how many are there for bank conflicts.

    Wide elements go in phases, each of so many lanes as make 128 bytes; a phase takes as many wavefronts as the
    busiest bank has different words to give. A wide load takes twice the lanes at once where neighbours, or else lanes
    two apart, never want different elements. Atomics on one word go one after another. So the counters of an H200 have
    it (benchmarks/results/h200_counters.json, "shared load", "shared store", "shared_atomic").
    """
    together = BANKS * WORD // max(size, WORD)
    if kind == "load" and size > WORD and (alike(lanes, 1) or alike(lanes, 2)):
        together *= 2
    phases: dict[int, list[int]] = defaultdict(list)
    for lane, byte in lanes.items():
        phases[lane // together] += range(byte // WORD, (byte + size - 1) // WORD + 1)
    total = sum(busiest(words if kind == "atomic" else set(words)) for words in phases.values())
    return total, total - len(phases)


def alike(lanes: dict[int, int], apart: int) -> bool:
    """Whether lanes whose numbers differ in that bit want the same, where both take part."""
    return all(lanes.get(lane ^ apart, byte) == byte for lane, byte in lanes.items())


def busiest(words: Iterable[int]) -> int:
    """The most words that one bank has to give."""
    return max(Counter(word % BANKS for word in words).values())
