"""A matrix unit seen from outside: experiments go in, codes come out, many at a time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import Codes, operand, typed
from gemmlab.numerics.probing.computing import computed, rows_computed
from gemmlab.record import GemmlabError

TOGETHER = 48  # experiments of one call: only the diagonal of rows by columns is read


class Row(NamedTuple):
    """One experiment: a row of A, a column of B and an element of C, zeros where nothing is said."""

    slots: dict[int, tuple[int, int]]  #: k -> codes of A and B
    c: int = 0  #: code of the addend
    words: str = ""  #: the experiment, for people


class Rows(NamedTuple):
    """Experiments as arrays of codes."""

    a: Codes  #: (count, k)
    b: Codes  #: (count, k)
    c: Codes  #: (count,)


class Backend:
    """Any callable `mma(a, b, c)`, on arrays of the formats' own types.

    A callable that takes no c has its C hidden: such a unit is only asked experiments without one. A callable with an
    attribute `pairs(a, b, c)` computes the dot products of rows by itself, which saves reading diagonals. `k` fixes the
    length of every call. Raises GemmlabError where what comes back has not the shape or type that was agreed.
    """

    def __init__(
        self, call: Callable[..., Any], a_format: str, b_format: str, accumulate: str, k: int | None, hidden: bool
    ) -> None:
        self.call, self.a_format, self.b_format, self.accumulate = call, a_format, b_format, accumulate
        self.k, self.hidden = k, hidden
        self.calls = 0
        self.asked = 0

    def rows(self, rows: Sequence[Row], least: int = 1) -> Rows:
        """Experiments as arrays, of the fixed k or just long enough."""
        length = max([least, *(max(row.slots, default=-1) + 1 for row in rows)])
        if self.k is not None:
            if length > self.k:
                raise GemmlabError(f"an experiment needs k = {length}, k is fixed at {self.k}", f"k = {length} or more")
            length = self.k
        a = np.zeros((len(rows), length), code_type(formats.get(self.a_format)))
        b = np.zeros((len(rows), length), code_type(formats.get(self.b_format)))
        c = np.zeros(len(rows), code_type(formats.get(self.accumulate)))
        for at, row in enumerate(rows):
            c[at] = row.c
            for k, (x, y) in row.slots.items():
                a[at, k], b[at, k] = x, y
        return Rows(a, b, c)

    def pairs(self, rows: Rows) -> Codes:
        """Codes (count,): what the unit answers to each experiment."""
        direct = getattr(self.call, "pairs", None)
        if direct is not None:
            self.calls += 1
            self.asked += len(rows.c)
            out = direct(typed(rows.a, self.a_format), typed(rows.b, self.b_format), *self.addend(rows.c))
            return self.checked(out, rows.c.shape)
        d = np.empty_like(rows.c)
        # Equal columns stand once: experiments are taken in the order of their columns.
        order = np.lexsort(rows.b.T[::-1]) if len(rows.c) else np.arange(0)
        for start in range(0, len(order), TOGETHER):
            chosen = order[start : start + TOGETHER]
            columns, which = np.unique(rows.b[chosen], axis=0, return_inverse=True)
            c = np.repeat(rows.c[chosen][:, None], len(columns), axis=1)
            out = self.block(rows.a[chosen], columns.T, c)
            d[chosen] = out[np.arange(len(chosen)), which.reshape(-1)]
        return d

    def block(self, a: Codes, b: Codes, c: Codes) -> Codes:
        """Codes (m, n) of A @ B + C for codes of shapes (m, k), (k, n), (m, n): m * n experiments."""
        if self.k is not None and a.shape[1] < self.k:
            a = np.pad(a, ((0, 0), (0, self.k - a.shape[1])))
            b = np.pad(b, ((0, self.k - b.shape[0]), (0, 0)))
        self.calls += 1
        self.asked += c.size
        out = self.call(
            typed(np.ascontiguousarray(a), self.a_format), typed(np.ascontiguousarray(b), self.b_format),
            *self.addend(c),
        )  # fmt: skip
        return self.checked(out, c.shape)

    def addend(self, c: Codes) -> tuple[npt.NDArray[Any], ...]:
        """C as the callable takes it: not at all where it is hidden."""
        if not self.hidden:
            return (typed(np.ascontiguousarray(c), self.accumulate),)
        if c.any():
            raise GemmlabError("this backend takes no C, and an experiment has one", "leave C out")
        return ()

    def checked(self, out: Any, shape: tuple[int, ...]) -> Codes:
        """The codes of an answer; raises GemmlabError where it is not of the agreed kind."""
        d = np.asarray(out)
        form = formats.get(self.accumulate)
        if d.shape != shape:
            raise GemmlabError(f"the unit returned shape {d.shape}, {shape} is due", "d has the shape of c")
        if d.dtype.name != self.accumulate:
            raise GemmlabError(
                f"the unit returned {d.dtype.name}, the accumulator was said to be {self.accumulate}",
                f"accumulate='{d.dtype.name}'",
            )
        return np.ascontiguousarray(d).view(code_type(form))


class Emulated:
    """A unit that gemmlab emulates, as a callable like any other."""

    def __init__(self, unit: Unit, a_format: str, b_format: str) -> None:
        if unit.scaled:
            raise GemmlabError(
                f"{unit.name} takes block scales, which reveal does not probe",
                "give a callable that fixes the scales, e.g. to 1: reveal(lambda a, b, c: mma(unit, a, b, c, ...), ..)",
            )
        self.unit, self.names = unit, (a_format, b_format)

    def __call__(self, a: Any, b: Any, c: Any = None) -> npt.NDArray[Any]:
        """D = A @ B + C."""
        left, right = self.coded(a, b)
        addend = self.addend(c, (left.shape[0], right.shape[1]))
        return typed(computed(self.unit, left, right, addend, self.names), self.unit.accumulate)

    def pairs(self, a: Any, b: Any, c: Any = None) -> npt.NDArray[Any]:
        """Dot products of rows."""
        left, right = self.coded(a, b)
        addend = self.addend(c, left.shape[:1])
        return typed(rows_computed(self.unit, left, right, addend, self.names), self.unit.accumulate)

    def coded(self, a: Any, b: Any) -> tuple[Codes, Codes]:
        """Both operands' codes."""
        return operand(a, self.names[0], "A").codes, operand(b, self.names[1], "B").codes

    def addend(self, c: Any, shape: tuple[int, ...]) -> Codes:
        """C's codes, zeros where there is none."""
        if c is None:
            return np.zeros(shape, code_type(formats.get(self.unit.accumulate)))
        return operand(c, self.unit.accumulate, "C").codes


def takes_no_c(call: Callable[..., Any]) -> bool:
    """Whether a callable has room for two arguments only; what has no signature is taken to have room for three."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return False
    try:
        signature.bind(None, None, None)
    except TypeError:
        return True
    return False
