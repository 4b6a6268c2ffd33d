"""Run a launch by a schedule; the arrays of the launch are written in place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Atomic, Program, Store, walk
from gemmlab.emulator.serial import runtime_state as r
from gemmlab.emulator.serial.machine import SLICE, Machine
from gemmlab.emulator.serial.schedule import Schedule
from gemmlab.record import GemmlabError

STEP_LIMIT = 2_000_000_000
ORDERS = {"forward": r.FORWARD, "reverse": r.REVERSE, "alternating": r.ALTERNATING, "shuffled": r.SHUFFLED}
POLICIES = {"lockstep": r.LOCKSTEP, "turns": r.SCRIPTED}


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run of a launch met: barriers that a thread was absent from, and warp operations that a lane was."""

    steps: int  #: accesses to memory that threads share, and rounds of loops
    accesses: int  #: the former, of the wave that made most
    wrong_barriers: int
    stuck_warps: int
    #: elements that some thread wrote, of each array that the kernel stores to; where only some blocks ran
    written: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


def run_schedule(program: Program, launch: Launch, schedule: Schedule, step_limit: int = STEP_LIMIT) -> Ran:
    """Run every block of the launch by that schedule.

    Raises GemmlabError past `step_limit` steps, and for a schedule that names threads or lines that are not there.
    """
    if schedule.preemptions and not schedule.horizon:
        raise GemmlabError(f"{schedule} has no horizon", "`with_horizon` finds one, or give horizon=ACCESSES")
    machine = Machine(program, launch, schedule.together)
    obey(machine, schedule)
    if not schedule.only:
        return run(machine, step_limit)
    machine.watch()
    return replace(run(machine, step_limit), written=machine.written())


def obey(machine: Machine, schedule: Schedule) -> None:
    """Put a schedule into the machine's control."""
    c = machine.control
    c[r.POLICY] = POLICIES.get(schedule.order, r.QUEUED)
    c[r.ORDER] = ORDERS.get(schedule.order, r.FORWARD)
    c[r.BLOCK_ORDER] = ORDERS[schedule.blocks]
    c[r.RANDOM] = schedule.seed
    c[r.BLOCK_SEED] = abs(schedule.seed)
    c[r.PREEMPTIONS], c[r.HORIZON] = schedule.preemptions, max(1, schedule.horizon)
    machine.changes = np.zeros(max(1, schedule.preemptions), np.int64)
    machine.script = np.array(schedule.turns, np.int64).reshape(-1, 2)
    machine.only = np.array(schedule.only, np.int64)
    for block in schedule.only:
        if block >= machine.launch.blocks:
            raise GemmlabError(
                f"{schedule} names block {block}; there are {machine.launch.blocks}", "they count from 0"
            )
    machine.order = ranks(machine.launch.threads, schedule)
    for block in delayed(machine, schedule):
        machine.hold[block] = 1


def ranks(threads: int, schedule: Schedule) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Threads of a block in the order of their turns."""
    named = (*schedule.first, *schedule.last)
    for thread in named:
        if thread >= threads:
            raise GemmlabError(f"{schedule} names thread {thread}; a block has {threads}", "threads count from 0")
    between = [thread for thread in range(threads) if thread not in set(named)]
    order = list(dict.fromkeys([*schedule.first, *between, *schedule.last]))
    return np.array(order, np.int64)


def delayed(machine: Machine, schedule: Schedule) -> list[int]:
    """Blocks of code that write on the lines which the schedule delays."""
    program = machine.program
    writes = {s.site for s in walk(program.body) if isinstance(s, Store | Atomic)}
    found = []
    for wanted in schedule.delay:
        file, _, number = wanted.rpartition(":")
        here = []
        for block, code in enumerate(machine.form.blocks):
            if code.site not in writes:
                continue
            line = program.sites[code.site].line
            names = ("", program.files[line.file], PurePath(program.files[line.file]).name)
            if wanted == "*" or (file in names and str(line.number) == number):
                here.append(block)
        if not here and wanted != "*":
            lines = sorted({program.sites[site].line.number for site in writes})
            raise GemmlabError(
                f"{program.name} writes nothing on line {wanted} that other threads see",
                f"it writes on lines {', '.join(map(str, lines))}",
            )
        found += here
    return found


def run(machine: Machine, step_limit: int) -> Ran:
    """Run the machine to its end, Python looking in often enough for an interrupt to be heard."""
    c, arguments, function = machine.control, machine.arguments(), machine.form.module.run
    while not c[r.FINISHED]:
        if c[r.STEPS] > step_limit:
            raise GemmlabError(
                f"{machine.program.name} did not end within {step_limit} steps",
                "a loop that never ends, or a larger step limit",
            )
        c[r.SLICE] = min(SLICE, step_limit - int(c[r.STEPS]) + 1)
        function(*arguments)
    return Ran(int(c[r.STEPS]), int(c[r.MOST_ACCESSES]), int(c[r.WRONG]), int(c[r.STUCK]))
