"""A program as a module of Python text: one function that runs the threads of a launch one at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from gemmlab.emulator import program as p
from gemmlab.emulator.compiled import compiled
from gemmlab.emulator.serial.blocks import Block, Blocks
from gemmlab.emulator.serial.expressions import is_float, kept, plain
from gemmlab.emulator.serial.liveness import localised
from gemmlab.emulator.serial.places import Places, held_as

#: beside a GPU's division by zero, all that makes compiling quicker: nothing here allocates or is called from C
OPTIONS = "nogil=True, error_model='numpy', boundscheck=False, no_cfunc_wrapper=True, no_rewrites=True, _nrt=False"
HEAD = """\
import math

import numpy as np
from numba import njit

from gemmlab.emulator.halves import half_to_single, round_half, single_to_half
from {runtime} import *


@njit(cache=True, {options})
def run({parameters}):
{setup}
    while True:
        t = control[CURRENT]
        if t < 0:
            t = WAVE_DONE
            if control[STARTED]:
                t = choose(control, threads, floats, changes, script, loops, stops, k_int64)
            if t == NOBODY:
                return
            if t == WAVE_DONE:
                control[STARTED] = 0
                control[MOST_ACCESSES] = max(control[MOST_ACCESSES], control[ACCESSES])
                if control[ONE_WAVE] or not start_wave(control, threads, slots, order, changes, only):
                    control[FINISHED] = 1
                    return
{reset}
                continue
            control[CURRENT] = t
        slot = t // control[THREADS]
{specials}
        hot_from = slots[EPOCH, slot] % control[EPOCHS] * control[ELEMENTS]
        why = 0
        pc = threads[PC, t]
        while True:
{blocks}
        threads[PC, t] = pc
        if settle(control, threads, floats, slots, order, t, why):
            return


# Follow up every state, in the order in which they were met, by the next access of each thread; then each thread does
# what no other sees, up to its next access or wait. The first call makes the first state.
@njit(cache=True, {options})
def explore(arena, words, states, parents, table, dead, rows, found, {parameters}):
    count = threads.shape[1]
    limit = found[FOLLOWED] + found[ALLOWED]
    while found[FOLLOWED] < max(1, found[MET]) and found[FOLLOWED] < limit:
        state = found[FOLLOWED] if found[MET] else -1
        for t in range(count if state >= 0 else 1):
            if state >= 0:
                for place in range(words.size):
                    words[place] = states[state, place]
                if threads[STATUS, t] != RUN:
                    continue
            u, accesses, moved = t, np.int64(state >= 0), True
            while u < count:
                if threads[STATUS, u] == RUN:
                    pc = threads[PC, u]
                    script[0, 0], script[0, 1] = u, accesses
                    control[SCRIPT], control[CURRENT], control[SLICE] = 0, -1, PATIENCE
                    run({parameters})
                    if control[CURRENT] >= 0:
                        found[ENDLESS_THREAD] = 1
                        return
                    moved = moved or threads[PC, u] != pc or threads[STATUS, u] != RUN
                u = 0 if accesses else u + 1
                accesses = 0
                if u == count:
                    if not moved and not running(threads):
                        moved = unstick(control, threads, floats)
                    u = 0 if moved else count
                    moved = False
            bury(threads, floats, arena, dead, rows)
            number, new = keep(words, states, table, found)
            if found[FULL]:
                return
            if new and state >= 0:
                parents[number, 0], parents[number, 1] = state, t
        if state >= 0:
            found[FOLLOWED] += 1
