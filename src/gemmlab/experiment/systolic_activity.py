"""How many PEs multiply at a time, from when each tile's wave enters and ends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab.problem import Gemm
from gemmlab.systolic import Array, timeline

MOST_TILES = 1 << 18  #: beyond them the curve would be of too many waves to be worth its time
BINS = 200

Counts = npt.NDArray[np.int64]


class Moment(NamedTuple):
    """A stretch of time, and how busy the array is in it."""

    start: float  #: cycle
    end: float  #: the cycle after its last
    busy: float  #: mean share of PEs that multiply


class Wave(NamedTuple):
    """A tile on its way through the array."""

    rows: int
    cols: int
    start: int  #: the cycle in which its first PE begins
    end: int  #: the cycle in which that PE has done its last


def activity(problem: Gemm, array: Array, cycles: int, bins: int = BINS) -> tuple[Moment, ...]:
    """How busy the array is over its cycles, in at most `bins` stretches of one cycle or more each."""
    waves = [Wave(tile.rows, tile.cols, tile.start, tile.end) for tile in timeline(problem, array)]
    count = min(bins, cycles)
    edges = np.array([round(cycles * index / count) for index in range(count + 1)], np.int64)
    work = np.diff(work_until(waves, edges))
    return tuple(
        Moment(float(start), float(end), float(done / (array.pes * (end - start))))
        for start, end, done in zip(edges[:-1], edges[1:], work, strict=True)
    )


def work_until(waves: Sequence[Wave], times: Counts) -> npt.NDArray[np.float64]:
    """PE cycles of all waves before each of the times.

    PE (i, j) of a wave multiplies from `start + i + j` to `end + i + j`, so a wave's work before a time is a sum over
    its diagonals that depends on the time since its start and its end alone.
    """
    total = np.zeros(len(times))
    for (rows, cols), group in by_size(waves).items():
        starts, ends = (np.array([getattr(wave, edge) for wave in group], np.int64) for edge in ("start", "end"))
        for edge, sign in ((starts, 1.0), (ends, -1.0)):
            total += sign * entered(np.sort(edge), times, rows, cols)
    return total


def by_size(waves: Sequence[Wave]) -> dict[tuple[int, int], list[Wave]]:
    """Waves by the PEs that they fill: at most four sizes."""
    found: dict[tuple[int, int], list[Wave]] = {}
    for wave in waves:
        found.setdefault((wave.rows, wave.cols), []).append(wave)
    return found


def entered(begun: Counts, times: Counts, rows: int, cols: int) -> npt.NDArray[np.float64]:
    """The sum over waves that began at sorted times, and over their PEs, of the cycles since each PE's turn."""
    table = ramp(rows, cols)
    span = rows + cols - 1
    sums = np.concatenate([[0], np.cumsum(begun)])
    old = np.searchsorted(begun, times - span, side="right")  # whose whole array is at work: linear from here on
    done = table[-1] * old + rows * cols * (old * (times - span) - sums[old]).astype(np.float64)
    for index, time in enumerate(times):
        ages = time - begun[old[index] : np.searchsorted(begun, time, side="left")]
        done[index] += table[ages].sum()
    return np.asarray(done, np.float64)


@cache
def ramp(rows: int, cols: int) -> Any:
    """Cycles that all PEs of a wave have worked, by the cycles since it entered, until all of them do."""
    diagonals = np.convolve(np.ones(rows), np.ones(cols))  # PEs with i + j = d
    busy = np.cumsum(diagonals)  # at work in cycle d
    return np.concatenate([[0.0], np.cumsum(busy)])
