"""Threads that wait for each other, at barriers and warp operations: who goes on, with what, and who was missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gemmlab.emulator.reference.block import Block
    from gemmlab.emulator.reference.thread import Thread, Wait

Group = dict["Thread", "Wait"]
BARRIERS = frozenset({"sync", "count", "and", "or"})


def released(block: Block, threads: list[Thread], waiting: dict[Thread, Wait]) -> list[tuple[Thread, Any]]:
    """The threads that go on, in order, and what each gets; they no longer wait.

    Nobody runs any more. In each warp those go first that wait earliest in the kernel: as a warp operation, at once;
    a barrier is for the whole block, so it waits until every warp has come to one.
    """
    if not waiting:
        return []
    by_warp: dict[int, list[Thread]] = {}
    for thread in waiting:
        by_warp.setdefault(thread.warp, []).append(thread)
    for warp in sorted(by_warp):
        group = earliest({thread: waiting[thread] for thread in by_warp[warp]})
        if next(iter(group.values())).kind not in BARRIERS:
            return go(waiting, group, exchanged(block, threads, group))
    group = earliest(waiting)
    missing = [thread for thread in threads if thread not in group]
    results = synchronised(block, group, missing)
    return go(waiting, group, results)


def earliest(waiting: Group) -> Group:
    """Those that wait at the place that comes first, in thread order."""
    first = min(wait.position for wait in waiting.values())
    found = {thread: wait for thread, wait in waiting.items() if wait.position == first}
    return dict(sorted(found.items(), key=lambda item: item[0].number))


def go(waiting: dict[Thread, Wait], group: Group, results: dict[Thread, Any]) -> list[tuple[Thread, Any]]:
    """A group goes on."""
    for thread in group:
        del waiting[thread]
    return [(thread, results[thread]) for thread in group]


def synchronised(block: Block, group: Group, missing: list[Thread]) -> dict[Thread, Any]:
    """A barrier lets its threads go, and a new epoch begins."""
    from gemmlab.emulator.reference.block import Absence, Meeting

    thread, wait = next(iter(group.items()))
    if missing:
        block.absences.append(Absence(wait.node, thread, missing[0], block.epoch))
    block.meetings.append(Meeting(block.epoch, wait.position, tuple(group)))
    block.epoch += 1
    holds = [bool(w.value) for w in group.values()]
    result = {"sync": None, "count": np.int32(sum(holds)), "and": np.int32(all(holds)), "or": np.int32(any(holds))}
    return dict.fromkeys(group, result[wait.kind])


def exchanged(block: Block, threads: list[Thread], group: Group) -> dict[Thread, Any]:
    """A warp operation among the lanes that are at it."""
    from gemmlab.emulator.reference.block import Absence, Meeting

    lanes = {int(thread.laneid): wait for thread, wait in group.items()}
    wait = next(iter(group.values()))
    block.meetings.append(Meeting(block.epoch, wait.position, tuple(group)))
    if wait.kind == "activemask":
        return dict.fromkeys(group, np.uint32(sum(1 << lane for lane in lanes)))
    for thread, named in group.items():
        first = 32 * thread.warp
        wrong = [lane for lane in range(min(32, len(threads) - first)) if not agreed(lane, thread, named.mask, lanes)]
        if wrong:
            block.absences.append(Absence(wait.node, thread, threads[first + wrong[0]], block.epoch))
            break
    if wait.kind == "syncwarp":
        for mask in {w.mask for w in group.values()}:
            order([thread for thread, w in group.items() if w.mask == mask])
        return dict.fromkeys(group)
    if wait.kind.startswith("shfl"):
        return {
            thread: lanes.get(source(wait.kind, int(thread.laneid), w.lane), w).value for thread, w in group.items()
        }
    return {thread: voted(wait.kind, w.mask, lanes) for thread, w in group.items()}


def agreed(lane: int, thread: Thread, mask: int, lanes: dict[int, Wait]) -> bool:
    """Whether a lane does what a thread's member mask says: who is named is here and names the same; oneself is named.

    PTX waits for all threads of the mask that have not exited; lanes that the block never had are none.
    """
    if mask >> lane & 1:
        return lane in lanes and lanes[lane].mask == mask
    return lane != int(thread.laneid)


def source(kind: str, lane: int, given: int) -> int:
    """The lane whose value a shuffle takes: its own where the named one is out of the warp."""
    if kind == "shfl":
        return given & 31
    if kind == "shfl_xor":
        return lane ^ given if (lane ^ given) < 32 else lane
    other = lane - given if kind == "shfl_up" else lane + given
    return other if 0 <= other < 32 else lane


def voted(kind: str, mask: int, lanes: dict[int, Wait]) -> Any:
    """What a vote gives to a lane that named those of the mask."""
    holds = {lane: bool(wait.value) for lane, wait in lanes.items() if mask >> lane & 1}
    if kind == "ballot":
        return np.uint32(sum(1 << lane for lane, held in holds.items() if held)).astype(np.int32)
    if kind == "eq":
        return np.bool_(len(set(holds.values())) <= 1)
    return np.bool_(any(holds.values()) if kind == "any" else all(holds.values()))


def order(group: list[Thread]) -> None:
    """`syncwarp`: what its lanes did before is before what each does from now on."""
    together: dict[int, int] = {}
    for thread in group:
        for number, time in thread.clock.items():
            together[number] = max(time, together.get(number, 0))
    for thread in group:
        thread.clock = {**together, thread.number: together[thread.number] + 1}
