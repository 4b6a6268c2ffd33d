"""`gemmlab run SUITE`: every shape by every kernel into the store, going on where it was stopped."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from gemmlab.cli.output import STDOUT, emit
from gemmlab.record import GemmlabError, Record

if TYPE_CHECKING:
    from gemmlab.chips import Chip
    from gemmlab.experiment import Options
    from gemmlab.experiment.keys import Item, Key
    from gemmlab.problem import Gemm, Shape
    from gemmlab.run.contender import Contender
    from gemmlab.store import Row, Run, Store


class Stopped(BaseException):
    """Raised in a device's thread after Ctrl-C; no Exception, so that no kernel's fault is made of it."""


def run_sweep(
    shapes: Sequence[Shape],
    suite: str,
    chosen: Sequence[Contender],
    options: Options,
    given: dict[str, Any],
    formats: Sequence[str] = (),
) -> tuple[list[Record], list[Shape]]:
    """Measure what is left of the plan; returns the Records of the whole run, each shape's together, and their shapes.

    Raises GemmlabError where no kernel takes any of the shapes, and where the store cannot be written.
    """
    from gemmlab.experiment.keys import plan_of
    from gemmlab.experiment.sweep import items_of
    from gemmlab.store import open_store

    devices = given.get("devices") or ((options.device or 0),)
    names = {each: chip_name(each, devices) for each in dict.fromkeys(who.backend for who in chosen)}
    items = items_of(shapes, chosen, lambda who: names[who.backend], formats=formats, threads=options.threads)
    if not items:
        takes = ", ".join(sorted({name for who in chosen for name in who.formats}))
        raise GemmlabError(f"none of the kernels takes any shape of {suite}", f"--format; they take {takes}")
    if text := left_out(shapes, formats, items):
        print(text, file=sys.stderr)
    with open_store(given.get("store")) as store:
        run = store.begin(suite, plan_of(items, said_of(options)), fresh="fresh" in given)
        measure(items, store, run, options, devices)
        store.finish(run)
        rows = list(store.records(run=run.id))
        print(f"kept as {run.id} in {store.path}", file=sys.stderr)
    ordered, of = in_order(rows, items), shapes_by_key(shapes, formats, items)
    return [row.record for row in ordered], [of[row.key] for row in ordered]


def shapes_by_key(shapes: Sequence[Shape], formats: Sequence[str], items: Sequence[Item]) -> dict[Key, Shape]:
    """What each item is of, with the name and count that the list of shapes gives it."""
    from gemmlab.experiment.sweep import problems_of
    from gemmlab.problem import Shape

    found: dict[Gemm, Shape] = {}
    for shape, problem in problems_of(shapes, formats):
        found.setdefault(problem, Shape(problem, shape.count, shape.name))
    return {item.key: found[item.problem] for item in items}


def left_out(shapes: Sequence[Shape], formats: Sequence[str], items: Sequence[Item]) -> str:
    """What of the shapes no kernel takes, in words; empty where all are taken."""
    from gemmlab.experiment.sweep import problems_of

    taken, asked = {item.problem for item in items}, [problem for _, problem in problems_of(shapes, formats)]
    left = [" x ".join(dict.fromkeys((each.a_format, each.b_format))) for each in asked if each not in taken]
    found = ", ".join(dict.fromkeys(left))
    return f"{len(left)} of {len(asked)} multiplications are left out: no kernel takes {found}" if left else ""


def measure(items: Sequence[Item], store: Store, run: Run, options: Options, devices: Sequence[int]) -> None:
    """Measure what the run does not have: the processor's kernels first, for nothing else may run beside them."""
    from gemmlab.cli.run_progress import Progress

    have = store.keys(run)
    done = {item.key for item in items} & have
    if done:
        print(f"going on with {run.id}: {len(done)} of {len(items)} are kept", file=sys.stderr)
    try:
        with Progress(len(items), len(done)) as progress:
            sweep_on([item for item in items if item.contender.backend == "cpu"], store, run, [options], progress)
            each = [msgspec.structs.replace(options, device=device) for device in devices]
            sweep_on([item for item in items if item.contender.backend != "cpu"], store, run, each, progress)
    except KeyboardInterrupt:
        kept = len(store.keys(run))
        print(f"stopped: {kept} of {len(items)} are kept as {run.id}", file=sys.stderr)
        print("the same command goes on with the rest", file=sys.stderr)
        raise


