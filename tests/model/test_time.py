"""Times of many pairs at once, against one pair at a time in plain numbers, and what no effect may do."""

import random

import numpy as np
import pytest

from gemmlab.chips import load
from gemmlab.model.constants import constants_of
from gemmlab.model.effects import ALL, NOTHING, Effects
from gemmlab.model.machine import machine_of
from gemmlab.model.pairs import Pairs
from gemmlab.model.time import closed_reads, times
from model import plain_time

CHIPS = ("h200-sxm", "h100-sxm", "a100-pcie-80gb", "v100-sxm2-16gb", "rtx-4090", "b200-sxm", "mi300x", "m1")
CHIPS += ("sapphire-rapids-56c",)
FORMATS = ("float16", "bfloat16", "float32", "int8", "float8_e4m3fn")


def random_pair(rng):
    """One pair of any shape, tiny to huge, as a Pairs of plain numbers."""
    m, n, k = (rng.choice((1, 2, 31, 64, int(2 ** rng.uniform(0, 14)), int(2 ** rng.uniform(12, 22)))) for _ in "mnk")
    size = rng.choice((0.5, 1, 2, 4))
    return Pairs(
        m=m,
        n=n,
        k=k,
        batch=rng.choice((1, 1, 1, 2, 96)),
        block_m=rng.choice((8, 16, 32, 64, 128, 192, 256)),
        block_n=rng.choice((8, 16, 32, 64, 128, 192, 256)),
        block_k=rng.choice((8, 16, 32, 64, 128)),
        split_k=rng.choice((1, 1, 1, 2, 5, 16)),
        group_m=rng.choice((1, 4, 8)),
        cluster_m=rng.choice((1, 1, 2)),
        cluster_n=rng.choice((1, 1, 2)),
        resident=rng.choice((1, 1, 2, 5)),
        load_elements=rng.choice((1.0, 2.0, 4.0, 16 / size, 16 / size, np.inf)),
        a_bytes=size,
        b_bytes=rng.choice((size, 1)),
        d_bytes=rng.choice((2, 4)),
        thread_m=rng.choice((1, 4, 8)),
        thread_n=rng.choice((1, 4, 8)),
        issue=rng.choice((0.0, 0.0, 40.0)),
        bubble=rng.choice((0.0, 1 / 32)),
        work=rng.choice((1.0, 1.0, 0.5)),
    )


def random_machine(rng):
    chip = load(rng.choice(CHIPS))
    name = rng.choice([name for name in FORMATS if name in chip.peaks])
    return machine_of(chip, name, rng.choice((1, 2, 4))), constants_of(chip)


def random_effects(rng):
    return Effects(*(rng.random() < 0.7 for _ in Effects._fields))


def stacked(pairs):
    return Pairs(*(np.array(column, dtype=float) for column in zip(*pairs, strict=True)))


def test_2000_pairs_equal_plain_numbers():
    rng = random.Random(7)
    for _ in range(40):
        (machine, constants), effects = random_machine(rng), rng.choice((ALL, NOTHING, random_effects(rng)))
        pairs = [random_pair(rng) for _ in range(50)]
        found = times(stacked(pairs), machine, constants, effects).total
        plain = [plain_time.seconds(pair, machine, constants, effects) for pair in pairs]
        np.testing.assert_allclose(found, plain, rtol=1e-9)


def test_reads_equal_plain_numbers():
    rng = random.Random(8)
    for _ in range(20):
        machine, _ = random_machine(rng)
        pairs = [random_pair(rng) for _ in range(50)]
        plain = [plain_time.closed_reads(pair, machine) for pair in pairs]
        np.testing.assert_allclose(closed_reads(stacked(pairs), machine), plain, rtol=1e-9)


def test_given_reads_replace_the_closed_form():
    rng = random.Random(9)
    for _ in range(100):
        (machine, constants), effects, pair = random_machine(rng), random_effects(rng), random_pair(rng)
        reads = 10 ** rng.uniform(3, 12)
        found = times(stacked([pair]), machine, constants, effects, dram_reads=np.array([reads])).total
        assert found[0] == pytest.approx(plain_time.seconds(pair, machine, constants, effects, reads), rel=1e-9)


