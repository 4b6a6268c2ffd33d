"""Where the time of a workload goes: multiplications, the rest, and what the device waits."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.experiment.workload.answer import Rest
from gemmlab.experiment.workload.look import Look
from gemmlab.workload import Workload


class Whole(NamedTuple):
    """Where the workload's time goes, seconds."""

    time_s: float
    known: str
    multiplying_s: float
    rest_s: float
    idle_s: float
    unread_s: float

    @property
    def working_s(self) -> float:
        """What the device works: kernels that overlap count once."""
        return self.time_s - self.idle_s

    def shortened(self, saved_s: float, host_s: float) -> float:
        """Share of the time that is saved where the device works less: none of what a predicted host takes anyway."""
        if self.time_s <= 0:
            return 0.0
        most_s = max(0.0, self.time_s - host_s) if host_s else self.working_s
        return min(saved_s, most_s) / self.time_s


def whole_of(workload: Workload, looks: list[Look], rest: tuple[Rest, ...], host_s: float, *, foreign: bool) -> Whole:
    """The whole time and its parts: a measured span, else all multiplications and the rest together.

    An eager host that takes longer, `host_s` for all operators, keeps the device waiting.
    """
    multiplying = sum(look.time_s for look in looks)
    other = sum(each.time_s for each in rest)
    unread = 0.0 if foreign else sum(each.time_s or 0.0 for each in workload.unread)
    total = multiplying + other + unread
    if workload.span_s is None or foreign:
        known = {look.measured_s is not None for look in looks} | {each.known == "measured" for each in rest}
        idle = max(0.0, host_s - total)
        return Whole(total + idle, "measured" if known == {True} else "predicted", multiplying, other, idle, unread)
    busy = min(workload.busy_s if workload.busy_s is not None else total, workload.span_s)
    return Whole(workload.span_s, "measured", multiplying, other, workload.span_s - busy, unread)
