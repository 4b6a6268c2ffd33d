"""Where operands lie: one flat storage, and views of its matrices with offsets and gaps between rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab.formats import dtype_of, get
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class Stored(NamedTuple):
    """One operand: its flat storage, and its matrices as views of it."""

    storage: Array  #: one dimension; starts at an aligned address, the operand's offset from it included
    matrices: tuple[Array, ...]  #: (rows, columns) of the multiplication, of each batch entry or member
    array: Any  #: the same as one array, (batch, rows, columns) where there is a batch; a tuple for groups


def poison(name: str) -> Array:
    """A code that no honest result is likely to hold, of shape (): NaN with all bits set, the lowest integer."""
    form, kind = get(name), dtype_of(name)
    if form.kind == "int":
        return np.array(-(1 << form.mantissa_bits) if form.signed else form.max_magnitude).astype(kind)
    if form.nan == "none":
        return np.array(float(np.array(form.max_magnitude, np.uint8).view(kind))).astype(kind)
    if form.nan == "negative_zero":
        return np.array(np.nan).astype(kind)
    return np.array((1 << 8 * kind.itemsize) - 1, f"u{kind.itemsize}").view(kind)


def first_element(problem: Gemm, operand: str, name: str) -> int:
    """Elements between the aligned address and an operand's first one; raises GemmlabError where that is no number."""
    offset: int = getattr(problem, f"{operand}_offset_bytes")
    whole, rest = divmod(offset * 8, get(name).storage_bits)
    if rest:
        raise GemmlabError(
            f"{operand}_offset_bytes={offset} is no whole number of {name}'s {get(name).storage_bits}-bit elements",
            "an offset of whole elements",
        )
    return whole


def stored(problem: Gemm, operand: str, name: str) -> Stored:
    """Storage of `a`, `b` or `c` (D is stored as C is) in a format, all of it poison, and its matrices as views.

    Elements that hardware packs (fewer than 8 bits) take a byte each here, as ml_dtypes keeps them. Batch entries and
    members of a group stand one after another.
    """
    sides = [placed(member, operand) for member in problem.members]
    lengths = [rows * ld for rows, _, ld, _ in sides]
    start = first_element(problem, operand, name)
    storage = np.full(start + problem.batch * sum(lengths), poison(name))
    matrices: list[Array] = []
    for (rows, columns, ld, turned), length in zip(sides, lengths, strict=True):
        entries = storage[start : start + problem.batch * length].reshape(problem.batch, rows, ld)[:, :, :columns]
        entries = entries.swapaxes(1, 2) if turned else entries
        matrices += list(entries)
        start += problem.batch * length
    if problem.groups:
        return Stored(storage, tuple(matrices), tuple(matrices))
    return Stored(storage, tuple(matrices), entries if problem.batch > 1 else matrices[0])


def placed(member: Gemm, operand: str) -> tuple[int, int, int, bool]:
    """Stored rows, columns, elements between two rows, and whether the matrix is stored transposed."""
    if operand == "a":
        return (*member.a_stored, member.lda, member.layout[0] == "t")
    if operand == "b":
        return (*member.b_stored, member.ldb, member.layout[1] == "t")
    return member.m, member.n, member.ldc, False


def poisoned(problem: Gemm) -> Stored:
    """Storage for D in which no element is written yet: `check_bounds` tells those that stay so from wrong ones."""
    return stored(problem, "c", problem.d_format)
