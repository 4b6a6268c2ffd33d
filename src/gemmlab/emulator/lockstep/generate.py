"""The module that runs blocks of one program in lockstep, as text."""

from __future__ import annotations

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep.columns import COLUMNS
from gemmlab.emulator.lockstep.emit import Emitter
from gemmlab.emulator.lockstep.expressions import constant, held
from gemmlab.emulator.lockstep.layout import Layout
from gemmlab.emulator.lockstep.writing import Loop

IMPORTS = '''"""Generated: {name}."""
import math
import numpy as np
from numba import njit
from gemmlab.emulator.halves import half_to_single, single_to_half, round_half
from gemmlab.emulator.serial.runtime_values import *
from gemmlab.emulator.lockstep.runtime import count_requests, narrowed, note, prepare
from gemmlab.emulator.lockstep.runtime_shadow import barrier, shadow_atomic, shadow_read, shadow_store
from gemmlab.emulator.lockstep.runtime_lanes import (
    first_active, local_read, local_store, meet, members, source_lane, votes, votes_equal,
)

'''
PARAMETERS = (
    "which, first, last, gridDim_x, gridDim_y, gridDim_z, blockDim_x, blockDim_y, blockDim_z, tx, ty, tz, C, F, E, begin, "
    "owner, stop, limit, fill, dynamic"
)


def generated(program: p.Program, *, wanted: set[str] | None = None) -> tuple[str, Layout]:
    """(text, layout): `run_blocks` runs blocks `which[first:last]`, or `first` to `last` where `which` is empty.

    With `wanted`, only those variables are worked out and nothing is stored: enough to count.
    """
    layout = Layout(program)
    emitter = Emitter(program, layout, wanted=wanted)
    out = emitter.text
    out.depth = 1
    preamble = out.open_place()
    place = out.open_place()
    out.put("for turn in range(first, last):")
    out.depth = 2
    out.put(
        "block = which[turn] if which.shape[0] > 0 else turn",
        "blockIdx_x = block % gridDim_x",
        "blockIdx_y = block // gridDim_x % gridDim_y",
        "blockIdx_z = block // (gridDim_x * gridDim_y)",
        "E[0] += 1; E[1] = E[0]; E[2] = E[0]; E[3] = 0; E[4] = block",
        "begin[block] = E[0]",
        "rounds = 0; stopped = False",
        *layout.clearing(),
    )
    for name, kind in program.variables.items():
        if name not in emitter.found.varying:
            out.put(f"u{layout.names[name]} = {constant(kind, 0)}")
    emitter.at.loops.append(Loop(place, set(program.variables), plain=False, blocks=True))
    emitter.whole()
    preamble.put(
        "NT = blockDim_x * blockDim_y * blockDim_z",
        "NW = (NT + 31) // 32",
        "ONES = np.ones(NT, np.bool_)",
        "COUNTING = np.arange(NT)",
        f"S = np.zeros(NW if {any(isinstance(s, p.WarpOp) and s.kind == 'syncwarp' for s in p.walk(program.body))} else 0, np.int64)",
        *layout.allocations(),
        *(
            f"v{layout.names[name]} = np.zeros(NT, np.{held(kind)})"
            for name, kind in program.variables.items()
            if name in emitter.found.varying
        ),
        *emitter.allocated,
        *(f"{counter} = 0" for counter in emitter.counters.values()),
    )
    out.depth = 1
    out.put("if stop[0] != 0: last = -1")
    for (site, column), counter in emitter.counters.items():
        out.put(f"C[{site}, {column}] += {counter}")
    out.put("return last")
    head = f"@njit(nogil=True, cache=True, error_model='numpy', boundscheck=False)\ndef run_blocks({PARAMETERS}"
    parameters = "".join(f", {name}" for name in layout.parameters())
    return f"{IMPORTS.format(name=program.name)}{head}{parameters}):\n{out.text()}", layout


__all__ = ["COLUMNS", "PARAMETERS", "generated"]
