"""One launch that is run again and again from the same contents of its arrays, each run judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Program
from gemmlab.emulator.serial.exhaustive import worst_of_all
from gemmlab.emulator.serial.machine import Machine
from gemmlab.emulator.serial.places import Places
from gemmlab.emulator.serial.running import Ran, run_schedule
from gemmlab.emulator.serial.schedule import Schedule
from gemmlab.record import GemmlabError

Outputs = dict[str, Any]
Judge = Callable[[Outputs], tuple[int, float]]  #: arrays that the kernel stores to -> (wrong elements, largest error)


@dataclass(frozen=True, slots=True)
class Try:
    """One schedule and what it did."""

    schedule: Schedule
    wrong_elements: int
    max_error: float
    ran: Ran


class Trial:
    """A launch that is run again and again from the same contents of its arrays."""

    def __init__(
        self, program: Program, launch: Launch, judge: Judge | None, outputs: Iterable[str] | None, step_limit: int
    ) -> None:
        stored = Places(program).stored()
        self.program, self.launch, self.judge, self.step_limit = program, launch, judge, step_limit
        names = {a.name: v for a, v in zip(program.arguments, launch.args, strict=True) if a.ndim is not None}
        self.arrays: Outputs = {name: array for name, array in names.items() if name in stored}
        wanted = list(self.arrays if outputs is None else outputs)
        for name in wanted:
            if name not in names:
                raise GemmlabError(f"{program.name} has no array {name!r}", f"arrays are {', '.join(names)}")
        self.outputs: Outputs = {name: names[name] for name in wanted}
        self.before = {name: array.copy() for name, array in self.arrays.items()}
        self.lockstep: Outputs | None = None
        self.only: tuple[int, ...] = ()  #: blocks that are run; all where there are none
        self.wrong_in_lockstep = 0  #: by the judge, where only some blocks run and leave the others' elements alone
        self.notes: list[str] = []

    def restore(self) -> None:
        """Arrays as they were."""
        for name, array in self.arrays.items():
            array[...] = self.before[name]

    def take(self, schedule: Schedule) -> Try:
        """Run a schedule and judge it; the first that is run is the one to compare with."""
        self.restore()
        schedule = replace(schedule, only=self.only or schedule.only)
        ran = run_schedule(self.program, self.launch, schedule, self.step_limit)
        if self.lockstep is None:
            self.lockstep = {name: array.copy() for name, array in self.arrays.items()}
            if self.only and self.judge is not None:
                self.wrong_in_lockstep, _ = self.judge(self.outputs)
        return Try(schedule, *self.judged(), ran)

    def elements(self, ran: Ran) -> int:
        """Of the outputs, those that the blocks which are run can change."""
        if not self.only:
            return sum(array.size for array in self.outputs.values())
        return sum(int(written.sum()) for name, written in ran.written.items() if name in self.outputs)

    def attempt(self, schedule: Schedule) -> Try:
        """The same of a schedule that may never end where lockstep does."""
        try:
            return self.take(schedule)
        except GemmlabError as error:
            self.notes.append(f"{schedule}: {first_line(error)}")
            return Try(schedule, 0, 0.0, Ran(self.step_limit, 0, 0, 0))

    def judged(self) -> tuple[int, float]:
        """Wrong elements and the largest error of the arrays as they are."""
        if self.judge is not None and not self.only:
            return self.judge(self.outputs)
        assert self.lockstep is not None
        wrong, most = 0, 0.0
        for name, array in self.outputs.items():
            count, error = unlike(array, self.lockstep.get(name, array))
            wrong, most = wrong + count, max(most, error)
        if self.judge is not None:
            wrong = max(0, self.judge(self.outputs)[0] - self.wrong_in_lockstep)
        return wrong, most

    def exhaust(self, tries: list[Try], states: int) -> int:
        """Try all interleavings, and add the worst to the tries; how many states there are, 0 where too many."""
        self.restore()
        machine = Machine(self.program, self.launch)
        buffers = {name: machine.buffers[name] for name in self.arrays}
        others = {}
        for name, array in self.arrays.items():
            array[...] = (self.lockstep or {})[name]
            others[name] = buffers[name].memory.copy()
        self.restore()

        def objective(memory: Outputs) -> float:
            for name, left in memory.items():
                buffers[name].memory[:] = left
            wrong, _ = self.judged()
            self.restore()
            return wrong

        try:
            extreme = worst_of_all(self.program, self.launch, others, objective, states)
        except GemmlabError as error:
            self.notes.append(f"not all interleavings were tried: {first_line(error)}")
            return 0
        tries.append(self.take(extreme.schedule))
        return extreme.states


def first_line(error: GemmlabError) -> str:
    """An error without its hint."""
    return str(error).partition("\n")[0]


def unlike(array: Any, wanted: Any) -> tuple[int, float]:
    """Elements of other bits than wanted, any NaN like any other, and the largest difference."""
    bits = f"u{array.dtype.itemsize}"
    different = np.ascontiguousarray(array).view(bits) != np.ascontiguousarray(wanted).view(bits)
    if array.dtype.kind == "f":
        different &= ~(np.isnan(array) & np.isnan(wanted))
    if not different.any():
        return 0, 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(array[different].astype(np.float64) - wanted[different].astype(np.float64))
    return int(different.sum()), float("inf") if np.isnan(errors).any() else float(errors.max())