def sweep_on(items: Sequence[Item], store: Store, run: Run, options: Sequence[Options], progress: Any) -> None:
    """Measure items on one device here, or on several side by side."""
    from gemmlab.experiment import run_together
    from gemmlab.experiment.sweep import sweep
    from gemmlab.run.process import Pool

    stop, pool = threading.Event(), Pool()

    def told(text: str) -> None:
        if stop.is_set():
            raise Stopped
        if len(options) == 1:
            progress.told(text)

    def together(problem: Gemm, contenders: Sequence[Contender], how: Options) -> list[Record]:
        return run_together(problem, contenders, how, lambda text: told(f"{sides(problem)}: {text}"), pool)

    executor = ThreadPoolExecutor(len(options)) if len(options) > 1 else None
    try:
        for _ in sweep(
            items,
            together,
            lambda done: store.keep(run, done),
            options=options,
            done=store.keys(run),
            executor=executor,
            watcher=progress,
        ):
            pass
    finally:
        stop.set()
        if executor is not None:
            executor.shutdown()
        pool.end()


def sides(problem: Gemm) -> str:
    """A multiplication in a word."""
    return f"{problem.m}x{problem.n}x{problem.k}"


def chip_name(backend: str, devices: Sequence[int]) -> str:
    """What the chip is called in the store; raises GemmlabError where devices differ."""
    from gemmlab.experiment import running

    if backend == "cpu":
        return name_of(running.chip_of(backend))
    names = [name_of(running.chip_of(backend, device)) for device in devices]
    if len(set(names)) > 1:
        raise GemmlabError(f"devices {', '.join(map(str, devices))} are {', '.join(names)}", "--devices of one kind")
    return names[0]


def name_of(chip: Chip) -> str:
    """The chip's name, or, of one that no file describes, what the machine calls it and how much of it there is."""
    if not chip.name.startswith("here-"):
        return chip.name
    count = round(float(chip.sm_count))
    return f"{chip.full_name}, {count} {'cores' if chip.kind == 'cpu' else 'SMs'}" if count else chip.full_name


def said_of(options: Options) -> str:
    """What figures depend on beside kernels and shapes: how they are timed, and the versions here."""
    from gemmlab.run.environment import surroundings
    from gemmlab.store.compare import VARY

    around = {name: value for name, value in surroundings().items() if name not in VARY}
    return msgspec.json.encode((options.protocol, options.threads, around)).decode()


def in_order(rows: Sequence[Row], items: Sequence[Item]) -> list[Row]:
    """The rows in the order of the plan, whatever order devices and interruptions gave them."""
    places = {item.key: place for place, item in enumerate(items)}
    return sorted((row for row in rows if row.key in places), key=lambda row: places[row.key])


def deliver(records: Sequence[Record], shapes: Sequence[Shape], output: dict[str, Any]) -> None:
    """Print the Records of a sweep, each of one of the shapes."""
    if "json" in output:
        emit("".join(record.to_json() + "\n" for record in records), for_programs=True)
        return
    if "csv" in output:
        write_csv(records, output["csv"], shapes)
        if output["csv"] == STDOUT:
            return
    from gemmlab.report.ran_sweep import swept_table

    emit(swept_table(records, [shape.name for shape in shapes], width=output.get("width")) + "\n")


def write_csv(records: Sequence[Record], path: str, shapes: Sequence[Shape] = ()) -> None:
    """Write a line for each Record, with what it is called where `shapes` say so; raises GemmlabError."""
    from gemmlab.report import csv_rows, write_file

    text = "".join(line + "\n" for line in csv_rows(records, shapes))
    if path == STDOUT:
        emit(text, for_programs=True)
        return
    write_file(path, text)
    print(f"wrote {path}", file=sys.stderr)
