"""Runs a launch in lockstep on threads of the CPU, and puts what they counted and found together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmlab.chips.machine import usable_threads
from gemmlab.emulator import program as p
from gemmlab.emulator.compiled import compiled, lightly
from gemmlab.emulator.launch import Launch
from gemmlab.emulator.lockstep.found import Findings, faults_of
from gemmlab.emulator.lockstep.generate import Generated, generated
from gemmlab.emulator.lockstep.layout import Layout
from gemmlab.emulator.lockstep.memory import State
from gemmlab.emulator.lockstep.needed import steering_variables
from gemmlab.emulator.lockstep.outcome import tallies_of
from gemmlab.emulator.lockstep.replay import racing_rows, second_look
from gemmlab.emulator.lockstep.runtime.places import ENDLESS, ESTOP, STOPPED
from gemmlab.emulator.lockstep.runtime.symbols import ready
from gemmlab.emulator.tallies import Outcome
from gemmlab.record import GemmlabError

ROUNDS = 200_000_000  #: of all loops together in one block, before a kernel is taken never to end

Integers = NDArray[np.int64]


def run(
    program: p.Program,
    launch: Launch,
    *,
    values: bool = True,
    blocks: Sequence[int] | Integers | None = None,
    threads: int | None = None,
    step_limit: int | None = None,
    outputs: Sequence[str] = (),
    merge: int = 0,
) -> Outcome:
    """Run blocks of a launch, all of them unless numbers are given, every thread of a block in step with the others.

    Arrays are written in place, or left alone without `values`: then only what counts depend on is worked out.
    `outputs` names arrays whose every element must be written. `threads` of the CPU default to its cores; kernels that
    change global memory atomically run on one, so that their sums come out the same each time. `step_limit` bounds the
    rounds of all loops together in one block. `merge`, 8 or 16, counts shared loads of neighbours as loads of so many
    bytes that a compiler makes of them.

    Raises GemmlabError where a block passes the limit.
    """
    wanted = None if values else steering_variables(program)
    made = generated(program, wanted=wanted, merge=merge, overlapping=overlapping(program, launch))
    with lightly():
        ready()
        function = called(compiled(made.text, program.name).run_blocks)
    layout = made.layout
    workers = 1 if alone(program, layout) else max(1, threads or usable_threads())
    before = saved(program, launch) if values else []
    found = Run(program, launch, made, function, blocks, step_limit).on(workers, outputs)
    if found.crossed:  # blocks of different workers met: one worker tells which, and in which order
        restore(before)
        found = Run(program, launch, made, function, blocks, step_limit).on(1, outputs)
    if next(racing_rows(found.states), None) is not None:
        again = partial(second_look, program, launch, made, function, step_limit or ROUNDS, found.states)
        with rewound(before):
            found.second = again(
                np.arange(launch.blocks) if blocks is None else np.asarray(blocks), ordered=workers == 1
            )
    counted = len(blocks) if blocks is not None else launch.blocks
    return Outcome(tallies_of(program, found.counters), faults_of(program, layout, launch, found), counted)


def called(run_blocks: Callable[..., int]) -> Callable[..., int]:
    """A generated function as one that takes the blocks' numbers as an array."""

    def function(which: Integers, *arguments: Any) -> int:
        return run_blocks(int(which.ctypes.data), len(which), *arguments)

    return function


def overlapping(program: p.Program, launch: Launch) -> bool:
    """Whether arrays of the launch share memory with one that the kernel changes."""
    changed = arrays_of(program, launch, changed_arrays(program))
    arrays = [value for value in launch.args if isinstance(value, np.ndarray)]
    return any(one is not other and np.may_share_memory(one, other) for one in changed for other in arrays)


def alone(program: p.Program, layout: Layout) -> bool:
    """Whether blocks must run one after another, for the same sums each time."""
    return any(isinstance(s, p.Atomic) and layout.placed(s.array).in_global for s in p.walk(program.body))


def saved(program: p.Program, launch: Launch) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Arrays that the kernel changes, and copies of them."""
    return [(array, array.copy()) for array in arrays_of(program, launch, changed_arrays(program))]


def changed_arrays(program: p.Program) -> set[str]:
    """Arrays that the kernel stores to or changes atomically."""
    writes = [s.array for s in p.walk(program.body) if isinstance(s, p.Store | p.Atomic)]
    return {program.arrays[name].base or name for name in writes}


def arrays_of(program: p.Program, launch: Launch, names: set[str]) -> list[NDArray[Any]]:
    """The arguments of those names."""
    pairs = zip(program.arguments, launch.args, strict=True)
    return [value for argument, value in pairs if argument.name in names]


def restore(copies: list[tuple[NDArray[Any], NDArray[Any]]]) -> None:
    """Put arrays back as they were."""
    for array, copy in copies:
        array[...] = copy


@contextmanager
def rewound(copies: list[tuple[NDArray[Any], NDArray[Any]]]) -> Iterator[None]:
    """Arrays are as they were, and afterwards as they are now."""
    after = [(array, array.copy()) for array, _ in copies]
    restore(copies)
    try:
        yield
    finally:
        restore(after)


class Run:
    """One run of a launch."""

    def __init__(
        self,
        program: p.Program,
        launch: Launch,
        made: Generated,
        function: Any,
        blocks: Sequence[int] | Integers | None,
        step_limit: int | None,
    ) -> None:
        self.program, self.launch, self.made, self.function = program, launch, made, function
        self.which = np.asarray([] if blocks is None else blocks, np.int64)
        self.total = len(self.which) if blocks is not None else launch.blocks
        self.limit = step_limit or ROUNDS
        self.states: list[State] = []
        self.next = 0
        self.lock = threading.Lock()
        self.chunk = max(1, min(self.total // 64, 64))

    def on(self, workers: int, outputs: Sequence[str]) -> Findings:
        """Run on that many threads."""
        workers = min(workers, self.total)
        states = self.states = [State(self.program, self.launch, self.made) for _ in range(workers)]
        with lightly():  # an empty run compiles
            self.function(self.which, 0, 0, *states[0].arguments(self.limit))
        # compiled code hears no interrupt: it runs on threads beside the one that does
        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(self.work, state) for state in states]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                for state in states:
                    state.epochs[ESTOP] |= STOPPED
                raise
        if any(state.epochs[ESTOP] & ENDLESS for state in states):
            raise GemmlabError(
                f"`{self.program.name}` went {self.limit} rounds of its loops in one block without an end",
                "a larger step limit (--step-limit), if it does end",
            )
        return Findings.of(states, self.made.layout, self.launch, self.program, outputs)

    def take(self) -> tuple[int, int]:
        """The next blocks for a worker."""
        with self.lock:
            first, self.next = self.next, min(self.next + self.chunk, self.total)
            return first, self.next

    def work(self, state: State) -> None:
        """Run blocks until none are left."""
        arguments = state.arguments(self.limit)
        while state.epochs[ESTOP] == 0:
            first, last = self.take()
            if first >= last:
                return
            self.function(self.which, first, last, *arguments)
            if state.epochs[ESTOP]:
                for other in self.states:
                    other.epochs[ESTOP] |= STOPPED
