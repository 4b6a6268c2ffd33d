"""What the player is given: a kernel, one order of its threads, and every access of one block in that order.

A `Play` is JSON with the keys of the class. Its `steps` are columns of equal length, one entry a step:

- `thread`: x + y*bx + z*bx*by of the block.
- `line`: where it stands, in `source`.
- `kind`: `load`, `store`, `atomic`, or `barrier`, where the thread comes to a barrier and waits.
- `array`: a name of `arrays`; empty of a barrier. `index`: the element, counted from the front along each axis as the
  kernel gives it; empty of a barrier.
- `value`: read or written, of an atomic the new one; null where it is not finite, and of a barrier.
- `epoch`: how many barriers the block had passed.
- `stops`: whether the thread could have been stopped before it. A thread is: before each access in range to an array
  that some thread stores to and other threads see. Orders of threads differ in these alone.

`races` are pairs of steps in one epoch, by different threads, on one element, at least one of them not a load and not
both atomic: of each pair of lines the first that is complete, in the order of completion. `race` is the first of them,
or null. Two stores of one value do no harm and are not told.
`wrong` are the elements of C, as [row, column], that are not the exact product: operands are integers whose every
partial sum is exact, so that C is right bit for bit or wrong. Blocks run one after the other as `schedule` says;
only `traced` is told step by step.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from gemmlab import emulator
from gemmlab.emulator.launch import Launch, launch_of
from gemmlab.emulator.lower import arguments_of, lower
from gemmlab.emulator.program import Program
from gemmlab.emulator.reference.block import Access
from gemmlab.emulator.serial import NAMED, Schedule, parse, with_horizon
from gemmlab.emulator.source import load
from gemmlab.emulator.summing import fault
from gemmlab.emulator.tracing import TracedArray, described, plain
from gemmlab.experiment import gemm_arguments as operands
from gemmlab.experiment.emulating import Asked, launch
from gemmlab.experiment.named_kernels import Named
from gemmlab.lab.asked import Schedules
from gemmlab.lab.sources import chosen
from gemmlab.lab.stepping import Arrival, Played, Stepped
from gemmlab.problem import Gemm
from gemmlab.record import FaultSection, GemmlabError, ScheduleSection, unknown_name

WORST = "worst"
Triple = tuple[int, int, int]
Element = tuple[int, ...]


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """One block's steps in order, as columns."""

    thread: list[int]
    line: list[int]
    kind: list[str]
    array: list[str]
    index: list[Element]
    value: list[float | int | bool | None]
    epoch: list[int]
    stops: list[bool]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two steps that no barrier orders, on one element."""

    array: str
    index: Element
    steps: tuple[int, int]  #: their numbers, the earlier first
    threads: tuple[int, int]
    lines: tuple[int, int]
    epoch: int


class Barrier(msgspec.Struct, frozen=True, kw_only=True):
    """A barrier of the kernel's source, kept or left out."""

    line: int
    kept: bool


class Play(msgspec.Struct, frozen=True, kw_only=True):
    """See above."""

    version: int = 1  #: of this form; it changes where a key's meaning does
    kernel: str
    m: int
    n: int
    k: int
    fill: str  #: what shared memory holds at first: zero or nan
    grid: Triple
    block: Triple
    traced: Triple
    source: dict[str, str]  #: text of the kernel's lines, by number
    barriers: tuple[Barrier, ...]  #: in the order of the source
    schedule: dict[str, Any]  #: name, order, seed, ...: `gemmlab.emulator.serial.Schedule`
    spelled: str  #: the same as `--schedule` takes it
    arrays: dict[str, TracedArray]
    operands: tuple[str, str, str]  #: the kernel's names for A, B and C
    a: list[list[float]]  #: A by rows
    b: list[list[float]]
    c: list[list[float | None]]  #: as the launch left it; null where not finite
    wrong: list[tuple[int, int]]
    steps: Steps
    races: tuple[Pair, ...]
    race: Pair | None
    faults: tuple[FaultSection, ...]  #: of the block, as an emulation names them
    tried: tuple[ScheduleSection, ...] = ()  #: orders that a search for the worst tried


