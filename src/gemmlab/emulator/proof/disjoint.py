"""Whether blocks of a launch keep out of each other's way in global memory, shown without running them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Atomic, Load, Program
from gemmlab.emulator.proof.blocks import dense, paired
from gemmlab.emulator.proof.split import Split
from gemmlab.emulator.proof.spread import Ints
from gemmlab.emulator.proof.stepping import Touch

LOOKED_AT = 1 << 22  #: pairs of a block and a distance that are looked at one by one


@dataclass(frozen=True, slots=True)
class Disjoint:
    """Whether it is shown that no two blocks meet where one writes; `why` in words."""

    shown: bool
    why: str


def disjoint_writes(program: Program, launch: Launch, touches: dict[int, Touch]) -> Disjoint:
    """Whether no element that a block writes is read or written by another block, atomics among themselves aside.

    `touches` are a launch's accesses as `classes` gives them.
    """
    if launch.blocks == 1:
        return Disjoint(True, "there is one block")
    meeting = overlapping(program, launch)
    if meeting is not None:
        return Disjoint(False, meeting)
    groups: dict[str, list[Touch]] = {}
    for touch in touches.values():
        array = program.arrays[touch.statement.array]
        if program.arrays[array.base or array.name].space == "global":
            groups.setdefault(array.base or array.name, []).append(touch)
    for name, group in groups.items():
        if all(isinstance(t.statement, Load) for t in group) or all(isinstance(t.statement, Atomic) for t in group):
            continue
        if any(program.arrays[t.statement.array].base for t in group):
            return Disjoint(False, f"`{name}` is written through views")
        if not apart(launch, group):
            return Disjoint(False, f"blocks may meet in `{name}`")
    return Disjoint(True, "the parts of arrays that blocks write are apart")


def overlapping(program: Program, launch: Launch) -> str | None:
    """Written arguments that share memory, with another or with themselves, in words."""
    arrays = {a.name: v for a, v in zip(program.arguments, launch.args, strict=True) if a.ndim is not None}
    written = set(stored(program))
    for (one, x), (other, y) in combinations(arrays.items(), 2):
        if written & {one, other} and np.shares_memory(x, y):
            return f"`{one}` and `{other}` share memory"
    return next((f"elements of `{name}` share memory" for name in sorted(written) if folded(arrays[name])), None)


def stored(program: Program) -> list[str]:
    """Arguments that a statement writes, as such or through a view."""
    from gemmlab.emulator.launch import stored_arrays

    names = [program.arrays[name].base or name for name in stored_arrays(program)]
    return [name for name in names if program.arrays[name].space == "global"]


def folded(array: NDArray[Any]) -> bool:
    """Whether two elements of an array may lie in the same bytes."""
    reach = array.itemsize
    for stride, side in sorted((abs(stride), side) for stride, side in zip(array.strides, array.shape, strict=True)):
        if side > 1 and stride < reach:
            return True
        reach += stride * (side - 1)
    return False


def apart(launch: Launch, group: list[Touch]) -> bool:
    """Whether the accesses of any two blocks to one array are shown to be apart along some axis."""
    gx, gy, gz = launch.grid
    axes = [[touch.index[axis] for touch in group] for axis in range(len(group[0].index))]
    strips = [strip_of(splits) for splits in axes]
    if all(strip is not None for strip in strips):
        together = np.zeros((1, 1, 1), np.int64)
        for strip in strips:
            together = dense(paired(together, strip)) if strip is not None else together
        if together.size == launch.blocks and int(together.max()) + 1 == launch.blocks:
            return True
    return len(axes) == 1 and (shifted_apart(axes[0], (gz, gy, gx)) or interleaved(axes[0], (gz, gy, gx)))


def interleaved(splits: list[Split], shape: tuple[int, int, int]) -> bool:
    """Whether blocks keep to places of their own in each step of the grid, as in a loop in such steps."""
    first = splits[0]
    if any(s.rest.teeth is None or s.lo() < 0 or not s.rest.same(first.rest) for s in splits) or any(
        not np.array_equal(s.u, first.u) for s in splits
    ):
        return False
    assert first.rest.teeth is not None
    width, by = first.rest.teeth
    places = np.sort(np.broadcast_to((first.u + int(first.rest.lo)) % by, shape).ravel())
    gaps = np.diff(places, append=places[0] + by)
    return bool((gaps > width).all())


def strip_of(splits: list[Split]) -> Ints | None:
    """Number of the strip of an axis that each block keeps to; strips do not meet. None where indices may wrap."""
    lo, hi = (np.zeros((1, 1, 1), np.int64), np.zeros((1, 1, 1), np.int64))
    for place, split in enumerate(splits):
        if split.lo() < 0 or not split.rest.finite:
            return None
        first, last = split.u + int(split.rest.lo), split.u + int(split.rest.hi)
        lo, hi = (first, last) if place == 0 else (np.minimum(lo, first), np.maximum(hi, last))
    shape = np.broadcast_shapes(lo.shape, hi.shape)
    starts, ends = np.broadcast_to(lo, shape).ravel(), np.broadcast_to(hi, shape).ravel()
    by_start = np.argsort(starts, kind="stable")
    reached = np.maximum.accumulate(ends[by_start])
    begins = np.concatenate(([0], starts[by_start][1:] > reached[:-1])).astype(np.int64)
    strips = np.empty(starts.size, np.int64)
    strips[by_start] = np.cumsum(begins)
    return strips.reshape(shape)


def shifted_apart(splits: list[Split], shape: tuple[int, int, int]) -> bool:
    """Whether copies of one set of elements, shifted by what each block adds, never meet."""
    first = splits[0]
    if any(s.rest.listed is None or s.lo() < 0 or not np.array_equal(s.u, first.u) for s in splits):
        return False
    elements = np.unique(np.concatenate([s.rest.listed for s in splits if s.rest.listed is not None]))
    shifts = np.unique(np.broadcast_to(first.u, shape))
    if shifts.size < np.prod(shape) or elements.size**2 > LOOKED_AT:
        return False
    distances = np.unique(elements[:, None] - elements[None, :])
    distances = distances[distances > 0]
    if distances.size * shifts.size > LOOKED_AT:
        return False
    return not np.isin(shifts[:, None] + distances[None, :], shifts).any()
