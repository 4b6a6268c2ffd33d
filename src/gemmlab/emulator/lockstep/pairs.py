"""Which pairs of lines race, exactly, from all that threads did to the elements that they race for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator.lockstep.runtime import noting
from gemmlab.emulator.lockstep.runtime.logs import BARRIERS, BITS, BLOCK, CLOCK, KEY, ORDER, SITE, THREAD, Clock, Log
from gemmlab.emulator.lockstep.runtime.places import ELEMENT_BITS

Integers = NDArray[np.int64]
Entry = Any  #: one access, by the columns of a log
MOST_BY_PAIRS = 1024  #: accesses to one element that are compared pair by pair, where syncwarps order some of them


@dataclass(slots=True)
class Pair:
    """Accesses of two sites to one element that conflict: the first that did, and how many pairs of threads do."""

    kind: int
    later: Entry
    earlier: Entry
    count: int = 1


@dataclass(frozen=True)
class Sites:
    """By site: the kind of its statement, the number of its dynamic array (-1 for none), granules it takes."""

    kinds: Sequence[str]
    owners: Sequence[int]
    spans: Sequence[int]

    def conflict(self, one: int, other: int) -> bool:
        """Whether the order of two accesses to an element matters: not of two reads, and not of two atomics."""
        return not (self.kinds[one] == self.kinds[other] != "store")

    def alike(self, sites: Sequence[int]) -> bool:
        """Whether all of them store elements of one size, whose bits can be compared."""
        return all(self.kinds[site] == "store" and self.spans[site] == self.spans[sites[0]] for site in sites)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two sites that conflict on an element: where in its accesses those two are that did first, and how many pairs."""

    later: int
    earlier: int
    count: int


