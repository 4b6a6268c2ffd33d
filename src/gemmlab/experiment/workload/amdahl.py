"""What the best changes save together: settings of the whole program at once, then each multiplication's own change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import msgspec

from gemmlab.experiment.workload.changes.asking import candidates, settings
from gemmlab.experiment.workload.changes.precision import CUDNN, MATMUL
from gemmlab.experiment.workload.distinct import Distinct
from gemmlab.experiment.workload.look import Candidate, Look, Program
from gemmlab.workload import Call

MOST = 3  # settings of one plan: more kinds than a format, a switch for tf32 and an order in memory there are not


class Asked(NamedTuple):
    """One distinct multiplication with its candidates, and what each saves of all of them, seconds."""

    look: Look
    found: list[tuple[Candidate, float]]


class Plan(NamedTuple):
    """Changes that are taken together, and what they save."""

    saved_s: float  #: of everything
    rest_s: float  #: of it, of what is no multiplication
    lines: frozenset[str]
    limits_s: tuple[float, ...]  #: of each multiplication


def best_plan(asked: list[Asked], listed: set[str], beside: Callable[[set[str]], float]) -> Plan:
    """The plan that saves most: compatible settings, and each row's own best change under them.

    A setting touches every row that it can, the ones that it slows down, too: such a row pays for it. Of tf32, autocast
    and wider formats a plan has one; both switches of tf32 are one setting. `listed` are the lines that may be taken,
    `beside` what settings save of what is no multiplication.
    """
    wide = {candidate.line for each in asked for candidate, _ in each.found if candidate.wide} & listed
    followed = Followed(asked, listed)
    return max((followed.plan(set(chosen), beside) for chosen in plans(wide)), key=lambda plan: plan.saved_s)


def plans(lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Every set of settings that go together, the empty one first."""
    names = sorted({setting(line) for line in lines})
    for size in range(min(MOST, len(names)) + 1):
        yield from (chosen for chosen in combinations(names, size) if compatible(set(chosen)))


def setting(line: str) -> str:
    """The setting that a line belongs to."""
    return MATMUL if line == CUDNN else line


def compatible(plan: set[str]) -> bool:
    """Whether at most one of the settings chooses a format."""
    return sum("memory_format" not in line for line in plan) <= 1


class Followed:
    """Every multiplication under one plan after another; what several plans make of it is worked out once."""

    def __init__(self, asked: list[Asked], listed: set[str]) -> None:
        self.asked, self.listed = asked, listed
        self.known: dict[tuple[int, Call], list[tuple[Candidate, float]]] = {}

    def plan(self, chosen: set[str], beside: Callable[[set[str]], float]) -> Plan:
        """What a plan saves."""
        ways = [followed(each, chosen) for each in self.asked]
        program = self.program(ways)
        found = [self.own(number, way, program) for number, way in enumerate(ways)]
        shared = kept_sizes(found)
        best = [own_change(each, shared) for each in found]
        settings_lines = {line for way in ways for line in way.lines}
        rest_s = beside(settings_lines)
        before_s = sum(each.look.time_s for each in self.asked)
        after_s = sum(way.time_s for way in ways) - sum(gain for _, gain in best)
        limits = [
            way.limit_s if change is None else min(way.limit_s, change.limit_s * way.call.count)
            for way, (change, _) in zip(ways, best, strict=True)
        ]
        lines = settings_lines | {change.line for change, _ in best if change is not None}
        return Plan(before_s - after_s + rest_s, rest_s, frozenset(lines), tuple(limits))

    def program(self, ways: list[Way]) -> Program | None:
        """The program with every multiplication as the settings leave it; None where there is none."""
        if not self.asked:
            return None
        program = self.asked[0].look.program
        calls = [call for each, way in zip(self.asked, ways, strict=True) for call in members(each.look, way.call)]
        workload = msgspec.structs.replace(program.workload, calls=tuple(calls))
        return Program(workload, program.forecaster, program.other_s)

    def own(self, number: int, way: Way, program: Program | None) -> list[tuple[Candidate, float]]:
        """A multiplication's own listed changes under the plan's settings."""
        key = (number, way.call)
        if key not in self.known:
            look, found = self.asked[number]
            if way.lines and program is not None:
                found = changed(look, way, program)
            self.known[key] = [(each, gain) for each, gain in found if not each.wide and each.line in self.listed]
        return self.known[key]


def kept_sizes(found: list[list[tuple[Candidate, float]]]) -> set[str]:
    """Lines of sizes that several multiplications share and that are worth what they cost some of these."""
    kept = {each.line for own in found for each, _ in own if each.shared}
    for line in sorted(kept):
        if saved(found, kept - {line}) > saved(found, kept):
            kept.discard(line)
    return kept


def saved(found: list[list[tuple[Candidate, float]]], shared: set[str]) -> float:
    """Seconds that the best own changes save under those shared sizes."""
    return sum(own_change(own, shared)[1] for own in found)


def own_change(own: list[tuple[Candidate, float]], shared: set[str]) -> tuple[Candidate | None, float]:
    """The best change of a multiplication; a shared size that is taken is, whatever it costs here."""
    possible = [(each, gain) for each, gain in own if (each.line in shared if each.shared else gain > 0)]
    return max(possible, key=lambda pair: pair[1], default=(None, 0.0))


class Way(NamedTuple):
    """A multiplication as settings leave it."""

    call: Call
    time_s: float
    limit_s: float
    lines: tuple[str, ...]  #: the settings' that touch it


def followed(asked: Asked, chosen: set[str]) -> Way:
    """One multiplication under settings, one after the other, each priced upon those before it."""
    look, found = asked.look, [candidate for candidate, _ in asked.found]
    count, left, lines = look.call.count, set(chosen), []
    then_s, limit_s, extra_s, call = look.now_s, look.forecast.limit_s, 0.0, look.call
    while left:
        step = next((each for each in found if each.wide and each.call and setting(each.line) in left), None)
        if step is None or step.call is None:
            break
        left.discard(setting(step.line))
        lines.append(step.line)
        then_s, limit_s, extra_s, call = step.then_s, step.limit_s, extra_s + step.extra_s, step.call
        if left:
            found = settings(Look(Distinct(call, members(look, call)), look.program, foreign=True))
    if not lines:
        return Way(call, look.time_s, look.limit_s, ())
    time_s = look.time_s * then_s / look.now_s + extra_s * count
    return Way(call, max(time_s, min(look.time_s, limit_s * count)), limit_s * count, tuple(lines))


def members(look: Look, call: Call) -> tuple[Call, ...]:
    """What is counted together, each changed as all of them are."""
    if call is look.call:
        return look.members
    return tuple(
        msgspec.structs.replace(each, problem=call.problem, convolution=call.convolution) for each in look.members
    )


def changed(look: Look, way: Way, program: Program) -> list[tuple[Candidate, float]]:
    """Own candidates of the multiplication as settings leave it, a measured time shortened alike."""
    measured = look.measured_s is not None
    call = msgspec.structs.replace(way.call, time_s=way.time_s if measured else None)
    then = Look(Distinct(call, members(look, way.call)), program, foreign=not measured)
    return [(each, then.gain_s(each)) for each in candidates(then) if not each.wide]
