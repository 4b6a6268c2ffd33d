"""Search for the schedule that does most harm: plain orders, delayed writes, random orders, then all there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gemmlab.emulator.launch import Launch, Triple
from gemmlab.emulator.program import Program
from gemmlab.emulator.serial.running import STEP_LIMIT, Ran, run_schedule
from gemmlab.emulator.serial.schedule import NAMED, Schedule
from gemmlab.emulator.serial.trial import Judge, Trial, Try
from gemmlab.emulator.tallies import BLOCK_RACE, GLOBAL_RACE, SHARED_RACE, Fault
from gemmlab.units import ceil_div

__all__ = ["Judge", "Trial", "Try", "Worst", "replay", "search", "with_horizon"]

RACES = (SHARED_RACE, GLOBAL_RACE, BLOCK_RACE)
UNLIKE_LOCKSTEP = "elements unlike those of the lockstep run"
REJECTED = "elements that the given check rejects"
PAIRS = 8  #: racing pairs whose writer is delayed
TOGETHER = 8  #: blocks that run at once where blocks race
TINY = 8  #: threads up to which a search tries all interleavings
SEARCHED_STATES = 50_000  #: up to which it does
TRIES = 12  #: that the budget is to suffice for; where it does not, only some blocks are run
BUDGET = 300_000_000  #: steps of all tries together


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst schedule of a search; a lower bound of what hardware may do, as a race leaves the program undefined."""

    schedule: Schedule  #: replays: `run_schedule` gives the same outputs, bit by bit
    wrong_elements: int
    max_error: float
    objective: str  #: what was counted
    elements: int  #: of the outputs; where only some blocks were run, those that they write
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
    states. A launch that is too large for `budget` steps of all tries is searched on some of its blocks. Raises
    GemmlabError past `step_limit` steps of one schedule.
    """
    trial = Trial(program, launch, judge, outputs, step_limit)
    found = list(faults)
    try:
        trial.only = some_blocks(trial, found, budget)
        tries = [trial.take(NAMED["lockstep"])]
        spent = tries[0].ran.steps
        for schedule in ladder(launch, found, tries[0].ran, seed, random_tries):
            if spent > budget:
                trial.notes.append(f"stopped after {spent} steps: schedules past {len(tries)} were not tried")
                break
            if all(replace(schedule, only=trial.only) != done.schedule for done in tries):
                tries.append(trial.attempt(schedule))
                spent += tries[-1].ran.steps
        states_met = 0
        elements = trial.elements(tries[0].ran)
        if max(done.wrong_elements for done in tries) == elements:
            trial.notes.append("every element is wrong: no order of threads makes more wrong")
        elif launch.threads <= TINY and not trial.only:
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


def some_blocks(trial: Trial, faults: list[Fault], budget: int) -> tuple[int, ...]:
    """Blocks to run where all are too many for several tries: each so many-th, and two that race with each other."""
    launch = trial.launch
    if launch.blocks == 1:
        return ()
    racing = [number_of(block, launch.grid) for fault in faults for block, _ in fault.threads]
    beside = [
        number_of(block, launch.grid) for fault in faults if fault.kind == BLOCK_RACE for block, _ in fault.threads
    ]
    first = racing[0] if racing else 0
    probe = run_schedule(trial.program, launch, replace(NAMED["lockstep"], only=(first,)), trial.step_limit)
    count = max(1, budget // TRIES // max(1, probe.steps))
    if count >= launch.blocks:
        return ()
    step = ceil_div(launch.blocks, count)
    only = {*range(first % step, launch.blocks, step), *beside[:2]}
    trial.notes.append(f"schedules were tried on {len(only)} of {launch.blocks} blocks, others left out")
    return tuple(sorted(only))


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
        one, other = (number_of(thread, launch.block) for _, thread in fault.threads)
        for first, last in ((one, other), (other, one)):
            if first != last:
                yield replace(NAMED["delayed-writer"], first=(first,), last=(last,), delay=())
    for place in dict.fromkeys(places):
        line = f"{place.file.rpartition('/')[2]}:{place.number}"
        yield replace(NAMED["delayed-writer"], delay=(line,), together=together)


def number_of(place: Triple, sides: Triple) -> int:
    """A thread's number in its block, or a block's in its grid."""
    return place[0] + sides[0] * (place[1] + sides[1] * place[2])


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
