"""The walk of programs in arrays, against an event queue of lists and dicts."""

import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from gemmlab.kernels import get, program_tile
from gemmlab.model.noise import uniform
from gemmlab.model.schedule import Grid, first_free_slot, steps_of, tile_order, walk
from model.plain_queue import k_steps, touches
from model.plain_queue import tile_order as plain_order
from model.random_grids import random_grid

SMALL = Grid(m=32, n=48, k=64, block_m=8, block_n=16, block_k=8, group_m=2, raster="n", a_bytes=2, b_bytes=2, d_bytes=2)


def test_orders_by_hand():
    tiles = [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 0), (3, 0), (2, 1), (3, 1), (2, 2), (3, 2)]
    row, column, member = tile_order(SMALL, 12)
    assert list(zip(row.tolist(), column.tolist(), strict=True)) == tiles
    assert not member.any()
    row, column, _ = tile_order(SMALL._replace(raster="m", group_m=1), 5)
    assert list(zip(row.tolist(), column.tolist(), strict=True)) == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]


@pytest.mark.parametrize("seed", range(200))
def test_order_equals_nested_loops_and_the_kernels_own(seed):
    rng = random.Random(seed)
    grid = random_grid(rng)
    order = list(zip(*(part.tolist() for part in tile_order(grid, grid.programs)), strict=True))
    assert order == plain_order(grid.tiles_m, grid.tiles_n, grid.group_m, grid.raster, grid.batch * grid.split_k)
    kernel = get("tiled").replace(group_m=grid.group_m, raster=grid.raster)
    assert order == [program_tile(i, grid.tiles_m, grid.tiles_n, kernel) for i in range(grid.programs)]
    first = rng.randint(1, grid.programs)
    assert [part.tolist() for part in tile_order(grid, first)] == [
        list(part) for part in zip(*order[:first], strict=True)
    ]


@pytest.mark.parametrize("seed", range(150))
def test_walk_equals_the_event_queue(seed):
    rng = random.Random(seed)
    grid = random_grid(rng)
    slots, steps = rng.randint(1, 12), rng.randint(1, 9)
    jitter = rng.choice((0.0, 0.2, 1.0, 5.0))
    programs = grid.programs if rng.random() < 0.6 else rng.randint(1, grid.programs)
    events = walk(grid, slots, steps, jitter, programs, seed=seed)
    plain, size = touches(grid, slots, steps, jitter, programs, seed=seed)
    assert events.programs == programs
    assert events.slot.tolist() == [slot for slot, *_ in plain]
    names = {}
    for a, b, (_, _, piece_a, piece_b) in zip(events.a.tolist(), events.b.tolist(), plain, strict=True):
        assert names.setdefault(a, piece_a) == piece_a
        assert (a >= events.first_store) == (piece_a[0] == "d")
        if piece_b is None:
            assert b == -1
        else:
            assert names.setdefault(b, piece_b) == piece_b
    assert len(set(names.values())) == len(names)
    for number, name in names.items():
        assert events.bytes[number] == pytest.approx(size[name], rel=1e-12)


@pytest.mark.parametrize("seed", range(100))
def test_pieces_add_up_to_the_matrices_and_each_program_touches_its_own_once(seed):
    rng = random.Random(seed)
    grid = random_grid(rng)
    grid = grid._replace(k=grid.k * grid.split_k)
    steps = rng.randint(1, 9)
    events = walk(grid, rng.randint(1, 12), steps, 0.3, grid.programs)
    members, down, across = grid.batch * grid.split_k, grid.tiles_m, grid.tiles_n
    count = len(k_steps(grid, steps))
    a_end = members * down * count
    assert events.first_store == a_end + members * across * count
    assert len(events.bytes) == events.first_store + grid.programs
    assert events.bytes[:a_end].sum() == pytest.approx(grid.batch * grid.m * grid.k * grid.a_bytes)
    assert events.bytes[a_end : events.first_store].sum() == pytest.approx(grid.batch * grid.n * grid.k * grid.b_bytes)
    stored = members * grid.m * grid.n * grid.d_bytes
    assert events.bytes[events.first_store :].sum() == pytest.approx(stored)
    loads = events.b >= 0
    assert set(Counter(events.a[loads].tolist()).values()) == {across}
    assert set(Counter(events.b[loads].tolist()).values()) == {down}
    assert sorted(events.a[~loads].tolist()) == list(range(events.first_store, len(events.bytes)))


def test_first_free_slot_equals_a_search():
    rng = random.Random(1)
    for _ in range(200):
        slots = rng.randint(1, 9)
        durations = [rng.choice((1.0, 2.0, rng.random())) for _ in range(rng.randint(1, 60))]
        start, where = first_free_slot(durations, slots)
        free = [slot * 1e-6 for slot in range(slots)]
        for index, duration in enumerate(durations):
            slot = free.index(min(free))
            assert (start[index], where[index]) == (free[slot], slot)
            free[slot] += duration


def test_a_round_of_steps_is_a_small_part_of_l2():
    rng = random.Random(4)
    for _ in range(300):
        grid = random_grid(rng, 400)
        active, fine = rng.randint(1, 40), rng.choice((1e3, 1e4, 1e5))
        steps = steps_of(grid, active, fine, 12)
        assert 1 <= steps <= -(-grid.k // grid.block_k)
        if steps < -(-grid.k // grid.block_k):
            assert steps >= 12
            row, column, member = tile_order(grid, min(active, grid.programs))
            rows, columns = len(set(zip(member, row, strict=True))), len(set(zip(member, column, strict=True)))
            touched = rows * grid.block_m * grid.a_bytes + columns * grid.block_n * grid.b_bytes
            assert touched * grid.k / steps <= 2 * fine


def splitmix(counter, seed):
    """One number of the generator in Python's integers."""
    mask = (1 << 64) - 1
    x = (counter + (seed << 32)) * 0x9E3779B97F4A7C15 & mask
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
    return ((x ^ x >> 31) >> 11) / (1 << 53)


def test_noise_is_the_published_generator_and_uniform():
    for seed in (1, 7, 99):
        drawn = uniform(5000, seed)
        assert drawn[:50].tolist() == [splitmix(i, seed) for i in range(50)]
        assert ((drawn >= 0) & (drawn < 1)).all()
        counts, _ = np.histogram(drawn, 20, (0, 1))
        assert ((counts - 250) ** 2 / 250).sum() < 50  # chi-squared, 19 degrees of freedom: 1 in 10,000


def test_the_same_walk_in_another_process():
    code = (
        "from gemmlab.model.schedule import *; import hashlib\n"
        "g = Grid(m=320, n=480, k=640, block_m=8, block_n=16, block_k=8, group_m=2, raster='n', a_bytes=2, b_bytes=2,"
        " d_bytes=2)\n"
        "e = walk(g, 20, 8, 0.3, g.programs)\n"
        "print(hashlib.sha256(b''.join(p.tobytes() for p in e[:4])).hexdigest())"
    )
    command = [sys.executable, "-c", code]
    first, second = (subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2))
    assert first == second != ""
