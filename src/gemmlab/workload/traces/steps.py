"""The steps of a training or inference loop, as the profiler marks them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from statistics import median

import numpy as np

from gemmlab.record import GemmlabError
from gemmlab.workload.traces.gathering import Gathered

STEP = re.compile(r"ProfilerStep#?\s*(\d+)$")
SLOW = 1.5  # times the median: what a warm-up lasts at least


class Steps:
    """The steps of a trace that are read: all whole ones, or the one that is asked for.

    Without marks the whole trace is one step. A mark around nothing, as the profiler leaves one at its end, is
    no step. Raises GemmlabError for a step that the trace does not have.
    """

    def __init__(self, gathered: Gathered, step: int | None) -> None:
        table = gathered.annotations
        columns = zip(table["name"].tolist(), table["start"].tolist(), table["end"].tolist(), strict=True)
        marks = sorted({(start, end, gathered.names[name]) for name, start, end in columns if is_step(gathered, name)})
        begun = np.sort(np.concatenate((gathered.operators["start"], gathered.launches["start"])))
        busy = [bool(np.searchsorted(begun, end) > np.searchsorted(begun, start)) for start, end, _ in marks]
        self.marked = bool(marks)
        self.empty = [name for (_, _, name), full in zip(marks, busy, strict=True) if not full]
        whole = [mark for mark, full in zip(marks, busy, strict=True) if full]
        self.all = apart(whole)
        self.chosen = self.all if step is None else [mark for mark in self.all if number_of(mark[2]) == step]
        if step is not None and not self.chosen:
            known = ", ".join(str(number_of(name)) for _, _, name in self.all)
            raise GemmlabError(
                f"{gathered.path} has no step {step}: " + (f"its steps are {known}" if known else "it marks no steps"),
                "leave `step` out to read all of it" if not known else "give one of them, or none for all",
            )
        self.starts = [start for start, _, _ in self.chosen]

    def __len__(self) -> int:
        return max(1, len(self.chosen))

    def has(self, time: int) -> bool:
        """Whether what begins at a time is of a step that is read."""
        if not self.all:
            return True
        place = bisect_right(self.starts, time) - 1
        return place >= 0 and time <= self.chosen[place][1]

    def uneven(self, multiplications: list[int]) -> list[str]:
        """Steps that make fewer multiplications than most, which start at the given times: parts of a step, perhaps."""
        edges = [edge for start, end, _ in self.chosen for edge in (start, end)]
        counts = np.diff(np.searchsorted(np.sort(multiplications), edges))[::2].tolist()
        usual = Counter(counts).most_common(1)[0][0] if len(counts) >= 3 else 0
        return [
            f"{name} makes {count:,} multiplications, and most steps {usual:,}: a part of one, perhaps"
            for count, (_, _, name) in zip(counts, self.chosen, strict=True)
            if count < usual
        ]

    def notes(self) -> list[str]:
        """What is to be said of steps that are left out, or slow."""
        told = []
        if self.empty:
            told.append(f"{', '.join(self.empty)} holds no operator and is no step")
        lengths = [end - start for start, end, _ in self.chosen]
        if len(lengths) >= 3:
            middle = median(lengths)
            for length, (_, _, name) in zip(lengths, self.chosen, strict=True):
                if length > SLOW * middle:
                    told.append(
                        f"{name} lasts {length / middle:.1f} times the median step: a warm-up, perhaps; "
                        f"one step alone is read with step={number_of(self.chosen[-1][2])}"
                    )
        return told


def is_step(gathered: Gathered, name: int) -> bool:
    """Whether an annotation's name is a step's."""
    return STEP.match(gathered.names[name]) is not None


def number_of(name: str) -> int:
    """The number in a step's name."""
    found = STEP.match(name)
    return int(found[1]) if found else -1


def apart(marks: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The marks that do not overlap an earlier one, as the ranks of a merged trace do."""
    kept: list[tuple[int, int, str]] = []
    for mark in marks:
        if not kept or mark[0] >= kept[-1][1]:
            kept.append(mark)
    return kept
