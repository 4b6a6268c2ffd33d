"""Which settings of the whole program to take together with each multiplication's own best change."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from gemmlab.experiment.workload.changes.precision import CUDNN, MATMUL
from gemmlab.experiment.workload.look import Candidate

MOST = 3  # settings of one plan: more kinds than a format, a switch for tf32 and an order in memory there are not
Priced = list[
    tuple[Candidate, float]
]  #: of one row, or of all that multiplies nothing: its candidates with their gains


def advised_s(rows: Iterable[Priced]) -> float:
    """Seconds that the best plan saves: each row's best change, under settings that hold for all rows.

    A setting touches every row that it can, the ones that it slows down, too: such a row pays for it. Of tf32, autocast
    and wider formats a plan has one; both switches of tf32 are one setting.
    """
    rows = list(rows)
    lines = sorted({setting(candidate.line) for found in rows for candidate, _ in found if candidate.wide})
    plans = [set(plan) for size in range(min(MOST, len(lines)) + 1) for plan in combinations(lines, size)]
    return max((sum(row_s(found, plan) for found in rows) for plan in plans if compatible(plan)), default=0.0)


def setting(line: str) -> str:
    """The setting that a line belongs to."""
    return MATMUL if line == CUDNN else line


def compatible(plan: set[str]) -> bool:
    """Whether at most one of the settings chooses a format."""
    return sum("memory_format" not in line for line in plan) <= 1


def row_s(found: Priced, plan: set[str]) -> float:
    """Seconds that one row saves under a plan: the best of its own changes and the plan's, or the plan's loss."""
    own = max((gain for candidate, gain in found if not candidate.wide and gain > 0), default=0.0)
    wide = [gain for candidate, gain in found if candidate.wide and setting(candidate.line) in plan]
    return max(own, *wide) if wide and max(wide) >= 0 else own + sum(wide)
