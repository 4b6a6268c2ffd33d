"""The times of a lesson: every kernel that this machine can run, at the largest size that its share of the time allows.

A slow kernel at the asked size would take minutes: all are timed at a small size first, and each then at the largest
of the asked size, its half, its quarter, ... that it is expected to manage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from gemmlab.experiment.lesson.sizes import halved, spelled
from gemmlab.experiment.memory import SHARE, free_bytes
from gemmlab.experiment.running import Options, run_together
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, Record
from gemmlab.run.contender import Contender
from gemmlab.run.fault import REFUSED
from gemmlab.run.process import Pool
from gemmlab.run.registry import backends, contenders_of
from gemmlab.run.timing import Protocol

FIRST_FLOP = 1 << 25  #: of the size that all begin at: 256 x 256 x 256
PROTOCOL = Protocol(rounds=5, sample_s=0.01, warm_s=0.05, limit_s=30.0)
BESIDE = 4  #: multiplications beside the rounds: warming up, finding how many make a sample
SLOWER = 2.0  #: how much slower than the small size a large one may be, as it leaves the caches
DRAWN, HELD = 12, 2  #: times the operands: as float64 while they are drawn and checked; in each kernel's process
MOST_ELEMENTS, MOST_PRODUCTS = 1 << 26, 1 << 34  #: past which drawing and checking take longer than any kernel
LEFT_ALONE = ("webgpu",)  #: a browser's interface: a GPU that has it is timed through its own

Told = Callable[[str], None]


def timed(problem: Gemm, budget_s: float, seed: int, told: Told) -> tuple[list[Record], list[str]]:
    """A Record for each kernel, the slowest first, each of its own multiplication; and what was left out, in words."""
    chosen = takers(problem)
    if not chosen:
        return [], [f"No kernel of this machine takes {problem.a_format}: nothing was timed."]
    options = Options(protocol=msgspec.structs.replace(PROTOCOL, seed=seed, budget_s=budget_s / 4))
    sizes = [size for size in ladder_of(problem) if fits(size, len(chosen))]
    if not sizes:
        return [], [f"Nothing was timed: memory does not suffice for {spelled(problem)}, nor for a part of it."]
    found: dict[tuple[str, str], Record] = {}
    refused: list[str] = []
    with Pool() as pool:
        run = partial(run_together, options=options, told=told, pool=pool)
        try:
            found.update(zip(chosen, run(sizes[0], list(map(by_key, chosen))), strict=True))
        except GemmlabError as error:
            return [], [f"Nothing was timed: {error.text}."]
        for size, keys in placed(found, sizes, budget_s):
            try:
                found.update(zip(keys, run(size, list(map(by_key, keys))), strict=True))
            except GemmlabError as error:  # memory is too small: the times of the small size stand
                refused.append(f"Nothing was timed at {spelled(size)}: {error.text}.")
    kept, said = sorted_out(found.values(), problem)
    return kept, refused + said


def takers(problem: Gemm) -> list[tuple[str, str]]:
    """Backend and name of the kernels that take the formats, the GPU's where there is one."""
    from gemmlab.chips.nvidia import gpus

    used = [name for name in backends() if name == "cpu" or (name not in LEFT_ALONE and gpus())]
    formats = {problem.a_format, problem.b_format}
    return [(name, each.name) for name in used for each in contenders_of(name) if formats <= set(each.formats)]


def by_key(key: tuple[str, str]) -> Contender:
    """The contender of a backend and a name."""
    return next(each for each in contenders_of(key[0]) if each.name == key[1])


def ladder_of(problem: Gemm) -> list[Gemm]:
    """Sizes from the first to the asked one."""
    found = [problem]
    while found[-1].flop > FIRST_FLOP:
        found.append(halved(found[-1]))
    return found[::-1]


def fits(problem: Gemm, kernels: int) -> bool:
    """Whether operands can be drawn, held by all kernels and checked, in seconds and in the memory that is free."""
    elements = problem.m * problem.k + problem.k * problem.n + problem.m * problem.n
    if elements > MOST_ELEMENTS or problem.m * problem.n * problem.k > MOST_PRODUCTS:
        return False
    free = free_bytes()
    return free is None or problem.compulsory_bytes * (DRAWN + HELD * kernels) <= SHARE * free


def placed(
    found: dict[tuple[str, str], Record], sizes: Sequence[Gemm], budget_s: float
) -> Iterable[tuple[Gemm, list[tuple[str, str]]]]:
    """The larger sizes, each with the kernels that are timed at it; the fastest leave their time to the others."""
    speeds = {key: record.measurement.time_s for key, record in found.items() if record.measurement}
    order = sorted((key for key, time in speeds.items() if time), key=lambda key: speeds[key] or 0.0)
    chosen: dict[int, list[tuple[str, str]]] = {}
    left = budget_s
    for place, key in enumerate(order):
        per_flop, share = (speeds[key] or 0.0) / sizes[0].flop, left / (len(order) - place)
        costs = [SLOWER * per_flop * size.flop * (PROTOCOL.rounds + BESIDE) for size in sizes]
        largest = max((index for index, cost in enumerate(costs) if cost <= share), default=0)
        if largest:
            chosen.setdefault(largest, []).append(key)
            left -= costs[largest]
    return [(sizes[index], keys) for index, keys in sorted(chosen.items())]


def sorted_out(records: Iterable[Record], problem: Gemm) -> tuple[list[Record], list[str]]:
    """Those with a time or a fault worth seeing, the slowest first; those that cannot run here in words."""
    kept: list[Record] = []
    said: list[str] = []
    smaller: dict[str, list[str]] = {}
    for record in records:
        measured = record.measurement
        if measured is None:
            continue
        if measured.fault == REFUSED:
            said.append(f"{measured.kernel} was not timed: {measured.fault_detail}.")
        else:
            kept.append(record)
            if record.problem and not measured.fault and size_differs(record, problem):
                smaller.setdefault(spelled(record.problem), []).append(measured.kernel)
    for size, names in smaller.items():
        said.append(f"{', '.join(names)}: timed at {size}, as time or memory do not suffice for {spelled(problem)}.")
    kept.sort(key=lambda record: (record.measurement.flop_per_s or 0.0) if record.measurement else 0.0)
    return kept, said


def size_differs(record: Record, problem: Gemm) -> bool:
    """Whether a Record is of other sides than asked."""
    p = record.problem
    return p is not None and (p.m, p.n, p.k) != (problem.m, problem.n, problem.k)
