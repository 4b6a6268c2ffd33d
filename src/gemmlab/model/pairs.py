"""Many (multiplication, kernel) pairs of one chip and one set of formats, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemmlab.formats import bits_of
from gemmlab.model.road import ROAD_BYTES

Values = NDArray[np.float64]


class Pairs(NamedTuple):
    """Arrays of one shape: sizes in elements, `a_bytes` and its like of one element."""

    m: Values
    n: Values
    k: Values
    batch: Values
    block_m: Values
    block_n: Values
    block_k: Values
    split_k: Values
    group_m: Values
    cluster_m: Values  #: programs that share B's tile by multicast
    cluster_n: Values  #: programs that share A's
    resident: Values  #: programs on one SM
    load_elements: Values  #: of A in one global load, as alignment allows; at 16 bytes the fast road
    a_bytes: Values
    b_bytes: Values
    d_bytes: Values
    thread_m: Values  #: outputs of one thread along m; ordinary kernels
    thread_n: Values
    issue: Values  #: cycles of an SM's load unit for one k of one tile, where threads load element by element
    bubble: Values  #: steps of a program, for each k, that nothing overlaps
    work: Values  #: share of the m*n*k products that the structure needs


def pairs_of(
    m: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    block_m: ArrayLike,
    block_n: ArrayLike,
    *,
    a_format: str,
    b_format: str | None = None,
    d_format: str | None = None,
    block_k: ArrayLike = 64,
    split_k: ArrayLike = 1,
    group_m: ArrayLike = 8,
    cluster_m: ArrayLike = 1,
    cluster_n: ArrayLike = 1,
    resident: ArrayLike = 1,
    batch: ArrayLike = 1,
    load_elements: ArrayLike | None = None,
    thread_m: ArrayLike = 8,
    thread_n: ArrayLike = 8,
    issue: ArrayLike = 0,
    bubble: ArrayLike = 0,
    work: ArrayLike = 1,
) -> Pairs:
    """Broadcast sizes and tilings, in elements, to arrays of one shape, at least one-dimensional; formats by name.

    What each argument means stands at its field of Pairs; `load_elements` left out means rows at multiples of 16 bytes.
    """
    a_bytes = bits_of(a_format) / 8
    columns: dict[str, ArrayLike] = {
        "m": m, "n": n, "k": k, "batch": batch,
        "block_m": block_m, "block_n": block_n, "block_k": block_k, "split_k": split_k, "group_m": group_m,
        "cluster_m": cluster_m, "cluster_n": cluster_n, "resident": resident,
        "load_elements": ROAD_BYTES / a_bytes if load_elements is None else load_elements,
        "a_bytes": a_bytes, "b_bytes": bits_of(b_format or a_format) / 8, "d_bytes": bits_of(d_format or a_format) / 8,
        "thread_m": thread_m, "thread_n": thread_n, "issue": issue, "bubble": bubble, "work": work,
    }  # fmt: skip
    arrays = np.broadcast_arrays(*(np.asarray(column, dtype=np.float64) for column in columns.values()))
    return Pairs(**{name: np.atleast_1d(array) for name, array in zip(columns, arrays, strict=True)})
