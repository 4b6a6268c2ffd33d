"""What every thread of one block reads and writes, step by step, as if its threads went in step."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import msgspec
import numpy as np

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Program
from gemmlab.emulator.reference.block import Access, Block, Meeting
from gemmlab.emulator.reference.running import STEP_LIMIT, kind, run_reference
from gemmlab.emulator.reference.translation import Node, translation
from gemmlab.emulator.shown_files import shown
from gemmlab.emulator.summing import fault
from gemmlab.record import FaultSection, GemmlabError

Triple = tuple[int, int, int]
Placed = tuple[int, tuple[int, ...], "Step"]  #: epoch, position in the kernel, and the step


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One statement, as all threads that come to it in the same rounds of its loops execute it."""

    epoch: int  #: interval between barriers, from 0; a barrier is the last step of its own
    file: str  #: of the line
    line: int  #: where it stands
    kind: str  #: load, store or atomic; barrier, or warpop of a warp
    array: str  #: on which array; empty of a barrier or warp operation
    threads: tuple[int, ...]  #: their numbers x + y*bx + z*bx*by
    index: tuple[tuple[int, ...], ...]  #: the element of each
    value: tuple[float | int | bool | None, ...]  #: read or written by each; null where not finite


class TracedArray(msgspec.Struct, frozen=True, kw_only=True):
    """An array that the block touches."""

    space: str  #: global, shared or local
    type: str  #: of its elements
    shape: tuple[int, ...]  #: along each axis


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """One block of a launch."""

    version: int = 1  #: of this form; it changes where a key's meaning does
    kernel: str  #: its name
    file: str  #: where it stands
    grid: Triple  #: blocks along x, y, z
    block: Triple  #: threads along x, y, z
    traced: Triple  #: the block's own x, y, z
    arrays: dict[str, TracedArray]  #: by the kernel's names
    texts: dict[str, str]  #: of the kernel's lines, by number
    steps: tuple[Step, ...]  #: in order
    faults: tuple[FaultSection, ...]  #: of this block alone

    def to_json(self) -> str:
        """As one JSON object."""
        return msgspec.json.encode(self).decode()


def trace(
    kernel: object, program: Program, launch: Launch, block: Triple = (0, 0, 0), step_limit: int | None = None
) -> Trace:
    """Trace a block by the plain interpreter; the launch's arrays stay as they are.

    Threads run one after the other from barrier to barrier; the steps are put in the order of threads that go in step.
    Values of a racy kernel are those of that run. Raises GemmlabError for a block that the grid does not have.
    """
    if len(block) != 3 or not all(0 <= at < side for at, side in zip(block, launch.grid, strict=True)):
        raise GemmlabError(f"block {block} is not in a grid of {launch.grid}", "x, y and z from 0")
    blocks: list[Block] = []
    copies = [value.copy() if isinstance(value, np.ndarray) else value for value in launch.args]
    outcome = run_reference(
        kernel,
        launch.grid,
        launch.block,
        *copies,
        dynamic_shared_bytes=launch.dynamic_shared_bytes,
        fill=launch.fill,
        blocks=[block],
        on_block=blocks.append,
        step_limit=step_limit or STEP_LIMIT,
    )
    nodes = translation(kernel, tuple(kind(value) for value in launch.args)).nodes
    accesses, meetings = blocks[0].accesses, blocks[0].meetings
    moves = [*steps(accesses, nodes), *(waiting(meeting, nodes) for meeting in meetings)]
    return Trace(
        kernel=program.name,
        file=shown(program.files[0]),
        grid=launch.grid,
        block=launch.block,
        traced=block,
        arrays={access.array.name: described(access.array) for access in accesses},
        texts={str(line.number): text for line, text in program.sources.items() if line.file == 0},
        steps=tuple(step for _, _, step in sorted(moves, key=lambda move: move[:2])),
        faults=tuple(fault(found, shown) for found in outcome.faults),
    )


def described(array: Any) -> TracedArray:
    """An array's memory, type and shape."""
    values = array.values
    return TracedArray(space=array.storage.space, type=values.dtype.name, shape=tuple(map(int, values.shape)))


def waiting(meeting: Meeting, nodes: list[Node]) -> Placed:
    """A barrier or warp operation of the threads that met at it."""
    node = nodes[meeting.node]
    return (
        meeting.epoch,
        meeting.position,
        Step(
            epoch=meeting.epoch,
            file=shown(node.place.file),
            line=node.place.number,
            kind=node.kind,
            array="",
            threads=tuple(thread.number for thread in meeting.threads),
            index=(),
            value=(),
        ),
    )


def steps(accesses: list[Access], nodes: list[Node]) -> list[Placed]:
    """Accesses of one statement in the same rounds put together, with their places in the order of threads in step."""
    together: dict[tuple[Any, ...], list[Access]] = defaultdict(list)
    for access in accesses:
        together[access.epoch, access.position, access.kind, access.array.name].append(access)
    return [
        (
            epoch,
            position,
            Step(
                epoch=epoch,
                file=shown(nodes[position[-1]].place.file),
                line=nodes[position[-1]].place.number,
                kind=access_kind,
                array=array,
                threads=tuple(access.thread.number for access in done),
                index=tuple(tuple(map(int, access.index)) for access in done),
                value=tuple(plain(access.value) for access in done),
            ),
        )
        for (epoch, position, access_kind, array), done in together.items()
    ]


def plain(value: Any) -> float | int | bool | None:
    """A number as JSON has it; None where it is not finite."""
    number = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number
