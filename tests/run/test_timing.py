"""The protocol's arithmetic, on samples that nobody timed."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.run.timing import (
    LEAST_ROUNDS,
    MOST_COPIES,
    MOST_REPETITIONS,
    Limits,
    Protocol,
    Spread,
    Timing,
    beyond,
    copies_for,
    memory_needed,
    quantile,
    ranks,
    repetitions,
    rounds_for,
    steady,
    told_apart,
)

seconds = st.floats(1e-9, 1e3)
MIB = 1 << 20


@given(st.lists(seconds, min_size=2, max_size=30))
def test_quartiles_are_those_of_statistics(samples):
    timing = Timing(samples=tuple(samples), repetitions=1, copies=1)
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    assert (timing.low_s, timing.median_s, timing.high_s) == pytest.approx((low, middle, high), rel=1e-12)
    assert timing.low_s <= timing.median_s <= timing.high_s


def test_one_sample_is_its_own_quartiles():
    assert quantile([3.0], 0.25) == quantile([3.0], 0.75) == 3.0


@given(seconds, st.floats(1e-3, 1.0))
def test_a_sample_lasts_as_long_as_it_should_and_hardly_longer(once, sample):
    count = repetitions(once, sample)
    assert count == MOST_REPETITIONS or count * once >= sample * (1 - 1e-12)
    assert count == 1 or (count - 1) * once < sample


def test_a_clock_that_sees_nothing_asks_for_more():
    assert repetitions(0.0, 0.02) == MOST_REPETITIONS


def test_rounds_fit_the_budget_but_never_fall_below_what_a_spread_needs():
    protocol = Protocol(rounds=9, budget_s=20)
    assert rounds_for(0.02, protocol) == 9
    assert rounds_for(4.0, protocol) == 5
    assert rounds_for(60.0, protocol) == LEAST_ROUNDS
    assert rounds_for(60.0, Protocol(rounds=1)) == 1


@given(st.integers(1, 1 << 32), st.integers(1, 8), st.integers(1, 1 << 28))
def test_copies_exceed_the_cache_three_times_or_say_why_not(bytes_, contenders, cache):
    copies, note = copies_for(bytes_, contenders, Protocol(cache_bytes=cache))
    assert copies >= 1
    assert (copies * bytes_ > 3 * cache) == (note == "")
    assert copies == 1 or (copies - 1) * bytes_ <= 3 * cache
    assert copies <= MOST_COPIES


def test_copies_that_memory_does_not_allow_are_told():
    copies, note = copies_for(MIB, 2, Protocol(cache_bytes=32 * MIB, memory_bytes=100 * MIB))
    assert copies == 30
    assert note == (
        "operands may be found in the last-level cache, 32 MiB: 30 copies of the operands, 30 MiB in all, do not fill "
        "it three times"
    )
    assert copies_for(MIB, 1, Protocol())[1].startswith("the last-level cache is unknown")


@given(st.integers(1, 1 << 34), st.integers(1, 9))
def test_what_fits_the_memory_needed_gets_a_copy_without_less(bytes_, contenders):
    needed = memory_needed(bytes_, contenders)
    assert 0.6 * needed >= bytes_ * contenders * (1 - 1e-9)
    assert 0.6 * (needed - 2) <= bytes_ * contenders


def test_a_time_is_beyond_the_limit_when_no_clock_explains_it():
    assert beyond(0.9, 1.0)
    assert not beyond(0.96, 1.0)
    assert not beyond(1e-9, 0.0)


def test_memory_limits_only_what_came_from_there():
    limits = Limits(compute_s=1.0, dram_s=2.0)
    assert limits.least_s(from_dram=True) == 2.0
    assert limits.least_s(from_dram=False) == 1.0


def test_the_steady_part_is_the_later_one():
    assert steady([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]) == 2.0
    assert steady([5.0]) == 5.0


def spread(median, reach, rounds=9):
    return Spread(median, median - reach, median + reach, rounds)


def test_overlapping_quartiles_are_not_told_apart():
    assert told_apart(spread(1.0, 0.1), spread(1.3, 0.1))
    assert not told_apart(spread(1.0, 0.2), spread(1.3, 0.2))
    assert not told_apart(spread(1.0, 0.0), spread(1.0, 0.0))
    assert not told_apart(spread(1.0, 0.1, rounds=2), spread(9.0, 0.1))


def test_places_are_shared_where_nothing_tells_apart():
    chain = [spread(1.0, 0.15), spread(1.2, 0.15), spread(1.4, 0.15), spread(3.0, 0.1)]
    assert ranks(chain) == [1, 1, 2, 4]
    assert ranks([]) == []


@given(st.lists(st.builds(spread, st.floats(1, 10), st.floats(0, 1)), max_size=8))
def test_nobody_stands_before_one_it_is_not_faster_than(spreads):
    places = ranks(spreads)
    for own, place in zip(spreads, places, strict=True):
        better = [other for other in spreads if other.high < own.low]
        assert place == 1 + len(better)
