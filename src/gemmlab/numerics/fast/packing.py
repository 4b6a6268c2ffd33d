"""Operands laid out for the kernels: k in the order of summing, whole groups, 16 columns of B side by side."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from gemmlab.numerics.fast.jit import compiled
from gemmlab.numerics.fast.split import NOTHING

Ints = npt.NDArray[Any]


@compiled
def rows(index: Ints, exponents: Ints, significands: Ints, order: Ints, e: Ints, m: Ints) -> None:
    """Exponents and significands e, m (rows, ordered k) of an index (rows, k); `order` holds each k, -1 for a zero."""
    for i in range(e.shape[0]):
        for at in range(e.shape[1]):
            k = order[at]
            word = index[i, k] if k >= 0 else index[i, 0]
            e[i, at] = exponents[word] if k >= 0 else NOTHING
            m[i, at] = significands[word] if k >= 0 else 0


@compiled
def blocks(index: Ints, exponents: Ints, significands: Ints, order: Ints, e: Ints, m: Ints) -> None:
    """Exponents and significands e, m (blocks, ordered k, lanes) of an index (k, columns), short blocks with zeros."""
    lanes = e.shape[2]
    for block in range(e.shape[0]):
        wide = min(lanes, index.shape[1] - block * lanes)
        for at in range(e.shape[1]):
            k = order[at]
            for t in range(lanes):
                filled = k >= 0 and t < wide
                word = index[k, block * lanes + t] if filled else index[0, 0]
                e[block, at, t] = exponents[word] if filled else NOTHING
                m[block, at, t] = significands[word] if filled else 0
