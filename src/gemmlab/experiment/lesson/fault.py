"""The fault of a lesson: a kernel without one of its barriers, the race it has, and what the worst order does to C."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.experiment.emulating import Asked, emulate_gemm
from gemmlab.experiment.gemm_arguments import Filled
from gemmlab.experiment.gemm_checking import wrong_cells
from gemmlab.experiment.lesson.kernels import HELD
from gemmlab.experiment.lesson.sizes import capped
from gemmlab.experiment.named_kernels import named_kernel
from gemmlab.kernels.ladder import RUNGS, SIZES
from gemmlab.problem import Gemm
from gemmlab.record import FaultSection, Record, ScheduleSection

TWIN, WHOLE = "tiled_without_first_barrier", "tiled"
SEARCHED = 32  #: sides that orders of threads are searched at: two tiles along each
BARRIER = "cuda.syncthreads()"

Cells = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Broken:
    """A kernel with a barrier left out, emulated."""

    record: Record  #: its faults, and the orders of threads that were tried
    maps: tuple[tuple[ScheduleSection, Cells], ...]  #: elements of C that an order leaves wrong: lockstep .. worst
    lines: tuple[tuple[int, str], ...]  #: the program's text by line number
    missing: int  #: the line before which the barrier stands in the whole kernel
    harmless_at: Gemm | None = None  #: the asked size, where no order does harm and another is shown

    @property
    def race(self) -> FaultSection | None:
        """The first conflicting pair."""
        faults = self.record.emulation.faults if self.record.emulation else ()
        return next((fault for fault in faults if fault.kind == "shared_race"), None)

    @property
    def worst(self) -> ScheduleSection | None:
        """The order that does most harm; None where none does any."""
        tried = self.record.emulation.schedules if self.record.emulation else ()
        return next((each for each in tried if each.worst), None)


class Seen:
    """Which elements of C were wrong each time that it was judged, by how many; of equals the first."""

    def __init__(self) -> None:
        self.found: dict[int, Cells] = {}

    def __call__(self, problem: Gemm, filled: Filled, c: Any) -> None:
        """Look at one C."""
        wrong = wrong_cells(problem, filled, c)
        self.found.setdefault(int(wrong.sum()), wrong)

    def shown(self, tried: Sequence[ScheduleSection]) -> tuple[tuple[ScheduleSection, Cells], ...]:
        """Three orders that tell: one that does no harm, the one that does least, and the worst."""
        harm = sorted((each for each in tried if each.wrong_elements), key=lambda each: each.wrong_elements)
        none = [each for each in tried if not each.wrong_elements]
        chosen = [*none[:1], *harm[:1], *(each for each in harm[1:] if each.worst)]
        return tuple((each, self.found[each.wrong_elements]) for each in chosen if each.wrong_elements in self.found)


def broken(problem: Gemm, seed: int) -> Broken:
    """The twin at a size small enough for a search; at two whole tiles where no order does harm there."""
    held = problem if problem.a_format in HELD else problem.in_format("float32")
    small = capped(held, SEARCHED, (16, 16, 16))
    found = run(small, seed)
    if found.worst is not None:
        return found
    shown = run(held.replace(m=SEARCHED, n=SEARCHED, k=SEARCHED), seed)
    return replace(shown, harmless_at=small)


def run(problem: Gemm, seed: int) -> Broken:
    """The twin at one size."""
    named, seen = named_kernel(TWIN), Seen()
    asked = Asked(named, seed=seed, options={"schedule": "worst"})
    record, _ = emulate_gemm(problem, asked, seen)
    lines = text_of(named.kernel)
    tried = record.emulation.schedules if record.emulation else ()
    return Broken(record, seen.shown(tried), lines, missing_at(lines))


def text_of(kernel: Any) -> tuple[tuple[int, str], ...]:
    """A kernel's source by line number, from the left margin on."""
    lines, first = inspect.getsourcelines(getattr(kernel, "py_func", kernel))
    return tuple((first + index, line) for index, line in enumerate(textwrap.dedent("".join(lines)).splitlines()))


def missing_at(lines: tuple[tuple[int, str], ...]) -> int:
    """The line before which the whole kernel waits and this one does not."""
    rung = {**RUNGS, **SIZES}[WHOLE]
    whole = [code(text) for _, text in text_of(named_kernel(rung.name).kernel) if not text.strip().startswith('"""')]
    for place, (number, text) in enumerate(lines):
        if place < len(whole) and whole[place] != code(text) and whole[place] == BARRIER:
            return number
    return 0


def code(text: str) -> str:
    """A line without its comment and the spaces around it."""
    return text.partition("#")[0].strip()
