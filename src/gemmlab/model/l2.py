"""What a stream of touches costs in DRAM: L2 as one or two set-associative LRU caches, by stack distance."""

from __future__ import annotations

from functools import cache
from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemmlab.model.noise import uniform
from gemmlab.model.schedule import Events
from gemmlab.units import ceil_div

Integers = NDArray[np.int64]

TABLE_STEP = 0.01  # of the capacity: finer than a batch of touches resolves
TABLE_END = 4.0  # of the capacity: past it one line in 10,000 is left with 4 ways
SIDES_SEED, COPIES_SEED = 7, 99  # which SMs lie at which partition; which touches find a copy there


class Cache(NamedTuple):
    """The L2 of a chip as the model needs it."""

    capacity_bytes: float  #: whole chip
    partitions: int  #: 2: each SM reaches the far half through its own, which keeps a copy (A100, H100, H200)
    ways: int  #: lines of a set; few make the edge of the capacity soft
    sms: int


class Misses(NamedTuple):
    """DRAM bytes of a stream."""

    read: float
    read_late: float  #: of them, those of the second half of the programs' touches, for extrapolation
    kept: float  #: bytes of D still dirty in L2 at the end: written later, not by this kernel


@cache
def hit_probability(ways: int) -> NDArray[np.float64]:
    """Chance that a line survives when the newer data are that fraction of the capacity (steps of 0.01, up to 4).

    A line of a hashed set-associative LRU cache is lost once `ways` newer lines fell into its set, and their number is
    Poisson with mean ways * fraction (Smith 1978).
    """
    chances = np.ones(int(TABLE_END / TABLE_STEP) + 1)
    for index in range(1, len(chances)):
        mean = ways * index * TABLE_STEP
        chances[index] = sum(exp(j * log(mean) - mean - lgamma(j + 1)) for j in range(ways))
    return chances


