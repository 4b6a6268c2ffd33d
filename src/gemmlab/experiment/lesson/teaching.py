"""A lesson put together: every part of one multiplication, and what was left out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gemmlab.chips import Chip
from gemmlab.experiment.explaining import explain
from gemmlab.experiment.lesson.digits import Digits, digits
from gemmlab.experiment.lesson.fault import Broken, broken
from gemmlab.experiment.lesson.kernels import DEFAULT, Counted, check_names, counted
from gemmlab.experiment.lesson.sizes import spelled
from gemmlab.experiment.lesson.times import timed
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, Record
from gemmlab.run.fault import CRASHED, WRONG

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a lesson may do."""

    kernels: tuple[str, ...] = DEFAULT  #: rungs of the ladder that are counted and emulated
    seed: int = 0  #: of all random operands
    budget_s: float = 20.0  #: for timing kernels here, beyond the small size that all begin at
    run: bool = True  #: time kernels at all


@dataclass(frozen=True, slots=True)
class Lesson:
    """Everything about one multiplication; each part holds Records."""

    explained: Record  #: on the chip, with the tiling predicted to be fastest
    kernels: tuple[Counted, ...]
    broken: Broken | None
    times: tuple[Record, ...]
    digits: Digits | None
    settings: Settings
    left_out: tuple[str, ...] = ()  #: in words

    @property
    def records(self) -> list[Record]:
        """Every Record, in the order in which they are told, each once."""
        found: list[Record | None] = [self.explained]
        for each in self.kernels:
            found += [each.formula, each.emulated] + [each.valued] * (each.valued not in (None, each.emulated))
        found += [self.broken.record] if self.broken else []
        found += self.times
        found += [*self.digits.errors, self.digits.traced] if self.digits else []
        return [record for record in found if record is not None]

    @property
    def ok(self) -> bool:
        """The emulator agrees with every formula, and no kernel that is meant to be right gave a wrong result."""
        checked = [each.valued for each in self.kernels] + list(self.times)
        wrong = any(record and record.verdict and not record.verdict.ok for record in checked)
        faults = {record.measurement.fault for record in self.times if record.measurement}
        return all(each.agrees for each in self.kernels) and not wrong and not faults & {WRONG, CRASHED}


def teach(problem: Gemm, chip: Chip, settings: Settings = Settings(), told: Told = lambda text: None) -> Lesson:
    """The whole of one multiplication on one chip; `told` hears what is being done.

    Parts that this machine cannot do are left out, and `left_out` says so. Raises GemmlabError for a chip, a format or
    a kernel that cannot be used.
    """
    check_names(settings.kernels)
    told("predicting")
    lesson = Lesson(explain(problem, chip), (), None, (), None, settings)
    said: list[str] = []
    for name in settings.kernels:
        told(f"emulating {name}")
        lesson = replace(lesson, kernels=(*lesson.kernels, counted(problem, chip, name, settings.seed)))
    said += sizes_said(problem, lesson.kernels)
    told("searching orders of threads")
    try:
        lesson = replace(lesson, broken=broken(problem, settings.seed))
    except GemmlabError as error:
        said.append(f"The missing barrier is not shown: {error.text}.")
    told("following one output")
    try:
        lesson = replace(lesson, digits=digits(problem, chip, settings.seed))
    except GemmlabError as error:
        said.append(f"No output is followed: {error.text}.")
    if lesson.digits is None:
        said.append(f"No unit of {chip.name} is known that multiplies {problem.a_format}: no output is followed.")
    if settings.run:
        times, missing = timed(problem, settings.budget_s, settings.seed, told)
        lesson = replace(lesson, times=tuple(times))
        said += missing
    else:
        said.append("No kernel was timed, as asked.")
    return replace(lesson, left_out=tuple(dict.fromkeys(said)))


def sizes_said(problem: Gemm, kernels: tuple[Counted, ...]) -> list[str]:
    """What was emulated otherwise than asked, and why."""
    found: dict[str, list[str]] = {}
    for each in kernels:
        values = each.emulated.emulation is not None and each.emulated.emulation.values
        if not each.whole:
            said = (
                f"emulated at {spelled_of(each.emulated)}, as {spelled(problem)} is more than can be launched or "
                "walked here; counts at the asked size are the formula's."
            )
        elif not values and each.valued is not None:
            said = (
                f"counted at {spelled(problem)} by classes of blocks; values were computed, and checked, at "
                f"{spelled_of(each.valued)}."
            )
        else:
            continue
        found.setdefault(said, []).append(each.name)
    told = [f"{', '.join(names)}: {said}" for said, names in found.items()]
    held = next((each.emulated.problem.a_format for each in kernels if each.emulated.problem), problem.a_format)
    if held != problem.a_format:
        told.append(f"Programs were emulated in {held}: which elements they ask for is the same in {problem.a_format}.")
    return told


def spelled_of(record: Record) -> str:
    """The sides of a Record's multiplication."""
    return spelled(record.problem) if record.problem else ""
