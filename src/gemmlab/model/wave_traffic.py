"""DRAM reads in closed form: what the waves of programs re-read when all run in lock-step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gemmlab.model.pairs import Pairs, Values
from gemmlab.model.schedule import Grid

LARGE = 2.0**60  # of what numpy's 64-bit integers hold
EDGE = 12.0  # steepness of the capacity's edge: between hashed caches of 32 and of 64 ways (l2.hit_probability)


class Launch(NamedTuple):
    """Many (problem, tiling) pairs at once: arrays that broadcast, sizes in elements."""

    m: Values
    n: Values
    k: Values
    block_m: Values
    block_n: Values
    group_m: Values
    slots: Values  #: programs resident on the whole chip
    a_bytes: Values  #: of an element
    b_bytes: Values
    d_bytes: Values
    split_k: Values
    batch: Values


def hit_share(distance: Values, capacity: float) -> Values:
    """Share of a piece that outlives that many newer bytes: 1 well inside the capacity, 0 well past it."""
    share: Values = 1.0 / (1.0 + (np.maximum(distance, 1.0) / capacity) ** EDGE)
    return share


class Reach(NamedTuple):
    """How programs in lock-step share, and how many bytes pass before a panel serves again."""

    rows: Values  #: tiles of one wave, down
    columns: Values  #: and across
    passes: Values  #: waves that need a panel of A, in one group of rows
    sweeps: Values  #: times that all of B is needed: once a group of rows, or once a wave where that is larger
    wave: Values  #: bytes of all panels of one wave: until A's panels serve the next wave
    sweep: Values  #: bytes, in one partition, of one sweep of a group of rows: until B's panels serve the next group


def launch_of(sizes: Pairs | Grid, slots: Values | int, raster: str) -> Launch:
    """The launch with those sizes, programs in the order that `raster` names, `slots` of them at a time."""
    fields = {name: getattr(sizes, name) for name in Launch._fields if name != "slots"} | {"slots": slots}
    launch = Launch(**{name: np.atleast_1d(np.asarray(value, dtype=np.float64)) for name, value in fields.items()})
    return transposed(launch) if raster == "m" else launch


def transposed(launch: Launch) -> Launch:
    """The launch with rows and columns exchanged: raster `m` is raster `n` of it."""
    return launch._replace(
        m=launch.n,
        n=launch.m,
        block_m=launch.block_n,
        block_n=launch.block_m,
        a_bytes=launch.b_bytes,
        b_bytes=launch.a_bytes,
    )


def reaches(launch: Launch, partitions: int) -> Reach:
    """Sharing within a wave, and the reach until panels serve again.

    Batch entries and ranges of k come one after another, or side by side where all tiles of one leave slots free. What
    both partitions of L2 read lies in both; of D, written once, half as much again as one partition's share.
    """
    down = np.ceil(launch.m / launch.block_m)
    across = np.ceil(launch.n / launch.block_n)
    group = np.minimum(launch.group_m, down)
    tiles = np.minimum(launch.slots, down * across)
    members = np.clip(launch.slots / (down * across), 1.0, launch.batch * launch.split_k)
    rows = np.minimum(down, np.maximum(group, np.ceil(tiles / across)))
    columns = np.minimum(across, np.ceil(tiles / rows))
    panel_a = launch.block_m * launch.k / launch.split_k * launch.a_bytes
    panel_b = launch.block_n * launch.k / launch.split_k * launch.b_bytes
    stored = launch.d_bytes * (1 + 0.5 * (partitions > 1)) / partitions
    wide = group * across
    common = np.gcd(np.minimum(wide, LARGE).astype(np.int64), np.minimum(tiles, LARGE).astype(np.int64))
    alone = tiles >= down * across
    return Reach(
        rows,
        columns,
        passes=np.where(alone, 1.0, np.minimum(across, (wide + tiles - common) / tiles)),
        sweeps=np.where(tiles >= wide, np.ceil(down * across / tiles), np.ceil(down / group)),
        wave=members * (rows * panel_a + columns * panel_b),
        sweep=members * (across * panel_b + rows * panel_a + stored * rows * launch.block_m * launch.n),
    )


def wave_reads(launch: Launch, l2_bytes: float, partitions: int) -> Values:
    """DRAM bytes read of A and B by all waves, programs in lock-step, order grouped along m.

    One wave holds `rows` x `columns` tiles and reads their panels of A and B once. A's panels serve again in the next
    wave of the same group of rows if a whole wave fits L2; B's serve again in the next group if everything read for a
    group, and D's tiles, fit. Neither falls below one read of A and B. Exact far from the capacity's edge; near it the
    simulation in l2.py is what counts.
    """
    reach = reaches(launch, partitions)
    capacity = l2_bytes / partitions
    a_once = launch.m * launch.k * launch.a_bytes
    b_once = launch.n * launch.k * launch.b_bytes
    a_again = (reach.passes - 1) * (1 - hit_share(reach.wave, capacity))
    b_again = (reach.sweeps - 1) * (1 - hit_share(reach.sweep, capacity))
    reads: Values = launch.batch * (a_once * (1 + a_again) + b_once * (1 + b_again))
    return reads