class StackDistances:
    """How many bytes were touched in each partition since a piece was touched last.

    Time is counted in batches of touches. `recent[p, t]` is how many bytes of partition p were touched last in batch
    t, so the bytes newer than batch t are the sum behind it: exact LRU at the resolution of a batch, in a few array
    operations. A key is (where it lies * pieces + piece) * partitions + where it is at home: of each piece the halves
    that are at home in one partition and in the other have keys of their own, once for each partition that holds them.
    """

    def __init__(self, pieces: int, batches: int, cache: Cache) -> None:
        self.last = np.full(cache.partitions * pieces * cache.partitions, -1, dtype=np.int64)
        self.pieces = pieces
        self.width = batches + 2  # two empty places behind: what was never touched, batch -1, looks there
        self.recent = np.zeros(cache.partitions * self.width)
        self.partitions = cache.partitions
        self.scale = cache.partitions / cache.capacity_bytes / TABLE_STEP
        self.chance = hit_probability(cache.ways)

    def newer(self) -> NDArray[np.float64]:
        """Cumulative bytes by batch of last touch, for `lookup`; valid until the next `touch`."""
        total: NDArray[np.float64] = self.recent.reshape(self.partitions, self.width).cumsum(axis=1).ravel()
        return total

    def lookup(self, partition: Integers, key: Integers, newer: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chance of a hit for each key in that partition."""
        last = self.last[key]
        at = partition * self.width + last
        distance = newer[(partition + 1) * self.width - 1] - newer[at] + 0.5 * self.recent[at]
        index = np.minimum(np.maximum(distance * self.scale, 0), len(self.chance) - 1).astype(np.int64)
        return np.where(last >= 0, self.chance[index], 0.0)

    def touch(self, partition: Integers, key: Integers, size: NDArray[np.float64], batch: int) -> None:
        """Make these keys, each at most once, the newest of their partition."""
        last = self.last[key]
        at = partition * self.width
        seen = last >= 0
        np.subtract.at(self.recent, (at + last)[seen], size[seen])
        np.add.at(self.recent, at + batch, size)
        self.last[key] = batch


def dram_misses(events: Events, cache: Cache, batch_size: int) -> Misses:
    """DRAM reads of the touches, `batch_size` of them looked up together, and how much of D stays in L2.

    Each piece lies by halves in both partitions. A touch looks into the SM's own partition; what is at home in the
    other one, and has no copy here, is asked for there, and a copy stays here. Stores go home and leave a copy too.
    """
    parts = cache.partitions
    batches = ceil_div(len(events.a), batch_size)
    distances = StackDistances(len(events.bytes), batches, cache)
    side_of_sm = np.argsort(np.argsort(uniform(cache.sms, SIDES_SEED))) % parts
    side = side_of_sm[events.slot % cache.sms]
    size = events.bytes / parts
    draws = uniform(2 * batch_size, COPIES_SEED)
    mark = np.zeros(len(events.bytes) * parts, dtype=np.int64)
    read = np.zeros(batches)
    for batch in range(batches):
        span = slice(batch * batch_size, (batch + 1) * batch_size)
        b = events.b[span]
        loads = b >= 0
        piece = np.concatenate([events.a[span], b[loads]])
        own = np.concatenate([side[span], side[span][loads]])
        pair = piece * parts + own
        mark[pair] = index = np.arange(len(pair))
        once = mark[pair] == index  # of several equal touches in a batch one can miss, the others hit
        piece, own = piece[once], own[once]
        touches = Touches(piece, own, size[piece], piece < events.first_store)
        if parts == 1:
            missed = touches.size * (1 - distances.lookup(own, piece, distances.newer()))
            distances.touch(own, piece, touches.size, batch)
        else:
            missed = missed_in_two(distances, touches, draws, batch)
        read[batch] = missed[touches.loaded].sum()
    return Misses(float(read.sum()), float(read[batches // 2 :].sum()), kept_dirty(distances, events, size))


class Touches(NamedTuple):
    """The touches of one batch, equal ones once."""

    piece: Integers
    own: Integers  #: partition of the SM that touches
    size: NDArray[np.float64]  #: bytes of the piece in each partition
    loaded: NDArray[np.bool_]  #: a load, not a store


def missed_in_two(
    distances: StackDistances, touches: Touches, draws: NDArray[np.float64], batch: int
) -> NDArray[np.float64]:
    """Bytes that each touch misses, expected, where L2 has two partitions; the pieces become the newest.

    `draws`, one in [0, 1) for each touch, decide which ask the other partition, whose order of age follows from that.
    """
    piece, own, size, loaded = touches
    far = 1 - own
    here = (own * distances.pieces + piece) * 2
    key = np.concatenate([here + own, here + far])
    both, twice = np.concatenate([own, own]), np.concatenate([size, size])
    chance = distances.lookup(both, key, distances.newer())
    at_home, copied = chance[: len(piece)], chance[len(piece) :]
    distances.touch(both, key, twice, batch)
    home = (far * distances.pieces + piece) * 2 + far
    there = np.where(distances.last[home] == batch, 1.0, distances.lookup(far, home, distances.newer()))
    asked = (draws[: len(piece)] >= copied) | ~loaded
    distances.touch(far[asked], home[asked], size[asked], batch)
    missed: NDArray[np.float64] = size * ((1 - at_home) + (1 - copied) * (1 - there))
    return missed


def kept_dirty(distances: StackDistances, events: Events, size: NDArray[np.float64]) -> float:
    """Bytes of D that are still at home in L2 after the last touch."""
    stored = np.arange(events.first_store, events.first_store + events.programs)
    newer, kept, parts = distances.newer(), 0.0, distances.partitions
    for partition in range(parts):
        key = (partition * distances.pieces + stored) * parts + partition
        kept += float((size[stored] * distances.lookup(np.full(len(stored), partition), key, newer)).sum())
    return kept
