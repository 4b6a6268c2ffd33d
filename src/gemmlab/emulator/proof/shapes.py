"""Whether a kernel is free of races at all shapes: for blocks as launched, by z3, about any two threads.

The search is for two threads, a shape and a grid at which they conflict: where there is none, there is none at any.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Program, WarpOp, walk
from gemmlab.emulator.proof.taint import taint

NOT_INSTALLED = "z3 is not installed: `pip install gemmlab[proof]`"


@dataclass(frozen=True, slots=True)
class Shapes:
    """What is shown of all shapes. `proven` is None where nothing could be tried; `why` in words.

    `assumptions` are relations between sizes, as they hold at the launch, that the proof rests on. `possible` is a
    conflict that was found, not yet seen to happen. With both, it is shown under the assumptions only, such as that
    extents are whole tiles, and the conflict is one elsewhere.
    """

    proven: bool | None
    why: str
    assumptions: tuple[str, ...] = ()
    possible: str = ""


def prove_shapes(
    program: Program, launch: Launch, seconds: float = 20.0, clock: Callable[[], float] = time.monotonic
) -> Shapes:
    """Whether no two threads conflict, at any extents, integer arguments and grid; at most that many seconds."""
    if find_spec("z3") is None:
        return Shapes(None, NOT_INSTALLED)
    steers = taint(program).steers
    if steers:
        return Shapes(False, f"not shown: {steers[0].what} steers {steers[0].how} at line {steers[0].line.number}")
    for statement in walk(program.body):
        if isinstance(statement, WarpOp) and statement.kind == "syncwarp":
            line = program.sites[statement.site].line.number
            return Shapes(False, f"not shown: the order that syncwarp gives lanes, at line {line}, is not followed")
    if sum(array.space == "dynamic" for array in program.arrays.values()) > 1:
        return Shapes(False, "not shown: several arrays in dynamic shared memory lie over each other")
    from gemmlab.emulator.proof.paths import NotFollowedError
    from gemmlab.emulator.proof.search import search

    try:
        return search(program, launch, clock() + seconds, clock)
    except NotFollowedError as cut:
        return Shapes(False, f"not shown: {cut.what} at line {cut.line.number} is not followed over all shapes")


def listed(words: tuple[str, ...]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
