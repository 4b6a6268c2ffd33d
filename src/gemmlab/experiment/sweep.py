"""A sweep: every shape by every kernel, each measured once and kept as soon as it is known, whatever happens to one.

One device runs one batch at a time, since two that share it would time each other; devices run side by side.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import closing
from typing import Any, NamedTuple, Protocol

import msgspec

from gemmlab.experiment.keys import Item, Key
from gemmlab.experiment.running import failed
from gemmlab.problem import Gemm, Shape
from gemmlab.record import GemmlabError, Record
from gemmlab.run.contender import Contender

Run = Callable[[Gemm, Sequence[Contender], Any], Sequence[Record]]


class Done(NamedTuple):
    """One item of a sweep, and what came of it."""

    item: Item
    record: Record


class Batch(NamedTuple):
    """The contenders that are left of one multiplication on one chip: timed in turn, A B A B, so kept at once."""

    items: tuple[Item, ...]

    @property
    def problem(self) -> Gemm:
        """What they all compute."""
        return self.items[0].problem


class Watcher(Protocol):
    """Whoever wants to know how far a sweep is."""

    def begun(self, batch: Batch) -> None:
        """It is being measured, or waits for a worker of the executor."""
        ...

    def ended(self, done: Sequence[Done]) -> None:
        """A batch is measured and kept."""
        ...


def items_of(
    shapes: Iterable[Shape],
    contenders: Sequence[Contender],
    chip_of: Callable[[Contender], str],
    *,
    formats: Sequence[str] = (),
    threads: int = 0,
) -> list[Item]:
    """Every shape in every format by every contender that takes its formats, each once, in the shapes' order.

    `formats` replace the shapes' own; `chip_of` names the chip that a contender runs on; `threads` are of contenders on
    the CPU that do not say so themselves. Raises GemmlabError for two different contenders of one key.
    """
    found: dict[Key, Item] = {}
    for shape, problem in problems_of(shapes, formats):
        for who in contenders:
            if {problem.a_format, problem.b_format} <= set(who.formats):
                used = who.threads or threads if who.backend == "cpu" else 0
                item = Item(problem=problem, contender=who, chip=chip_of(who), threads=used, name=shape.name)
                if found.setdefault(item.key, item).contender != who:
                    raise GemmlabError(
                        f"two kernels {item.key.kernel} would be kept as one", "give one of the files another name"
                    )
    return list(found.values())


def problems_of(shapes: Iterable[Shape], formats: Sequence[str] = ()) -> Iterator[tuple[Shape, Gemm]]:
    """Every shape in every format, or in its own where none is given."""
    for shape in shapes:
        for problem in [shape.problem.in_format(name) for name in formats] or [shape.problem]:
            yield shape, problem


def batches_of(items: Iterable[Item], done: Collection[Key] = ()) -> list[Batch]:
    """The items whose key is not done, each once, those of one multiplication and chip together; in their order."""
    seen = set(done)
    found: dict[tuple[Gemm, str], list[Item]] = {}
    for item in items:
        if item.key not in seen:
            seen.add(item.key)
            found.setdefault((item.problem, item.chip), []).append(item)
    return [Batch(tuple(together)) for together in found.values()]


def sweep(
    items: Iterable[Item],
    run: Run,
    keep: Callable[[Sequence[Done]], object],
    *,
    options: Sequence[Any] = (None,),
    done: Collection[Key] = (),
    executor: Executor | None = None,
    watcher: Watcher | None = None,
) -> Iterator[Done]:
    """Measure each item whose key is not done, keep its Record, and only then say that it is done.

    `run` gives a Record for each contender of a multiplication, in order. `options` are what it gets, one for each
    device; a batch takes a device that is free. Without an executor batches run here, one after another, on the first.
    What `run` raises becomes the fault of each Record of the batch. `keep` gets a batch and keeps all of it, or none.
    Whatever ends the sweep early (Ctrl-C, a `keep` that raises) leaves what was kept, and cancels what waits.
    Raises GemmlabError where there is no device or the executor breaks.
    """
    if not options:
        raise GemmlabError("a sweep without a device", "give the options of one at least")
    left = batches_of(items, done)
    if executor is None:
        finished = in_turn(left, run, options[0], watcher)
    else:
        finished = side_by_side(left, run, options, executor, watcher)
    with closing(finished):
        for together in finished:
            keep(together)
            if watcher:
                watcher.ended(together)
            yield from together


def attempt(run: Run, batch: Batch, options: Any) -> list[Done]:
    """The batch's Records; alone where they cannot be run together, and with its fault where one cannot be run."""
    try:
        records = run(batch.problem, [item.contender for item in batch.items], options)
    except GemmlabError as error:
        if len(batch.items) == 1:
            records = [failed(batch.problem, batch.items[0].contender, error)]
        else:  # too little memory for the operands of all, for example
            alone = [attempt(run, Batch((item,)), options)[0] for item in batch.items]
            return [Done(item, noted(record, f"not timed in turn with others: {error.text}")) for item, record in alone]
    except (Exception, SystemExit) as error:
        records = [failed(item.problem, item.contender, error) for item in batch.items]
    return [Done(*each) for each in zip(batch.items, records, strict=True)]


def noted(record: Record, note: str) -> Record:
    """The Record with a note on its time, if it has one."""
    measured = record.measurement
    if measured is None or measured.time_s is None:
        return record
    replace = msgspec.structs.replace
    return replace(record, measurement=replace(measured, notes=(*measured.notes, note)))


def in_turn(
    left: Iterable[Batch], run: Run, options: Any, watcher: Watcher | None
) -> Generator[list[Done], None, None]:
    """Each batch here, in order."""
    for batch in left:
        if watcher:
            watcher.begun(batch)
        yield attempt(run, batch, options)


def side_by_side(
    left: Iterable[Batch],
    run: Run,
    options: Sequence[Any],
    executor: Executor,
    watcher: Watcher | None,
) -> Generator[list[Done], None, None]:
    """As many batches at once as there are devices, each as soon as it is known."""
    waiting, free = deque(left), deque(options)
    running: dict[Future[list[Done]], Any] = {}
    try:
        while waiting or running:
            while waiting and free:
                batch, device = waiting.popleft(), free.popleft()
                if watcher:
                    watcher.begun(batch)
                running[executor.submit(attempt, run, batch, device)] = device
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=list(running).index):
                free.append(running.pop(future))
                yield future.result()
    except BrokenExecutor as error:
        raise GemmlabError(
            f"the workers of the sweep broke: {error}", "what is kept stays; the same command goes on with the rest"
        ) from error
    finally:
        for future in running:
            future.cancel()
