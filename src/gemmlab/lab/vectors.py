"""Vectors for what the page plays by itself: orders of threads, an array's registers, fused sums; and data it draws.

`golden` and `data` write them; everything is made by the parts of the package that say the same in Python.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

import msgspec
import numpy as np

from gemmlab import formats, numerics
from gemmlab.lab.asked import Schedules
from gemmlab.lab.playing import Play, play
from gemmlab.numerics.reference import dot
from gemmlab.problem import Gemm
from gemmlab.systolic import Array, Grid, closed_form

PLAYED = ("naive", "tiled_8", "tiled")
BOTH, FIRST, SECOND, NONE = (), (0,), (1,), (0, 1)  #: barriers of the tiled kernels that are left out
PLAYS: tuple[tuple[str, tuple[int, int, int], tuple[int, ...], str, str, tuple[int, int, int]], ...] = (
    ("naive", (5, 7, 3), BOTH, "serial", "zero", (0, 0, 0)),
    ("naive", (20, 18, 4), BOTH, "lockstep", "zero", (1, 1, 0)),
    ("tiled_8", (16, 16, 16), BOTH, "alternating", "zero", (0, 0, 0)),
    ("tiled_8", (16, 16, 16), FIRST, "serial", "zero", (1, 1, 0)),
    ("tiled_8", (16, 16, 16), FIRST, "lockstep", "zero", (0, 0, 0)),
    ("tiled_8", (16, 16, 16), SECOND, "serial", "zero", (0, 0, 0)),
    ("tiled_8", (16, 16, 16), SECOND, "reverse", "zero", (0, 1, 0)),
    ("tiled_8", (9, 10, 11), NONE, "serial", "nan", (0, 0, 0)),
    ("tiled_8", (9, 10, 11), NONE, "alternating", "nan", (1, 0, 0)),
    ("tiled_8", (9, 10, 11), FIRST, "delayed-writer", "zero", (0, 0, 0)),
    ("tiled_8", (16, 9, 24), SECOND, "delayed-writer", "zero", (1, 1, 0)),
    ("tiled_8", (16, 16, 16), SECOND, "random:seed=4", "zero", (0, 0, 0)),
    ("tiled_8", (17, 16, 16), FIRST, "random:seed=-7,preemptions=5", "nan", (1, 1, 0)),
    ("tiled_8", (8, 8, 24), SECOND, "random:seed=11,preemptions=1,first=5+9,last=0", "zero", (0, 0, 0)),
    ("tiled_8", (20, 15, 4), SECOND, "random:seed=9007199254740991,preemptions=7", "zero", (1, 0, 0)),
    ("tiled", (16, 16, 16), FIRST, "reverse", "zero", (0, 0, 0)),
)
UNITS = (
    "hopper.wgmma.float8_e4m3fn",
    "blackwell.tcgen05.float8_e4m3fn",
    "ada.mma.float8_e4m3fn",
    "hopper.mma.float16",
    "hopper.wgmma.bfloat16",
    "ampere.mma.float16",
    "turing.mma.float16",
    "volta.mma.float16",
    "cuda.fma.float32",
)
#: of a unit, what the page's sum needs; of a format, what reading a code needs
FIELDS = (
    *("about", "accumulate", "sum", "terms", "k", "align_bits", "cut", "width", "rounding"),
    *("zero_exponent", "nan_code", "negative_zero", "source", "silicon"),
)
FORM = (
    *("bits", "exponent_bits", "mantissa_bits", "bias", "pad_bits", "infinity", "nan"),
    *("nan_magnitude", "max_magnitude", "min_exponent"),
)
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
ROWS = 8  #: of A, and columns of B, whose outputs a curve averages
PROMOTED = 128  #: k between two sums outside


def kernels() -> Any:
    """Of each kernel that the page plays: its lines by number, the lines of its barriers, its threads."""
    found = {}
    for name in PLAYED:
        told = play(Schedules(kernel=name, m=1, n=1, k=1))
        found[name] = {
            "source": told.source,
            "barriers": [barrier.line for barrier in told.barriers],
            "block": told.block,
        }
    return found


def plays() -> Any:
    """Launches with all that must come out; of the steps the first, and a digest of all."""
    return [played(*case) for case in PLAYS]


def played(
    kernel: str, sides: tuple[int, int, int], without: tuple[int, ...], schedule: str, fill: str, traced: Any
) -> Any:
    """One of them."""
    m, n, k = sides
    told = play(Schedules(kernel=kernel, m=m, n=n, k=k, without=without, schedule=schedule, fill=fill, traced=traced))
    lines = steps(told)
    return {
        "kernel": kernel, "m": m, "n": n, "k": k, "without": without, "fill": fill, "traced": traced,
        "spelled": schedule, "schedule": told.schedule, "a": told.a, "b": told.b, "c": told.c, "wrong": told.wrong,
        "races": [msgspec.to_builtins(race) for race in told.races], "steps": len(lines), "first": lines[:12],
        "digest": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    }  # fmt: skip


def steps(told: Play) -> list[str]:
    """A step a line, as both sides write it; all values are whole numbers or none."""
    columns = told.steps
    rows = zip(
        columns.thread, columns.line, columns.kind, columns.array, columns.index, columns.value, columns.epoch,
        columns.stops, strict=True,
    )  # fmt: skip
    return [
        f"{thread} {line} {kind} {array} {','.join(map(str, index))} "
        f"{'null' if value is None else int(value)} {epoch} {int(stops)}"
        for thread, line, kind, array, index, value, epoch, stops in rows
    ]


def arrays() -> Any:
    """Multiplications on systolic arrays in closed form: what was given, then cycles by cause and words moved."""
    draw = random.Random(5)
    made = []
    for at in range(300):
        small = at < 150
        m, n, k = (draw.randint(1, 40) if small else int(2 ** draw.uniform(0, 17)) for _ in range(3))
        rows, cols = (draw.randint(1, 9) if small else 2 ** draw.randint(2, 8) for _ in range(2))
        array = Array(
            rows=rows,
            cols=cols,
            dataflow=draw.choice(("ws", "os", "is")),
            weights=draw.choice(("double", "single")),
            drain=draw.choice(("side", "bottom", "shadow")),
        )
        told = closed_form(Gemm(m, n, k, "int8"), array)
        stalls = told.stalls
        made.append(
            {
                "given": [m, n, k, rows, cols, array.dataflow, array.weights, array.drain],
                "cycles": told.cycles,
                "active": told.active_cycles,
                "shift": stalls.weight_shift,
                "skew": stalls.skew,
                "drain": stalls.drain,
                "tiles": told.tiles,
                "reads": [told.reads.a, told.reads.b, told.reads.c],
                "results": told.writes.c,
                "utilisation": told.utilisation,
            }
        )
    return made


def registers() -> Any:
    """Every register of small grids at some cycles, by the element that lies in it."""
    made = []
    for rows, cols, (m, n, k) in ((4, 4, (6, 9, 7)), (3, 5, (2, 7, 8)), (4, 3, (9, 4, 2)), (1, 2, (3, 3, 3))):
        for flow, weights, drain in (
            ("ws", "double", "side"), ("ws", "single", "side"), ("is", "double", "side"), ("is", "single", "side"),
            ("os", "double", "side"), ("os", "double", "bottom"), ("os", "double", "shadow"),
        ):  # fmt: skip
            array = Array(rows=rows, cols=cols, dataflow=flow, weights=weights, drain=drain)
            ones = np.ones((m, k), np.int8), np.ones((k, n), np.int8)
            grid = Grid(Gemm(m, n, k, "int8"), array, ones)
            last = grid.state(0)["cycles"] - 1
            cycles = sorted({0, 1, rows, last // 4, last // 3, last // 2, 2 * last // 3, last - rows, last})
            states = [register(grid.state(cycle)) for cycle in cycles if 0 <= cycle <= last]
            made.append({"given": [m, n, k, rows, cols, flow, weights, drain], "cycles": last + 1, "states": states})
    return made


def register(state: Any) -> Any:
    """A state without its values: of each kind of register its elements, by rows; what leaves as [row, col, ...]."""
    found: dict[str, Any] = {"cycle": state["cycle"]}
    for name in ("right", "held", "down", "behind", "sums"):
        if state.get(name):
            found[name] = state[name]["elements"]
    found["leaving"] = [
        [*(left[key] for key in ("row", "col")), *left["element"], left["final"]] for left in state["leaving"]
    ]
    return found


def units() -> Any:
    """Units whose sums the page computes, and the formats that it reads and writes."""
    chosen = [numerics.unit(name) for name in UNITS]
    names = {name for unit in chosen for name in (unit.a_formats[0], unit.accumulate)}
    return {
        "units": {
            unit.name: {"format": unit.a_formats[0]} | {field: getattr(unit, field) for field in FIELDS}
            for unit in chosen
        },
        "formats": {name: {field: getattr(formats.get(name), field) for field in FORM} for name in sorted(names)},
    }


def fused() -> Any:
    """500 dot products of random codes, special ones among them: unit, codes of a, b and c, and what comes out."""
    draw = random.Random(7)
    made = []
    for at in range(500):
        unit = numerics.unit(UNITS[at % len(UNITS)])
        name = unit.a_formats[0]
        length = draw.choice((1, 2, 3, unit.k, draw.randint(1, 2 * unit.k + 1), min(48, 2 * unit.k)))
        a, b = (codes(draw, name, length, at) for _ in range(2))
        (c,) = codes(draw, unit.accumulate, 1, at) if at % 3 else (0,)
        made.append([unit.name, a, b, c, dot(unit, a, b, c, name, name)])
    return made


def codes(draw: random.Random, name: str, length: int, at: int) -> list[int]:
    """Codes of numbers around 1; in every fourth vector any codes; in every tenth a few whose magnitudes lie apart."""
    form = formats.get(name)
    if at % 4 == 3:
        return [draw.getrandbits(form.bits) << form.pad_bits for _ in range(length)]
    spread = 9 if at % 10 == 0 and form.exponent_bits > 4 else 2
    return [formats.encode(draw.gauss(0, 1) * 2.0 ** draw.randint(-spread, spread), name) for _ in range(length)]


def precision() -> Any:
    """Truncation experiments of units, and how errors grow with k for accumulators of several widths."""
    swept = {}
    for name in UNITS:
        told = numerics.truncation_sweep(name, shape=(32, 32, 512))
        swept[name] = {
            "bits": told.bits, "unchanged": told.unchanged, "outputs": told.outputs, "plateau": told.plateau,
            "width_bits": told.width_bits, "shape": told.shape, "block_k": told.block_k,
        }  # fmt: skip
    return {"truncation": swept, "growth": growth()}


def growth() -> Any:
    """Relative error against exact sums for float8 operands, by k: one chain of each unit, and one with promotion."""
    rng = np.random.default_rng(3)
    shape = (ROWS, max(LENGTHS))
    a, b = (formats.encode_array(np.abs(rng.normal(size=shape)), "float8_e4m3fn") for _ in range(2))
    exact = formats.decode_array(a, "float8_e4m3fn"), formats.decode_array(b, "float8_e4m3fn")
    ways: tuple[tuple[str, str, numerics.Schedule], ...] = (
        ("wgmma", "hopper.wgmma.float8_e4m3fn", numerics.Schedule()),
        ("promoted", "hopper.wgmma.float8_e4m3fn", numerics.Schedule(promote=PROMOTED)),
        ("tcgen05", "blackwell.tcgen05.float8_e4m3fn", numerics.Schedule()),
    )
    curves: dict[str, list[float]] = {key: [] for key, *_ in ways}
    for k in LENGTHS:
        truth = exact[0][:, :k] @ exact[1][:, :k].T
        for key, unit, schedule in ways:
            found = numerics.gemm(
                a[:, :k], b[:, :k].T, unit=unit, schedule=schedule, a_format="float8_e4m3fn", b_format="float8_e4m3fn"
            )
            off = np.linalg.norm(found - truth) / np.linalg.norm(truth)
            curves[key].append(float(f"{off:.6g}"))  # NumPy's last digits are each processor's own
    return {"k": LENGTHS, "promote": PROMOTED, "curves": curves, "units": {key: unit for key, unit, _ in ways}}
