"""Which program touches which piece of A and B when: the next program goes to the first slot that is free."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemmlab.model.noise import uniform
from gemmlab.units import ceil_div

JITTER_STEP = 64  # k of the step that the jitter is given for
STORE_STEPS = 1.0  # a program's store of its tile takes about as long as one such step
SHORTEST = 0.05  # of a step's mean time: no noise makes one take less
STAGGER = 1e-6  # steps between the starts of two slots, so that launch order decides among equals


class Grid(NamedTuple):
    """A tiled GEMM as the traffic model sees it; bytes are those of an element."""

    m: int
    n: int
    k: int
    block_m: int
    block_n: int
    block_k: int
    group_m: int
    raster: str
    a_bytes: float
    b_bytes: float
    d_bytes: float
    batch: int = 1
    split_k: int = 1

    @property
    def tiles_m(self) -> int:
        """Tiles down the result."""
        return ceil_div(self.m, self.block_m)

    @property
    def tiles_n(self) -> int:
        """Tiles across the result."""
        return ceil_div(self.n, self.block_n)

    @property
    def programs(self) -> int:
        """Programs of the whole launch."""
        return self.tiles_m * self.tiles_n * self.batch * self.split_k


class Events(NamedTuple):
    """Touches of pieces in order of time: each program's k-steps, then its store."""

    a: NDArray[np.int64]  #: piece of A (or, for a store, of D)
    b: NDArray[np.int64]  #: piece of B, -1 for a store
    slot: NDArray[np.int64]  #: where the program runs
    bytes: NDArray[np.float64]  #: of every piece
    first_store: int  #: pieces from this number on are D's
    programs: int  #: programs walked, the first of the launch


def steps_of(grid: Grid, active: int, fine: float, at_least: int) -> int:
    """k-steps to walk a program in, `at_least` so many unless k has fewer.

    Enough that one round of pieces, one for each panel of the `active` programs, takes no more than `fine` bytes.
    """
    sides = [(grid.tiles_m, grid.block_m * grid.a_bytes), (grid.tiles_n, grid.block_n * grid.b_bytes)]
    (down, row), (across, column) = reversed(sides) if grid.raster == "m" else sides
    rows = min(down, max(min(grid.group_m, down), ceil_div(active, across)))
    columns = min(across, ceil_div(active, rows))
    panel = (rows * row + columns * column) * grid.k
    steps = max(at_least, -int(-panel // fine))
    return int(min(steps, max(1, ceil_div(grid.k, max(grid.block_k, 1)))))


def tile_order(grid: Grid, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(row of tiles, column of tiles, batch entry * split_k + split) of the first `count` programs."""
    down, across = grid.tiles_m, grid.tiles_n
    if grid.raster == "m":
        down, across = across, down
    program = np.arange(count)
    member, within = np.divmod(program, min(down * across, count))
    group = min(grid.group_m, down)
    each = min(group * across, count)
    first = within // each * group
    height = np.minimum(down - first, group)
    inside = within % each
    major, minor = first + inside % height, inside // height
    return (minor, major, member) if grid.raster == "m" else (major, minor, member)


def walk(grid: Grid, slots: int, steps: int, jitter: float, programs: int, seed: int = 1) -> Events:
    """The touches of the first `programs` programs, `slots` of them resident, `steps` k-steps each, in order of time.

    `jitter` is the standard deviation of one 64-wide k-step's time, relative to it: exponential noise, so that some
    steps are late and few are early. Time has no unit.
    """
    k = ceil_div(grid.k, grid.split_k)
    width = max(1, ceil_div(k, steps))
    steps = ceil_div(k, width)
    widths = np.minimum(width, k - np.arange(steps) * width).astype(np.float64)
    mean = widths / JITTER_STEP
    noise = -np.log1p(-uniform(programs * steps, seed).reshape(programs, steps)) - 1
    spent = np.maximum(mean + jitter * np.sqrt(mean) * noise, SHORTEST * mean).cumsum(axis=1)
    start, slot = first_free_slot((spent[:, -1] + STORE_STEPS).tolist(), slots)

    row, column, member = tile_order(grid, programs)
    begin = start[:, None] + np.concatenate([np.zeros((programs, 1)), spent], axis=1)
    order = np.argsort(begin, axis=None, kind="stable")
    program, step = np.divmod(order, steps + 1)
    stores = step == steps
    members, rows, columns = (int(seen.max()) + 1 for seen in (member, row, column))  # no more than these are touched
    a_pieces, b_pieces = members * rows * steps, members * columns * steps
    a = (member[program] * rows + row[program]) * steps + step
    b = a_pieces + (member[program] * columns + column[program]) * steps + step
    heights = np.minimum(grid.block_m, grid.m - np.arange(rows) * grid.block_m)
    across = np.minimum(grid.block_n, grid.n - np.arange(columns) * grid.block_n)
    sizes = [
        np.tile((heights[:, None] * widths * grid.a_bytes).ravel(), members),
        np.tile((across[:, None] * widths * grid.b_bytes).ravel(), members),
        heights[row] * across[column] * grid.d_bytes,
    ]
    return Events(
        a=np.where(stores, a_pieces + b_pieces + program, a),
        b=np.where(stores, -1, b),
        slot=slot[program],
        bytes=np.concatenate(sizes),
        first_store=a_pieces + b_pieces,
        programs=programs,
    )


def first_free_slot(durations: list[float], slots: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Start time and slot of each program, given in launch order."""
    heap = [(slot * STAGGER, slot) for slot in range(min(slots, len(durations)))]
    start, where = [0.0] * len(durations), [0] * len(durations)
    for index, duration in enumerate(durations):
        free, slot = heap[0]
        start[index], where[index] = free, slot
        heapq.heapreplace(heap, (free + duration, slot))
    return np.array(start), np.array(where)