class Stage:
    """A kernel with its operands filled in, ready to be run in any order."""

    def __init__(self, named: Named, asked: Schedules) -> None:
        self.named, self.problem = named, Gemm(asked.m, asked.n, asked.k)
        given = Asked(named, block=asked.block, seed=asked.seed)
        self.roles = operands.roles(named.name, given.parameters, frozenset())
        operands.check_factors(named.name, self.problem, self.roles)
        self.sides = launch(self.problem, given)
        self.names = [parameter.name for parameter in given.parameters]
        self.filled = operands.filled(self.problem, self.roles, seed=asked.seed, exact=True)
        self.expected = self.filled.a.astype(np.float64) @ self.filled.b.astype(np.float64)
        args = self.arguments()
        self.program: Program = lower(read := load(named.kernel), arguments_of(read, args))
        self.launch: Launch = launch_of(self.program, *self.sides, args, fill=asked.fill)  # type: ignore[arg-type]

    def arguments(self) -> list[Any]:
        """The kernel's arguments, in its order; the arrays are the stage's own."""
        return [self.filled.values[name] for name in self.names]

    def wrong(self, c: Any) -> Any:
        """Which elements of C are not the exact product."""
        return ~(c == self.expected)

    def judge(self, arrays: Any) -> tuple[int, float]:
        """Wrong elements of C and the largest error, NaN where there is one that is no number."""
        c = arrays[self.roles.c].reshape(self.problem.m, self.problem.n)
        with np.errstate(invalid="ignore", over="ignore"):
            return int(self.wrong(c).sum()), float(np.abs(c - self.expected).max())

    def searched(self) -> tuple[Schedule, tuple[ScheduleSection, ...]]:
        """The order that does most harm, a serial one where none does any, and all that were tried."""
        copies = [value.copy() if isinstance(value, np.ndarray) else value for value in self.arguments()]
        found = emulator.emulate(
            self.named.kernel,
            *self.sides,
            *copies,
            outputs=(self.roles.c,),
            schedule=WORST,
            judge=self.judge,
            prove=False,
            fill=self.launch.fill,
        )
        worst = found.witness
        return worst if isinstance(worst, Schedule) and worst.together == 1 else NAMED["serial"], found.schedules


def play(asked: Schedules) -> Play:
    """Play what is asked for; raises GemmlabError for what cannot be run or takes too many steps."""
    with chosen(asked, asked.without) as (named, waits):
        stage = Stage(named, asked)
        schedule, tried = stage.searched() if asked.schedule == WORST else (named_order(asked.schedule), ())
        schedule = with_horizon(stage.program, stage.launch, schedule)
        number = block_number(asked.traced, stage.launch.grid)
        played = Played(named.kernel, stage.program, stage.launch, schedule)
        return told(asked, stage, waits, schedule, tried, played, number)


def named_order(text: str) -> Schedule:
    """The schedule that a text names, which is never a file; raises GemmlabError."""
    if text.partition(":")[0] not in NAMED:
        raise unknown_name("schedule", text.partition(":")[0], [*NAMED, WORST])
    return parse(text)


def block_number(place: Triple, grid: Triple) -> int:
    """The number of a block; raises GemmlabError where the grid has none such."""
    if not all(0 <= at < side for at, side in zip(place, grid, strict=True)):
        raise GemmlabError(f"block {place} is not in a grid of {grid}", "traced: x, y and z from 0")
    return place[0] + grid[0] * (place[1] + grid[1] * place[2])