"""


@dataclass(frozen=True, slots=True)
class Form:
    """A program as compiled code, and what its arguments look like."""

    program: p.Program
    places: Places
    module: ModuleType
    text: str
    kinds: tuple[str, ...]  #: types of private variables, int64 first
    slots: dict[str, tuple[str, int]]  #: of each private variable: the type it is kept as, and its place among them
    blocks: tuple[Block, ...]

    def stride(self, kind: str) -> int:
        """Private variables of a thread that are kept as that type."""
        return sum(1 for k, _ in self.slots.values() if k == kind)


class Here:
    """Names of a thread's own numbers; `used` are those it needs."""

    def __init__(self, program: p.Program, places: Places) -> None:
        self.program, self.places = program, places
        self.used: set[str] = set()

    def variable(self, name: str) -> str:
        """The thread's element of the variable's row."""
        return f"v_{plain(name)}[t]"

    def special(self, name: str) -> str:
        """A local of the generated function."""
        self.used.add(name)
        return f"s_{name.replace('.', '_')}"

    def extent(self, array: str, axis: int) -> str:
        """A local, or a constant."""
        return self.places.extent(array, axis, self)


PARTS = ("_state", "_queue", "_meeting", "_choice", "", "_explore", "_values")  #: each uses only those before it
KEPT = 64  #: forms that are remembered
FORMS: dict[tuple[int, frozenset[str]], tuple[p.Program, Form]] = {}


def form_of(program: p.Program, shared_with: frozenset[str] = frozenset()) -> Form:
    """The compiled form of a program, made once; numba compiles it when it first runs."""
    key = (id(program), shared_with)
    if key not in FORMS:
        if len(FORMS) >= KEPT:
            del FORMS[next(iter(FORMS))]
        FORMS[key] = (program, made(program, shared_with))  # the program is kept, so that its id stays its own
    return FORMS[key][1]


def made(program: p.Program, shared_with: frozenset[str]) -> Form:
    """Write the module's text and import it."""
    places = Places(program, shared_with)
    here = Here(program, places)
    flat = Blocks(program, places, here)
    blocks = flat.resolved()
    carried = localised([block.lines for block in blocks]) | set(flat.rounds)
    slots: dict[str, tuple[str, int]] = {}
    counts: dict[str, int] = {}
    # loop counters come first: the place of a loop's counter is its number
    private = dict.fromkeys((*flat.rounds, *flat.hidden), "int64") | program.variables
    for name, kind in private.items():
        if plain(name) not in carried:
            continue
        keep = kept(kind)
        slots[name] = (keep, counts.get(keep, 0))
        counts[keep] = counts.get(keep, 0) + 1
    counts.setdefault("int64", 1)
    kinds = ("int64", *sorted(set(counts) - {"int64"}))
    rows = [f"v_{plain(name)} = k_{kind}[{row}]" for name, (kind, row) in slots.items()]
    text = HEAD.format(
        options=OPTIONS,
        runtime=runtime().__name__,
        parameters=", ".join(parameters(program, places, kinds)),
        setup=indented(1, [*setup(program, places), *rows]),
        reset=indented(4, reset(places, kinds)),
        specials=indented(2, specials(here.used)),
        blocks=tree([block.lines for block in blocks], 0, 3),
    )
    return Form(program, places, compiled(text, f"{program.name}_serial"), text, kinds, slots, tuple(blocks))


@cache
def runtime() -> ModuleType:
    """The functions that generated code calls as one module.

    Numba keeps what it compiled of a function as long as that function's own file is the same; in one file, whose name
    holds a hash of the text, a function that changes takes all that call it with it.
    """
    here = Path(__file__).parent
    text = "".join((here / f"runtime{part}.py").read_text(encoding="utf-8") for part in PARTS)
    text = re.sub(
        r"^from (?:__future__|gemmlab\.emulator\.serial\.runtime\w*) import (?:\([^)]*\)|.*)$", "", text, flags=re.M
    )
    return compiled(text.replace("= njit(", "= njit(cache=True, "), "serial_runtime")


def parameters(program: p.Program, places: Places, kinds: tuple[str, ...]) -> list[str]:
    """What the function takes, in order."""
    fixed = ["control", "threads", "floats", "slots", "order", "changes", "only", "script", "loops", "stops", "hold"]
    arrays = [a.name for a in program.arguments if a.ndim is not None]
    return [
        *fixed,
        *("hot", "seen", "shapes"),
        *(f"k_{kind}" for kind in kinds),
        *(f"m_{plain(array.name)}" for array in places.bases("shared", "local")),
        *(f"d_{kind}" for kind in places.dynamic_types()),
        *(f"g_{name}" for name in arrays),
        *(f"p_{a.name}" for a in program.arguments if a.ndim is None),
    ]


