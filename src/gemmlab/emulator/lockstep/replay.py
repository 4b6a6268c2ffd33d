"""A second look at blocks in which threads race: run again from where they began, all that they do written down.

A shadow word keeps two threads and one site, enough to find every race at full speed; which lines race with which takes
all that was done to an element. What is known after it is exact for the blocks that were looked at wholly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator import program as p
from gemmlab.emulator.launch import Launch
from gemmlab.emulator.lockstep.layout import Layout
from gemmlab.emulator.lockstep.memory import State
from gemmlab.emulator.lockstep.pairs import Pair, Sites, pairs_of
from gemmlab.emulator.lockstep.runtime import logs, noting
from gemmlab.emulator.lockstep.runtime.places import (
    AT_SITE,
    ELEMENT_BITS,
    ELOG,
    FLAGS,
    GLOBAL,
    GROUP,
    KEY_SLOTS,
    KEYS,
    LOGGED,
    SPAN,
    UNKEPT,
)

if TYPE_CHECKING:
    from gemmlab.emulator.lockstep.generate import Generated

Integers = NDArray[np.int64]
TOLD = (noting.RACE, noting.BLOCKS, noting.SAME, noting.ALIASED)  #: kinds between two lines
MOST_BLOCKS = 64  #: of those that race, besides the first of each kind between two lines
MOST_CALLS = 200_000  #: accesses by all threads of a block, a few seconds
MOST_ACCESSES = 600_000  #: that are kept, 64 bytes each


@dataclass(frozen=True)
class Second:
    """What is known of faults between two lines after the second look."""

    rows: tuple[tuple[State, Integers], ...]  #: as the first look notes faults
    limits: str  #: which blocks and elements were looked at, empty where it was all that race


def racing_rows(states: Sequence[State]) -> Iterator[tuple[State, Integers]]:
    """What the first look noted between two lines."""
    for state in states:
        for row in state.faults[1 : 1 + int(state.faults[0, 0])]:
            if row[noting.KIND] in TOLD:
                yield state, row


def second_look(
    program: p.Program,
    launch: Launch,
    made: Generated,
    function: Callable[..., Any],
    limit: int,
    states: Sequence[State],
    blocks: Integers,
    *,
    ordered: bool,
) -> Second:
    """Run blocks again that race; memory must hold what it held before the launch.

    `blocks` are those of the launch in the order they ran; `ordered` says that what one does depends on those before.
    """
    rows = list(racing_rows(states))
    keys = np.unique(np.concatenate([state.races[KEYS : KEYS + KEY_SLOTS] for state in states]))
    keys = keys[keys != 0]
    flagged = np.flatnonzero(np.any([state.flagged for state in states], axis=0)).tolist()
    chosen = {int(row[noting.BLOCK]) for _, row in rows}.union(flagged[:MOST_BLOCKS])
    crossed = any(is_between_blocks(state, row) for state, row in rows)
    log = logs.Log(keys, launch.threads, MOST_CALLS, MOST_ACCESSES)
    again = Again(State(program, launch, made), log, limit, function)
    done = again.run([int(block) for block in blocks], chosen, crossed=crossed, ordered=ordered)
    pairs = pairs_of(log, sites_of(program, made.layout, again.state), again.is_global)
    exact = [row_of(again.state, pair) for pair in pairs]
    everywhere = set(blocks.tolist()) <= done if crossed else set(flagged) <= chosen & done
    closely = not (crossed and again.shared_keys) or set(flagged) <= chosen & done
    if everywhere and closely and not any(state.races[UNKEPT] for state in states):
        return Second(tuple((again.state, row) for row in exact), "")
    looked = len(chosen & done)
    limits = f"pairs of lines are those of {looked} of {len(flagged)} blocks that race and of {len(keys)} elements"
    known = set(keys.tolist())
    for each in exact:
        noted = sum(int(row[noting.TIMES]) for _, row in rows if alike(each, row))
        each[noting.TIMES] = max(int(each[noting.TIMES]), noted)
    kept = []
    for state, row in rows:
        needed = set(blocks.tolist()) if is_between_blocks(state, row) else {int(row[noting.BLOCK])}
        refuted = needed <= done and key_of(state, row) in known
        if not refuted and not any(alike(each, row) for each in exact):
            kept.append((state, row))
    return Second((*((again.state, row) for row in exact), *kept), limits)


class Again:
    """Blocks run once more on one worker, the accesses to certain elements written down."""

    def __init__(self, state: State, log: logs.Log, limit: int, function: Callable[..., Any]) -> None:
        self.state, self.log, self.function = state, log, function
        self.arguments = state.arguments(limit)
        self.groups = {int(r[GROUP]): bool(r[FLAGS] & GLOBAL) for r in state.records if r[GROUP]}
        self.wanted = np.isin(state.records[:, GROUP], log.keys >> ELEMENT_BITS)
        self.shared_keys = any(not self.is_global(int(group)) for group in np.unique(log.keys >> ELEMENT_BITS))

    def is_global(self, group: int) -> bool:
        """Whether a group's elements are in global memory."""
        return self.groups.get(group, False)

    def run(self, blocks: list[int], chosen: set[int], *, crossed: bool, ordered: bool) -> set[int]:
        """Run what is needed: `chosen` blocks, and of the others what they do to global memory where blocks race.

        Gives the blocks that were written down wholly.
        """
        log, records = self.log, self.state.records
        between = self.wanted & np.array([self.is_global(int(group)) for group in records[:, GROUP]])
        done: set[int] = set()
        logs.OPEN[log.number] = log
        try:
            for block in blocks:
                if not (block in chosen or crossed or ordered):
                    continue
                log.begin_block()
                looked_for = self.wanted if block in chosen else between & crossed
                records[:, LOGGED] = np.where(looked_for, log.number, 0)
                self.state.epochs[ELOG] = log.number if np.any(looked_for) else 0
                self.function(np.array([block], np.int64), 0, 1, *self.arguments)
                if log.error is not None:
                    raise log.error
                if log.full:
                    break
                done.add(block)
        finally:
            del logs.OPEN[log.number]
        return done


