"""The dense A that a structure means."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gemmlab.check.storage import Array
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError


def dense(problem: Gemm, a: Array) -> Array:
    """A (m, k) as the multiplication means it, a copy: what the structure leaves out is 0, whatever is stored there.

    Triangular is lower; symmetric takes its lower half; banded keeps -upper_band <= i - j <= lower_band. A 2:4 sparse
    A is given dense; raises GemmlabError where more than two of four neighbours along k are not 0.
    """
    return window(problem, a, slice(0, problem.m), slice(0, problem.k))


def window(problem: Gemm, a: Array, rows: slice, columns: slice) -> Array:
    """The part of `dense` in these rows and columns."""
    part = a[rows, columns]
    if problem.structure == "general":
        return part
    if problem.structure == "sparse_2_4":
        check_two_of_four(a[rows], rows.start)
        return part
    i = np.arange(rows.start, rows.start + part.shape[0])[:, None]
    j = np.arange(columns.start, columns.start + part.shape[1])
    if problem.structure == "symmetric":
        return np.where(j <= i, part, a[columns, rows].T)
    return np.where(kept(problem, i - j), part, np.zeros((), part.dtype))


def kept(problem: Gemm, below: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether a triangular or banded A has elements that many places below its diagonal."""
    if problem.structure == "triangular":
        return below >= 0
    return (below >= -problem.upper_band) & (below <= problem.lower_band)


def check_two_of_four(rows: Array, first: int) -> None:
    """Raise GemmlabError where a 2:4 sparse A has more than two nonzeros among four neighbours."""
    full = (rows.reshape(rows.shape[0], -1, 4) != 0).sum(axis=2) > 2
    if full.any():
        row, four = np.argwhere(full)[0]
        raise GemmlabError(
            f"A is no 2:4 sparse matrix: row {first + row}, columns {4 * four} to {4 * four + 3} hold more than two "
            "nonzeros",
            "structure general, or zero two of every four",
        )
