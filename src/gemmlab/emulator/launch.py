"""What one emulated launch is: grid, block, arguments and shared memory, all of it possible on a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gemmlab.chips import Chip, get
from gemmlab.emulator.program import Array, Atomic, Const, Program, Store, walk
from gemmlab.record import GemmlabError

GRID_LIMITS = (2**31 - 1, 65535, 65535)  #: CUDA C++ Programming Guide, compute capabilities: since 3.0
BLOCK_LIMITS = (1024, 1024, 64)
THREADS_LIMIT = 1024
STATIC_SHARED_LIMIT = 48 * 1024  #: bytes; ptxas refuses more on every architecture, the rest is dynamic only
SHARED_LIMIT = 227 * 1024  #: bytes a block, static and dynamic, compute capability 9.0
TYPES = frozenset({"bool", "float16", "float32", "float64"}) | {f"{u}int{8 << k}" for u in ("", "u") for k in range(4)}

Triple = tuple[int, int, int]
Fill = Literal["zero", "nan"]


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A launch: `args` in the kernel's order, each a numpy array or a numpy scalar.

    `fill` is what shared and local memory hold before they are written: zeros, or NaN where the type has it.
    """

    grid: Triple
    block: Triple
    args: tuple[Any, ...]
    dynamic_shared_bytes: int = 0
    fill: Fill = "zero"

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return math.prod(self.grid)

    @property
    def threads(self) -> int:
        """Threads of one block."""
        return math.prod(self.block)


def launch_of(
    program: Program | None,
    grid: int | Iterable[int],
    block: int | Iterable[int],
    args: Iterable[Any],
    *,
    dynamic_shared_bytes: int = 0,
    fill: Fill = "zero",
    chip: str | Chip | None = None,
) -> Launch:
    """A launch of that program, its grid and block as ints or 1- to 3-tuples.

    Without a program, arguments are checked by themselves only. `chip` bounds threads and shared memory; without one,
    the largest that CUDA allows holds. Raises GemmlabError for what no GPU would launch.
    """
    grid_3, block_3 = triple("grid", grid, GRID_LIMITS), triple("block", block, BLOCK_LIMITS)
    limits = chip_limits(chip)
    if math.prod(block_3) > limits.threads:
        raise GemmlabError(
            f"a block of {spelled(block_3)} has {math.prod(block_3)} threads; {limits.whose} takes {limits.threads}",
            "a smaller block and a larger grid",
        )
    if fill not in ("zero", "nan"):
        raise GemmlabError(f"shared memory cannot be filled with {fill!r}", "`zero` or `nan`")
    values = tuple(argument(place, value) for place, value in enumerate(args))
    if program is not None:
        match_arguments(program, values)
        check_shared(program, dynamic_shared_bytes, limits)
    check_dynamic(dynamic_shared_bytes, limits)
    return Launch(grid_3, block_3, values, int(dynamic_shared_bytes), fill)


def triple(what: str, given: int | Iterable[int], limits: Triple) -> Triple:
    """`grid` or `block` as x, y, z."""
    sides: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) else (given,)
    if not 1 <= len(sides) <= 3:
        raise GemmlabError(f"{what} {given!r} has {len(sides)} axes", f"{what} is an int or 1 to 3 ints: x, y, z")
    for axis, side, limit in zip("xyz", sides, limits, strict=False):
        if isinstance(side, bool | np.bool_) or not isinstance(side, int | np.integer):
            raise GemmlabError(f"{what} {given!r}: {side!r} is no int", f"{what} is an int or 1 to 3 ints: x, y, z")
        if not 1 <= side <= limit:
            raise GemmlabError(f"{what}.{axis} is {side}", f"{what}.{axis} is from 1 to {limit}")
    padded = [*map(int, sides), 1, 1]
    return padded[0], padded[1], padded[2]


def spelled(sides: Triple) -> str:
    """`16x16`: axes up to the last that is not 1."""
    axes = max((axis for axis in range(3) if sides[axis] != 1), default=0)
    return "x".join(str(side) for side in sides[: axes + 1])


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a block: threads, bytes of shared memory, and who says so."""

    whose: str
    threads: int
    shared: int


def chip_limits(chip: str | Chip | None) -> Limits:
    """The limits of a chip, or CUDA's own."""
    if chip is None:
        return Limits("CUDA", THREADS_LIMIT, SHARED_LIMIT)
    found = get(chip) if isinstance(chip, str) else chip
    if found.limits is None:
        raise GemmlabError(f"{found.name} runs no kernels of threads and blocks", "a GPU, such as h100-sxm")
    threads = min(THREADS_LIMIT, int(found.limits.threads_per_program))
    return Limits(found.name, threads, int(found.limits.shared_bytes_per_program))


