"""The product in float64, a block at a time, beside the sum of its terms' magnitudes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gemmlab.check.storage import Array, Floats
from gemmlab.check.structure import window
from gemmlab.formats import float32_to_tfloat32
from gemmlab.formats.array import real_numbers
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

SIDE = 1024  # of a block: a few of 8 MiB are held at once
UNIT = 2.0**-53  # of float64


class Entry(NamedTuple):
    """One multiplication of a batch or group, its matrices as arrays of two dimensions."""

    where: tuple[int, ...]  #: its index; empty where the problem is one multiplication
    problem: Gemm
    a: Array
    b: Array
    d: Array
    c: Array | None
    tfloat32_rounding: str

    def a_values(self, rows: slice, columns: slice) -> Floats:
        """A's values, structure and input rounding applied."""
        return self.values(window(self.problem, self.a, rows, columns), self.problem.a_format)

    def b_values(self, rows: slice, columns: slice) -> Floats:
        """B's values, input rounding applied."""
        return self.values(self.b[rows, columns], self.problem.b_format)

    def c_values(self, rows: slice, columns: slice) -> Floats:
        """C's values; zeros where beta never reads it."""
        if self.c is None:
            return np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        return self.c[rows, columns].astype(np.float64)

    def values(self, part: Array, name: str) -> Floats:
        """Elements as float64, rounded to tfloat32 first where they are float32 words of that format."""
        if name == "tfloat32" and part.dtype == np.float32:
            part = float32_to_tfloat32(part, self.tfloat32_rounding)
        return part.astype(np.float64)


class Block(NamedTuple):
    """Some rows and columns of D: A @ B there, and |A| @ |B|."""

    rows: slice
    columns: slice
    sums: Floats
    sizes: Floats


def entries(problem: Gemm, a: Any, b: Any, d: Any, c: Any, tfloat32_rounding: str) -> list[Entry]:
    """The multiplications of a problem; raises GemmlabError where an array has not the problem's shape."""
    if problem.epilogue:
        raise GemmlabError(
            f"a result after the epilogue `{problem.epilogue}` has no bound here",
            'check what it starts from: problem.replace(epilogue="")',
        )
    if problem.scale is not None:
        raise GemmlabError(
            f"block scales `{problem.scale}` are not applied here",
            "multiply A and B by their scales, and give problem.replace(scale=None)",
        )
    if problem.beta != 0 and c is None:
        raise GemmlabError(f"beta={problem.beta:g} reads C, and there is no C", "give c=")
    members = problem.members
    parts = [
        matrices("A", a, problem, [(p.m, p.k) for p in members]),
        matrices("B", b, problem, [(p.k, p.n) for p in members]),
        matrices("D", d, problem, [(p.m, p.n) for p in members]),
    ]
    cs = matrices("C", c, problem, [(p.m, p.n) for p in members]) if problem.beta != 0 else [None] * len(parts[0])
    named = [(index,) for index in range(len(cs))] if problem.groups or problem.batch > 1 else [()]
    of = members if problem.groups else members * problem.batch
    return [
        Entry(where, member, a=left, b=right, d=result, c=addend, tfloat32_rounding=tfloat32_rounding)
        for where, member, left, right, result, addend in zip(named, of, *parts, cs, strict=True)
    ]


def matrices(name: str, given: Any, problem: Gemm, shapes: list[tuple[int, int]]) -> list[Any]:
    """An operand's matrices; raises GemmlabError where there are not as many, or not of these shapes."""
    if problem.groups:
        if not isinstance(given, list | tuple):
            raise GemmlabError(f"{name} is one {type(given).__name__}, not a matrix for each member", "a list of them")
        parts = [real_numbers(part) for part in given]
    else:
        whole = real_numbers(given)
        parts = list(whole) if problem.batch > 1 else [whole]
        shapes = shapes * problem.batch
    if len(parts) != len(shapes):
        raise GemmlabError(f"{name} has {len(parts)} matrices, the problem {len(shapes)}")
    for part, shape in zip(parts, shapes, strict=True):
        if part.shape != shape:
            told = " x ".join(map(str, part.shape)) or "a number"
            raise GemmlabError(
                f"{name} is {told}, not {shape[0]} x {shape[1]}",
                "operands are given as they are multiplied: A (m, k), B (k, n), a transposed view where stored so",
            )
    return parts


def spans(size: int, step: int) -> list[slice]:
    """Slices of `step` that cover `size`."""
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def blocks(entry: Entry, tile: tuple[int, int, int]) -> Iterator[Block]:
    """All blocks of one multiplication, whole tiles each; memory stays bounded whatever the sides are."""
    down, across = (step * max(1, SIDE // step) for step in tile[:2])
    for rows in spans(entry.problem.m, down):
        for columns in spans(entry.problem.n, across):
            shape = rows.stop - rows.start, columns.stop - columns.start
            sums, sizes = np.zeros(shape), np.zeros(shape)
            for inner in spans(entry.problem.k, SIDE):
                a, b = entry.a_values(rows, inner), entry.b_values(inner, columns)
                sums += a @ b
                sizes += np.abs(a) @ np.abs(b)
            yield Block(rows, columns, sums, sizes)
