"""A kernel's threads as generators that stop before each access which other threads may see, and what they did."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Program
from gemmlab.emulator.reference import faults, meeting
from gemmlab.emulator.reference.block import Absence, Access, Block, Steps
from gemmlab.emulator.reference.memory import Array, global_arrays
from gemmlab.emulator.reference.running import every_block, kind
from gemmlab.emulator.reference.thread import Position, Thread, Wait
from gemmlab.emulator.reference.translation import THREAD, Translation, translation
from gemmlab.emulator.serial import Schedule
from gemmlab.emulator.serial.places import Places
from gemmlab.emulator.tallies import Fault
from gemmlab.lab.orders import Order
from gemmlab.record import GemmlabError

TOUCHES = ("load", "store", "atomic")
MOST_STEPS = 400_000  #: accesses and rounds of loops of a launch that is played


@dataclass(frozen=True, slots=True)
class Reach:
    """A thread is about to touch an element that others may see."""

    position: Position
    writes: bool


@dataclass(frozen=True, slots=True)
class Arrival:
    """A thread has come to a barrier, `epoch` barriers before which it opened."""

    thread: int
    node: int
    epoch: int


@dataclass(slots=True)
class Stepped:
    """What one block did: accesses and arrivals at barriers, in the order in which they happened."""

    block: Block
    events: list[Access | Arrival]
    watched: frozenset[str]


class Paced(Thread):
    """A thread that says where it is before it touches what others may see."""

    runs = True
    reaches = False
    at: Position = ()
    watched: frozenset[str] = frozenset()

    def reach(self, number: int, depth: int, array: Array, index: tuple[Any, ...], writes: bool) -> Iterator[Reach]:
        """Stop, where the element is there and matters to others."""
        there = array.place((*array.prefix, *map(int, index))) is not None
        if there and array.declared in self.watched:
            yield Reach(self.position(number, depth), writes)

    def load(self, number: int, depth: int, array: Array, index: Any) -> Generator[Any, Any, Any]:
        """As a plain thread does, but for the stop before it."""
        yield from self.reach(number, depth, array, index, False)
        return super().load(number, depth, array, index)

    def store(self, number: int, depth: int, array: Array, index: Any, value: Any) -> Generator[Any, Any, None]:  # type: ignore[override]
        """As a plain thread does, but for the stop before it."""
        yield from self.reach(number, depth, array, index, True)
        super().store(number, depth, array, index, value)

    def atomic(
        self, number: int, depth: int, op: str, array: Array, index: Any, value: Any, compare: Any = None
    ) -> Generator[Any, Any, Any]:
        """As a plain thread does, but for the stop before it."""
        yield from self.reach(number, depth, array, index, True)
        return super().atomic(number, depth, op, array, index, value, compare)


class Yielding(ast.NodeTransformer):
    """Makes each access of a translated kernel one that may stop."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """`@thread.load(...)` becomes `(yield from @thread.load(...))`."""
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id=name), attr=what) if name == THREAD and what in TOUCHES:
                return ast.YieldFrom(node)
        return node


def stopping(program: Translation) -> Callable[..., Any]:
    """The translated kernel as a generator that also stops before accesses."""
    module = ast.Module([Yielding().visit(copy.deepcopy(function)) for function in program.functions], [])
    ast.fix_missing_locations(module)
    space = dict(program.objects)
    exec(compile(module, "<played>", "exec"), space)
    return space[program.entry]  # type: ignore[no-any-return]


class Played:
    """A launch played by a schedule: its arrays are written, and each block is told of in `blocks`, by number."""

    def __init__(self, kernel: object, program: Program, launch: Launch, schedule: Schedule) -> None:
        self.translated = translation(kernel, tuple(kind(value) for value in launch.args))
        self.launch, self.program = launch, program
        self.order = Order(schedule, launch.threads)
        places = Places(program)
        self.watched = frozenset(name for name in program.arrays if places.watched(name))
        self.held = delayed(self.translated, schedule)
        names = [argument.name for argument in program.arguments]
        given = dict(zip(names, launch.args, strict=True))
        arrays = global_arrays({name: value for name, value in given.items() if isinstance(value, np.ndarray)})
        self.arguments = tuple(arrays.get(name, value) for name, value in given.items())
        self.steps = Steps(MOST_STEPS, MOST_STEPS)
        self.blocks: dict[int, Stepped] = {}
        run, every = stopping(self.translated), list(every_block(launch.grid))
        for number in self.order.blocks(launch.blocks):
            with np.errstate(all="ignore"):
                self.blocks[number] = self.play(run, every[number])

    def faults(self, number: int) -> tuple[Fault, ...]:
        """What is wrong within one block."""
        return faults.collected(faults.within_block(self.translated.nodes, self.blocks[number].block))

    def play(self, run: Callable[..., Any], index: tuple[int, int, int]) -> Stepped:
        """Run one block to its end."""
        launch = self.launch
        grain = next(iter(self.translated.dynamic)) if len(self.translated.dynamic) == 1 else 1
        block = Block(index, launch.grid, launch.block, launch.dynamic_shared_bytes, grain, launch.fill, self.steps)
        told = Stepped(block, [], self.watched)
        block.on_event = told.events.append
        threads = [Paced(block, number) for number in range(launch.threads)]
        for thread in threads:
            thread.watched = self.watched
        running = {thread.number: run(thread, *self.arguments) for thread in threads}
        waiting: dict[Thread, Wait] = {}
        given: dict[int, Any] = {}
        reached: dict[int, Reach] = {}
        self.order.begin(threads)
        while (number := self.order.next(threads)) is not None:
            thread = threads[number]
            while True:
                if number in reached:
                    if self.order.stops(number, held_here=self.holds(reached[number])):
                        break
                    del reached[number]
                    thread.reaches = False
                try:
                    came = running[number].send(given.pop(number, None))
                except StopIteration:
                    thread.runs = False
                    break
                if isinstance(came, Reach):
                    reached[number], thread.at, thread.reaches = came, came.position, True
                    continue
                if came.kind not in meeting.BARRIERS:
                    raise GemmlabError(
                        f"the kernel has a warp operation ({came.kind}), and the player plays barriers of a block",
                        "/api/emulate runs it",
                    )
                thread.runs, thread.at, waiting[thread] = False, came.position, came
                told.events.append(Arrival(number, came.node, block.epoch))
                break
            if waiting and not any(each.runs for each in threads):
                given |= opened(block, threads, waiting)
                self.order.opened(threads, block.epoch)
        return told

    def holds(self, reach: Reach) -> bool:
        """Whether the schedule delays a write there."""
        return reach.writes and (self.held is None or reach.position[-1] in self.held)


def opened(block: Block, threads: list[Paced], waiting: dict[Thread, Wait]) -> dict[int, Any]:
    """The barrier lets go all that wait, at whichever they wait: what each gets, by thread."""
    group = dict(sorted(waiting.items(), key=lambda item: item[0].number))
    first = next(iter(group.values()))
    elsewhere = [thread for thread, wait in group.items() if wait.node != first.node]
    missing: list[Thread] = [thread for thread in threads if thread not in group]
    if elsewhere and not missing:
        block.absences.append(Absence(first.node, next(iter(group)), elsewhere[0], block.epoch))
    results = meeting.synchronised(block, group, missing)
    waiting.clear()
    for thread in group:
        threads[thread.number].runs = True
    return {thread.number: result for thread, result in results.items()}


def delayed(program: Translation, schedule: Schedule) -> frozenset[int] | None:
    """Nodes at which writes wait until nobody else can run; None: all. Raises GemmlabError for lines without any."""
    if "*" in schedule.delay:
        return None
    found: set[int] = set()
    for wanted in schedule.delay:
        file, _, line = wanted.rpartition(":")
        here = {
            number
            for number, node in enumerate(program.nodes)
            if node.kind in ("store", "atomic")
            and str(node.place.number) == line
            and file in ("", node.place.file, node.place.file.rpartition("/")[2])
        }
        if not here:
            raise GemmlabError(f"the kernel writes nothing on line {wanted}", "delay=LINE of a store")
        found |= here
    return frozenset(found)
