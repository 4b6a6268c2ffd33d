"""L2 touch by touch: one or two LRU caches by bytes, as OrderedDicts."""

from collections import OrderedDict

import numpy as np

from gemmlab.model.noise import uniform


class Lru:
    """One partition: what was touched last stays while it fits."""

    def __init__(self, capacity):
        self.capacity, self.held, self.used = capacity, OrderedDict(), 0.0

    def distance(self, key):
        """Bytes touched since the key was, or None where it is not there; what is evicted is still known."""
        newer = 0.0
        for other in reversed(self.held):
            if other == key:
                return newer
            newer += self.held[other]
        return None

    def touch(self, key, size):
        """Make it the newest; True where it was there."""
        hit = key in self.held
        if hit:
            self.used -= self.held.pop(key)
        self.held[key] = size
        self.used += size
        while self.used > self.capacity and len(self.held) > 1:
            _, gone = self.held.popitem(last=False)
            self.used -= gone
        return hit


def sides(cache):
    """The partition of each SM: half of them each, drawn."""
    return np.argsort(np.argsort(uniform(cache.sms, 7))) % cache.partitions


def reads(events, cache):
    """DRAM bytes read at each touch, and bytes of D that are at home in L2 at the end.

    A piece lies by halves in both partitions. What is at home in the SM's own partition is read from there or from
    DRAM; the other half from a copy in its own partition, else from its home, else from DRAM, and a copy stays.
    """
    parts = [Lru(cache.capacity_bytes / cache.partitions) for _ in range(cache.partitions)]
    side = sides(cache)
    per_touch = []
    for a, b, slot in zip(events.a.tolist(), events.b.tolist(), events.slot.tolist(), strict=True):
        own = side[slot % cache.sms]
        read = 0.0
        for piece in (a, b) if b >= 0 else (a,):
            size = float(events.bytes[piece]) / cache.partitions
            loaded = piece < events.first_store
            missed = not parts[own].touch((piece, own), size)
            if cache.partitions == 2:
                far = 1 - own
                if not parts[own].touch((piece, far), size) or not loaded:
                    missed += not parts[far].touch((piece, far), size)
            read += missed * size * loaded
        per_touch.append(read)
    kept = sum(
        float(events.bytes[piece]) / cache.partitions
        for home, part in enumerate(parts)
        for piece, half in part.held
        if piece >= events.first_store and half == home
    )
    return per_touch, kept


def near_the_edge(events, cache, margin):
    """Bytes of the touches whose piece was touched before within `margin` bytes of the capacity; one partition.

    Only there may a simulation that knows distances to within the margin say otherwise than LRU.
    """
    order, near = Lru(float("inf")), 0.0
    for a, b in zip(events.a.tolist(), events.b.tolist(), strict=True):
        for piece in (a, b) if b >= 0 else (a,):
            size = float(events.bytes[piece])
            newer = order.distance(piece)
            if newer is not None and piece < events.first_store and abs(newer + size - cache.capacity_bytes) <= margin:
                near += size
            order.touch(piece, size)
    return near
