"""Faults of an emulated launch in words: which thread, which line, which word, and what is missing between."""

from __future__ import annotations

from gemmlab.record import EmulationSection, FaultSection, ThreadPlace
from gemmlab.report.words import clean, several

TITLES = {
    "shared_race": "race in shared memory",
    "global_race": "race in global memory",
    "block_race": "race between blocks",
    "same_value_write": "two writes of the same value",
    "barrier_divergence": "barrier that not all threads reach",
    "out_of_bounds": "index out of bounds",
    "uninitialised_read": "read of memory that nobody wrote",
    "unwritten_output": "output that nobody wrote",
    "aliased_shared": "two shared arrays over the same bytes",
}
BETWEEN = {
    "shared_race": "no barrier between",
    "global_race": "no barrier between",
    "block_race": "nothing orders blocks",
    "same_value_write": "both write the same value, so no result depends on it",
}
VERBS = {"load": "reads", "store": "writes", "atomic": "updates atomically"}


def title(fault: FaultSection) -> str:
    """The fault, what it is on, and how many like it: `race in shared memory on a_tile[0, 3], 512 times`."""
    times = "once" if fault.count == 1 else f"{fault.count:,} times"
    on = f" on {element(fault)}" if fault.array else ""
    return f"{TITLES.get(fault.kind, clean(fault.kind).replace('_', ' '))}{on}, {times}"


def element(fault: FaultSection) -> str:
    """The array and the index: `a_tile[0, 3]`."""
    name = clean(fault.array)
    return f"{name}[{', '.join(map(str, fault.index))}]" if fault.index else name


def sentence(fault: FaultSection, emulation: EmulationSection) -> str:
    """Who did what where, and what is missing: the first of the faults like it."""
    told = race(fault, emulation) if len(fault.threads) == 2 and fault.access else alone(fault, emulation)
    detail = f"; {clean(fault.detail)}" if fault.detail else ""
    return f"{told}{detail}"


def race(fault: FaultSection, emulation: EmulationSection) -> str:
    """Both threads of a race."""
    first, second = fault.threads
    mine, others = verbs(fault, emulation)
    other = fault.other_line if fault.other_line is not None else fault.line
    apart = first.block != second.block
    told = (
        f"{thread(first, emulation)} {mine} it at line {place(fault.file, fault.line, emulation)} while "
        f"{thread(second, emulation, block=apart)} {others} it at line "
        f"{place(fault.other_file or fault.file, other, emulation)}"
    )
    epoch = "" if apart else f" in epoch {fault.epoch}"
    return f"{told}{epoch}: {BETWEEN.get(fault.kind, 'nothing orders them')}"


def alone(fault: FaultSection, emulation: EmulationSection) -> str:
    """A fault of one thread, or of none in particular."""
    where = f"line {place(fault.file, fault.line, emulation)}" if fault.line else ""
    who = " and ".join(thread(each, emulation) for each in fault.threads)
    return " at ".join(part for part in (who, where) if part) or "at the end of the launch"


def thread(at: ThreadPlace, emulation: EmulationSection, *, block: bool = True) -> str:
    """`thread (3, 0) of block (0, 1)`, with as many axes as the launch uses."""
    mine = f"thread {axes(at.thread, emulation.block)}"
    return f"{mine} of block {axes(at.block, emulation.grid)}" if block else mine


def axes(at: tuple[int, int, int], sides: tuple[int, int, int]) -> str:
    """Coordinates along the axes that are in use: `5`, `(3, 0)`."""
    used = 3 if sides[2] > 1 else 2 if sides[1] > 1 else 1
    return str(at[0]) if used == 1 else f"({', '.join(map(str, at[:used]))})"


def place(file: str, line: int, emulation: EmulationSection) -> str:
    """A line's number, and its file where it is not the kernel's."""
    return str(line) if file in ("", emulation.file) else f"{line} of {clean(file)}"


def verbs(fault: FaultSection, emulation: EmulationSection) -> tuple[str, str]:
    """What each thread of a race does with the element, as far as the accesses of its line tell."""
    other = (fault.other_file or fault.file, fault.other_line if fault.other_line is not None else fault.line)
    mine, others = (kinds(fault.array, *at, emulation) for at in ((fault.file, fault.line), other))
    if fault.access == "write-write":
        mine, others = mine - {"load"}, others - {"load"}
    elif others == {"load"}:
        mine -= {"load"}
    elif mine == {"load"}:
        others -= {"load"}
    return verb(mine), verb(others)


def kinds(array: str, file: str, line: int, emulation: EmulationSection) -> set[str]:
    """The kinds of access that a line makes to an array."""
    return {
        access.kind
        for row in emulation.lines
        if (row.file, row.line) == (file, line)
        for access in row.accesses
        if access.array == array
    }


def verb(found: set[str]) -> str:
    """What a line does, where it is one thing; else that it does more than one."""
    return VERBS[next(iter(found))] if len(found) == 1 else "reads and writes" if found else "touches"


def headline(emulation: EmulationSection) -> str:
    """The faults in one line: how many kinds at how many places, or that there is none."""
    real = [fault for fault in emulation.faults if not fault.benign]
    if not real:
        return "no fault found" if not emulation.faults else "no fault found but benign writes of equal values"
    names = dict.fromkeys(TITLES.get(fault.kind, fault.kind) for fault in real)
    return f"{several(len(real), 'fault')}: {', '.join(names)}"
