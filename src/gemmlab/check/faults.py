"""Would the bound see a fault at all? Faults put into the reference itself, under the same bound."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gemmlab.check.reference import Block, Entry, spans
from gemmlab.check.storage import Floats

STEPS = 8  # of k that are dropped in turn, the first and the last among them

ZEROS, TILE, STEP = "all zeros", "a tile of D left at zero", "a step of k dropped"
ALPHA, BETA = "alpha ignored", "beta ignored"


@dataclass
class Power:
    """For one multiplication: which faults some element would show; a tile is judged by its own elements alone."""

    entry: Entry
    tile: tuple[int, int, int]
    seen: set[str] = field(default_factory=set)
    blind: set[str] = field(default_factory=set)  #: a single tile that could be lost
    steps_seen: set[int] = field(default_factory=set)

    @property
    def steps(self) -> dict[int, slice]:
        """Steps of k to be dropped, by their place."""
        every = spans(self.entry.problem.k, self.tile[2])
        places = np.unique(np.linspace(0, len(every) - 1, min(STEPS, len(every))).round().astype(int))
        return {int(place): every[place] for place in places}

    def add(self, block: Block, expected: Floats, addend: Floats, bound: Floats) -> None:
        """Try each fault on one block; `addend` is beta * C."""
        alpha, rows, columns = self.entry.problem.alpha, block.rows, block.columns
        lost = shows(expected, bound)
        if lost.any():
            self.seen.add(ZEROS)
        starts = [range(0, size, step) for size, step in zip(lost.shape, self.tile[:2], strict=True)]
        tiles = np.logical_or.reduceat(np.logical_or.reduceat(lost, starts[0], axis=0), starts[1], axis=1)
        if not tiles.all():
            self.blind.add(TILE)
        if shows((alpha - 1) * block.sums, bound).any():
            self.seen.add(ALPHA)
        if shows(addend, bound).any():
            self.seen.add(BETA)
        for place, inner in self.steps.items():
            if alpha != 0 and place not in self.steps_seen:
                part = self.entry.a_values(rows, inner) @ self.entry.b_values(inner, columns)
                if shows(alpha * part, bound).any():
                    self.steps_seen.add(place)

    def missed(self) -> set[str]:
        """Faults that would have passed."""
        problem = self.entry.problem
        looked_for = {ZEROS} | ({ALPHA} if problem.alpha != 1 else set()) | ({BETA} if problem.beta != 0 else set())
        steps = {STEP} if problem.alpha != 0 and set(self.steps) - self.steps_seen else set()
        return (looked_for - self.seen) | self.blind | steps


def shows(change: Floats, bound: Floats) -> Floats:
    """Whether a change of the result is larger than the bound, with room for an honest error of one more bound."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(change) > 2 * bound)
