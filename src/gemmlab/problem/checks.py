"""What makes a multiplication impossible, said with the value, the rule and a remedy."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.epilogue import EPILOGUES, steps
from gemmlab.problem.structure import SQUARE, STRUCTURES
from gemmlab.record import GemmlabError, unknown_name

if TYPE_CHECKING:
    from gemmlab.problem.statement import Statement

LAYOUTS = ("nn", "nt", "tn", "tt")
LARGEST_SIDE = 1 << 40  # past it byte counts leave what any machine addresses: a digit too many, not a problem
LARGEST_OFFSET = 1 << 20


def whole(name: str, value: Any) -> int:
    """The value as an int, numpy's integers included; raises GemmlabError for anything else, True and 3.0 too."""
    if type(value) is int:
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise GemmlabError(f"{name}={value!r} is not a whole number", "sizes count elements") from None


def side(name: str, value: Any) -> int:
    """A size of at least 1 and at most 2^40; raises GemmlabError."""
    size = whole(name, value)
    if size < 1:
        raise GemmlabError(f"{name}={size} is not a positive size", "every side of a multiplication is at least 1")
    if size > LARGEST_SIDE:
        raise GemmlabError(f"{name}={size} is past the largest side, 2^40 = {LARGEST_SIDE}", "is a digit too many?")
    return size


def group(index: int, sides: Any) -> tuple[int, int, int]:
    """One member of a grouped GEMM as (m, n, k); raises GemmlabError."""
    if not isinstance(sides, Sequence) or isinstance(sides, str) or len(sides) != 3:
        raise GemmlabError(f"groups[{index}]={sides!r} is not a member", "each member is (m, n, k)")
    m, n, k = sides
    return side(f"groups[{index}].m", m), side(f"groups[{index}].n", n), side(f"groups[{index}].k", k)


def leading_dimension(problem: Statement, name: str, stored: tuple[int, int]) -> int:
    """Elements between two stored rows: the given ones, or the row itself; raises GemmlabError where rows overlap."""
    rows, columns = stored
    given = whole(name, getattr(problem, name))
    if given < 0 or 0 < given < columns:
        raise GemmlabError(
            f"{name}={given} is shorter than the {columns} elements of a stored row of {name[-1].upper()} "
            f"({rows}x{columns} in layout `{problem.layout}`)",
            f"{name} is at least {columns}, or leave it out",
        )
    if given > LARGEST_SIDE:
        raise GemmlabError(f"{name}={given} is past the largest side, 2^40 = {LARGEST_SIDE}", "is a digit too many?")
    return given or columns


def check_choices(problem: Statement) -> None:
    """Raise GemmlabError for a layout, structure or epilogue that does not exist, or an impossible offset or factor."""
    if problem.layout not in LAYOUTS:
        raise GemmlabError(
            f"unknown layout `{problem.layout}`", f"one of {', '.join(LAYOUTS)}: A's letter, then B's; t is transposed"
        )
    if problem.structure not in STRUCTURES:
        raise unknown_name("structure", str(problem.structure), STRUCTURES)
    for step in steps(problem.epilogue):
        if step not in EPILOGUES:
            raise unknown_name("epilogue", step, EPILOGUES)
    if problem.a_offset_bytes or problem.b_offset_bytes or problem.c_offset_bytes:
        for name in ("a_offset_bytes", "b_offset_bytes", "c_offset_bytes"):
            if not 0 <= whole(name, getattr(problem, name)) < LARGEST_OFFSET:
                raise GemmlabError(
                    f"{name}={getattr(problem, name)} is not an offset", "a number of bytes from 0 to 2^20"
                )
    if not isinstance(problem.scale, BlockScale | None):
        raise GemmlabError(f"scale={problem.scale!r} is no BlockScale", 'BlockScale.parse("float8_e8m0fnu/32")')
    check_factor("alpha", problem.alpha)
    check_factor("beta", problem.beta)


def check_factor(name: str, factor: Any) -> None:
    """Raise GemmlabError where alpha or beta is no finite number."""
    try:
        finite = math.isfinite(factor)
    except (TypeError, OverflowError):
        finite = False
    if not finite:
        raise GemmlabError(f"{name}={factor!r} is not a finite number")


def check_structure(problem: Statement) -> None:
    """Raise GemmlabError where sides, band or scales do not fit the structure."""
    structure = problem.structure
    if structure in SQUARE and problem.m != problem.k:
        raise GemmlabError(f"a {structure} A is square, but A is {problem.m}x{problem.k}", "m and k must be equal")
    if structure in SQUARE and problem.scale is not None:
        raise GemmlabError(f"a {structure} A has no block scales", "structure general or sparse_2_4 has")
    if structure == "sparse_2_4" and problem.k % 4:
        raise GemmlabError(
            f"2:4 sparsity keeps two of every four along k, and k={problem.k} is no multiple of 4",
            f"pad k to {-(-problem.k // 4) * 4}",
        )
    if not (problem.lower_band or problem.upper_band):
        return
    for name in ("lower_band", "upper_band"):
        width = whole(name, getattr(problem, name))
        if width < 0:
            raise GemmlabError(f"{name}={width} is a negative width", "a number of diagonals, at least 0")
        if width and structure != "banded":
            raise GemmlabError(f"{name}={width}, but A is {structure}", "a band needs structure banded")


def check_groups(problem: Statement) -> None:
    """Raise GemmlabError where a grouped GEMM has what its members cannot share, or sides that are not theirs."""
    if problem.structure != "general" or problem.batch != 1:
        raise GemmlabError("a grouped GEMM has neither a structure nor a batch", "give each member as a group")
    ms, ns, ks = zip(*problem.groups, strict=True)
    if (problem.m, problem.n, problem.k) != (sum(ms), max(ns), max(ks)):
        raise GemmlabError(
            f"m, n, k of a grouped GEMM are {sum(ms)}, {max(ns)}, {max(ks)} by its members, "
            f"not {problem.m}, {problem.n}, {problem.k}",
            "Gemm.grouped(members) sets them",
        )
