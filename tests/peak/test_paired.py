"""Which of two plans is faster: gains of rounds, and how often luck would win as many."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.peak.paired import LEAST_GAIN, LEVEL, chance, gains, ranked, surely_faster
from gemmlab.peak.trying import Tried

TIMES = st.floats(1e-6, 1e-3)


def timed(*seconds):
    return Tried(None, tuple(seconds))


@pytest.mark.parametrize("rounds", range(1, 11))
def test_the_chance_is_that_of_tosses(rounds):
    tosses = [sum(toss) for toss in itertools.product((0, 1), repeat=rounds)]
    for won in range(rounds + 2):
        assert chance(won, rounds) == sum(heads >= won for heads in tosses) / len(tosses)


def test_gains_are_of_the_same_round():
    assert gains(timed(0.9, 1.8, 3.3), timed(1.0, 2.0, 3.0)) == pytest.approx([0.1, 0.1, -0.1])
    with pytest.raises(ValueError, match="zip"):
        gains(timed(1.0), timed(1.0, 2.0))


@given(st.lists(TIMES, min_size=12, max_size=31), st.floats(0.01, 0.2))
def test_what_both_share_does_not_hide_a_gain(level, gain):
    one, other = timed(*(each * (1 - gain) for each in level)), timed(*level)
    assert surely_faster(one, other)
    assert not surely_faster(other, one)
    assert not surely_faster(other, other)
    assert [each is one for each in ranked([other, one])] == [True, False]


def test_one_late_round_counts_once():
    level = [1.0 + 0.01 * at for at in range(12)]
    late = [0.99 * each for each in level[:-1]] + [50.0]
    assert surely_faster(timed(*late), timed(*level))
    assert ranked([timed(*level), timed(*late)])[0].seconds[-1] == 50.0


def test_luck_and_trifles_are_not_enough():
    won = next(won for won in range(32) if chance(won, 31) <= LEVEL)
    for wins, gain, sure in ((won, 0.01, True), (won - 1, 0.01, False), (won, 0.9 * LEAST_GAIN, False)):
        one = timed(*[1 - gain] * wins, *[1 + gain] * (31 - wins))
        assert surely_faster(one, timed(*[1.0] * 31)) == sure
        if sure:
            assert not surely_faster(one, timed(*[1.0] * 31), among=4)
    assert not surely_faster(timed(0.5, 0.5, 0.5), timed(1.0, 1.0, 1.0))  # three tosses are all heads too often


def test_what_was_not_timed_has_no_rank():
    right = timed(1.0, 2.0)
    assert ranked([Tried(None, fault="wrong"), right]) == [right]
    assert ranked([]) == []
