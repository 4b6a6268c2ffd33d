"""Rows of counts from what the threads of a block did, by sets: lanes at one place in one round are one request."""

from __future__ import annotations

from collections import defaultdict
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
    array = request[0].array
    size = array.values.itemsize
    if array.storage.space == "global":
        spans = (range(a.byte // SECTOR, (a.byte + size - 1) // SECTOR + 1) for a in request if a.byte is not None)
        return len({sector for span in spans for sector in span}), 0
    if array.storage.space == "shared":
        return wavefronts([(int(a.thread.laneid), a.byte) for a in request if a.byte is not None], size)
    return 0, 0


def wavefronts(lanes: Iterable[tuple[int, int]], size: int) -> tuple[int, int]:
    """Wavefronts of a shared request, by lane and byte, and how many are there for bank conflicts.

    Wide elements go in phases, each of so many lanes as make 128 bytes; a phase takes as many wavefronts as the
    busiest bank has different words to give.
    """
    phases: dict[int, set[int]] = defaultdict(set)
    for lane, byte in lanes:
        phase = lane * max(size, WORD) // (BANKS * WORD)
        phases[phase] |= set(range(byte // WORD, (byte + size - 1) // WORD + 1))
    total = sum(busiest(words) for words in phases.values())
    return total, total - len(phases)


def busiest(words: set[int]) -> int:
    """The most words that one bank has to give."""
    banks: dict[int, int] = defaultdict(int)
    for word in words:
        banks[word % BANKS] += 1
    return max(banks.values())
