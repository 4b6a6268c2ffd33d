"""Other orders of threads than lockstep: the one that was asked for, or the worst that a search finds after a race."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gemmlab.emulator.launch import Launch, stored_arrays
from gemmlab.emulator.program import Program
from gemmlab.emulator.tallies import BLOCK_RACE, GLOBAL_RACE, SHARED_RACE, Fault, Outcome
from gemmlab.record import GemmlabError, ScheduleSection, unknown_name

if TYPE_CHECKING:
    from gemmlab.emulator.serial import Schedule
    from gemmlab.emulator.serial.search import Try

RACES = (SHARED_RACE, GLOBAL_RACE, BLOCK_RACE)
ACCESSES = ("load", "store", "atomic")
WORST, EXHAUSTIVE = "worst", "exhaustive"
UNASKED_ACCESSES = 4_000_000  #: of a launch up to which a race starts a search by itself
UNASKED_STEPS = 40_000_000  #: that such a search may take
NO_STEPS = 2_000_000_000  #: of one order, before a kernel counts as endless

Judge = Callable[[Mapping[str, Any]], tuple[int, float | None]]  #: arrays by parameter: wrong elements, largest error


class Timings:
    """Runs of one launch in other orders, on copies of its arrays, so that the launch's own stay as they are."""

    def __init__(
        self, program: Program, launch: Launch, asked: str | None, judge: Judge | None, step_limit: int | None
    ) -> None:
        self.program, self.launch, self.judge, self.asked = program, launch, judge, asked
        self.step_limit = step_limit or NO_STEPS
        self.schedule = None if asked in (None, WORST, EXHAUSTIVE) else named(str(asked))
        self.names = [argument.name for argument in program.arguments]
        changed = {program.arrays[name].base or name for name in stored_arrays(program)}
        args = tuple(
            value.copy() if name in changed else value for name, value in zip(self.names, launch.args, strict=True)
        )
        self.again = replace(launch, args=args)
        self.witness: Schedule | None = None
        self.notes: tuple[str, ...] = ()

    def tried(self, outcome: Outcome, *, search: bool = True) -> tuple[ScheduleSection, ...]:
        """The orders that were run: what was asked for, else those of a search where a race was found.

        Without `search`, only what was asked for.
        """
        if self.schedule is not None:
            return self.told([self.trial(self.schedule)])
        races = [at_writers(fault, outcome) for fault in outcome.faults if fault.kind in RACES]
        if self.asked == EXHAUSTIVE:
            return self.told(self.all_there_are())
        if self.asked == WORST:
            return self.found(races, {})
        if not races or not search:
            return ()
        accesses = sum(tally.threads for key, tally in outcome.tallies.items() if key.kind in ACCESSES)
        if accesses > UNASKED_ACCESSES:
            self.notes = ("the order of threads that does most harm was not searched: --schedule worst does, for long",)
            return ()
        return self.found(races, {"budget": UNASKED_STEPS})

    def found(self, races: list[Any], limits: dict[str, Any]) -> tuple[ScheduleSection, ...]:
        """The orders that a search tried, the worst of them the witness."""
        from gemmlab.emulator.serial.search import search

        worst = search(self.program, self.again, races, self.judged, step_limit=self.step_limit, **limits)
        self.notes = worst.notes
        if worst.all_interleavings:
            self.notes += (
                f"no order of whole accesses makes more elements wrong: all {worst.states:,} states were met",
            )
        return self.told(list(worst.tries))

    def trial(self, schedule: Schedule) -> Try:
        """One order."""
        from gemmlab.emulator.serial.search import Trial, with_horizon

        trial = Trial(self.program, self.again, self.judged, None, self.step_limit)
        return trial.take(with_horizon(self.program, self.again, schedule, self.step_limit))

    def all_there_are(self) -> list[Try]:
        """Lockstep, and the worst of all interleavings; raises GemmlabError where there are too many."""
        from gemmlab.emulator.serial import NAMED
        from gemmlab.emulator.serial.exhaustive import STATES
        from gemmlab.emulator.serial.search import Trial

        trial = Trial(self.program, self.again, self.judged, None, self.step_limit)
        tries = [trial.take(NAMED["lockstep"])]
        states = trial.exhaust(tries, STATES)
        if not states:
            raise GemmlabError(trial.notes[-1].partition("\n")[0], "a smaller launch, or --schedule worst")
        self.notes = (f"all interleavings of whole accesses were tried: {states:,} states",)
        return tries

    def told(self, tries: list[Try]) -> tuple[ScheduleSection, ...]:
        """Tries as a Record has them; the worst is the witness where it does harm."""
        worst = max(tries, key=lambda each: each.wrong_elements)  # of equally many the first, which is the plainest
        harmful = worst.wrong_elements > 0
        self.witness = worst.schedule if harmful or len(tries) == 1 else None
        return tuple(
            ScheduleSection(
                name=str(each.schedule),
                wrong_elements=each.wrong_elements,
                max_error=each.max_error if np.isfinite(each.max_error) else None,
                against=self.against,
                worst=harmful and each is worst,
                witness=each is worst and self.witness is not None,
            )
            for each in tries
        )

    @property
    def against(self) -> str:
        """What results are compared with."""
        if self.judge is not None:
            return "the float64 reference, within what rounding explains"
        return "the run in lockstep, within the square root of the type's rounding"

    def judged(self, arrays: Mapping[str, Any]) -> tuple[int, float]:
        """Wrong elements of the arrays that the kernel stores to, and the largest error."""
        if self.judge is not None:
            wrong, error = self.judge(arrays)
            return wrong, float("nan") if error is None else error
        own = dict(zip(self.names, self.launch.args, strict=True))
        found = [difference(array, own[name]) for name, array in arrays.items()]
        return sum(wrong for wrong, _ in found), max((error for _, error in found), default=0.0)


def at_writers(race: Fault, outcome: Outcome) -> Fault:
    """A race with its writing lines alone: those are the ones that an order of threads can hold back."""
    writing = {key.place for key in outcome.tallies if key.kind in ("store", "atomic") and key.array == race.array}
    places = [place for place in (race.line, race.other_line) if place in writing] or [race.line]
    return replace(race, line=places[0], other_line=places[1] if len(places) > 1 else None)


def named(text: str) -> Schedule:
    """The schedule that a text names; raises GemmlabError."""
    from gemmlab.emulator.serial import NAMED, parse

    name = text.partition(":")[0]
    if name not in NAMED and name != "witness":
        raise unknown_name("schedule", name, [*NAMED, "witness:FILE.json", WORST])
    return parse(text)


def difference(got: Any, expected: Any) -> tuple[int, float]:
    """Elements that differ by more than another order of summing explains, and the largest finite difference."""
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    largest = float(apart[np.isfinite(apart)].max(initial=0.0))
    if got.dtype.kind != "f":
        return int((got != expected).sum()), largest
    size = np.abs(expected.astype(np.float64))
    room = float(np.finfo(got.dtype).eps) ** 0.5 * float(size[np.isfinite(size)].max(initial=0.0))
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return int((~same & ~(apart <= room)).sum()), largest
