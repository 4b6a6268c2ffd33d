"""A sweep: every shape by every kernel, each measured once, kept as soon as it is known, and whatever happens to one.

One device runs one item at a time, since two that share it would time each other; devices run side by side.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import closing
from typing import Any, NamedTuple, Protocol

from gemmlab.experiment.keys import Item, Key
from gemmlab.problem import Gemm, Shape
from gemmlab.record import GemmlabError, Measurement, Record
from gemmlab.run.contender import Contender

RunOne = Callable[[Gemm, Contender, Any], Record]

FAULTS: tuple[tuple[type[BaseException], str], ...] = ((GemmlabError, "refused"), (MemoryError, "out of memory"))


class Done(NamedTuple):
    """One item of a sweep, and what came of it."""

    item: Item
    record: Record


class Watcher(Protocol):
    """Whoever wants to know how far a sweep is."""

    def begun(self, item: Item) -> None:
        """It is being measured, or waits for a worker of the executor."""
        ...

    def ended(self, item: Item, record: Record) -> None:
        """It is measured and kept."""
        ...


def items_of(
    shapes: Iterable[Shape],
    contenders: Sequence[Contender],
    chip_of: Callable[[Contender], str],
    formats: Sequence[str] = (),
) -> list[Item]:
    """Every shape in every format by every contender that takes its formats, each once, in the shapes' order.

    `formats` replace the shapes' own; `chip_of` names the chip that a contender runs on.
    """
    found: dict[Key, Item] = {}
    for shape in shapes:
        for problem in [shape.problem.in_format(name) for name in formats] or [shape.problem]:
            for contender in contenders:
                if {problem.a_format, problem.b_format} <= set(contender.formats):
                    item = Item(problem=problem, contender=contender, chip=chip_of(contender), name=shape.name)
                    found.setdefault(item.key, item)
    return list(found.values())


def sweep(
    items: Iterable[Item],
    run_one: RunOne,
    keep: Callable[[Item, Record], object],
    *,
    options: Sequence[Any] = (None,),
    done: Collection[Key] = (),
    executor: Executor | None = None,
    watcher: Watcher | None = None,
) -> Iterator[Done]:
    """Measure each item whose key is not done, keep its Record, and only then say that it is done.

    `options` are what `run_one` gets, one for each device; an item takes a device that is free. Without an executor
    items run here, one after another, on the first. What `run_one` raises becomes a Record with the fault.
    Whatever ends the sweep early (Ctrl-C, a `keep` that raises) leaves what was kept, and cancels what waits.
    Raises GemmlabError where there is no device or the executor breaks.
    """
    if not options:
        raise GemmlabError("a sweep without a device", "give the options of one at least")
    seen = set(done)
    left = [item for key, item in {item.key: item for item in items}.items() if key not in seen]
    if executor is None:
        finished = in_turn(left, run_one, options[0], watcher)
    else:
        finished = side_by_side(left, run_one, options, executor, watcher)
    with closing(finished):
        for item, record in finished:
            keep(item, record)
            if watcher:
                watcher.ended(item, record)
            yield Done(item, record)


def attempt(run_one: RunOne, item: Item, options: Any) -> Record:
    """The item's Record, or the Record of what it raised."""
    try:
        return run_one(item.problem, item.contender, options)
    except (Exception, SystemExit) as error:
        return failed(item, error)


def failed(item: Item, error: BaseException) -> Record:
    """The Record of an item that raised: a fault and no time."""
    who = item.contender
    kind = next((name for kind, name in FAULTS if isinstance(error, kind)), "crashed")
    detail = error.text if isinstance(error, GemmlabError) else f"{type(error).__name__}: {error}".rstrip(": ")
    measurement = Measurement(
        backend=who.backend,
        kernel=who.name,
        idea=who.idea,
        vendor=who.vendor,
        threads=who.threads or None,
        fault=kind,
        fault_detail=detail,
    )
    return Record(problem=item.problem.section(), measurement=measurement)


def in_turn(
    left: Iterable[Item], run_one: RunOne, options: Any, watcher: Watcher | None
) -> Generator[Done, None, None]:
    """Each item here, in order."""
    for item in left:
        if watcher:
            watcher.begun(item)
        yield Done(item, attempt(run_one, item, options))


def side_by_side(
    left: Iterable[Item],
    run_one: RunOne,
    options: Sequence[Any],
    executor: Executor,
    watcher: Watcher | None,
) -> Generator[Done, None, None]:
    """As many items at once as there are devices, each as soon as it is known."""
    waiting, free = deque(left), deque(options)
    running: dict[Future[Record], tuple[Item, Any]] = {}
    try:
        while waiting or running:
            while waiting and free:
                item, device = waiting.popleft(), free.popleft()
                if watcher:
                    watcher.begun(item)
                running[executor.submit(attempt, run_one, item, device)] = (item, device)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=list(running).index):
                item, device = running.pop(future)
                free.append(device)
                yield Done(item, future.result())
    except BrokenExecutor as error:
        raise GemmlabError(
            f"the workers of the sweep broke: {error}", "what is kept stays; the same command goes on with the rest"
        ) from error
    finally:
        for future in running:
            future.cancel()