class Pairs:
    """The conflicts by kind and pair of sites."""

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self.found: dict[tuple[int, int, int], Pair] = {}
        self.seen: set[tuple[int, ...]] = set()
        #: of accesses that differ in the element alone: their conflicts, and whether all of them are stores
        self.patterns: dict[bytes, tuple[list[Conflict], bool]] = {}

    def add(self, kind: int, later: Entry, earlier: Entry, count: int = 1) -> None:
        """Some more conflicts of a kind between two sites; an element of several granules counts once."""
        one, other = int(later[SITE]), int(earlier[SITE])
        key = (kind, one, other) if one < other else (kind, other, one)
        span = max(self.sites.spans[one], self.sites.spans[other])
        if span > 1:
            what = (*key, *(int(later[c]) for c in (BLOCK, BARRIERS)), int(later[KEY]) // self.sites.spans[one])
            if what in self.seen:
                return
            self.seen.add(what)
        pair = self.found.get(key)
        if pair is None:
            self.found[key] = Pair(kind, later, earlier, count)
            return
        pair.count += count
        if later[ORDER] < pair.later[ORDER]:
            pair.later, pair.earlier = later, earlier


def pairs_of(log: Log, sites: Sites, is_global: Callable[[int], bool]) -> list[Pair]:
    """All conflicts among what was logged; `is_global` says of an array's group whether blocks share its elements."""
    entries, found = log.entries(), Pairs(sites)
    for cell in cells(entries, (BLOCK, BARRIERS, KEY), THREAD, sites):
        if np.any(cell[:, CLOCK]):
            one_by_one(cell.tolist(), found, log.clock)
        else:
            together(cell, THREAD, noting.RACE, found)
    groups = entries[:, KEY] >> ELEMENT_BITS
    found.patterns.clear()
    for cell in cells(entries[np.isin(groups, list(filter(is_global, np.unique(groups))))], (KEY,), BLOCK, sites):
        together(cell, BLOCK, noting.BLOCKS, found)
    if len(set(sites.owners)) > 2:
        for cell in cells(entries, (BLOCK, KEY), SITE, sites):
            aliased(cell.tolist(), found)
    return list(found.found.values())


def cells(entries: Integers, columns: tuple[int, ...], owner: int, sites: Sites) -> Iterator[Integers]:
    """Accesses to one element, in order, where those of different owners may conflict."""
    if not len(entries):
        return
    entries = entries[np.lexsort([entries[:, c] for c in (ORDER, *reversed(columns))])]
    new = np.any(np.diff(entries[:, columns], axis=0) != 0, axis=1)
    starts = np.concatenate([[0], 1 + np.flatnonzero(new)])
    ends = np.append(starts[1:], len(entries))
    owners, kinds = entries[:, owner], np.array(sites.kinds)[entries[:, SITE]]
    several = np.minimum.reduceat(owners, starts) != np.maximum.reduceat(owners, starts)
    written = np.logical_or.reduceat(kinds != "load", starts) & np.logical_or.reduceat(kinds != "atomic", starts)
    for which in np.flatnonzero(several & written):
        yield entries[starts[which] : ends[which]]


def together(cell: Integers, owner: int, kind: int, found: Pairs) -> None:
    """Conflicts between owners, threads or blocks, none of which are ordered."""
    what = cell[:, [SITE, owner, THREAD]]
    what[:, 1:] -= what[0, 1:]  # only who is who matters
    pattern = what.tobytes()
    if pattern not in found.patterns:
        stored = found.sites.alike(what[:, 0].tolist())
        found.patterns[pattern] = list(conflicts(what.tolist(), found.sites)), stored
    made, stored = found.patterns[pattern]
    if made:
        benign = stored and bool(np.all(cell[:, BITS] == cell[0, BITS]))
        for each in made:
            found.add(noting.SAME if benign else kind, cell[each.later], cell[each.earlier], each.count)


def conflicts(accesses: list[list[int]], sites: Sites) -> Iterator[Conflict]:
    """The conflicts among accesses to one element, each of a site, an owner and a thread."""
    threads: dict[int, dict[int, set[int]]] = {}
    first: dict[int, list[int]] = {}
    for place, (site, by, thread) in enumerate(accesses):
        threads.setdefault(site, {}).setdefault(by, set()).add(thread)
        known = first.setdefault(site, [])
        if not known or (len(known) == 1 and accesses[known[0]][1] != by):
            known.append(place)  # of two owners one at least is not whoever comes next
    for one, other in combinations_with_itself(sorted(threads)):
        if not sites.conflict(one, other):
            continue
        mine, others = ({by: len(who) for by, who in threads[site].items()} for site in (one, other))
        same = sum(number * others.get(by, 0) for by, number in mine.items())
        count = sum(mine.values()) * sum(others.values()) - same
        if count:
            pairs = [(a, b) for a, b in product(first[one], first[other]) if accesses[a][1] != accesses[b][1]]
            later, earlier = min((max(pair), min(pair)) for pair in pairs)
            yield Conflict(later, earlier, count // 2 if one == other else count)


def combinations_with_itself(sites: list[int]) -> Iterator[tuple[int, int]]:
    """Each two of them, and each with itself."""
    for place, one in enumerate(sites):
        for other in sites[place:]:
            yield one, other


def one_by_one(cell: list[list[int]], found: Pairs, clock: Callable[[int, int], Clock]) -> None:
    """Conflicts between threads some of which syncwarp orders: every pair is looked at."""
    distinct: dict[tuple[int, ...], Entry] = {}
    for entry in cell:
        distinct.setdefault((entry[THREAD], entry[SITE], entry[CLOCK], entry[BITS]), entry)
    few = list(distinct.values())[:MOST_BY_PAIRS]
    pairs = [(a, b) for a, b in combinations(few, 2) if found.sites.conflict(a[SITE], b[SITE]) and apart(a, b, clock)]
    concerned = [entry for pair in pairs for entry in pair]
    same = all(entry[BITS] == concerned[0][BITS] for entry in concerned)
    benign = same and found.sites.alike([entry[SITE] for entry in concerned])
    for earlier, later in pairs:
        found.add(noting.SAME if benign else noting.RACE, later, earlier)


def apart(one: Entry, other: Entry, clock: Callable[[int, int], Clock]) -> bool:
    """Whether two threads did these at times that no syncwarp orders."""
    a, b = one[THREAD], other[THREAD]
    mine, others = clock(a, one[CLOCK]), clock(b, other[CLOCK])
    return a != b and others.get(a, 0) < mine[a] and mine.get(b, 0) < others[b]


def aliased(cell: list[list[int]], found: Pairs) -> None:
    """Dynamic arrays of different names over one granule, not both read."""
    first: dict[int, Entry] = {}
    for entry in cell:
        first.setdefault(entry[SITE], entry)
    for earlier, later in combinations(first.values(), 2):
        owners, kinds = found.sites.owners, found.sites.kinds
        reads = kinds[earlier[SITE]] == kinds[later[SITE]] == "load"
        if not reads and owners[earlier[SITE]] != owners[later[SITE]]:  # an element of none is of no other
            found.add(noting.ALIASED, later, earlier)
