"""The closed wave form, against the simulation of programs in lock-step where the capacity's edge is far."""

import random

import numpy as np
import pytest

from gemmlab.model.l2 import Cache, dram_misses
from gemmlab.model.schedule import Grid, walk
from gemmlab.model.wave_traffic import EDGE, Launch, hit_share, reaches, transposed, wave_reads

CUBE = Grid(8192, 8192, 8192, 128, 128, 32, 1, "n", 2, 2, 2)
L2 = 40 * 2**20


def launch_of(grid, slots):
    one = np.ones(1)
    sides = {name: one * getattr(grid, name) for name in Launch._fields if name != "slots"}
    launch = Launch(slots=one * slots, **sides)
    return transposed(launch) if grid.raster == "m" else launch


def simulated(grid, slots, capacity, partitions, steps=32, ways=256):
    """DRAM reads with no drift, programs `slots` at a time."""
    events = walk(grid, slots, steps, 0.0, grid.programs)
    cache = Cache(capacity * partitions, partitions, ways, slots)
    return dram_misses(events, cache, max(4, min(slots, grid.programs))).read


def once(grid):
    return grid.batch * grid.k * (grid.m * grid.a_bytes + grid.n * grid.b_bytes)


def random_launch(rng):
    block_m, block_n = rng.choice((64, 128, 256)), rng.choice((64, 128, 256))
    split_k = rng.choice((1, 1, 1, 2, 4))
    grid = Grid(
        m=rng.randint(1, 20 * block_m),
        n=rng.randint(1, 20 * block_n),
        k=split_k * 64 * rng.randint(16, 40),
        block_m=block_m,
        block_n=block_n,
        block_k=32,
        group_m=rng.choice((1, 2, 4, 8)),
        raster=rng.choice("mn"),
        a_bytes=rng.choice((1, 2)),
        b_bytes=2,
        d_bytes=rng.choice((2, 0.01)),
        batch=rng.choice((1, 1, 1, 3)),
        split_k=split_k,
    )
    return grid, rng.randint(4, 80), rng.choice((1, 2))


def compared(kind, count):
    """(simulated / closed form - 1) of random launches whose reuse is far from the capacity's edge."""
    rng, errors = random.Random(kind), []
    while len(errors) < count:
        grid, slots, partitions = random_launch(rng)
        if not 4 <= grid.programs <= 500:
            continue
        launch = launch_of(grid, slots)
        reach = reaches(launch, partitions)
        wave, sweep = float(reach.wave[0]), float(reach.sweep[0])
        stored = grid.m * grid.n * grid.d_bytes * grid.split_k * grid.batch
        capacity = {"all fits": 8 * max(sweep, wave) + 8 * stored, "a wave fits": 2.5 * wave, "nothing fits": wave / 4}[
            kind
        ]
        if kind != "all fits" and sweep < 3 * capacity:
            continue
        closed = float(wave_reads(launch, capacity * partitions, partitions)[0])
        errors.append(simulated(grid, slots, capacity, partitions) / closed - 1)
    return np.array(errors)


def test_everything_fits():
    assert np.abs(compared("all fits", 20)).max() < 1e-8


def test_a_wave_fits_but_a_sweep_does_not():
    errors = compared("a wave fits", 6)
    assert np.median(np.abs(errors)) < 0.03
    assert np.quantile(np.abs(errors), 0.9) < 0.15


def test_nothing_fits():
    errors = compared("nothing fits", 30)
    assert abs(np.mean(errors)) < 0.06
    assert np.median(np.abs(errors)) < 0.03
    assert np.quantile(np.abs(errors), 0.9) < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_never_less_than_each_operand_once_nor_more_than_every_program_its_own(seed):
    rng = random.Random(seed)
    for _ in range(400):
        grid, slots, partitions = random_launch(rng)
        capacity = 10 ** rng.uniform(2, 10)
        found = float(wave_reads(launch_of(grid, slots), capacity, partitions)[0])
        whole = grid.batch * grid.k * (grid.m * grid.a_bytes * grid.tiles_n + grid.n * grid.b_bytes * grid.tiles_m)
        assert once(grid) * (1 - 1e-12) <= found <= whole * (1 + 1e-12)


def test_more_capacity_never_costs():
    rng = random.Random(9)
    for _ in range(200):
        grid, slots, partitions = random_launch(rng)
        found = [float(wave_reads(launch_of(grid, slots), 10.0**power, partitions)[0]) for power in range(3, 12)]
        assert found == sorted(found, reverse=True)


def test_column_major_order_is_row_major_of_the_transpose():
    grid = Grid(1000, 3000, 512, 128, 64, 32, 4, "m", 1, 2, 2)
    turned = Grid(3000, 1000, 512, 64, 128, 32, 4, "n", 2, 1, 2)
    for capacity in (1e5, 3e6, 1e9):
        left, right = (wave_reads(launch_of(launch, 40), capacity, 2) for launch in (grid, turned))
        assert left == right


def test_row_major_in_lock_step_reads_5_3_gb():
    """8192^3 float16, 128x128 tiles, one program on each of 108 SMs: 38 waves need all of B, and A 1.55 times."""
    launch = launch_of(CUBE, 108)
    assert simulated(CUBE, 108, L2 / 2, 2, steps=16, ways=32) == pytest.approx(5.31e9, rel=0.002)
    reach = reaches(launch, 2)
    assert reach.sweeps[0] == 38  # 4,096 tiles in waves of 108
    assert reach.passes[0] == pytest.approx((64 + 108 - 4) / 108)
    assert wave_reads(launch, L2, 2)[0] == pytest.approx(5.31e9, rel=0.02)
    assert wave_reads(launch, L2, 2)[0] < 6.8e9  # so it fits the budget


def test_grouping_in_lock_step():
    """Groups of 8 rows: 1.86 GB by an LRU simulation of one 40 MiB cache."""
    grid = CUBE._replace(group_m=8)
    assert simulated(grid, 108, L2, 1, steps=16) == pytest.approx(1.86e9, rel=0.05)


def test_at_4096_row_major_order_reaches_the_floor_but_for_the_room_that_d_takes():
    """A wave's panels are 38 MB of 41.9, its tiles of D 3.5 more: row-major order is at the capacity's edge."""
    grid = CUBE._replace(m=4096, n=4096, k=4096)
    assert simulated(grid._replace(d_bytes=0), 108, L2, 1, steps=16, ways=1500) == pytest.approx(once(grid), rel=0.01)
    assert simulated(grid, 108, 0.9 * L2, 1, steps=16, ways=1500) > 1.5 * once(grid)


def test_the_edge():
    share = hit_share(np.array([0.0, 0.5, 1.0, 2.0, 100.0]), 1.0)
    assert share[2] == 0.5
    assert share[3] == pytest.approx(1 / (1 + 2**EDGE))
    assert (np.diff(share) <= 0).all()
