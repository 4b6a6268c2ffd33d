"""Block classes: which blocks of a launch provably count alike, so that one of each class stands for all.

Blocks are in one class if every comparison turns out alike in all their threads and rounds and every access goes to
like places: the same bytes of 32-byte sectors in global memory, the same elements of shared memory. By induction over
the steps of a run, their counts are equal then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Line, Load, Program
from gemmlab.emulator.proof.spread import Ints
from gemmlab.emulator.proof.stepping import Steered, Stepper, Touch
from gemmlab.emulator.tallies import Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Classes of blocks. A block's number is x + gridDim.x * (y + gridDim.y * z).

    `representatives` and `counts` are of each class, its first block and how many blocks it has; `labels` of each
    block, its class. `touches` are the accesses over all blocks, by the identity of their statements.
    """

    representatives: NDArray[np.int64]
    counts: NDArray[np.int64]
    labels: NDArray[np.int64]
    why: str
    touches: dict[int, Touch]


@dataclass(frozen=True, slots=True)
class Brute:
    """No classes are proven: every block has to be run, for a reason at a line."""

    reason: str
    line: Line


def classes(program: Program, launch: Launch) -> Classes | Brute:
    """The block classes of a launch, or why there are none."""
    stepper = Stepper(program, launch)
    try:
        stepper.run()
    except Steered as found:
        return Brute(f"{found.blame.what} steers threads", found.line)
    tell_meetings_apart(program, stepper)
    gx, gy, gz = launch.grid
    labels = labelled([stepper.pins.arrays[pin] for pin in sorted(stepper.steering)], (gz, gy, gx))
    count = int(labels.max()) + 1
    first = np.empty(count, np.int64)
    first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
    sizes = np.bincount(labels, minlength=count)
    what = "1 class" if count == 1 else f"{count:,} classes"
    why = f"{labels.size:,} blocks in {what}: no branch or address depends on data"
    return Classes(first, sizes, labels, why, stepper.touches)


def tell_meetings_apart(program: Program, stepper: Stepper) -> None:
    """Steer by how far apart accesses to one written array lie in a block, so that races are alike within a class."""
    groups: dict[str, list[Touch]] = {}
    for touch in stepper.touches.values():
        array = program.arrays[touch.statement.array]
        groups.setdefault(array.base or array.name, []).append(touch)
    for group in groups.values():
        if all(isinstance(touch.statement, Load) for touch in group):
            continue
        places = [stepper.memory.address(program.arrays[t.statement.array], t.index, t.offset) for t in group]
        for place in places[1:]:
            stepper.steering |= stepper.pins.pin(place - places[0])


def labelled(pins: Iterable[Ints], shape: tuple[int, int, int]) -> Ints:
    """A class number of each block, in the grid's order, such that blocks of one class agree in all pins.

    Pins along the same axes are put together first, while they are short.
    """
    along: dict[tuple[int, ...], Ints] = {}
    for pin in sorted(pins, key=lambda p: p.size):
        before = along.get(pin.shape)
        along[pin.shape] = dense(pin) if before is None else dense(paired(before, dense(pin)))
    together = np.zeros((1, 1, 1), np.int64)
    for part in sorted(along.values(), key=lambda p: p.size):
        together = dense(paired(together, part))
    return np.ascontiguousarray(np.broadcast_to(together, shape)).ravel()


def paired(x: Ints, y: Ints) -> Ints:
    """A number for each pair of class numbers."""
    return x * (int(y.max()) + 1) + y


def dense(array: Ints) -> Ints:
    """The array with its distinct numbers replaced by 0, 1, 2 ..., in their order."""
    lo, hi = int(array.min()), int(array.max())
    if hi - lo > 4 * array.size + 1024:
        return np.unique(array, return_inverse=True)[1].reshape(array.shape).astype(np.int64)
    present = np.zeros(hi - lo + 1, np.int64)
    present[(array - lo).ravel()] = 1
    return (np.cumsum(present) - 1)[array - lo]


def verify(
    found: Classes, run_block: Callable[[int], Outcome], members: int, rng: np.random.Generator
) -> tuple[int, str | None]:
    """Run members of each class, drawn by `rng`, against its representative.

    Returns how many blocks were compared, and in words the first that counts otherwise, None if none does.
    """
    compared = 0
    for label, first in enumerate(found.representatives):
        others = np.flatnonzero(found.labels == label)[1:]
        if not others.size:
            continue
        expected = run_block(int(first)).tallies
        for block in rng.choice(others, min(members, others.size), replace=False):
            compared += 1
            if run_block(int(block)).tallies != expected:
                return compared, f"block {block} counts otherwise than block {first} of its class"
    return compared, None


def coordinates(block: int, launch: Launch) -> tuple[int, int, int]:
    """BlockIdx of a block's number."""
    gx, gy, _ = launch.grid
    return block % gx, block // gx % gy, block // math.prod((gx, gy))