def told(
    asked: Schedules,
    stage: Stage,
    waits: tuple[int, ...],
    schedule: Schedule,
    tried: tuple[ScheduleSection, ...],
    played: Played,
    number: int,
) -> Play:
    """What was played, as the player takes it; `waits` are the lines of all barriers, also of those left out."""
    if number not in played.blocks:
        raise GemmlabError(f"{schedule} leaves block {asked.traced} out", "traced: a block that it runs")
    here, nodes = played.blocks[number], played.translated.nodes
    texts = {line.number: text for line, text in stage.program.sources.items() if line.file == 0}
    pairs = races(here, nodes)
    wrong = stage.wrong(stage.filled.result)
    return Play(
        kernel=stage.named.name,
        m=asked.m,
        n=asked.n,
        k=asked.k,
        fill=asked.fill,
        grid=stage.launch.grid,
        block=stage.launch.block,
        traced=asked.traced,
        source={str(line): text for line, text in whole_text(stage.named.kernel, texts).items()},
        barriers=tuple(Barrier(line=line, kept=place not in asked.without) for place, line in enumerate(waits)),
        schedule=schedule.to_json(),
        spelled=str(schedule),
        arrays={event.array.declared: described(event.array) for event in here.events if isinstance(event, Access)},
        operands=stage.roles.names,
        a=stage.filled.a.tolist(),
        b=stage.filled.b.tolist(),
        c=[[plain(value) for value in row] for row in stage.filled.result],
        wrong=[(int(row), int(column)) for row, column in np.argwhere(wrong)],
        steps=columns(here, nodes),
        races=pairs,
        race=pairs[0] if pairs else None,
        faults=tuple(fault(found, lambda file: file.rpartition("/")[2]) for found in played.faults(number)),
        tried=tried,
    )


def whole_text(kernel: object, known: dict[int, str]) -> dict[int, str]:
    """All lines of the kernel, from its decorators to its end, as they stand."""
    source = load(kernel)
    tree = source.tree
    first = min([tree.lineno, *(decorator.lineno for decorator in tree.decorator_list)])
    numbers = {*range(first, (tree.end_lineno or first) + 1), *known}
    return {number: source.lines[number - 1].rstrip("\n") for number in sorted(numbers) if number <= len(source.lines)}


def columns(here: Stepped, nodes: Any) -> Steps:
    """A block's events as columns."""
    events = here.events
    touch = [event if isinstance(event, Access) else None for event in events]
    return Steps(
        thread=[event.thread.number if isinstance(event, Access) else event.thread for event in events],
        line=[nodes[event.node].place.number for event in events],
        kind=[event.kind if isinstance(event, Access) else "barrier" for event in events],
        array=[each.array.declared if each else "" for each in touch],
        index=[tuple(map(int, each.index)) if each else () for each in touch],
        value=[plain(each.value) if each else None for each in touch],
        epoch=[event.epoch for event in events],
        stops=[each is not None and each.byte is not None and each.array.declared in here.watched for each in touch],
    )


def races(here: Stepped, nodes: Any) -> tuple[Pair, ...]:
    """The first pair of steps of each pair of lines, in the order in which the later of them came."""
    found: dict[Any, Pair] = {}
    # by element: of what was done to it alike, the first two threads' first steps, which are all that a later one needs
    earlier: dict[Any, dict[Any, list[tuple[int, Access]]]] = {}
    for number, event in enumerate(here.events):
        if isinstance(event, Arrival) or event.byte is None or event.array.storage.space == "local":
            continue
        bits = np.asarray(event.value).tobytes()
        done = earlier.setdefault((event.epoch, event.array.storage.key, event.byte), {})
        for before, other in sorted((each for alike in done.values() for each in alike), key=lambda each: each[0]):
            lines = (nodes[other.node].place.number, nodes[event.node].place.number)
            if conflicting(other, event) and (name := (event.array.declared, frozenset(lines))) not in found:
                found[name] = Pair(
                    array=event.array.declared,
                    index=tuple(map(int, event.index)),
                    steps=(before, number),
                    threads=(other.thread.number, event.thread.number),
                    lines=lines,
                    epoch=event.epoch,
                )
        alike = done.setdefault((event.node, event.kind, bits if event.kind == "store" else b""), [])
        if len(alike) < 2 and all(other.thread is not event.thread for _, other in alike):
            alike.append((number, event))
    return tuple(sorted(found.values(), key=lambda pair: pair.steps[::-1]))


def conflicting(one: Access, other: Access) -> bool:
    """Whether it matters which of two steps on one element comes first."""
    kinds = {one.kind, other.kind}
    if one.thread is other.thread or kinds in ({"load"}, {"atomic"}):
        return False
    return kinds != {"store"} or np.asarray(one.value).tobytes() != np.asarray(other.value).tobytes()
