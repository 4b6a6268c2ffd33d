"""The arguments of a kernel that multiplies: which of its parameters are A, B and C, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.check import integer_operands, operands
from gemmlab.check.storage import Stored
from gemmlab.experiment.arguments import TYPES
from gemmlab.experiment.memory import addresses, require_memory
from gemmlab.experiment.parameters import Parameter
from gemmlab.formats import dtype_of
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

SIZES = ("m", "n", "k", "lda", "ldb", "ldc")
FACTORS = ("alpha", "beta")

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of the parameters that are the operands, and of those that are sizes and factors, by what they are."""

    a: str
    b: str
    c: str
    scalars: Mapping[str, str]  #: `m`, `alpha`, ... by the parameter's name
    axes: Mapping[str, int]  #: of the operands: 2, or 1 where a kernel indexes them flat
    reads: bool  #: the kernel reads or updates C, so that C may not start as poison

    @property
    def names(self) -> tuple[str, str, str]:
        """A, B and C."""
        return self.a, self.b, self.c


def roles(kernel: str, given: Sequence[Parameter], elsewhere: frozenset[str]) -> Roles:
    """Which parameter is what; those `elsewhere` are given by name and are none of it.

    C is the array that is written, A and B the other two in order; where none or several are written, the third is C.
    Numbers are known by their names, in any case. Raises GemmlabError where three arrays cannot be told.
    """
    free = [parameter for parameter in given if parameter.name not in elsewhere]
    scalars = {p.name: p.name.lower() for p in free if not p.is_array and p.name.lower() in SIZES + FACTORS}
    arrays = [p for p in free if p.is_array]
    unknown = [p.name for p in free if not p.is_array and p.name not in scalars]
    if len(arrays) != 3:
        found = ", ".join(p.name for p in arrays) or "none"
        raise GemmlabError(
            f"{kernel} has {len(arrays)} arrays of its own to fill ({found}); a multiplication has A, B and C",
            "--arg NAME=VALUE gives any further array; without --shape, --arg gives all",
        )
    if unknown:
        known = ", ".join(SIZES + FACTORS)
        raise GemmlabError(
            f"{kernel} has a parameter `{unknown[0]}`, of which --shape says nothing",
            f"--arg {unknown[0]}=VALUE; known by name are {known}",
        )
    written = [p for p in arrays if p.written]
    c = written[0] if len(written) == 1 else arrays[2]
    a, b = (p for p in arrays if p is not c)
    for operand in (a, b, c):
        if operand.ndim not in (1, 2):
            raise GemmlabError(f"{kernel} indexes {operand.name} with {operand.ndim} axes", "a matrix has 2, or 1 flat")
    axes = {p.name: p.ndim or 2 for p in (a, b, c)}
    return Roles(a.name, b.name, c.name, scalars, axes, c.read)


@dataclass(frozen=True, slots=True)
class Filled:
    """A multiplication's arguments by parameter, and what its result is checked against."""

    values: dict[str, Any]
    result: Array  #: C as (m, n), a view of the argument
    a: Array  #: (m, k)
    b: Array  #: (k, n)
    addend: Array | None  #: C as it was, where beta is not 0


def check_formats(problem: Gemm) -> None:
    """Raise GemmlabError for what numba.cuda kernels cannot hold."""
    for operand in ("a", "b", "c"):
        name = getattr(problem, f"{operand}_format")
        if name not in TYPES:
            raise GemmlabError(f"numba.cuda kernels have no {name}", f"formats: {', '.join(TYPES[1:])}")


def check_factors(kernel: str, problem: Gemm, roles: Roles) -> None:
    """Raise GemmlabError for an alpha or beta that the kernel has no way to know; adding to C is a beta of 1."""
    known = set(roles.scalars.values())
    if problem.alpha != 1 and "alpha" not in known:
        raise GemmlabError(f"{kernel} has no parameter `alpha`, so alpha is 1", "leave --alpha out")
    own = (0.0, 1.0) if roles.reads else (0.0,)
    if problem.beta not in own and "beta" not in known:
        raise GemmlabError(
            f"{kernel} has no parameter `beta`, so beta is {' or '.join(f'{b:g}' for b in own)}", "--beta 0"
        )


def require_room(problem: Gemm) -> None:
    """Raise GemmlabError where operands, and the float64 values that they are drawn and checked as, take too much."""
    sides = ((problem.m, problem.k), (problem.k, problem.n), (problem.m, problem.n))
    elements = [rows * columns for rows, columns in sides]
    stored = sum(count * dtype_of(problem.a_format).itemsize for count in elements) + elements[2] * 8
    require_memory(stored + 2 * 8 * max(elements))


def filled(problem: Gemm, roles: Roles, *, seed: int = 0, exact: bool = False) -> Filled:
    """Random arguments, integers whose sums are exact in any order if asked for.

    Where beta is 0, C is poison, but zeros for a kernel that reads or adds to it.
    """
    require_room(problem)
    drawn = (integer_operands if exact else operands)(problem, seed)
    c = drawn.c if problem.beta != 0 else drawn.d
    if roles.reads and problem.beta == 0:
        c.storage[...] = 0
    addend = np.array(drawn.c.array) if problem.beta != 0 else None
    parts = {"a": drawn.a, "b": drawn.b, "c": c}
    values: dict[str, Any] = {}
    for operand, name in zip("abc", roles.names, strict=True):
        values[name] = shaped(problem, operand, parts[operand], roles.axes[name])
    return Filled(values | scalars(problem, roles), c.array, drawn.a.array, drawn.b.array, addend)


def shaped(problem: Gemm, operand: str, stored: Stored, axes: int) -> Array:
    """An operand as the kernel gets it: as it is stored, in two axes or flat with its gaps."""
    if axes == 1:
        rows, _, gap = stored_sides(problem, operand)
        return np.asarray(stored.storage[stored.storage.size - rows * gap :])
    turned = operand != "c" and problem.layout["ab".index(operand)] == "t"
    matrix = np.asarray(stored.array)
    return matrix.T if turned else matrix


def stored_sides(problem: Gemm, operand: str) -> tuple[int, int, int]:
    """Stored rows, columns, and elements between two rows."""
    if operand == "a":
        return (*problem.a_stored, problem.lda)
    if operand == "b":
        return (*problem.b_stored, problem.ldb)
    return problem.m, problem.n, problem.ldc


def blank(problem: Gemm, roles: Roles) -> dict[str, Any]:
    """Arguments that take addresses alone, for counting without values."""
    values: dict[str, Any] = {}
    for operand, name in zip("abc", roles.names, strict=True):
        kind = dtype_of(getattr(problem, f"{operand}_format"))
        rows, columns, gap = stored_sides(problem, operand)
        flat = addresses(rows * gap * kind.itemsize).view(kind)
        values[name] = flat if roles.axes[name] == 1 else flat.reshape(rows, gap)[:, :columns]
    return values | scalars(problem, roles)


def scalars(problem: Gemm, roles: Roles) -> dict[str, Any]:
    """Sizes as int64, factors in the type of the sums (float64 for integers)."""
    wide = problem.accumulate in ("float64", "int32")
    factor = np.float64 if wide else np.float32
    return {
        name: factor(getattr(problem, what)) if what in FACTORS else np.int64(getattr(problem, what))
        for name, what in roles.scalars.items()
    }
