"""What a rule looks at: the problem, its predicted time, and the time of any neighbour of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gemmlab.chips import Chip
from gemmlab.kernels import Kernel
from gemmlab.model.candidates import Best, best_tiling
from gemmlab.model.effects import Effects
from gemmlab.model.outlook import Outlook
from gemmlab.model.suited import typical
from gemmlab.model.time import times
from gemmlab.problem import Gemm

WORTH = 1.03  # a predicted gain below three in a hundred is within what two kernels of one library differ by


class Situation:
    """One explained multiplication, with neighbours priced by the closed form of the traffic (no simulation)."""

    def __init__(self, outlook: Outlook, *, chosen: bool, measured_time_s: float | None) -> None:
        self.outlook = outlook
        self.chosen = chosen  #: the user named this kernel or tile; else it is what a library would pick
        self.measured_time_s = measured_time_s

    @property
    def problem(self) -> Gemm:
        """The multiplication."""
        return self.outlook.problem

    @property
    def chip(self) -> Chip:
        """The chip."""
        return self.outlook.chip

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.outlook.kernel

    @cached_property
    def best(self) -> Best:
        """The best candidate tiling of this problem (of its largest member)."""
        return best_tiling(typical(self.problem), self.chip, self.outlook.constants)

    @cached_property
    def now_s(self) -> float:
        """Predicted time as it is, priced as neighbours are."""
        return self.time_s()

    def time_s(self, problem: Gemm | None = None, kernel: Kernel | None = None, chip: Chip | None = None) -> float:
        """Predicted seconds of a neighbour; with the kernel as named, or the best tiling where nobody named one."""
        problem, chip = problem or self.problem, chip or self.chip
        if kernel is None and not self.chosen and not problem.groups:
            return best_tiling(problem, chip, self.outlook.constants).time_s
        return self.kernel_time_s(problem, kernel or self.kernel, chip)

    def kernel_time_s(self, problem: Gemm, kernel: Kernel, chip: Chip) -> float:
        """Predicted seconds with exactly that kernel."""
        look = Outlook(problem, chip, kernel, self.outlook.constants)
        found = times(look.pairs, look.machine, self.outlook.constants, together=True)
        return float(found.total[0]) * look.spill_factor

    def gain_without(self, effects: Effects) -> float:
        """Speed-up of the same multiplication under fewer effects: how much a cause is to blame at all."""
        if not self.chosen and not self.problem.groups:
            return self.now_s / best_tiling(self.problem, self.chip, self.outlook.constants, effects).time_s
        return self.outlook.seconds() / self.outlook.seconds(effects)

    def gain(self, then_s: float) -> float:
        """Speed-up of a neighbour over now."""
        return self.now_s / then_s


def side_of(problem: Gemm, name: str) -> int:
    """A side of the problem, of a grouped one that of its members where all have the same."""
    members = {member["mnk".index(name)] for member in problem.groups}
    return members.pop() if len(members) == 1 else int(getattr(problem, name))


def resized(problem: Gemm, **sides: int) -> Gemm:
    """The problem with other sides; every member of a grouped one that has the old side gets the new one."""
    if not problem.groups:
        return problem.replace(**sides)
    old = {name: side_of(problem, name) for name in sides}

    def new(name: str, side: int) -> int:
        return sides[name] if side == old.get(name) else side

    groups = [(new("m", m), new("n", n), new("k", k)) for m, n, k in problem.groups]
    fields: dict[str, Any] = {
        name: getattr(problem, name)
        for name in ("b_format", "c_format", "d_format", "accumulate", "layout", "alpha", "beta", "epilogue", "scale")
    }
    return Gemm.grouped(groups, problem.a_format, **fields)
