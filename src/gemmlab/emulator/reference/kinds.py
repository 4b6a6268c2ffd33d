"""What a name of a kernel may stand for, and what it stands for where two ways through the kernel meet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gemmlab.emulator.reference import rules


@dataclass(frozen=True, slots=True)
class Static:
    """An object known before the kernel runs: a literal, a global, a module, a function."""

    value: Any


@dataclass(frozen=True, slots=True)
class ArrayKind:
    """An array of that numba type and number of axes."""

    element: Any
    ndim: int


@dataclass(frozen=True, slots=True)
class TupleKind:
    """A tuple of values of those kinds."""

    items: tuple[Any, ...]


Kind = Any  #: a numba scalar type, or one of the above
Names = dict[str, Kind]  #: the private variables that have a value, and of what kind


def of_number(value: Any) -> Kind | None:
    """The numba type of a Python or numpy number; None for anything else."""
    import numpy as np

    if isinstance(value, bool):
        return rules.kind_of("bool")
    if isinstance(value, int):
        return rules.kind_of("int64" if value < 2**63 else "uint64")
    if isinstance(value, float):
        return rules.kind_of("float64")
    if isinstance(value, np.generic):
        return rules.kind_of(value.dtype.name)
    return None


def joined(first: Kind, second: Kind) -> Kind | None:
    """The kind of a name that has one kind on one way and another on the other; None where there is none."""
    if first == second:
        return first
    if isinstance(first, TupleKind) and isinstance(second, TupleKind) and len(first.items) == len(second.items):
        items = tuple(joined(a, b) for a, b in zip(first.items, second.items, strict=True))
        return None if None in items else TupleKind(items)
    if rules.is_scalar(first) and rules.is_scalar(second):
        return rules.unify(first, second)
    return None


def merged(ways: Iterable[Names | None]) -> Names | None:
    """The names where ways meet, those of ways that do not get there (None) left out.

    A name without a value on one way keeps its kind from the others, as in numba: to read it there is a mistake.
    """
    met: Names | None = None
    for way in ways:
        if way is None:
            continue
        if met is None:
            met = dict(way)
            continue
        for name, kind in way.items():
            both = joined(met[name], kind) if name in met else kind
            if both is None:
                del met[name]
            else:
                met[name] = both
    return met