def test_members_of_one_launch():
    rng = random.Random(10)
    for _ in range(300):
        (machine, constants), effects = random_machine(rng), random_effects(rng)
        shared = random_pair(rng)
        split = {"split_k": shared.split_k}
        pairs = [random_pair(rng)._replace(**split) for _ in range(rng.randint(1, 6))]
        found = times(stacked(pairs), machine, constants, effects, together=True).total
        assert found.shape == (1,)
        assert found[0] == pytest.approx(plain_time.seconds_together(pairs, machine, constants, effects), rel=1e-9)


def test_one_member_together_is_that_member():
    rng = random.Random(11)
    for _ in range(100):
        (machine, constants), effects, pairs = random_machine(rng), random_effects(rng), stacked([random_pair(rng)])
        assert times(pairs, machine, constants, effects, together=True).total == pytest.approx(
            times(pairs, machine, constants, effects).total, rel=1e-12
        )


def test_equal_members_are_a_batch():
    """One launch of b equal members is the batch of b: the same programs, bytes and FLOP."""
    rng = random.Random(12)
    for _ in range(100):
        machine, constants = random_machine(rng)
        pair, many = random_pair(rng)._replace(split_k=1), rng.randint(2, 9)
        effects = ALL._replace(leftovers=False, traffic=False)  # these two look at a whole launch's L2
        members = times(stacked([pair] * many), machine, constants, effects, together=True).total
        batch = times(stacked([pair._replace(batch=pair.batch * many)]), machine, constants, effects).total
        assert members == pytest.approx(batch, rel=1e-9)


@pytest.mark.parametrize("together", [False, True])
def test_no_effect_ever_makes_it_faster(together):
    rng = random.Random(13)
    for _ in range(1500 if together else 40):
        (machine, constants), effects = random_machine(rng), random_effects(rng)
        name = rng.choice(Effects._fields)
        pairs = stacked([random_pair(rng) for _ in range(rng.randint(1, 5) if together else 200)])
        without = times(pairs, machine, constants, effects._replace(**{name: False}), together=together).total
        with_it = times(pairs, machine, constants, effects._replace(**{name: True}), together=together).total
        assert (with_it >= without * (1 - 1e-12)).all(), (name, effects)


def test_each_effect_matters_somewhere():
    rng, seen = random.Random(14), set()
    for _ in range(60):
        machine, constants = random_machine(rng)
        pairs = stacked([random_pair(rng) for _ in range(40)])
        whole = times(pairs, machine, constants).total
        for name in Effects._fields:
            if (times(pairs, machine, constants, ALL._replace(**{name: False})).total < 0.97 * whole).any():
                seen.add(name)
    assert seen == set(Effects._fields)


def test_more_work_or_less_bandwidth_is_never_free():
    rng = random.Random(15)
    for _ in range(40):
        machine, constants = random_machine(rng)
        pairs = stacked([random_pair(rng) for _ in range(100)])
        slow = machine._replace(dram_bytes_per_s=machine.dram_bytes_per_s / 2)
        now = times(pairs, machine, constants).total * (1 - 1e-9)
        assert (times(pairs._replace(k=pairs.k * 2), machine, constants).total >= now).all()
        assert (times(pairs._replace(batch=pairs.batch * 2), machine, constants).total >= now).all()
        assert (times(pairs, slow, constants).total >= now).all()


def test_extremes_stay_finite():
    machine, constants = machine_of(load("h200-sxm"), "float16"), constants_of(load("h200-sxm"))
    sides = (1, 2, 2**20, 2**40)
    shapes = [(m, n, k) for m in sides for n in sides for k in sides]
    pair = random_pair(random.Random(1))
    pairs = stacked([pair._replace(m=m, n=n, k=k, split_k=1) for m, n, k in shapes])
    with np.errstate(all="raise", under="ignore"):
        found = times(pairs, machine, constants)
    assert np.isfinite(found.total).all()
    assert (found.total > 0).all()
