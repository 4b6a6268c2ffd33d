"""What a name or an attribute means before anything runs: module members, types, constants, arrays, tuples."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gemmlab.emulator.lower.types import TYPES
from gemmlab.emulator.program import Const, Expr


@dataclass(frozen=True, slots=True)
class ArrayRef:
    """An array of the program, with the indices of its first axes where those are already given."""

    name: str
    prefix: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """A tuple, known by its items."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """A member of numba.cuda or of math, by its dotted name."""

    dotted: str


@dataclass(frozen=True, slots=True)
class Object:
    """Anything else of Python that the kernel sees: a type, a device function, a module, a string."""

    value: Any


@dataclass(frozen=True, slots=True)
class Clash:
    """A name that means one array on one path and another on the other."""

    line: int


Static = ArrayRef | Group | Path | Object | Clash
Value = Expr | Static

_CUDA_MODULES = ("numba.cuda", "numba.cuda.simulator", "numba.cuda.cudadrv")
#: members of numba.cuda that are often imported by their own names
_MEMBERS = [
    "grid",
    "gridsize",
    "syncthreads",
    "syncthreads_count",
    "syncthreads_and",
    "syncthreads_or",
    "syncwarp",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "laneid",
    "warpsize",
    "shared",
    "local",
    "const",
    "atomic",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_down_sync",
    "shfl_xor_sync",
    "ballot_sync",
    "any_sync",
    "all_sync",
    "eq_sync",
    "activemask",
    "fma",
    "selp",
    "popc",
    "brev",
    "clz",
    "ffs",
    "cbrt",
]


def number(value: object) -> Const | None:
    """A Python or numpy scalar as a constant, typed as numba types it; None for anything else."""
    if isinstance(value, bool):
        return Const("bool", value)
    if isinstance(value, int):
        return Const("int64" if value < 2**63 else "uint64", value) if -(2**63) <= value < 2**64 else None
    if isinstance(value, float) and type(value) is float:
        return Const("float64", value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic) and value.dtype.name in TYPES:
        return Const(str(value.dtype.name), value.item())
    return None


def meaning(value: object) -> Value:
    """What a Python object stands for in a kernel."""
    if (constant := number(value)) is not None:
        return constant
    if isinstance(value, tuple):
        return Group(tuple(meaning(item) for item in value))
    if isinstance(value, ModuleType):
        return _module(value)
    if (dotted := _imported(value)) is not None:
        return Path(dotted)
    return Object(value)


def _module(module: ModuleType) -> Value:
    name = module.__name__
    if name in _CUDA_MODULES or name.endswith((".numba.cuda", ".cuda.simulator")):
        return Path("cuda")
    return Path("math") if name == "math" else Object(module)


def _imported(value: object) -> str | None:
    """The dotted name of a member of math or numba.cuda that was imported by itself."""
    import math

    for dotted, module, names in (("math", math, vars(math)), ("cuda", sys.modules.get("numba.cuda"), _MEMBERS)):
        if module is None:
            continue
        for name in names:
            if value is getattr(module, name, None) and not isinstance(value, (int, float)):
                return f"{dotted}.{name}"
    return None


def scalar_type(value: object) -> str | None:
    """The numpy name of a type given as numba, numpy or Python gives it, or by its name; None where it is no scalar's.

    Python's own int, float and bool are int64, float64 and bool, as numba takes them.
    """
    for python, kind in ((int, "int64"), (float, "float64"), (bool, "bool")):
        if value is python:
            return kind
    name = value if isinstance(value, str) else getattr(value, "__name__", None) or str(value)
    name = {"bool_": "bool", "boolean": "bool", "intp": "int64", "uintp": "uint64"}.get(name, name)
    known = isinstance(value, (str, type)) or type(value).__module__.startswith(("numba", "numpy"))
    return name if known and name in TYPES else None