def setup(program: p.Program, places: Places) -> list[str]:
    """Extents, strides and places of arrays, which `shapes` holds in this order."""
    names = ["dynamic_bytes"]
    for argument in program.arguments:
        if argument.ndim is not None:
            names.append(f"start_{argument.name}")
            names += [f"extent_{argument.name}_{axis}" for axis in range(argument.ndim)]
            names += [f"step_{argument.name}_{axis}" for axis in range(argument.ndim)]
    names += [f"extent_{plain(array.name)}_0" for array in places.bases("dynamic")]
    names += [f"hot_{plain(name)}" for name in watched_groups(program, places)]
    lines = [f"{name} = shapes[{place}]" for place, name in enumerate(names)]
    return lines


def watched_groups(program: p.Program, places: Places) -> list[str]:
    """Memories whose elements are told apart when threads touch them; dynamic arrays are one."""
    stored = places.stored()
    names = [a.name for a in places.bases("shared") if a.name in stored]
    names += [a.name for a in program.arguments if a.ndim is not None and a.name in stored]
    return names + (["dynamic"] if any(a.name in stored for a in places.bases("dynamic")) else [])


def reset(places: Places, kinds: tuple[str, ...]) -> list[str]:
    """Memory as it is when a wave begins."""
    lines = [f"fill(k_{kind}.reshape(-1), np.{'bool_' if kind == 'bool' else kind}(0))" for kind in kinds]
    for array in places.bases("shared", "local"):
        lines += filled(f"m_{plain(array.name)}", array.type)
    dynamic = places.bases("dynamic")
    return lines + (filled(f"d_{dynamic[0].type}", dynamic[0].type) if dynamic else [])


def filled(name: str, kind: str) -> list[str]:
    """An array that holds zeros, or NaN where that is asked for and exists."""
    held = held_as(kind).name
    zero, nan = (
        f"np.{'bool_' if held == 'bool' else held}(0)",
        "np.uint16(0x7E00)" if kind == "float16" else f"np.{held}(np.nan)",
    )
    return [f"fill({name}, {f'{nan} if control[FILL] else {zero}' if is_float(kind) else zero})"]


def specials(used: set[str]) -> list[str]:
    """Text that sets the thread's own numbers."""
    lines = ["tid = t - slot * control[THREADS]", "block = slots[ID, slot]"]
    for name in sorted(used):
        what, _, axis = name.partition(".")
        above = "xyz".find(axis) if axis else -1
        match what:
            case "laneid":
                value = "tid % 32"
            case "threadIdx" | "blockIdx":
                side = "BLOCK" if what == "threadIdx" else "GRID"
                value = "tid" if what == "threadIdx" else "block"
                for lower in "XYZ"[:above]:
                    value = f"{value} // control[{side}_{lower}]"
                value = value if above == 2 else f"{value} % control[{side}_{'XYZ'[above]}]"
            case _:
                value = f"control[{'BLOCK' if what == 'blockDim' else 'GRID'}_{axis.upper()}]"
        lines.append(f"s_{name.replace('.', '_')} = np.int32({value})")
    return lines


def indented(depth: int, lines: list[str]) -> str:
    """Lines as they stand that many levels deep."""
    return "\n".join("    " * depth + line for line in lines)


def tree(blocks: list[list[str]], first: int, depth: int) -> str:
    """A search for the block that `pc` names, by halves."""
    if len(blocks) == 1:
        return indented(depth, blocks[0])
    half = len(blocks) // 2
    return "\n".join(
        [
            indented(depth, [f"if pc < {first + half}:"]),
            tree(blocks[:half], first, depth + 1),
            indented(depth, ["else:"]),
            tree(blocks[half:], first + half, depth + 1),
        ]
    )
