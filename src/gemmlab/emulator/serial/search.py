"""Search for the schedule that does most harm: plain orders, delayed writes, random orders, then all there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Program
from gemmlab.emulator.serial.exhaustive import worst_of_all
from gemmlab.emulator.serial.machine import Machine
from gemmlab.emulator.serial.places import Places
from gemmlab.emulator.serial.running import STEP_LIMIT, Ran, run_schedule
from gemmlab.emulator.serial.schedule import NAMED, Schedule
from gemmlab.emulator.tallies import BLOCK_RACE, GLOBAL_RACE, SHARED_RACE, Fault
from gemmlab.record import GemmlabError

Outputs = dict[str, Any]
Judge = Callable[[Outputs], tuple[int, float]]  #: arrays that the kernel stores to -> (wrong elements, largest error)

RACES = (SHARED_RACE, GLOBAL_RACE, BLOCK_RACE)
UNLIKE_LOCKSTEP = "elements unlike those of the lockstep run"
REJECTED = "elements that the given check rejects"
PAIRS = 8  #: racing pairs whose writer is delayed
TOGETHER = 8  #: blocks that run at once where blocks race
TINY = 8  #: threads up to which a search tries all interleavings
SEARCHED_STATES = 50_000  #: up to which it does
BUDGET = 300_000_000  #: steps of all tries together


@dataclass(frozen=True, slots=True)
class Try:
    """One schedule and what it did."""

    schedule: Schedule
    wrong_elements: int
    max_error: float
    ran: Ran


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst schedule of a search; a lower bound of what hardware may do, as a race leaves the program undefined."""

    schedule: Schedule  #: replays: `run_schedule` gives the same outputs, bit by bit
    wrong_elements: int
    max_error: float
    objective: str  #: what was counted
    elements: int  #: of all outputs
    tries: tuple[Try, ...]
    all_interleavings: bool  #: no sequentially consistent schedule makes more elements wrong
    states: int = 0  #: that were met to know that
    notes: tuple[str, ...] = ()


def search(
    program: Program,
    launch: Launch,
    faults: Iterable[Fault] = (),
    judge: Judge | None = None,
    *,
    outputs: Iterable[str] | None = None,
    seed: int = 0,
    random_tries: int = 8,
    states: int = SEARCHED_STATES,
    budget: int = BUDGET,
    step_limit: int = STEP_LIMIT,
) -> Worst:
    """The schedule under which most elements of the outputs are wrong; of equals the one of the largest error.

    `faults` are races to be provoked. `judge` counts wrong elements and the largest error; without one, elements are
    compared with the lockstep run's. `outputs` are the arrays to compare, else all that the kernel stores to. Arrays of
    the launch are as they were afterwards. A launch of few threads is searched to the end if it has at most `states`
    states. Raises GemmlabError past `step_limit` steps of one schedule.
    """
    trial = Trial(program, launch, judge, outputs, step_limit)
    try:
        found = list(faults)
        tries = [trial.take(NAMED["lockstep"])]
        spent = tries[0].ran.steps
        for schedule in ladder(launch, found, tries[0].ran, seed, random_tries):
            if spent > budget:
                trial.notes.append(f"stopped after {spent} steps: schedules past {len(tries)} were not tried")
                break
            if all(schedule != done.schedule for done in tries):
                tries.append(trial.attempt(schedule))
                spent += tries[-1].ran.steps
        states_met = 0
        elements = sum(array.size for array in trial.outputs.values())
        if max(done.wrong_elements for done in tries) == elements:
            trial.notes.append("every element is wrong: no order of threads makes more wrong")
        elif launch.threads <= TINY:
            states_met = trial.exhaust(tries, states)
    finally:
        trial.restore()
    best = max(tries, key=lambda t: (t.wrong_elements, t.max_error))
    return Worst(
        best.schedule,
        best.wrong_elements,
        best.max_error,
        UNLIKE_LOCKSTEP if judge is None else REJECTED,
        elements,
        tuple(tries),
        states_met > 0,
        states_met,
        tuple(trial.notes),
    )


