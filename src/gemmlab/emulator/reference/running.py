"""A whole launch, interpreted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gemmlab.emulator.launch import Fill, Launch, launch_of
from gemmlab.emulator.reference import counting, faults, rules
from gemmlab.emulator.reference.block import Access, Block, Steps, Triple
from gemmlab.emulator.reference.kinds import ArrayKind, Kind
from gemmlab.emulator.reference.memory import global_arrays
from gemmlab.emulator.reference.translation import Translation, loaded, translation
from gemmlab.emulator.tallies import UNWRITTEN, Fault, Key, Outcome, Place, Tally
from gemmlab.record import GemmlabError

STEP_LIMIT = 10_000_000


def run_reference(
    kernel: object,
    grid: int | Iterable[int],
    block: int | Iterable[int],
    *args: Any,
    dynamic_shared_bytes: int = 0,
    fill: Fill = "zero",
    blocks: Iterable[Triple] | None = None,
    outputs: Iterable[str] = (),
    on_event: Callable[[Access], None] | None = None,
    on_block: Callable[[Block], None] | None = None,
    step_limit: int = STEP_LIMIT,
) -> Outcome:
    """Run a numba.cuda kernel in plain Python, thread by thread, writing its arrays in place.

    Threads run in order (x fastest), each until it waits; blocks run in order, all of them or those named. `outputs`
    are parameters of which every element must be written. `on_event` is called with each access, `on_block` with each
    block after it ran. `step_limit` bounds the accesses, branches and rounds of all threads together. Functions of
    `math` that are not exact are rounded from float64; a GPU's differ in the last bits.

    Raises GemmlabError for what is not in the dialect, and past the limit.
    """
    launch = launch_of(None, grid, block, args, dynamic_shared_bytes=dynamic_shared_bytes, fill=fill)
    parameters = [parameter.arg for parameter in loaded(kernel).tree.args.args]
    if len(parameters) != len(launch.args):
        text = f"{loaded(kernel).name} takes {len(parameters)} arguments, got {len(launch.args)}"
        raise GemmlabError(text, f"they are {', '.join(parameters)}")
    program = translation(kernel, tuple(kind(value) for value in launch.args))
    arrays = global_arrays({n: v for n, v in zip(parameters, launch.args, strict=True) if isinstance(v, np.ndarray)})
    values = tuple(arrays.get(name, value) for name, value in zip(parameters, launch.args, strict=True))
    rows: dict[Key, Tally] = defaultdict(Tally)
    found: list[Fault] = []
    everything: list[Access] = []
    steps, count = Steps(step_limit, step_limit), 0
    for done in run_blocks(program, launch, values, blocks, steps, on_event):
        count += 1
        if on_block is not None:
            on_block(done)
        for key, tally in counting.counted(program.nodes, done).items():
            rows[key] += tally
        found += faults.within_block(program.nodes, done)
        everything += done.accesses
    found += faults.across_blocks(program.nodes, everything)
    found += unwritten(loaded(kernel).file, loaded(kernel).tree.lineno, {n: arrays[n] for n in outputs}, everything)
    return Outcome(dict(rows), faults.collected(found), count)


def kind(value: Any) -> Kind:
    """What an argument is to the kernel."""
    of = rules.kind_of(value.dtype.name)
    return ArrayKind(of, value.ndim) if isinstance(value, np.ndarray) else of


def run_blocks(
    program: Translation,
    launch: Launch,
    values: tuple[Any, ...],
    blocks: Iterable[Triple] | None,
    steps: Steps,
    on_event: Callable[[Access], None] | None,
) -> Iterator[Block]:
    """Each block after it ran."""
    kernel = program.compiled
    grain = next(iter(program.dynamic)) if len(program.dynamic) == 1 else 1
    for index in every_block(launch.grid) if blocks is None else blocks:
        made = Block(index, launch.grid, launch.block, launch.dynamic_shared_bytes, grain, launch.fill, steps, on_event)
        with np.errstate(all="ignore"):
            made.run(kernel, values)
        yield made


def every_block(grid: Triple) -> Iterator[Triple]:
    """The blocks of a grid, x fastest."""
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                yield x, y, z


def unwritten(file: str, line: int, outputs: dict[str, Any], accesses: list[Access]) -> Iterator[Fault]:
    """Elements of outputs that no thread wrote, at the kernel's first line."""
    written = {cell for a in accesses if a.kind != "load" and a.byte is not None for cell in a.array.cells(a.byte)}
    for name, array in outputs.items():
        for index in np.ndindex(array.values.shape):
            if not written.issuperset(array.cells(array.byte(index))):
                yield Fault(UNWRITTEN, name, index, Place(file, line))
