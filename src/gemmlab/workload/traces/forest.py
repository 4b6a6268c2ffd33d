"""Intervals of threads as a forest: which interval another one lies in."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Forest:
    """Nested intervals, each with the innermost one that contains it.

    Given are an interval's thread, start and end, and a tie: of intervals that are equal, the one with the lower tie
    contains the other. All results are positions in `order`, which sorts intervals by thread and time; parents come
    before their children. Intervals that overlap without nesting do not contain each other.
    """

    def __init__(self, threads: Ints, starts: Ints, ends: Ints, ties: Ints) -> None:
        self.order: Ints = np.lexsort((ties, -ends, starts, threads)).astype(np.int64)
        self.threads = threads[self.order]
        self.starts: list[int] = starts[self.order].tolist()
        self.ends: list[int] = ends[self.order].tolist()
        changes = np.flatnonzero(np.diff(self.threads)) + 1
        edges = [0, *changes.tolist(), len(self.order)] if len(self.order) else []
        self.bounds = {int(self.threads[low]): (low, high) for low, high in pairwise(edges)}
        self.parents = self.nest()

    def __len__(self) -> int:
        return len(self.starts)

    def nest(self) -> list[int]:
        """The position of each interval's parent; -1 for one that no other contains."""
        parents = [-1] * len(self.starts)
        ends = self.ends
        for low, high in self.bounds.values():
            above: list[int] = []
            for place in range(low, high):
                end = ends[place]
                while above and ends[above[-1]] < end:
                    above.pop()
                if above:
                    parents[place] = above[-1]
                above.append(place)
        return parents

    def innermost(self, thread: int, time: int) -> int:
        """The latest interval of a thread that a time lies in; -1 where none is."""
        low, high = self.bounds.get(thread, (0, 0))
        place = bisect_right(self.starts, time, low, high) - 1
        if place < low:
            return -1
        while place >= 0 and self.ends[place] < time:
            place = self.parents[place]
        return place

    def inherited(self, own: list[int]) -> list[int]:
        """For each interval its own value, or where that is -1 the nearest one above it that has another."""
        values = list(own)
        for place, parent in enumerate(self.parents):
            if values[place] < 0 <= parent:
                values[place] = values[parent]
        return values

    def own_times(self) -> Ints:
        """What each interval lasts less its children."""
        lengths = np.asarray(self.ends, np.int64) - np.asarray(self.starts, np.int64)
        parents = np.asarray(self.parents, np.int64)
        inner = parents >= 0
        left: Ints = lengths.copy()
        np.subtract.at(left, parents[inner], lengths[inner])
        return left


def union(starts: Any, ends: Any) -> list[tuple[int, int]]:
    """The union of intervals, as intervals that do not touch, in order of time."""
    if not len(starts):
        return []
    begin = np.asarray(starts, np.int64)
    order = np.argsort(begin, kind="stable")
    begin, reach = begin[order], np.maximum.accumulate(np.asarray(ends, np.int64)[order])
    gaps = np.flatnonzero(begin[1:] > reach[:-1])
    firsts = begin[np.concatenate(([0], gaps + 1))].tolist()
    lasts = reach[np.concatenate((gaps, [len(reach) - 1]))].tolist()
    return list(zip(firsts, lasts, strict=True))


def common(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> int:
    """How much two unions of intervals have in common."""
    total = first = second = 0
    while first < len(one) and second < len(other):
        low = max(one[first][0], other[second][0])
        high = min(one[first][1], other[second][1])
        total += max(0, high - low)
        if one[first][1] < other[second][1]:
            first += 1
        else:
            second += 1
    return total
