"""The module that runs blocks of one program in lockstep, as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep.accesses import Recorded
from gemmlab.emulator.lockstep.columns import COLUMNS
from gemmlab.emulator.lockstep.emit import Emitter
from gemmlab.emulator.lockstep.expressions import constant, held
from gemmlab.emulator.lockstep.layout import Layout
from gemmlab.emulator.lockstep.runtime.addresses import AS
from gemmlab.emulator.lockstep.runtime.symbols import FUNCTIONS
from gemmlab.emulator.lockstep.unset import perhaps_unset
from gemmlab.emulator.lockstep.writing import Loop

IMPORTS = '''"""Generated: {name}."""
import math
import numpy as np
from numba import njit
from gemmlab.emulator.halves import half_to_single, single_to_half, round_half
from gemmlab.emulator.serial.runtime_values import *
from gemmlab.emulator.lockstep.runtime.symbols import EXTERNAL
from gemmlab.emulator.lockstep.runtime.addresses import AS
from gemmlab.emulator.lockstep.runtime.plainly import Plainly
{symbols}

'''
PARAMETERS = (
    "which_at, chosen, first, last, gridDim_x, gridDim_y, gridDim_z, blockDim_x, blockDim_y, blockDim_z, "
    "tx_at, ty_at, tz_at, C_address, sizes, LEFTS_at, E_address, F_address, S_address, records, "
    "begin, limit, blank, dynamic"
)
#: memory of int64 by name, and what holds its address
WORDS = {
    "which": "which_at",
    "tx": "tx_at",
    "ty": "ty_at",
    "tz": "tz_at",
    "E": "E_address",
    "REC": "records",
    "LEFTS": "LEFTS_at",
    "Z": "Z_at",
}


@dataclass(frozen=True)
class Generated:
    """A generated module: its text, the symbols it calls, and what it works with."""

    text: str
    symbols: frozenset[str]
    layout: Layout
    rows: dict[str, list[tuple[str, int]]]  #: by numpy type: names and first values of arrays by thread
    records: tuple[Recorded, ...]  #: of accesses
    same_as: dict[int, int]  #: sites executed whenever another is, which alone is counted
    masks: int  #: that have a place for how many threads and warps are in them
    valued: bool  #: values are worked out and stored


def generated(
    program: p.Program, *, wanted: set[str] | None = None, merge: int = 0, overlapping: bool = False
) -> Generated:
    """A module whose `run_blocks` runs blocks `which[first:last]`, or `first` to `last` where `which` is empty.

    With `wanted`, only those variables are worked out and nothing is stored: enough to count. With `merge`, loads that
    a compiler makes loads of up to so many bytes are counted as those. With `overlapping`, races are looked for on
    arrays that are only read too: they share memory with others.
    """
    layout = Layout(program, overlapping=overlapping)
    emitter = Emitter(program, layout, wanted=wanted, merge=merge)
    out = emitter.text
    out.depth = 1
    preamble = out.open_place()
    place = out.open_place()
    out.put("for turn in range(first, last):")
    out.depth = 2
    out.put(
        "block = which[turn] if chosen > 0 else turn",
        "blockIdx_x = block % gridDim_x",
        "blockIdx_y = block // gridDim_x % gridDim_y",
        "blockIdx_z = block // (gridDim_x * gridDim_y)",
        "begin_block(E_address, begin, block)",
        *layout.clearing(),
    )
    unset = perhaps_unset(emitter.program.body)
    for name, kind in program.variables.items():
        if name not in emitter.found.varying:
            out.put(f"u{layout.names[name]} = {constant(kind, 0)}")
        elif name in unset:
            out.put(f"for t in range(NT): v{layout.names[name]}[t] = {constant(kind, 0)}")
    emitter.at.loops.append(Loop(place, set(program.variables), plain=False, blocks=True))
    emitter.whole()
    for name, kind in program.variables.items():
        if name in emitter.found.varying:
            emitter.row(f"v{layout.names[name]}", held(kind))
    emitter.row("ONES", "uint8", filled=1)
    rows = by_kind(emitter)
    preamble.put(
        "NT = blockDim_x * blockDim_y * blockDim_z",
        "NW = (NT + 31) // 32",
        "wide = NW * 32",
        *layout.extents(),
        *naming(rows, emitter),
        *emitter.allocated,
    )
    out.depth = 1
    out.put("return last")
    body = out.text()
    memories = sorted(name for name in map(memory, AS) if f"{name}(" in body)
    names = [
        *layout.parameters(),
        "Z_at",
        *(f"Z{kind}_at" for kind in rows),
    ]
    head = "@njit(nogil=True, cache=True, error_model='numpy', boundscheck=False, pipeline_class=Plainly)\n"
    head += f"def run_blocks({', '.join([PARAMETERS, *names])}):\n"
    symbols = frozenset(name for name in FUNCTIONS if f"{name}(" in body)
    imports = "\n".join(
        [f'{name} = EXTERNAL["{name}"]' for name in sorted(symbols)]
        + [f'{name} = AS["{name[3:]}"]' for name in memories]
    )
    text = IMPORTS.format(name=program.name, symbols=imports) + head + body
    return Generated(
        text, symbols, layout, rows, tuple(emitter.access.records), emitter.same_as, emitter.sizes, wanted is None
    )


def memory(kind: str) -> str:
    """The name of the function that takes an address as memory of a numpy type."""
    return f"as_{kind}"


def by_kind(emitter: Emitter) -> dict[str, list[tuple[str, int]]]:
    """Arrays by thread, those of one type together."""
    rows: dict[str, list[tuple[str, int]]] = {}
    for name, row in emitter.rows.items():
        rows.setdefault(row.kind, []).append((name, row.filled))
    return rows


def naming(rows: dict[str, list[tuple[str, int]]], emitter: Emitter) -> Iterator[str]:
    """Lines that name memory, arrays by thread, where those begin, and their addresses, each only if it is used."""
    seen = emitter.text.text()
    for name, at in WORDS.items():
        if f"{name}[" in seen:
            yield f"{name} = {memory('int64')}({at})"
    for array in emitter.layout.arrays.values():
        if f"{array.prefix}_m[" in seen:
            yield f"{array.prefix}_m = {memory(array.stored)}({array.prefix}_at)"
    for kind, names in rows.items():
        size = np.dtype(kind).itemsize
        for i, (name, _) in enumerate(names):
            if name in emitter.begun:
                yield f"{name}_from = {i} * wide"
            if name in emitter.pointed:
                yield f"{name}_at = Z{kind}_at + {i * size} * wide"
            if f"{name}[" in seen:
                yield f"{name} = {memory(kind)}(Z{kind}_at + {i * size} * wide)"


__all__ = ["COLUMNS", "Generated", "generated"]
