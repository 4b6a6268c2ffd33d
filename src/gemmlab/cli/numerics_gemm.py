"""`gemmlab numerics gemm`: a whole multiplication emulated bit for bit, from files or at random."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gemmlab.cli.numerics_options import GEMM
from gemmlab.cli.numerics_output import check_files, deliver
from gemmlab.cli.parse import parse
from gemmlab.record import GemmlabError, unknown_name

if TYPE_CHECKING:
    from gemmlab.experiment import Multiplication
    from gemmlab.numerics import Schedule, Unit

HELP = "gemmlab numerics gemm --help"
SOURCE = (
    "A B",
    "Files of A, (m, k), and B, (k, n): x.npy, or FILE.safetensors:TENSOR. Or three numbers, M N K, for random "
    "operands in the unit's formats.",
)
LAYOUTS = ("nn", "nt", "tn", "tt")
SCHEDULE = ("promote", "split_k", "block_k", "reduce", "reduce_sum", "instruction_k", "tfloat32")
OUTSIDE = ("promote", "split_k", "block_k", "reduce", "reduce_sum", "alpha", "beta", "d_format")


def help_text(about: str) -> str:
    """What `gemmlab numerics gemm --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab numerics gemm A.npy B.npy | M N K --unit NAME [FLAGS]"
    example = "gemmlab numerics gemm 64 64 4096 --unit hopper.wgmma.float8_e4m3fn --promote 128 --trace 3,5"
    return of_verb(usage, about, SOURCE, GEMM, example)


def run(words: Sequence[str]) -> int:
    """Emulate what the words say; raises GemmlabError."""
    source, given = parse(words, GEMM, HELP)
    check(source, given)
    asked = multiplication(source, given)
    from gemmlab import experiment

    record, d = experiment.multiplied(
        asked,
        place=given.get("trace"),
        predict="predict" in given or "tolerance" in given,
        tolerance=given.get("tolerance"),
    )
    files: dict[str, str | bytes] = {}
    if "out" in given:
        from gemmlab.numerics.files import npy_bytes

        files[given["out"]] = npy_bytes(d)
        if d.dtype.kind == "V":
            told = f"{given['out']} holds {d.dtype.name} as bytes: numpy.load(..).view(ml_dtypes.{d.dtype.name})"
            print(told, file=sys.stderr)
    deliver(record, given, files)
    return 0


def check(source: Sequence[str], given: dict[str, Any]) -> None:
    """Raise GemmlabError for words that do not go together, and files that cannot be written, before any work."""
    if len(source) not in (2, 3):
        named = f"{len(source)} operands are named" if source else "no operands are named"
        raise GemmlabError(named, "gemmlab numerics gemm A.npy B.npy --unit NAME, or M N K in their place")
    if "unit" not in given:
        raise GemmlabError(
            "there is no --unit", "--unit hopper.wgmma.float8_e4m3fn; `gemmlab numerics units` lists all"
        )
    random = len(source) == 3
    for flag in ("content", "seed"):
        if flag in given and not random:
            raise GemmlabError(f"--{flag} is of random operands, and A and B are files", "M N K in their place")
    for flag in ("layout", "round", "a_scales", "b_scales"):
        if flag in given and random:
            name = flag.replace("_", "-")
            raise GemmlabError(
                f"--{name} is of operands in files, and these are random", "A.npy B.npy in place of M N K"
            )
    if given.get("layout", "nn") not in LAYOUTS:
        raise unknown_name("layout", given["layout"], LAYOUTS)
    if "in_accumulator" in given:
        for flag in OUTSIDE:
            if flag in given:
                name = flag.replace("_", "-")
                raise GemmlabError(f"--{name} is of what comes after the accumulator", "leave out --in-accumulator")
    if "beta" in given and given["beta"] != 0 and "c" not in given:
        raise GemmlabError(f"beta is {given['beta']:g} and there is no C", "--c C.npy")
    if "plot" in given and "trace" not in given:
        raise GemmlabError("--plot draws a trace, and there is none", "--trace 0,0")
    if "c_format" in given and "c" not in given:
        raise GemmlabError("--c-format is of C, and there is none", "--c C.npy")
    if "tolerance" in given and not 0 < given["tolerance"] < float("inf"):
        raise GemmlabError(f"a tolerance of {given['tolerance']:g}", "a relative error above 0, such as 1e-3")
    if "out" in given and not given["out"].endswith(".npy"):
        raise GemmlabError(
            f"--out `{given['out']}`: D is written as .npy", f"--out {os.path.splitext(given['out'])[0]}.npy"
        )
    check_files(given, ("plot", "html", "out"))


def multiplication(source: Sequence[str], given: dict[str, Any]) -> Multiplication:
    """What the words ask for, its operands read or drawn; raises GemmlabError."""
    from gemmlab.numerics.units import unit as named

    unit = named(given["unit"])
    schedule = schedule_of(given)
    schedule.on(unit)
    formats = format_of(unit, given, "a_format"), format_of(unit, given, "b_format")
    from gemmlab.experiment import Multiplication

    settings: dict[str, Any] = {
        "schedule": schedule,
        "alpha": given.get("alpha", 1.0),
        "beta": given.get("beta", 1.0 if "c" in given and "in_accumulator" not in given else 0.0),
        "c_format": given.get("c_format"),
        "d_format": d_format(given),
        "in_accumulator": "in_accumulator" in given,
        "threads": given.get("threads"),
    }
    if "c" in given:
        from gemmlab.numerics.files import load

        settings["c"] = load(given["c"], given.get("c_format"), (unit.accumulate,), "--c-format")
    operands = drawn(unit, source, given, *formats) if len(source) == 3 else read(unit, source, given, *formats)
    return Multiplication(unit, **settings | operands)


def schedule_of(given: dict[str, Any]) -> Schedule:
    """The schedule that the flags describe; raises GemmlabError."""
    from gemmlab.numerics import Schedule

    return Schedule(**{name: given[name] for name in SCHEDULE if name in given})


def d_format(given: dict[str, Any]) -> str | None:
    """D's format; raises GemmlabError for an unknown one."""
    if "d_format" not in given:
        return None
    from gemmlab import formats

    return formats.get(given["d_format"]).name


def format_of(unit: Unit, given: dict[str, Any], flag: str) -> str | None:
    """The format that a flag names, B's A's where the unit takes it; raises GemmlabError for one it does not take."""
    known = unit.a_formats if flag == "a_format" else unit.b_formats
    name: str | None = given.get(flag)
    if name is None:
        other = given.get("a_format") if flag == "b_format" else None
        return other if other in known else None
    if name not in known:
        raise unknown_name(f"format of {flag[0].upper()} on {unit.name}", name, known)
    return name


def drawn(unit: Unit, source: Sequence[str], given: dict[str, Any], a: str | None, b: str | None) -> dict[str, Any]:
    """Random operands of the sides that the words say; raises GemmlabError."""
    from gemmlab.cli.quantities import size
    from gemmlab.experiment.unit_operands import drawn as random

    sides = [size(word) for word in source]
    a_format, b_format = a or unit.a_formats[0], b or unit.b_formats[0]
    found = random(unit, sides, given.get("content", "normal"), given.get("seed", 0), a_format, b_format)
    return found._asdict() | {"a_format": a_format, "b_format": b_format}


def read(unit: Unit, source: Sequence[str], given: dict[str, Any], a: str | None, b: str | None) -> dict[str, Any]:
    """Operands out of files, rounded where asked for; raises GemmlabError."""
    from gemmlab.numerics.files import load

    left = load(source[0], a, unit.a_formats, "--a-format")
    right = load(source[1], b, unit.b_formats, "--b-format")
    for what, array, path in (("A", left, source[0]), ("B", right, source[1])):
        if array.ndim != 2:
            shape = " x ".join(map(str, array.shape)) or "a single number"
            raise GemmlabError(f"{what} is {shape} in `{path}`", "a matrix of two dimensions")
    layout = given.get("layout", "nn")
    left, right = (left.T if layout[0] == "t" else left), (right.T if layout[1] == "t" else right)
    found: dict[str, Any] = {"a": left, "b": right, "a_format": a, "b_format": b}
    if "round" in given:
        from gemmlab.experiment.unit_operands import rounded

        names = a or unit.a_formats[0], b or unit.b_formats[0]
        return found | rounded(unit, left, right, *names)._asdict() | {"a_format": names[0], "b_format": names[1]}
    for name, flag in (("a_scales", "--a-scales"), ("b_scales", "--b-scales")):
        if name in given:
            found[name] = load(given[name], unit.scale_formats[0] if unit.scaled else None, unit.scale_formats, flag)
    return found
