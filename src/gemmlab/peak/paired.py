"""Which of two plans is faster, told round by round: both are timed in each, and what the chip does to both cancels.

A chip's clock moves by more from second to second than good plans differ, and the spread of a plan's own times is
wider than most gains. What is compared is therefore a round's gain of one plan on the other, and how many rounds one
wins: of two equal plans each wins a round as heads win a toss, however their times are distributed, and one late round
counts once. Rounds go forwards and backwards in turn (`gemmlab.peak.trying`), so that no plan is always behind another.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from gemmlab.peak.trying import Tried

LEVEL = 0.05  # how often one of plans that are all equal may be told to be faster than the model's
LEAST_GAIN = 0.002  # of a time; less is not worth a plan of its own


def gains(of: Tried, than: Tried) -> list[float]:
    """What one saves in each round, as a share of the other's time; both are of the same rounds."""
    return [1 - one / other for one, other in zip(of.seconds, than.seconds, strict=True)]


def chance(won: int, rounds: int) -> float:
    """How likely one of two equal plans wins so many rounds or more: the sign test's, exact, one-sided."""
    return math.fsum(math.comb(rounds, at) / 2**rounds for at in range(won, rounds + 1))


def surely_faster(of: Tried, than: Tried, among: int = 1) -> bool:
    """Whether one plan is faster than another: by its median gain, in more rounds than luck gives.

    `among` is how many it was picked from for these very rounds: the best of several equal ones is lucky more often.
    """
    found = gains(of, than)
    won = sum(gain > 0 for gain in found)
    return statistics.median(found) >= LEAST_GAIN and chance(won, len(found)) <= LEVEL / among


def ranked(tried: Sequence[Tried]) -> list[Tried]:
    """Those that were timed, the fastest first: by the median of their times over the mean of all in the same round."""
    right = [each for each in tried if each.seconds]
    means = [statistics.fmean(times) for times in zip(*(each.seconds for each in right), strict=True)]

    def beside_all(of: Tried) -> float:
        return statistics.median(own / mean for own, mean in zip(of.seconds, means, strict=True))

    return sorted(right, key=beside_all)
