"""Patterns of addresses whose counters are recorded: element numbers by thread; below zero the thread is left out."""

from __future__ import annotations

import numpy as np

SLOTS = 1088
LANES = 32


def steady(*key: int) -> np.random.RandomState:
    """Random numbers that stay the same in every version of numpy."""
    return np.random.RandomState(list(key))


STRIDES = (1, 2, 3, 4, 5, 8, 16, 17, 32, 33)


def global_patterns(threads: int) -> dict[str, np.ndarray]:
    """Patterns of a launch of so many threads, of element numbers under 8192."""
    t = np.arange(threads)
    patterns = {f"stride {s}": s * t for s in STRIDES}
    patterns |= {
        "broadcast": 0 * t + 5,
        "pairs": t // 2,
        "a word a warp": t // LANES * 9,
        "reverse": threads - 1 - t,
        "xor 5": t ^ 5,
        "permutation": steady(1).permutation(threads),
        "random": steady(2).randint(0, 8192, threads),
        "random, near": steady(3).randint(0, 256, threads),
        "two regions": t % 2 * 4096 + t // 2,
        "halves of a warp apart": t % 16 + t // 16 * 1024 % 8192,
        "every second thread": np.where(t % 2, -1, t),
        "one lane a warp": np.where(t % LANES == 7, t, -1),
        "no thread of a warp": np.where(t // LANES == 1, -1, t),
        "the first fifty": np.where(t < 50, t, -1),
        "random, some left out": np.where(steady(4).rand(threads) < 0.4, -1, steady(5).randint(0, 512, threads)),
    }
    return patterns


def shared_patterns() -> dict[str, np.ndarray]:
    """Patterns of one warp, of element numbers under SLOTS."""
    lane = np.arange(LANES)
    patterns = {f"stride {s}": s * lane for s in STRIDES}
    patterns |= {
        "broadcast": 0 * lane + 3,
        "pairs": lane // 2,
        "fours": lane // 4,
        "eights": lane // 8,
        "modulo 16": lane % 16,
        "modulo 8": lane % 8,
        "modulo 2": lane % 2,
        "reverse": 31 - lane,
        "xor 5": lane ^ 5,
        "permutation": steady(11).permutation(LANES),
        "two rows, odd and even": lane % 2 * 32 + lane // 2,
        "two rows, halves": lane % 16 + lane // 16 * 32,
        "two rows, halves, other banks": lane % 16 + lane // 16 * 48,
        "broadcast to even lanes": np.where(lane % 2, lane, 0),
        "broadcast to a half": np.where(lane < 16, 0, lane),
        "two broadcasts, one bank": lane // 16 * 32,
        "two broadcasts, other banks": lane // 16 * 33,
        "odd lanes": np.where(lane % 2, lane, -1),
        "odd lanes, stride 16": np.where(lane % 2, 16 * lane, -1),
        "first half": np.where(lane < 16, lane, -1),
        "second half": np.where(lane < 16, -1, lane),
        "first half, stride 2": np.where(lane < 16, 2 * lane, -1),
        "first quarter": np.where(lane < 8, lane, -1),
        "a lane of each quarter": np.where(lane % 8 == 3, lane, -1),
        "a lane of each quarter, one bank": np.where(lane % 8 == 3, lane // 8 * 32, -1),
        "one lane": np.where(lane == 13, 77, -1),
        "first and last lane, one bank": np.where(lane == 0, 0, np.where(lane == 31, 64, -1)),
    }
    for bit in (1, 2, 4, 8, 16):
        patterns[f"lanes {bit} apart alike, stride 1"] = lane & ~bit
        patterns[f"lanes {bit} apart alike, stride 16"] = (lane & ~bit) * 16
    for seed in range(4):
        patterns[f"random {seed}"] = steady(20, seed).randint(0, 1024, LANES)
        patterns[f"random, near {seed}"] = steady(21, seed).randint(0, 48, LANES)
        some = steady(22, seed).randint(0, 512, LANES)
        patterns[f"random, some left out {seed}"] = np.where(steady(23, seed).rand(LANES) < 0.5, -1, some)
    return patterns


def packed(lane: np.ndarray, bit: int) -> np.ndarray:
    """Element numbers from 0 up, alike for lanes that only this bit of their numbers tells apart."""
    return lane % bit + lane // (2 * bit) * bit


def wide_patterns() -> dict[str, np.ndarray]:
    """Patterns of one warp that tell when parts of a warp, at 8 or 16 bytes a lane, are served together."""
    lane = np.arange(LANES)
    patterns = {f"lanes {bit} apart alike": packed(lane, bit) for bit in (1, 2, 4, 8, 16)}
    one, two = packed(lane, 1), packed(lane, 2)
    patterns |= {
        "lanes alike by 3": lane // 4 * 2 + (lane % 4 + 1) // 2 % 2,
        "lanes 1 apart alike but one": np.where(lane == 9, 20, one),
        "lanes 2 apart alike but one": np.where(lane == 25, 20, two),
        "lanes 1 apart alike in a half": np.where(lane < 16, one, lane),
        "lanes 1 apart alike in the other half": np.where(lane < 16, lane, 16 + one),
        "lanes 1 apart alike, then 2": np.where(lane < 16, one, two),
        "odd lanes, packed": np.where(lane % 2, one, -1),
        "even lanes, packed": np.where(lane % 2, -1, one),
        "every second two lanes": np.where(lane % 4 < 2, two, -1),
        "first and last of four lanes": np.where((lane % 4 + 1) // 2 % 2, -1, one),
        "every second four lanes": np.where(lane % 8 < 4, packed(lane, 4), -1),
        "first and last lane": np.where(lane % 31, -1, lane // 31),
        "lanes 5 and 17": np.where(lane == 5, 3, np.where(lane == 17, 4, -1)),
        "lanes 5, 4 and 17, 19": np.where(lane // 2 == 2, lane, np.where((lane == 17) | (lane == 19), lane, -1)),
    }
    for seed in range(4):
        random = steady(24, seed)
        near, far = random.randint(0, 40, LANES), random.randint(0, 400, LANES)
        one_of, some = random.randint(0, 2, LANES), random.rand(LANES)
        patterns[f"random, lanes 1 apart alike {seed}"] = near[lane // 2]
        patterns[f"random, lanes 2 apart alike {seed}"] = near[two]
        patterns[f"random, far, lanes 1 apart alike {seed}"] = far[lane // 2]
        patterns[f"random, one of two lanes {seed}"] = np.where(lane % 2 == one_of[lane // 2], near, -1)
        patterns[f"random, one of lanes 2 apart {seed}"] = np.where(lane // 2 % 2 == one_of[two], near, -1)
        patterns[f"random, few lanes {seed}"] = np.where(some < 0.15, near, -1)
    return patterns
