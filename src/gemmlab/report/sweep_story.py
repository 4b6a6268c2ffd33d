"""What many Records tell together, as rows of words: the same for terminal and page."""

from collections.abc import Sequence
from typing import NamedTuple

from gemmlab.problem import Shape
from gemmlab.record import Record
from gemmlab.report import story
from gemmlab.report.words import amount, bound_key, clean, percent, speedup

COLUMNS = ("shape", "format", "time", "of all", "bound", "DRAM", "of limit")
NOTE = "which, and what to change"  #: the column after them
NO_CHANGE = "none"  #: the cause of an advice that says there is nothing to change


class Row(NamedTuple):
    """One multiplication of a sweep in words."""

    cells: tuple[str, ...]  #: by COLUMNS
    label: str  #: its name, and how many of it there are; empty where neither is known
    change: str  #: the first advice, empty where nothing gains

    @property
    def note(self) -> str:
        """Both together."""
        return ": ".join(filter(None, (self.label, self.change)))


class Sweep(NamedTuple):
    """Records, and how often each occurs."""

    records: Sequence[Record]
    shapes: Sequence[Shape]  #: of the Records, in the same order; empty where nothing is known of them

    def count(self, index: int) -> int:
        """How often a Record occurs."""
        return self.shapes[index].count if index < len(self.shapes) else 1

    def time_s(self, index: int) -> float:
        """What one of it takes; 0 where that is not predicted."""
        prediction = self.records[index].prediction
        return prediction.time_s if prediction else 0.0

    def spent_s(self, index: int) -> float:
        """What all of it take together."""
        return self.count(index) * self.time_s(index)

    def above_limit_s(self, index: int) -> float:
        """What all of it take beyond their limit, see `story.limit_time`."""
        return self.count(index) * max(0.0, self.time_s(index) - (story.limit_time(self.records[index]) or 0.0))

    @property
    def total_s(self) -> float:
        """What everything takes, one after another."""
        return sum(self.spent_s(index) for index in range(len(self.records)))

    def rows(self) -> list[Row]:
        """All of them in words."""
        total = self.total_s
        return [self.row(index, total) for index in range(len(self.records))]

    def row(self, index: int, total_s: float) -> Row:
        """One of them in words."""
        record = self.records[index]
        p, prediction = record.problem, record.prediction
        shape, form = name_of(record), clean(p.a_format) if p else "-"
        label = self.label(index)
        if prediction is None:
            return Row((shape, form, *"-----"), label, "")
        figures = (
            amount(prediction.time_s, "s"),
            percent(self.spent_s(index) / total_s if total_s > 0 else None),
            bound_key(prediction.bound),
            amount(prediction.dram_bytes, "B"),
            percent(story.share_of_limit(record)),
        )
        return Row((shape, form, *figures), label, change(record))

    def label(self, index: int) -> str:
        """What a shape is called, and how many of it there are."""
        name = clean(self.shapes[index].name) if index < len(self.shapes) else ""
        count = self.count(index)
        return ", ".join(filter(None, (name, f"{count} of them" if count > 1 else "")))

    def conclusions(self) -> list[str]:
        """What holds of all: what the numbers are, which costs most, which are fine, how long everything takes."""
        said = ["predicted: time of one, share of all, DRAM traffic, gain"]
        said += ["limit: arithmetic at the peak or each matrix once through DRAM, the longer"]
        predicted = [index for index, record in enumerate(self.records) if record.prediction]
        if len(predicted) < 2:
            return said
        fine = [index for index in predicted if nothing_to_change(self.records[index])]
        if fine:
            said.append(f"{len(fine)} of {len(predicted)} shapes: nothing is predicted to gain 3%")
        worst = max(predicted, key=self.above_limit_s)
        lost, total = self.above_limit_s(worst), self.total_s
        label = self.label(worst)
        name = name_of(self.records[worst]) + (f" ({label})" if label else "")
        if lost > 0:
            said.append(f"most above its limit: {name}, {amount(lost, 's')} of {amount(total, 's')}")
        occurrences = sum(self.count(index) for index in range(len(self.records)))
        return [*said, f"all {occurrences} of them one after another: {amount(total, 's')} predicted"]


def name_of(record: Record) -> str:
    """The sizes, short."""
    p = record.problem
    if p is None:
        return "-"
    return f"{len(p.groups)} groups, m {p.m}" if p.groups else story.title(record)


def change(record: Record) -> str:
    """The first advice and its gain; empty where there is none to follow."""
    if nothing_to_change(record) or not record.advice:
        return ""
    first = record.advice[0]
    gain = speedup(first.predicted_speedup)
    return clean(first.change) + (f": {gain}" if gain not in ("-", "no gain") else "")


def nothing_to_change(record: Record) -> bool:
    """Advice was asked for, and there is none to follow."""
    return record.advice is not None and (not record.advice or record.advice[0].cause == NO_CHANGE)


def heading(records: Sequence[Record]) -> tuple[str, tuple[str, ...]]:
    """What all have in common in words, and the columns that remain."""
    places = {f"on {clean(r.chip.name)}, {story.chip_status(r)}" for r in records if r.chip}
    forms = {story.formats(r) for r in records}
    common = [*forms] if len(forms) == 1 and any(forms) else []
    said = "; ".join([*common, *places] if len(places) == 1 else common)
    return said, tuple(name for name in COLUMNS if name != "format" or not common)
