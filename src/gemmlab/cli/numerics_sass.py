"""`gemmlab numerics sass`: which instruction a Triton kernel becomes, and which unit that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gemmlab.cli.numerics_options import SASS
from gemmlab.cli.numerics_output import deliver
from gemmlab.cli.parse import parse
from gemmlab.record import GemmlabError, NumericsSection, Record

HELP = "gemmlab numerics sass --help"
SOURCE = ("KERNEL", "FILE.py:KERNEL, a function under @triton.jit; the file is run. Without it, gemmlab's own GEMM.")
OWN = ("format", "b_format", "accumulate", "tile", "imprecise", "spelling")
DEFAULT = "float8_e4m3fn"


def help_text(about: str) -> str:
    """What `gemmlab numerics sass --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab numerics sass [FILE.py:KERNEL --arg NAME=TYPE ...] [FLAGS]"
    return of_verb(usage, about, SOURCE, SASS, "gemmlab numerics sass --format float8_e4m3fn --arch sm_90 --warps 2")


def run(words: Sequence[str]) -> int:
    """Compile and read the machine code; 1 where it is not of the unit that was named; raises GemmlabError."""
    source, given = parse(words, SASS, HELP)
    if len(source) > 1:
        raise GemmlabError(f"{len(source)} kernels are named", "FILE.py:KERNEL")
    for flag in OWN if source else ("arg",):
        if flag in given:
            of = "gemmlab's own GEMM, and a kernel is named" if source else "a kernel of one's own, and none is named"
            raise GemmlabError(f"--{flag.replace('_', '-')} is of {of}", "leave it out")
    if "unit" in given:
        from gemmlab.numerics.units import unit as named

        named(given["unit"])
    found = compiled(source, given)
    section = NumericsSection(
        unit=found.unit_name or "no known unit",
        kind="counted",
        backend=f"Triton {found.compiler}, {found.kernel}",
        confirmed=None,
        instruction=found.instruction,
        architecture=found.architecture,
        sass=dict(found.opcodes),
        notes=tuple(found.notes),
    )
    deliver(Record(numerics=section), given)
    return 1 if "unit" in given and found.unit_name != given["unit"] else 0


def compiled(source: Sequence[str], given: dict[str, Any]) -> Any:
    """What the kernel becomes; raises GemmlabError."""
    from gemmlab.numerics import sass

    settings: dict[str, Any] = {name: given[name] for name in ("warps", "stages") if name in given}
    architecture = given.get("arch", "sm_90")
    if source:
        return sass.compile_kernel(source[0], arguments(given.get("arg", ())), architecture, **settings)
    settings |= {
        name: given[name] for name in ("b_format", "accumulate", "tile", "imprecise", "spelling") if name in given
    }
    return sass.compile_dot(given.get("format", DEFAULT), architecture, **settings)


def arguments(words: Sequence[str]) -> dict[str, str]:
    """`a=*float16` as name and type or value; raises GemmlabError."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise GemmlabError(f"--arg `{word}` is no NAME=TYPE", "a=*float16, n=int32, BLOCK=64")
        found[name] = value
    return found