def argument(place: int, value: Any) -> Any:
    """An argument as kernels know it: a numpy array, or a numpy scalar of the type numba gives a Python number."""
    if isinstance(value, bool):
        value = np.bool_(value)
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise GemmlabError(f"argument {place + 1}: {value} does not fit in 64 bits", "a smaller int, or a float")
        value = np.int64(value) if value < 2**63 else np.uint64(value)
    elif isinstance(value, float):
        value = np.float64(value)
    if not isinstance(value, np.ndarray | np.generic):
        raise GemmlabError(
            f"argument {place + 1} is a {type(value).__name__}", "kernels take numpy arrays, ints, floats and bools"
        )
    if value.dtype.name not in TYPES or not value.dtype.isnative:
        raise GemmlabError(f"argument {place + 1} is of type {value.dtype}", f"types are {', '.join(sorted(TYPES))}")
    if isinstance(value, np.ndarray) and not 1 <= value.ndim <= 3:
        raise GemmlabError(f"argument {place + 1} is an array of {value.ndim} axes", "arrays have 1 to 3 axes")
    return value


def match_arguments(program: Program, values: tuple[Any, ...]) -> None:
    """Raise GemmlabError unless the values are what the program was made for."""
    if len(values) != len(program.arguments):
        names = ", ".join(argument.name for argument in program.arguments)
        raise GemmlabError(
            f"{program.name} takes {len(program.arguments)} arguments, got {len(values)}", f"they are {names}"
        )
    stored = {program.arrays[name].base or name for name in stored_arrays(program)}
    for wanted, value in zip(program.arguments, values, strict=True):
        ndim = value.ndim if isinstance(value, np.ndarray) else None
        if (value.dtype.name, ndim) != (wanted.type, wanted.ndim):
            raise GemmlabError(
                f"argument {wanted.name} is {described(value.dtype.name, ndim)}; "
                f"{program.name} was read for {described(wanted.type, wanted.ndim)}",
                "read the kernel anew for these arguments",
            )
        if ndim is not None and not value.flags.writeable and wanted.name in stored:
            raise GemmlabError(f"{program.name} stores to {wanted.name}, which is read-only", "pass a copy of it")


def described(kind: str, ndim: int | None) -> str:
    """`float32[:, :]`, or `int64` of a scalar."""
    return kind if ndim is None else f"{kind}[{', '.join([':'] * ndim)}]"


def stored_arrays(program: Program) -> frozenset[str]:
    """Arrays and views that some statement writes."""
    return frozenset(statement.array for statement in walk(program.body) if isinstance(statement, Store | Atomic))


def static_bytes(program: Program) -> int:
    """Bytes of static shared memory that a block of the program takes."""
    return sum(bytes_of(array) for array in program.arrays.values() if array.space == "shared")


def bytes_of(array: Array) -> int:
    """Bytes of an array whose extents are constants."""
    elements = math.prod(int(extent.value) for extent in array.extents if isinstance(extent, Const))
    return elements * np.dtype(array.type).itemsize


def check_shared(program: Program, dynamic: int, limits: Limits) -> None:
    """Raise GemmlabError where a block takes more shared memory than there is."""
    static = static_bytes(program)
    most = min(STATIC_SHARED_LIMIT, limits.shared)
    if static > most:
        sizes = ", ".join(f"{a.name} {bytes_of(a)}" for a in program.arrays.values() if a.space == "shared")
        raise GemmlabError(
            f"{program.name} takes {static} bytes of static shared memory ({sizes}); the most is {most}",
            "smaller tiles, or dynamic shared memory: cuda.shared.array(0, dtype)",
        )
    if static + dynamic > limits.shared:
        raise GemmlabError(
            f"{program.name} takes {static} static and {dynamic} dynamic bytes of shared memory; "
            f"{limits.whose} has {limits.shared} a block",
            "smaller tiles or fewer stages",
        )


def check_dynamic(dynamic: int, limits: Limits) -> None:
    """Raise GemmlabError unless that many bytes of dynamic shared memory may be asked for."""
    if isinstance(dynamic, bool) or not isinstance(dynamic, int | np.integer) or dynamic < 0:
        raise GemmlabError(f"{dynamic!r} bytes of dynamic shared memory", "an int from 0")
    if dynamic > limits.shared:
        raise GemmlabError(
            f"{dynamic} bytes of dynamic shared memory; {limits.whose} has {limits.shared} a block",
            "smaller tiles or fewer stages",
        )
