"""DRAM reads by stack distance, against LRU caches walked touch by touch."""

import random

import numpy as np
import pytest

from gemmlab.model.l2 import TABLE_STEP, Cache, dram_misses, hit_probability
from gemmlab.model.schedule import Grid, walk
from model.plain_lru import near_the_edge, reads
from model.random_grids import random_grid

HARD = 1500  # ways: the edge is then within 8 % of the capacity
EDGE = 0.08
CUBE = Grid(m=96, n=96, k=96, block_m=8, block_n=8, block_k=8, group_m=3, raster="n", a_bytes=2, b_bytes=2, d_bytes=2)


def distinct(events):
    touched = np.unique(np.concatenate([events.a, events.b[events.b >= 0]]))
    return float(events.bytes[touched[touched < events.first_store]].sum())


def everything(events):
    loads = events.b >= 0
    return float(events.bytes[events.a[loads]].sum() + events.bytes[events.b[loads]].sum())


def random_case(seed, partitions, steps=4, pieces=15):
    """A launch of 20 to 150 programs and a cache that holds a part of its data, so many pieces a partition or more."""
    rng = random.Random(seed)
    while True:
        grid = random_grid(rng, 60)
        if 20 <= grid.programs <= 150:
            break
    events = walk(grid, rng.randint(2, 12), rng.randint(steps, 2 * steps), rng.choice((0.0, 0.3, 2.0)), grid.programs)
    capacity = float(events.bytes.sum()) * rng.choice((0.05, 0.15, 0.3, 0.6, 0.9))
    least = pieces * float(events.bytes.max()) * partitions
    return events, Cache(max(capacity, least), partitions, HARD, rng.randint(2, 9))


def tolerance(events, cache, margin):
    """Bytes that may be judged otherwise: touches at the edge, and what 1,500 ways leave of its softness outside."""
    return near_the_edge(events, cache, EDGE * cache.capacity_bytes + margin) + 1e-3 * everything(events)


