"""Every interleaving of a tiny launch's accesses, by its distinct states.

A thread is stopped only before it touches an element that another thread touches too, one of them writing, between the
same barriers; all else commutes. Which elements those are is found on the way: whenever one more shows, the search
begins again, until none does. Blocks that touch nothing of each other are searched one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Program
from gemmlab.emulator.serial import runtime_explore as x
from gemmlab.emulator.serial import runtime_state as r
from gemmlab.emulator.serial.buffers import Buffer
from gemmlab.emulator.serial.emit import runtime
from gemmlab.emulator.serial.liveness import dead
from gemmlab.emulator.serial.machine import Machine
from gemmlab.emulator.serial.schedule import Schedule
from gemmlab.record import GemmlabError

STATES = 200_000
MOST_BYTES = 1 << 28
MOST_BLOCKS = 256
MOST_THREADS = 64
EPOCHS = 64  #: barrier intervals that are told apart; later ones share theirs with earlier ones, which is safe

Turns = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class End:
    """One way a block may end: what it left in the arrays that the kernel stores to, and the state's number."""

    state: int
    memory: tuple[bytes, ...]


class Explored:
    """All states of the blocks from `block` on that run at once."""

    def __init__(self, program: Program, launch: Launch, block: int, together: int, states: int) -> None:
        self.machine = m = Machine(program, launch, together)
        if m.overlap:
            raise GemmlabError("arrays of the launch lie over each other", "copies, or another schedule")
        self.stored = sorted(m.form.places.stored() & set(m.buffers))
        self.arena, self.words = gathered(m, self.stored)
        self.block, self.limit = block, min(states, MOST_BYTES // len(self.arena))
        m.watch(EPOCHS if together == 1 else 1)
        self.elements, self.epochs, self.hot = int(m.control[r.ELEMENTS]), int(m.control[r.EPOCHS]), m.hot
        self.first = {name: m.buffers[name].memory.copy() for name in self.stored}
        while self.once():
            pass

    def once(self) -> bool:
        """Search all states; whether elements turned out to be shared that were not known to be."""
        m = self.machine
        self.begin()
        known = self.hot.sum()
        table = np.full(2 * self.limit + 1, -1, np.int64)
        states = np.zeros((self.limit, len(self.words)), np.uint64)
        self.parents = np.full((self.limit, 2), -1, np.int64)
        found = self.found = np.zeros(x.FOUNDS, np.int64)
        arguments = m.arguments()
        gone, rows = dead([block.lines for block in m.form.blocks], m.form.slots), self.rows()
        while found[x.FOLLOWED] < max(1, found[x.MET]) and self.hot.sum() == known:
            found[x.ALLOWED] = 20_000
            m.form.module.explore(self.arena, self.words, states, self.parents, table, gone, rows, found, *arguments)
            self.refuse_if_stopped()
        self.states, self.parents = states[: found[x.MET]].copy(), self.parents[: found[x.MET]].copy()
        return bool(self.hot.sum() > known)

    def refuse_if_stopped(self) -> None:
        """Raise GemmlabError where there were too many states, or a thread that shares nothing and never ends."""
        if self.found[x.FULL]:
            raise GemmlabError(
                f"{self.machine.program.name} has more than {self.limit} states in these blocks",
                "a smaller launch (2x2 threads, one tile), or --schedule random",
            )
        if self.found[x.ENDLESS_THREAD]:
            raise GemmlabError(
                f"a thread of {self.machine.program.name} runs {r.PATIENCE} steps without an access that others see",
                "a smaller launch, or another schedule",
            )

    def begin(self) -> None:
        """The blocks as they start, no thread having done anything."""
        m = self.machine
        m.set_control()
        c = m.control
        c[r.POLICY], c[r.NEXT], c[r.ONE_WAVE], c[r.EVERYWHERE] = r.STEPPED, self.block, 1, 0
        m.script = np.zeros((1, 2), np.int64)
        m.watch(self.epochs)
        m.hot = self.hot  # what is known to be shared stays known
        self.arena[:] = 0
        for name in self.stored:
            m.buffers[name].memory[:] = self.first[name]
        m.refill()
        runtime().start_wave(c, m.threads, m.slots, m.order, m.changes, m.only)

    def rows(self) -> Any:
        """Of each private variable: where its row of threads begins in the arena, and its bytes a thread."""
        origin = self.arena.__array_interface__["data"][0]
        rows = []
        for kind, row in self.machine.form.slots.values():
            memory = self.machine.private[kind][row]
            rows.append((memory.__array_interface__["data"][0] - origin, memory.itemsize))
        return np.array(rows, np.int64).reshape(-1, 2)

    def ends(self) -> Iterator[End]:
        """Every distinct way to end."""
        m, seen = self.machine, set()
        for number in range(len(self.states)):
            self.words[:] = self.states[number]
            if (m.threads[r.STATUS] == r.DONE).all():
                memory = tuple(m.buffers[name].memory.tobytes() for name in self.stored)
                if memory not in seen:
                    seen.add(memory)
                    yield End(number, memory)

    def turns(self, end: int) -> Turns:
        """The turns that lead to a state, each in accesses of all shared elements, hot or not."""
        path = []
        while self.parents[end, 0] >= 0:
            path.append(int(self.parents[end, 1]))
            end = int(self.parents[end, 0])
        self.begin()
        turns: Turns = []
        self.follow(0, 0, turns)
        for thread in reversed(path):
            self.follow(thread, 1, turns)
        return turns

    def follow(self, thread: int, accesses: int, turns: Turns) -> None:
        """Do what `explore` of the generated code does for one thread's next access, and write it down."""
        m = self.machine
        self.turn(thread, accesses, turns)
        moved = True
        while moved:
            moved = False
            for other in np.flatnonzero(m.threads[r.STATUS] == r.RUN):
                if m.threads[r.STATUS, other] == r.RUN:
                    moved |= self.turn(int(other), 0, turns)
            if not moved and not runtime().running(m.threads):
                moved = bool(runtime().unstick(m.control, m.threads, m.floats))

    def turn(self, thread: int, accesses: int, turns: Turns) -> bool:
        """Let a thread go on, and write down how many accesses it made; whether it went anywhere."""
        m, c = self.machine, self.machine.control
        before, touched = m.threads[: r.GIVEN, thread].copy(), c[r.TOUCHED]
        m.script[0] = thread, accesses
        c[r.SCRIPT], c[r.CURRENT], c[r.SLICE] = 0, -1, r.PATIENCE
        m.form.module.run(*m.arguments())
        moved = bool((m.threads[: r.GIVEN, thread] != before).any())
        if moved or c[r.TOUCHED] > touched:
            made = int(c[r.TOUCHED] - touched)
            if turns and turns[-1][0] == thread:
                turns[-1] = (thread, turns[-1][1] + made)
            else:
                turns.append((thread, made))
        return moved

    def touched(self, row: int) -> dict[str, Any]:
        """Of each array that is stored to: its elements that some thread read (row 0) or wrote (row 1)."""
        by_element = (self.machine.seen.reshape(2, -1, self.elements)[row] >= 0).any(axis=0)
        found, start = {}, 0
        for name, size in self.machine.groups.items():
            if name in self.stored:
                found[name] = by_element[start : start + size]
            start += size
        return found


def gathered(machine: Machine, stored: list[str]) -> tuple[Any, Any]:
    """Move all that changes in a run into one piece of memory; as bytes, and as words."""
    m = machine
    kept = {
        **{("", name): getattr(m, name) for name in ("threads", "floats", "slots", "dynamic")},
        **{("private", name): memory for name, memory in m.private.items()},
        **{("memory", name): memory for name, memory in m.memory.items()},
        **{("buffers", name): m.buffers[name].memory for name in stored},
    }
    sizes = {key: -(-memory.nbytes // 16) * 16 for key, memory in kept.items()}
    words = np.zeros(sum(sizes.values()) // 8, np.uint64)
    arena, start = words.view(np.uint8), 0
    for (where, name), memory in kept.items():
        moved = arena[start : start + memory.nbytes].view(memory.dtype).reshape(memory.shape)
        moved[...] = memory
        start += sizes[where, name]
        if where == "":
            setattr(m, name, moved)
        elif where == "buffers":
            m.buffers[name] = replace_memory(m.buffers[name], moved)
        else:
            getattr(m, where)[name] = moved
    return arena, words


def replace_memory(buffer: Buffer, memory: Any) -> Buffer:
    """The same array elsewhere."""
    return replace(buffer, memory=memory)


Objective = Callable[[dict[str, Any]], float]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The schedule that does most harm of all, and how many states were met on the way to know that."""

    schedule: Schedule
    states: int
    ends: int


def worst_of_all(
    program: Program, launch: Launch, others: dict[str, Any], objective: Objective, states: int = STATES
) -> Extreme:
    """The interleaving for which `objective` of the stored arrays' memory is largest.

    `others` is the memory of each stored array after some complete run: what blocks leave that are not being searched.
    Raises GemmlabError where there are more than `states` states, or more than a tiny launch's blocks and threads.
    """
    if launch.threads > MOST_THREADS or launch.blocks > MOST_BLOCKS:
        raise GemmlabError(
            f"{launch.blocks} blocks of {launch.threads} threads have too many interleavings",
            f"at most {MOST_BLOCKS} blocks of {MOST_THREADS} threads, and better 4 threads; or --schedule random",
        )
    alone: list[Explored] = []
    for block in range(launch.blocks):
        alone.append(Explored(program, launch, block, 1, states - sum(len(done.states) for done in alone)))
    if apart(alone):
        groups, together = alone, 1
    elif launch.blocks * launch.threads <= MOST_THREADS:
        groups, together = [Explored(program, launch, 0, launch.blocks, states)], launch.blocks
    else:
        raise GemmlabError("blocks of this launch touch the same elements", "fewer blocks, or --schedule random")
    turns: list[tuple[int, int]] = []
    ends = 0
    for explored in groups:
        written = explored.touched(1)
        best, at = -1.0, 0
        for end in explored.ends():
            ends += 1
            memory = {name: whole.copy() for name, whole in others.items()}
            for name, left in zip(explored.stored, end.memory, strict=True):
                memory[name][written[name]] = np.frombuffer(left, memory[name].dtype)[written[name]]
            value = objective(memory)
            if value > best:
                best, at = value, end.state
        turns += explored.turns(at)
    schedule = Schedule("turns", order="turns", together=together, turns=tuple(turns))
    return Extreme(schedule, sum(len(explored.states) for explored in groups), ends)


def apart(blocks: list[Explored]) -> bool:
    """Whether no block wrote an element that another one touched."""
    if not blocks:
        return True
    for name in blocks[0].stored:
        writers = sum(block.touched(1)[name].astype(np.int64) for block in blocks)
        users = sum((block.touched(0)[name] | block.touched(1)[name]).astype(np.int64) for block in blocks)
        if ((writers > 0) & (users > 1)).any():
            return False
    return True
