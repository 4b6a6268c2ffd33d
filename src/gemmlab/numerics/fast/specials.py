"""NaN and infinities, apart from the finite sums: which outputs they reach, by words of 64 k at a time.

NaN and infinities absorb: a chain that met one never comes back to finite values. So the classes of a whole chain's
products, taken together, say what its output is, but for one case: an infinity among the products and another that
the running sum reached by itself. Those outputs are for whoever goes through the chain step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.fast.floats import Target, magnitude_of
from gemmlab.numerics.fast.jit import compiled
from gemmlab.numerics.fast.split import INF, NAN, NEGATIVE, ZERO, Parts

Words = npt.NDArray[np.uint64]


def masks(a: Parts, b: Parts) -> tuple[tuple[Any, Words], tuple[Any, Words]] | None:
    """Of A's rows and B's columns: whether each has a NaN; bits of infinities, zeros and signs (3, count, words).

    None where all elements are finite.
    """
    found = [np.take(side.classes, side.index) for side in (a, b)]
    if not any(np.bitwise_or.reduce(each, axis=None) & (NAN | INF) for each in found):
        return None
    made = []
    for classes in (found[0], np.ascontiguousarray(found[1].T)):
        made.append(((classes & NAN).any(axis=1), np.stack([bits(classes & one) for one in (INF, ZERO, NEGATIVE)])))
    return made[0], made[1]


def bits(flags: npt.NDArray[Any]) -> Words:
    """Rows of flags, 64 to a word."""
    short = -flags.shape[1] % 64
    packed = np.packbits(np.pad(flags != 0, ((0, 0), (0, short))), axis=1, bitorder="little")
    return packed.view(np.uint64)


@compiled
def settle(
    a_nan: npt.NDArray[np.bool_], a: Words, b_nan: npt.NDArray[np.bool_], b: Words, c: Any, d: Any, todo: Any,
    paired: bool, to: Target,
) -> None:  # fmt: skip
    """Write the NaN and infinities of products into d (m, n); `todo` (m, n) marks what is left to a slow walk.

    `c` and `d` (m, n) are codes before and after the chain whose special elements counted as zeros. With `paired` row i
    of A meets column i of B alone, and n is 1.
    """
    for i in range(d.shape[0]):
        for j in range(d.shape[1]):
            column = i if paired else j
            nan = a_nan[i] or b_nan[column]
            lost = up = down = np.uint64(0)
            for w in range(a.shape[2]):
                infinite = a[0, i, w] | b[0, column, w]
                negative = a[2, i, w] ^ b[2, column, w]
                lost |= infinite & (a[1, i, w] | b[1, column, w])
                up |= infinite & ~negative
                down |= infinite & negative
            if not (nan or up | down):
                continue
            found = magnitude_of(c[i, j], to)
            code = to.infinity | (to.sign if down else 0)
            if nan or lost or (up and down) or found > to.infinity or (found == to.infinity and c[i, j] != code):
                d[i, j] = to.nan_code
            elif magnitude_of(d[i, j], to) >= to.infinity and d[i, j] != code:
                todo[i, j] = 1
            else:
                d[i, j] = code
