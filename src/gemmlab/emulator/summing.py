"""Rows of counts added up by line, by array and by memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from gemmlab.emulator.tallies import SAME_VALUE, Fault, Key, Place, Tally
from gemmlab.record import (
    Access,
    ArrayCounts,
    FaultSection,
    GlobalAccess,
    LineCounts,
    LocalAccess,
    SharedAccess,
    ThreadPlace,
)

if TYPE_CHECKING:
    from gemmlab.emulator.results import Emulation, Launched

ACCESSES = ("load", "store", "atomic")
BRANCHES = ("if", "for", "while")


def lines(launched: Launched, tallies: Mapping[Key, Tally]) -> tuple[LineCounts, ...]:
    """Counts by line: those of the kernel's file first, by number."""
    rows: dict[Place, dict[Key, Tally]] = defaultdict(dict)
    for key, tally in tallies.items():
        rows[key.place][key] = tally
    order = sorted(rows, key=lambda place: (place.file != launched.file, place.file, place.number))
    return tuple(line(launched, place, rows[place]) for place in order)


def line(launched: Launched, place: Place, rows: Mapping[Key, Tally]) -> LineCounts:
    """Counts of one line."""
    branches = total(tally for key, tally in rows.items() if key.kind in BRANCHES)
    every = total(rows.values())
    return LineCounts(
        file=launched.called(place.file),
        line=place.number,
        text=launched.texts.get((place.file, place.number), ""),
        accesses=tuple(access(launched, key, tally) for key, tally in rows.items() if key.kind in ACCESSES),
        flop=every.flop,
        fma=every.fma,
        branches=branches.requests,
        divergent_branches=branches.splits,
        barrier_waits=total(tally for key, tally in rows.items() if key.kind == "barrier").requests,
    )


def access(launched: Launched, key: Key, tally: Tally) -> Access:
    """What a row of a load, store or atomic says."""
    space = launched.spaces[key.array]
    return Access(
        kind=key.kind,
        array=key.array,
        space=space,
        elements=tally.threads,
        bytes=tally.threads * itemsize(launched.types[key.array]),
        requests=tally.requests,
        sectors=tally.pieces if space == "global" else 0,
        wavefronts=tally.pieces if space == "shared" else 0,
        bank_conflicts=tally.splits if space == "shared" else 0,
    )


def itemsize(name: str) -> int:
    """Bytes of an element of a type, by its numpy name."""
    import numpy as np

    return np.dtype(name).itemsize


def total(tallies: Iterable[Tally]) -> Tally:
    """All added up."""
    return sum(tallies, start=Tally())


def arrays(launched: Launched, tallies: Mapping[Key, Tally]) -> dict[str, ArrayCounts]:
    """Counts by array, of all arrays that the program names."""
    found = {}
    for name, space in launched.spaces.items():
        kinds = {}
        for kind in ACCESSES:
            rows = (tally for key, tally in tallies.items() if (key.kind, key.array) == (kind, name))
            kinds[kind] = access(launched, Key(Place("", 0), kind, name), total(rows))
        found[name] = ArrayCounts(space=space, type=launched.types[name], shape=launched.shapes.get(name), **kinds)
    return found


def of(rows: Iterable[LineCounts], kind: str, space: str) -> list[Access]:
    """Accesses of one kind to one memory."""
    return [each for row in rows for each in row.accesses if (each.kind, each.space) == (kind, space)]


def global_access(rows: Iterable[LineCounts], kind: str) -> GlobalAccess:
    """Accesses of a kind to global memory, all lines together."""
    found = of(rows, kind, "global")
    return GlobalAccess(
        elements=sum(each.elements for each in found),
        bytes=sum(each.bytes for each in found),
        requests=sum(each.requests for each in found),
        sectors=sum(each.sectors for each in found),
    )


def shared_access(rows: Iterable[LineCounts], kind: str) -> SharedAccess:
    """Accesses of a kind to shared memory, all lines together."""
    found = of(rows, kind, "shared")
    return SharedAccess(
        elements=sum(each.elements for each in found),
        bytes=sum(each.bytes for each in found),
        requests=sum(each.requests for each in found),
        wavefronts=sum(each.wavefronts for each in found),
        bank_conflicts=sum(each.bank_conflicts for each in found),
    )


def local_access(rows: Iterable[LineCounts], kind: str) -> LocalAccess:
    """Accesses of a kind to the threads' own arrays, all lines together."""
    found = of(rows, kind, "local")
    return LocalAccess(elements=sum(each.elements for each in found), bytes=sum(each.bytes for each in found))


def fault(found: Fault, called: Callable[[str], str]) -> FaultSection:
    """A fault as a Record holds it, files by the names they are called."""
    return FaultSection(
        kind=found.kind,
        file=called(found.line.file),
        line=found.line.number,
        array=found.array,
        index=tuple(int(i) for i in found.index),
        threads=tuple(ThreadPlace(block=block, thread=thread) for block, thread in found.threads),
        epoch=found.epoch,
        other_file=called(found.other_line.file) if found.other_line else "",
        other_line=found.other_line.number if found.other_line else None,
        access=found.access,
        count=found.count,
        detail=found.detail,
        benign=found.kind == SAME_VALUE,
    )


def summary(emulation: Emulation) -> str:
    """A line for each memory that is used, for the work, and for what was found."""
    launched = emulation.launched
    sides = ["x".join(map(str, trimmed(side))) for side in (launched.grid, launched.block)]
    said = [f"{launched.kernel}: {sides[0]} blocks of {sides[1]} threads, {emulation.blocks.how}"]
    for memory in ("global", "shared", "local"):
        for kind in ACCESSES:
            counts = getattr(emulation, f"{memory}_{kind}", None)
            if counts is not None and counts.elements:
                fields = [(name, getattr(counts, name)) for name in counts.__struct_fields__]
                said.append(f"  {memory}_{kind}: " + ", ".join(f"{value:,} {name}" for name, value in fields))
    said.append(f"  flop: {emulation.flop:,}, fma: {emulation.fma:,}")
    said.append(f"  branches: {emulation.branches:,}, {emulation.divergent_branches:,} divergent")
    if emulation.barrier_waits:
        said.append(f"  barrier_waits: {emulation.barrier_waits:,}")
    for each in emulation.faults:
        said.append(
            f"  fault: {each.kind} of {each.array or 'no array'} at line {each.line.number}, {each.count:,} times"
        )
    for tried in emulation.schedules:
        said.append(f"  schedule {tried.name}: {tried.wrong_elements:,} wrong elements")
    if emulation.proof:
        said.append(f"  {emulation.proof.text}")
    return "\n".join(said)


def trimmed(sides: tuple[int, int, int]) -> tuple[int, ...]:
    """Without the ones at the end: (4, 1, 1) is (4,)."""
    kept = 3 if sides[2] > 1 else 2 if sides[1] > 1 else 1
    return sides[:kept]
