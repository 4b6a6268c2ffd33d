"""The counts of a whole launch: every block run, or one of each class where blocks provably count alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Program
from gemmlab.emulator.tallies import Fault, Key, Outcome, Tally
from gemmlab.record import BlocksSection

ENGINES = ("compiled", "reference")
MOST_VERIFIED = 64  #: classes of which members are run against the one that stands for them
MEMBERS = 2  #: so many of each


def counted(
    kernel: object,
    program: Program,
    launch: Launch,
    values: bool,
    threads: int | None,
    step_limit: int | None,
    outputs: tuple[str, ...],
    engine: str,
    merge: int = 0,
) -> tuple[Outcome, BlocksSection]:
    """Counts and faults of a launch, and how its blocks were counted; raises GemmlabError for a kernel without end."""
    if engine == "reference":
        return interpreted(kernel, launch, step_limit, outputs)
    from gemmlab.emulator.lockstep.running import run

    if values:
        outcome = run(program, launch, threads=threads, step_limit=step_limit, outputs=outputs, merge=merge)
        return outcome, BlocksSection(total=launch.blocks, run=launch.blocks, how="every block")
    return by_class(program, launch, threads, step_limit, merge)


def by_class(
    program: Program, launch: Launch, threads: int | None, step_limit: int | None, merge: int
) -> tuple[Outcome, BlocksSection]:
    """Counts without values: of one block of each class where there are classes, else of every block."""
    from gemmlab.emulator.lockstep.running import restore, run, saved
    from gemmlab.emulator.proof.blocks import Brute, classes, verify

    found = classes(program, launch)
    if isinstance(found, Brute):
        # what steers threads may be values that the kernel itself stores: all are worked out, and the arrays put back
        before = saved(program, launch)
        try:
            outcome = run(program, launch, threads=threads, step_limit=step_limit, merge=merge)
        finally:
            restore(before)
        why = f"every block, since at line {found.line.number} {found.reason}"
        return outcome, BlocksSection(total=launch.blocks, run=launch.blocks, how=why)

    @cache
    def one(block: int) -> Outcome:
        return run(program, launch, values=False, blocks=[block], threads=1, step_limit=step_limit, merge=merge)

    parts = [
        times(
            run(program, launch, values=False, blocks=those, threads=threads, step_limit=step_limit, merge=merge), size
        )
        for size, those in by_size(found.representatives, found.counts)
    ]
    compared, unlike = (0, None)
    if len(found.representatives) <= MOST_VERIFIED:
        compared, unlike = verify(found, one, MEMBERS, np.random.default_rng(0))
    if unlike is not None:  # a proof that a run refutes is a fault of this program, never of the user's
        raise AssertionError(f"{program.name}: {unlike}")
    why = f"{found.why}; {compared} others run too, and count the same" if compared else found.why
    return together(parts), BlocksSection(total=launch.blocks, run=len(found.representatives), how=why)


def by_size(blocks: NDArray[np.int64], sizes: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Blocks that stand for equally many each, together."""
    for size in np.unique(sizes):
        yield int(size), blocks[sizes == size]


def interpreted(
    kernel: object, launch: Launch, step_limit: int | None, outputs: tuple[str, ...]
) -> tuple[Outcome, BlocksSection]:
    """The same from the plain interpreter, every block, values computed."""
    from gemmlab.emulator.reference.running import STEP_LIMIT, run_reference

    outcome = run_reference(
        kernel,
        launch.grid,
        launch.block,
        *launch.args,
        dynamic_shared_bytes=launch.dynamic_shared_bytes,
        fill=launch.fill,
        outputs=outputs,
        step_limit=step_limit or STEP_LIMIT,
    )
    how = "every block, by the plain interpreter"
    return outcome, BlocksSection(total=launch.blocks, run=launch.blocks, how=how)


def times(outcome: Outcome, size: int) -> Outcome:
    """What is counted where each block stands for that many."""
    tallies = {key: scaled(tally, size) for key, tally in outcome.tallies.items()}
    faults = tuple(replace(fault, count=fault.count * size) for fault in outcome.faults)
    return Outcome(tallies, faults, outcome.blocks * size, outcome.notes)


def scaled(tally: Tally, size: int) -> Tally:
    """Every count of a row, that many times."""
    return Tally(
        tally.threads * size,
        tally.requests * size,
        tally.pieces * size,
        tally.splits * size,
        tally.flop * size,
        tally.fma * size,
    )


def together(parts: Iterable[Outcome]) -> Outcome:
    """Counts of several parts added up, faults of a kind between two lines put together."""
    rows: dict[Key, Tally] = {}
    faults: dict[tuple[object, ...], Fault] = {}
    counts: Counter[tuple[object, ...]] = Counter()
    blocks = 0
    for part in parts:
        blocks += part.blocks
        for key, tally in part.tallies.items():
            rows[key] = rows.get(key, Tally()) + tally
        for fault in part.faults:
            what = (fault.kind, fault.array, fault.line, fault.other_line, fault.access)
            faults.setdefault(what, fault)
            counts[what] += fault.count
    found = tuple(replace(fault, count=counts[what]) for what, fault in faults.items())
    return Outcome(rows, found, blocks)