def is_between_blocks(state: State, row: Integers) -> bool:
    """Whether a noted fault is one of two blocks."""
    begun = int(state.begin[row[noting.BLOCK]])
    return bool(row[noting.KIND] == noting.BLOCKS or 0 < row[noting.OTHER_EPOCH] < begun)


def alike(one: Integers, other: Integers) -> bool:
    """Whether two noted faults are of one kind between the same sites."""
    sites = ({int(row[noting.AT]), int(row[noting.OTHER_AT])} for row in (one, other))
    return bool(one[noting.KIND] == other[noting.KIND]) and next(sites) == next(sites)


def key_of(state: State, row: Integers) -> int:
    """The element that a noted fault is about, as it is logged."""
    group = next(int(r[GROUP]) for r in state.records if r[AT_SITE] == row[noting.AT])
    return group << ELEMENT_BITS | int(row[noting.ELEMENT])


def sites_of(program: p.Program, layout: Layout, state: State) -> Sites:
    """What pairs have to know of the sites."""
    spans = [1] * len(program.sites)
    for r in state.records:
        spans[r[AT_SITE]] = int(r[SPAN])
    return Sites([site.kind for site in program.sites], layout.owners(), spans)


def row_of(state: State, pair: Pair) -> Integers:
    """A pair as the first look would have noted it."""
    later, earlier = pair.later, pair.earlier
    row = np.zeros(noting.COLUMNS, np.int64)
    row[noting.KIND], row[noting.AT], row[noting.OTHER_AT] = pair.kind, later[logs.SITE], earlier[logs.SITE]
    row[noting.ELEMENT] = later[logs.KEY] & ((1 << ELEMENT_BITS) - 1)
    row[noting.THREAD], row[noting.OTHER_THREAD] = later[logs.THREAD], earlier[logs.THREAD]
    row[noting.BLOCK], row[noting.EPOCH_IN_BLOCK] = later[logs.BLOCK], later[logs.BARRIERS]
    row[noting.OTHER_EPOCH] = state.begin[earlier[logs.BLOCK]]
    row[noting.TIMES] = pair.count
    return row
