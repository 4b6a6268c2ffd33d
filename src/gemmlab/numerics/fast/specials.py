"""NaN and infinities, apart from the finite sums: which outputs they reach, by words of 64 k at a time.

NaN and infinities absorb: a chain that met one never comes back to finite values. So the classes of a whole chain's
products, taken together, say what its output is, but for one case: an infinity among the products and another that
the running sum reached by itself. Those outputs are for whoever goes through the chain step by step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.fast.floats import Target, magnitude_of
from gemmlab.numerics.fast.jit import compiled
from gemmlab.numerics.fast.split import INF, NAN, Parts

Words = npt.NDArray[np.uint64]


class Marks(NamedTuple):
    """Where one operand has special values, by its rows if it is A, by its columns if it is B."""

    nan: npt.NDArray[np.bool_]  #: (count,): whether there is a NaN
    bits: Words  #: (3, words of 64 k, count): infinities, zeros and signs; no words where nobody has an infinity


def masks(a: Parts, b: Parts) -> tuple[Marks, Marks] | None:
    """Where A's rows and B's columns have special values; None where all elements are finite."""
    sides = a.at, b.at.T
    seen = [classes_in(index, side.classes) for index, side in zip(sides, (a, b), strict=True)]
    if not (seen[0] | seen[1]) & (NAN | INF):
        return None
    words = -(-a.at.shape[1] // 64) if (seen[0] | seen[1]) & INF else 0
    made = []
    for index, side in zip(sides, (a, b), strict=True):
        marks = Marks(np.zeros(len(index), np.bool_), np.zeros((3, words, len(index)), np.uint64))
        mark(index, side.classes, *marks)
        made.append(marks)
    return made[0], made[1]


@compiled
def classes_in(index: Any, classes: npt.NDArray[np.uint8]) -> int:
    """All classes that elements have, together."""
    found = np.uint8(0)
    for i in range(index.shape[0]):
        for k in range(index.shape[1]):
            found |= classes[index[i, k]]
    return np.int64(found)


@compiled
def mark(index: Any, classes: npt.NDArray[np.uint8], nan: Any, bits: Words) -> None:
    """Fill in the fields of Marks from an index (count, k)."""
    for i in range(index.shape[0]):
        found = np.uint8(0)
        for k in range(index.shape[1]):
            found |= classes[index[i, k]]
        nan[i] = found & NAN != 0
        for w in range(bits.shape[1]):
            infinite = zero = negative = np.uint64(0)
            for k in range(64 * w, min(64 * w + 64, index.shape[1])):
                own = np.uint64(classes[index[i, k]])
                at = np.uint64(k - 64 * w)
                infinite |= (own >> np.uint64(1) & np.uint64(1)) << at
                zero |= (own >> np.uint64(2) & np.uint64(1)) << at
                negative |= (own >> np.uint64(3)) << at
            bits[0, w, i], bits[1, w, i], bits[2, w, i] = infinite, zero, negative


@compiled
def settle(a: Marks, b: Marks, c: Any, d: Any, todo: Any, paired: bool, to: Target) -> None:
    """Write the NaN and infinities of products into d (m, n); `todo` (m, n) marks what is left to a slow walk.

    `c` and `d` (m, n) are codes before and after the chain whose special elements counted as zeros. With `paired` row i
    of A meets column i of B alone, and n is 1.
    """
    across = d.shape[1]
    lost, up, down = np.empty(across, np.uint64), np.empty(across, np.uint64), np.empty(across, np.uint64)
    for i in range(d.shape[0]):
        first = i if paired else 0
        lost[:] = 0
        up[:] = 0
        down[:] = 0
        for w in range(a.bits.shape[1]):
            x, y, z = a.bits[0, w, i], a.bits[1, w, i], a.bits[2, w, i]
            for j in range(across):
                infinite = x | b.bits[0, w, first + j]
                negative = z ^ b.bits[2, w, first + j]
                lost[j] |= infinite & (y | b.bits[1, w, first + j])
                up[j] |= infinite & ~negative
                down[j] |= infinite & negative
        for j in range(across):
            nan = a.nan[i] or b.nan[first + j]
            if not nan and up[j] | down[j] == 0:
                continue
            before = c[i, j]
            found = magnitude_of(before, to)
            code = to.infinity | (to.sign if down[j] else 0)
            if (
                nan
                or lost[j]
                or (up[j] and down[j])
                or found > to.infinity
                or (found == to.infinity and before != code)
            ):
                d[i, j] = to.nan_code
            elif magnitude_of(d[i, j], to) >= to.infinity and d[i, j] != code:
                todo[i, j] = 1
            else:
                d[i, j] = code
