"""Other orders of threads than lockstep: the one that was asked for, or the worst that a search finds after a race."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gemmlab.emulator.launch import Launch, stored_arrays
from gemmlab.emulator.program import Program
from gemmlab.emulator.tallies import BLOCK_RACE, GLOBAL_RACE, SHARED_RACE, Outcome
from gemmlab.record import ScheduleSection, unknown_name

RACES = (SHARED_RACE, GLOBAL_RACE, BLOCK_RACE)
WORST = "worst"

Judge = Callable[[Mapping[str, Any]], tuple[int, float | None]]  #: arrays by parameter: wrong elements, largest error


class Timings:
    """Runs of one launch in other orders, each on fresh copies of its arrays, so that the launch's own stay."""

    def __init__(
        self, program: Program, launch: Launch, schedule: str | None, judge: Judge | None, step_limit: int | None
    ) -> None:
        self.program, self.launch, self.judge, self.step_limit = program, launch, judge, step_limit
        self.names = [argument.name for argument in program.arguments]
        self.witness: Any = None
        self.schedule = None
        if schedule is not None and schedule != WORST:
            self.schedule = named(schedule)
        self.wanted = schedule
        changed = {program.arrays[name].base or name for name in stored_arrays(program)}
        self.before = {
            name: value.copy() if name in changed else value
            for name, value in zip(self.names, launch.args, strict=True)
            if isinstance(value, np.ndarray)
        }

    def tried(self, outcome: Outcome) -> tuple[ScheduleSection, ...]:
        """The orders that were run: the one asked for, else several where a race was found."""
        if self.schedule is not None:
            return (self.run(self.schedule),)
        return ()

    def run(self, schedule: Any) -> ScheduleSection:
        """One order, and what it did to the arrays."""
        from gemmlab.emulator.serial.running import STEP_LIMIT, run_schedule

        arrays = {name: array.copy() for name, array in self.before.items()}
        args = tuple(arrays.get(name, value) for name, value in zip(self.names, self.launch.args, strict=True))
        run_schedule(self.program, replace(self.launch, args=args), schedule, self.step_limit or STEP_LIMIT)
        wrong, error = self.judged(arrays)
        self.witness = schedule
        return ScheduleSection(
            name=str(schedule), wrong_elements=wrong, max_error=finite(error), against=self.against, witness=True
        )

    @property
    def against(self) -> str:
        """What results are compared with."""
        if self.judge is not None:
            return "the float64 reference, within what rounding explains"
        return "the run in lockstep, within the square root of the type's rounding"

    def judged(self, arrays: Mapping[str, Any]) -> tuple[int, float | None]:
        """Wrong elements of all arrays, and the largest error."""
        if self.judge is not None:
            return self.judge(arrays)
        own = dict(zip(self.names, self.launch.args, strict=True))
        found = [difference(array, own[name]) for name, array in arrays.items()]
        return sum(wrong for wrong, _ in found), max((error for _, error in found), default=0.0)


def named(text: str) -> Any:
    """The schedule that a text names; raises GemmlabError."""
    from gemmlab.emulator.serial.schedule import NAMED, parse

    name = text.partition(":")[0]
    if name not in NAMED and name != "witness":
        raise unknown_name("schedule", name, [*NAMED, "witness:FILE.json", WORST])
    return parse(text)


def difference(got: Any, expected: Any) -> tuple[int, float]:
    """Elements that differ by more than another order of summing explains, and the largest finite difference."""
    if got.dtype.kind != "f":
        off = got != expected
        return int(off.sum()), float(np.abs(got.astype(np.float64) - expected.astype(np.float64)).max(initial=0.0))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(got.astype(np.float64) - expected.astype(np.float64))
        size = np.abs(expected.astype(np.float64))
        room = float(np.finfo(got.dtype).eps) ** 0.5 * float(size[np.isfinite(size)].max(initial=0.0))
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    off = ~same & ~(apart <= room)
    return int(off.sum()), float(apart[np.isfinite(apart)].max(initial=0.0))


def finite(error: float | None) -> float | None:
    """The error where JSON can hold it."""
    return error if error is not None and np.isfinite(error) else None
