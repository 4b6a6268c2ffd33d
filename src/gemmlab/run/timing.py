"""The protocol of timing as arithmetic on numbers: nothing here starts a clock or a process.

Each contender runs once to warm up, then in rounds, A B C A B C. A round is one sample: so many multiplications in a
row that the clock's resolution and a call's cost are nothing beside them, on copies of the operands in turn that
together exceed the last-level cache three times, so that none is found there. A figure is the median of the rounds
with its quartiles; two whose quartiles overlap are not told apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from gemmlab.problem import Gemm
from gemmlab.units import capacity_text, ceil_div

TIMES_CACHE = 3  # what all copies together exceed the last-level cache by
MOST_COPIES = 4096
MEMORY_SHARE = 0.6  # of what is free, for the copies of all contenders
MOST_REPETITIONS = 1_000_000
LEAST_ROUNDS = 3  # below it there are no quartiles, and nothing is told apart
TOLERANCE = 0.05  # by which a clock may be faster than the chip's file, or the probe of it, says
SETTLED = 0.5  # of a sustained run: the part after which clock and power are taken for steady


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """How long is measured, and against which limits."""

    rounds: int = 9  #: samples of each contender
    sample_s: float = 0.02  #: that one sample lasts at least
    warm_s: float = 0.1  #: of work before the first sample: clocks rise, caches and pools fill
    budget_s: float = 20.0  #: of all samples of a contender; fewer rounds where one multiplication is slow
    sustained_s: float = 0.0  #: of work without a pause afterwards; 0: none
    limit_s: float = 60.0  #: for one command; who takes longer never ends
    load_limit_s: float = 180.0  #: for importing and compiling
    seed: int = 0  #: of the operands
    cache_bytes: int = 0  #: of the last-level cache; 0: unknown
    memory_bytes: int | None = None  #: free on the device; None: unknown
    host_bytes: int | None = None  #: free where operands are drawn and results checked; None: unknown


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """What was timed of one contender: seconds of one multiplication."""

    samples: tuple[float, ...]  #: of each round
    repetitions: int  #: multiplications of a sample
    copies: int  #: sets of operands that they rotate through
    sustained_s: float | None = None  #: median of the steady part of a sustained run
    notes: tuple[str, ...] = ()

    @property
    def median_s(self) -> float:
        """The median of the rounds."""
        return quantile(self.samples, 0.5)

    @property
    def low_s(self) -> float:
        """The lower quartile."""
        return quantile(self.samples, 0.25)

    @property
    def high_s(self) -> float:
        """The upper quartile."""
        return quantile(self.samples, 0.75)


class Limits(msgspec.Struct, frozen=True):
    """Seconds that nothing honest stays below."""

    compute_s: float = 0.0  #: all products at the chip's peak
    dram_s: float = 0.0  #: each matrix once through memory, where no cache may hold it; 0: not known for sure

    def least_s(self, *, from_dram: bool) -> float:
        """The longer of both; of memory only where the operands came from there."""
        return max(self.compute_s, self.dram_s if from_dram else 0.0)


NO_LIMITS = Limits()


class Spread(msgspec.Struct, frozen=True):
    """A median with its quartiles, and how many rounds are behind them."""

    median: float
    low: float
    high: float
    rounds: int


def quantile(samples: Sequence[float], share: float) -> float:
    """The value below which that share of the samples lies, linear between neighbours."""
    ordered = sorted(samples)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def repetitions(once_s: float, sample_s: float) -> int:
    """Multiplications of a sample that lasts at least `sample_s` when one takes `once_s`."""
    if once_s <= 0:
        return MOST_REPETITIONS
    return max(1, min(MOST_REPETITIONS, math.ceil(sample_s / once_s)))


def rounds_for(sample_s: float, protocol: Protocol) -> int:
    """Rounds when a sample takes `sample_s`: as asked; where they do not fit the budget fewer, but three at least."""
    fitting = int(protocol.budget_s / sample_s) if sample_s > 0 else protocol.rounds
    return min(protocol.rounds, max(LEAST_ROUNDS, fitting))


def copies_for(bytes_: int, contenders: int, protocol: Protocol) -> tuple[int, str]:
    """Sets of operands of `bytes_` each, and what is to be said of them; empty where they are as many as they should.

    All contenders keep theirs at once.
    """
    wanted = protocol.cache_bytes * TIMES_CACHE // max(bytes_, 1) + 1
    copies = min(wanted, MOST_COPIES)
    if protocol.memory_bytes is not None:
        room = int(MEMORY_SHARE * protocol.memory_bytes) // max(contenders, 1)
        copies = max(1, min(copies, room // max(bytes_, 1)))
    if not protocol.cache_bytes:
        return copies, "the last-level cache is unknown: operands may be found in it"
    if copies < wanted:
        held = f"{copies} cop{'y' if copies == 1 else 'ies'} of the operands, {capacity_text(copies * bytes_)} in all"
        cache = f"the last-level cache, {capacity_text(protocol.cache_bytes)}"
        return copies, f"operands may be found in {cache}: {held}, do not fill it three times"
    return copies, ""


def memory_needed(bytes_: int, contenders: int) -> int:
    """Bytes that must be free for one set of operands for each contender."""
    return ceil_div(bytes_ * contenders * 100, round(100 * MEMORY_SHARE))


def host_needed(problem: Gemm, contenders: int) -> int:
    """Bytes that must be free where operands are drawn, the largest in float64, and kept beside so many more copies."""
    largest = max(max(each.m * each.k, each.k * each.n, each.m * each.n) for each in problem.members)
    return problem.compulsory_bytes + max(8 * largest, problem.compulsory_bytes * contenders)


def beyond(time_s: float, least_s: float) -> bool:
    """Whether a time is shorter than the chip's limit and what a clock may be off explain."""
    return time_s < least_s * (1 - TOLERANCE)


def steady(samples: Sequence[float]) -> float:
    """The median of the later part of a sustained run."""
    return quantile(samples[int(len(samples) * SETTLED) :], 0.5)


def told_apart(one: Spread, other: Spread) -> bool:
    """Whether two figures lie further apart than they spread: the quartiles of neither reach those of the other."""
    if min(one.rounds, other.rounds) < LEAST_ROUNDS:
        return False
    return one.high < other.low or other.high < one.low


def ranks(spreads: Sequence[Spread]) -> list[int]:
    """The place of each, from 1: one more than there are faster ones that it is told apart from."""
    return [1 + sum(other.median < own.median and told_apart(own, other) for other in spreads) for own in spreads]
