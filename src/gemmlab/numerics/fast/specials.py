"""NaN and infinities, apart from the finite sums: which outputs they reach.

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
from gemmlab.numerics.fast.split import INF, NAN, NEGATIVE, ZERO, Parts

Words = npt.NDArray[np.uint64]


LOST, UP, DOWN = 1, 2, 4  # of an output's products: 0 * Inf, +Inf and -Inf


class Side(NamedTuple):
    """Special values of one operand."""

    nan: npt.NDArray[np.bool_]  #: by rows of A, by columns of B: whether there is a NaN
    infinities: npt.NDArray[np.int64]  #: (count, 2): their indices in the matrix
    kinds: npt.NDArray[np.uint8]  #: the class of every element


def found(a: Parts, b: Parts) -> tuple[Side, Side] | None:
    """The special values of A and B; None where all elements are finite."""
    sides = []
    for along, side in ((0, a), (1, b)):
        nan = np.zeros(side.at.shape[along], np.bool_)
        kinds = np.empty(side.at.shape, np.uint8)
        sides.append(Side(nan, listed(side.at, side.classes, along, nan, kinds), kinds))
    if any(side.nan.any() or len(side.infinities) for side in sides):
        return sides[0], sides[1]
    return None


@compiled
def listed(at: Any, classes: npt.NDArray[np.uint8], along: int, nan: Any, kinds: Any) -> npt.NDArray[np.int64]:
    """The indices of a matrix' infinities; `kinds`, and `nan` by its index `along`, are filled in."""
    count = 0
    for i in range(at.shape[0]):
        seen = np.uint8(0)
        for k in range(at.shape[1]):
            kinds[i, k] = classes[at[i, k]]
            seen |= kinds[i, k]
        if seen & INF:
            for k in range(at.shape[1]):
                count += kinds[i, k] >> 1 & 1
        if seen & NAN:
            for k in range(at.shape[1]):
                if kinds[i, k] & NAN:
                    nan[i if along == 0 else k] = True
    places = np.empty((count, 2), np.int64)
    if count:
        count = 0
        for i in range(at.shape[0]):
            for k in range(at.shape[1]):
                if kinds[i, k] & INF:
                    places[count, 0], places[count, 1] = i, k
                    count += 1
    return places


@compiled
def reached(a: Side, b: Side, reach: npt.NDArray[np.uint8]) -> None:
    """Note in reach (m, n) what the products of each infinity make: LOST, UP and DOWN."""
    for n in range(len(a.infinities)):
        i, k = a.infinities[n]
        own = a.kinds[i, k] >> 3
        for j in range(reach.shape[1]):
            other = b.kinds[k, j]
            reach[i, j] |= (other >> 2 & 1) | (UP << ((other >> 3) ^ own))
    for i in range(reach.shape[0] if len(b.infinities) else 0):
        for n in range(len(b.infinities)):
            k, j = b.infinities[n]
            own, other = b.kinds[k, j] >> 3, a.kinds[i, k]
            reach[i, j] |= (other >> 2 & 1) | (UP << ((other >> 3) ^ own))


@compiled
def reached_by_words(a: Words, b: Words, reach: npt.NDArray[np.uint8]) -> None:
    """The same where infinities are many: bits (3, words of 64 k, m or n) of infinities, zeros, signs."""
    across = reach.shape[1]
    lost, up, down = np.empty(across, np.uint64), np.empty(across, np.uint64), np.empty(across, np.uint64)
    for i in range(reach.shape[0]):
        lost[:] = 0
        up[:] = 0
        down[:] = 0
        for w in range(a.shape[1]):
            x, y, z = a[0, w, i], a[1, w, i], a[2, w, i]
            for j in range(across):
                infinite = x | b[0, w, j]
                negative = z ^ b[2, w, j]
                lost[j] |= infinite & (y | b[1, w, j])
                up[j] |= infinite & ~negative
                down[j] |= infinite & negative
        for j in range(across):
            reach[i, j] = (LOST if lost[j] else 0) | (UP if up[j] else 0) | (DOWN if down[j] else 0)


@compiled
def reached_in_pairs(a: Side, b: Side, reach: npt.NDArray[np.uint8]) -> None:
    """The same where row i of A meets column i of B alone; reach (count, 1)."""
    for i in range(reach.shape[0]):
        for k in range(a.kinds.shape[1]):
            own, other = a.kinds[i, k], b.kinds[k, i]
            if (own | other) & INF:
                reach[i, 0] |= ((own | other) >> 2 & 1) | (UP << ((own >> 3) ^ (other >> 3)))


def words(kinds: npt.NDArray[np.uint8]) -> Words:
    """Bits (3, words of 64 k, count) of the infinities, zeros and signs of classes (k, count)."""
    classes = np.pad(kinds, ((0, -kinds.shape[0] % 64), (0, 0)))
    rows = [np.packbits(classes & one != 0, axis=0, bitorder="little") for one in (INF, ZERO, NEGATIVE)]
    turned = np.ascontiguousarray(np.stack(rows).transpose(0, 2, 1)).view(np.uint64)
    return np.ascontiguousarray(turned.transpose(0, 2, 1))


def reach_of(a: Side, b: Side, shape: tuple[int, int], paired: bool) -> npt.NDArray[np.uint8]:
    """What infinite products make of every output, in the cheaper of two ways."""
    reach = np.zeros(shape, np.uint8)
    work = len(a.infinities) * shape[1] + len(b.infinities) * shape[0]
    if work == 0:
        return reach
    if paired:
        reached_in_pairs(a, b, reach)
    elif work < reach.size * a.kinds.shape[1] // 64:
        reached(a, b, reach)
    else:
        reached_by_words(words(a.kinds.T), words(b.kinds), reach)
    return reach


@compiled
def settle(
    a_nan: Any, b_nan: Any, reach: npt.NDArray[np.uint8], c: Any, d: Any, todo: Any, paired: bool, to: Target
) -> None:
    """Write the NaN and infinities of products into d (m, n); `todo` (m, n) marks what is left to a slow walk.

    `c` and `d` (m, n) are codes before and after the chain whose special elements counted as zeros.
    """
    for i in range(d.shape[0]):
        if a_nan[i]:
            d[i, :] = to.nan_code
            continue
        for j in range(d.shape[1]):
            seen = reach[i, j]
            nan = b_nan[i if paired else j]
            if not nan and seen == 0:
                continue
            before = np.int64(c[i, j])
            kind = magnitude_of(before, to)
            code = to.infinity | (to.sign if seen & DOWN else 0)
            nan = nan or seen & LOST != 0 or seen & (UP | DOWN) == UP | DOWN
            if nan or kind > to.infinity or (kind == to.infinity and before != code):
                d[i, j] = to.nan_code
            elif magnitude_of(np.int64(d[i, j]), to) >= to.infinity and np.int64(d[i, j]) != code:
                todo[i, j] = 1
            else:
                d[i, j] = code