def ladder(launch: Launch, faults: list[Fault], lockstep: Ran, seed: int, random_tries: int) -> Iterator[Schedule]:
    """Schedules from plain to odd."""
    yield from (NAMED["serial"], NAMED["reverse"], NAMED["alternating"])
    races = [fault for fault in faults if fault.kind in RACES]
    together = min(TOGETHER, launch.blocks) if any(fault.kind == BLOCK_RACE for fault in races) else 1
    if launch.blocks > 1:
        yield replace(NAMED["serial"], blocks="reverse")
    for fault in races[:PAIRS]:
        yield from delayed_writers(launch, fault, together)
    horizon = max(1, lockstep.accesses)
    for number in range(random_tries):
        yield replace(
            NAMED["random"], seed=seed + number, preemptions=number % 4, horizon=horizon * together, together=together
        )


def delayed_writers(launch: Launch, fault: Fault, together: int) -> Iterator[Schedule]:
    """The racing threads one before the other, both ways, and each line's writes held back as long as they may be."""
    places = [place for place in (fault.line, fault.other_line) if place is not None]
    if len(fault.threads) == 2 and fault.kind != BLOCK_RACE:
        one, other = (number_of(thread, launch) for _, thread in fault.threads)
        for first, last in ((one, other), (other, one)):
            if first != last:
                yield replace(NAMED["delayed-writer"], first=(first,), last=(last,), delay=())
    for place in dict.fromkeys(places):
        line = f"{place.file.rpartition('/')[2]}:{place.number}"
        yield replace(NAMED["delayed-writer"], delay=(line,), together=together)


def number_of(thread: tuple[int, int, int], launch: Launch) -> int:
    """A thread's number in its block."""
    x, y, z = thread
    return x + launch.block[0] * (y + launch.block[1] * z)


def replay(program: Program, launch: Launch, schedule: Schedule, step_limit: int = STEP_LIMIT) -> Ran:
    """Run a schedule of a search again: the same outputs, bit by bit, in the launch's arrays."""
    return run_schedule(program, launch, with_horizon(program, launch, schedule, step_limit), step_limit)


def with_horizon(program: Program, launch: Launch, schedule: Schedule, step_limit: int = STEP_LIMIT) -> Schedule:
    """The schedule with a horizon where it needs one: the accesses that a wave of its blocks makes in lockstep."""
    if not schedule.preemptions or schedule.horizon:
        return schedule
    trial = Trial(program, launch, None, None, step_limit)
    try:
        ran = trial.take(replace(NAMED["lockstep"], together=schedule.together)).ran
    finally:
        trial.restore()
    return replace(schedule, horizon=max(1, ran.accesses))


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
        self.notes: list[str] = []

    def restore(self) -> None:
        """Arrays as they were."""
        for name, array in self.arrays.items():
            array[...] = self.before[name]

    def take(self, schedule: Schedule) -> Try:
        """Run a schedule and judge it; the first that is run is the one to compare with."""
        self.restore()
        ran = run_schedule(self.program, self.launch, schedule, self.step_limit)
        if self.lockstep is None:
            self.lockstep = {name: array.copy() for name, array in self.arrays.items()}
        return Try(schedule, *self.judged(), ran)

    def attempt(self, schedule: Schedule) -> Try:
        """The same of a schedule that may never end where lockstep does."""
        try:
            return self.take(schedule)
        except GemmlabError as error:
            self.notes.append(f"{schedule}: {first_line(error)}")
            return Try(schedule, 0, 0.0, Ran(self.step_limit, 0, 0, 0))

    def judged(self) -> tuple[int, float]:
        """Wrong elements and the largest error of the arrays as they are."""
        if self.judge is not None:
            return self.judge(self.outputs)
        assert self.lockstep is not None
        wrong, most = 0, 0.0
        for name, array in self.outputs.items():
            count, error = unlike(array, self.lockstep.get(name, array))
            wrong, most = wrong + count, max(most, error)
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