@pytest.mark.parametrize("seed", range(40))
def test_one_partition_equals_lru_but_for_touches_at_the_edge(seed):
    events, cache = random_case(seed, 1)
    plain, kept = reads(events, cache)
    found = dram_misses(events, cache, 1)
    pieces = 2 * float(events.bytes.max())  # a touch's two pieces are looked up together
    allowed = tolerance(events, cache, pieces)
    assert abs(found.read - sum(plain)) <= allowed
    assert abs(found.read_late - sum(plain[len(plain) // 2 :])) <= allowed
    assert abs(found.kept - kept) <= EDGE * cache.capacity_bytes + pieces


def test_few_touches_are_at_the_edge():
    """So that the tolerance above cannot let everything pass."""
    shares, errors = [], []
    for seed in range(24):
        events, cache = random_case(seed, 1, steps=6, pieces=40)
        shares.append(tolerance(events, cache, 2 * float(events.bytes.max())) / everything(events))
        errors.append(abs(dram_misses(events, cache, 1).read / sum(reads(events, cache)[0]) - 1))
    assert np.median(shares) < 0.1
    assert np.median(errors) < 0.005
    assert np.quantile(errors, 0.9) < 0.04


@pytest.mark.parametrize("batch", [4, 16, 48])
def test_batches_of_touches_know_distances_to_within_a_batch(batch):
    for seed in range(20):
        events, cache = random_case(seed, 1)
        plain, _ = reads(events, cache)
        size = events.bytes[events.a] + np.where(events.b >= 0, events.bytes[events.b], 0.0)
        widest = max(size[i : i + batch].sum() for i in range(0, len(size), batch))
        assert abs(dram_misses(events, cache, batch).read - sum(plain)) <= tolerance(events, cache, 2 * widest)


def test_two_partitions_equal_two_lru_caches_with_copies():
    """A decision at the edge changes later ones here, so small pieces, and a tolerance on the whole."""
    errors = []
    for seed in range(10):
        events, cache = random_case(seed, 2, steps=9, pieces=60)
        plain, kept = reads(events, cache)
        found = dram_misses(events, cache, 1)
        assert distinct(events) * (1 - 1e-9) <= found.read <= everything(events) * (1 + 1e-9)
        errors.append(found.read / sum(plain) - 1)
        assert abs(found.kept - kept) <= EDGE * cache.capacity_bytes + 2 * float(events.bytes.max())
    assert abs(np.mean(errors)) < 0.02
    assert np.median(np.abs(errors)) < 0.005
    assert np.quantile(np.abs(errors), 0.9) < 0.06


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("batch", [1, 40])
@pytest.mark.parametrize("ways", [4, HARD])
def test_cold_misses_alone_where_everything_fits(partitions, batch, ways):
    for grid in (CUBE, CUBE._replace(m=93, n=50, k=61, raster="m"), CUBE._replace(batch=2, split_k=2)):
        events = walk(grid, 10, 5, 0.4, grid.programs)
        roomy = Cache(1e4 * float(events.bytes.sum()), partitions, ways, 7)
        found = dram_misses(events, roomy, batch)
        assert found.read == pytest.approx(distinct(events), rel=1e-12)
        assert found.kept == pytest.approx(float(events.bytes[events.first_store :].sum()), rel=1e-9)


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("ways", [4, HARD])
def test_every_touch_misses_where_nothing_fits(partitions, ways):
    events = walk(CUBE, 10, 5, 0.4, CUBE.programs)
    found = dram_misses(events, Cache(1.0, partitions, ways, 7), 1)
    assert found.read == pytest.approx(everything(events), rel=3e-4)  # the table ends at four times the capacity
    assert found.kept == pytest.approx(0, abs=3e-4 * float(events.bytes[events.first_store :].sum()))


def test_shared_data_lie_in_both_partitions():
    """All of B serves again after a row of A: it fits 0.8 of the operands' bytes once, but not twice, a copy a side."""
    grid = CUBE._replace(block_n=16, group_m=1, d_bytes=0.01)  # 6 columns walked by 5 slots: every side reads all of B
    events = walk(grid, 5, 12, 0.0, grid.programs)
    operands = distinct(events)
    whole, halves = (dram_misses(events, Cache(0.8 * operands, parts, HARD, 5), 4).read for parts in (1, 2))
    assert whole == pytest.approx(operands, rel=0.01)
    assert halves > 2 * operands


def set_associative(sets, ways, lines, rng):
    """Which of a stream of distinct lines are still there at the end, by age."""
    held = [[] for _ in range(sets)]
    for line in range(lines):
        members = held[rng.randrange(sets)]
        members.append(line)
        if len(members) > ways:
            members.pop(0)
    present = np.zeros(lines, dtype=bool)
    present[[line for members in held for line in members]] = True
    return present[::-1]  # position = newer lines


@pytest.mark.parametrize("ways", [2, 8, 32])
def test_hit_probability_is_that_of_a_hashed_set_associative_lru(ways):
    rng, capacity = random.Random(ways), 4096
    runs = np.mean([set_associative(capacity // ways, ways, 3 * capacity, rng) for _ in range(6)], axis=0)
    table = hit_probability(ways)
    for fraction in (0.1, 0.5, 0.8, 0.95, 1.0, 1.05, 1.2, 1.6, 2.5):
        bin_ = slice(int((fraction - 0.02) * capacity), int((fraction + 0.02) * capacity))
        assert runs[bin_].mean() == pytest.approx(table[round(fraction / TABLE_STEP)], abs=0.05), fraction


def test_hit_probability_is_a_step_for_many_ways():
    table = hit_probability(HARD)
    assert table[0] == 1.0
    assert (np.diff(table) <= 1e-12).all()
    assert (table[: round((1 - EDGE) / TABLE_STEP)] > 0.99).all()
    assert (table[round((1 + EDGE) / TABLE_STEP) :] < 0.01).all()


def test_the_same_twice():
    events = walk(CUBE, 10, 5, 0.4, CUBE.programs)
    cache = Cache(20_000.0, 2, 16, 7)
    assert dram_misses(events, cache, 16) == dram_misses(events, cache, 16)
