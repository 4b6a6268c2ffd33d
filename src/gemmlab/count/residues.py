"""Where requests start within a 32-byte sector, counted by classes instead of one by one.

A histogram maps a start's residue in bits, modulo one sector, to how many requests start there. Starts are sums of
arithmetic progressions (programs, k-steps, rows, batch entries), whose residues repeat: sums over any size are short.
"""

from __future__ import annotations

from math import gcd

SECTOR_BITS = 256  # 32 bytes: what caches and DRAM of NVIDIA chips move at least

DENSE = 1024  # products of lengths past which one large multiplication is faster

Histogram = dict[int, int]


def progression(step: int, count: int, start: int = 0) -> Histogram:
    """Residues of start, start + step, ... (count terms, all in bits)."""
    period = SECTOR_BITS // gcd(step, SECTOR_BITS)
    whole, rest = divmod(count, period)
    terms = range(period if whole else rest)
    return {(start + i * step) % SECTOR_BITS: whole + (i < rest) for i in terms}


def combined(first: Histogram, second: Histogram) -> Histogram:
    """Residues of every sum of one start from each."""
    if len(first) * len(second) > DENSE:
        return convolved(first, second)
    sums: Histogram = {}
    for residue, times in first.items():
        for other, each in second.items():
            at = (residue + other) % SECTOR_BITS
            sums[at] = sums.get(at, 0) + times * each
    return sums


def convolved(first: Histogram, second: Histogram) -> Histogram:
    """The same for many residues: both as digits of one large integer, whose product holds all sums."""
    digit = (sum(first.values()) * sum(second.values())).bit_length() // 8 + 1
    product = (digits(first, digit) * digits(second, digit)).to_bytes(2 * SECTOR_BITS * digit, "little")
    sums: Histogram = {}
    for place in range(2 * SECTOR_BITS):
        times = int.from_bytes(product[place * digit : (place + 1) * digit], "little")
        if times:
            sums[place % SECTOR_BITS] = sums.get(place % SECTOR_BITS, 0) + times
    return sums


def digits(histogram: Histogram, size: int) -> int:
    """The integer whose digit of `size` bytes at each residue is its count."""
    return sum(times << (residue * size * 8) for residue, times in histogram.items())


def subtracted(whole: Histogram, part: Histogram) -> Histogram:
    """What is left of `whole` without `part`, which lies in it."""
    left = {residue: times - part.get(residue, 0) for residue, times in whole.items()}
    return {residue: times for residue, times in left.items() if times}


def added(first: Histogram, second: Histogram) -> Histogram:
    """Both together."""
    return {residue: first.get(residue, 0) + second.get(residue, 0) for residue in first.keys() | second.keys()}
