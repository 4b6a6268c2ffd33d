"""`gemmlab numerics units`: every unit in a table, or all rules of one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gemmlab.cli.numerics_options import UNITS
from gemmlab.cli.output import emit
from gemmlab.cli.parse import parse
from gemmlab.numerics import Unit
from gemmlab.numerics.units import unit, units
from gemmlab.record import GemmlabError, NumericsSection, Record

HELP = "gemmlab numerics units --help"
NAMES = (
    "NAME ...",
    "Units to show with every rule and its source, by name or one's own FILE.toml; what begins several names, such as "
    "hopper or hopper.mma, is a table of those. Without any, a table of all.",
)


def help_text(about: str) -> str:
    """What `gemmlab numerics units --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab numerics units [NAME | FILE.toml ...] [FLAGS]"
    return of_verb(usage, about, NAMES, UNITS, "gemmlab numerics units hopper.wgmma.float8_e4m3fn")


def run(words: Sequence[str]) -> int:
    """List or show units; raises GemmlabError."""
    wanted, given = parse(words, UNITS, HELP)
    found = [named(name) for name in wanted] or [list(units().values())]
    chosen = [each for group in found for each in group]
    if "toml" in given:
        if "json" in given:
            raise GemmlabError("--toml and --json would both print on standard output", "one of them")
        if len(chosen) != 1:
            raise GemmlabError(
                f"--toml writes one unit, and {len(chosen)} are named", "gemmlab numerics units NAME --toml"
            )
        from gemmlab.numerics.written import as_toml

        emit(as_toml(chosen[0]))
        return 0
    if "json" in given:
        emit("".join(line(each) for each in chosen), for_programs=True)
        return 0
    from gemmlab.report import unit_table, unit_text

    width = given.get("width")
    if wanted and len(chosen) == len(wanted):
        emit("\n\n".join(unit_text(each, width=width) for each in chosen) + "\n")
    else:
        emit(unit_table(chosen, width=width) + "\n")
    return 0


def named(name: str) -> list[Unit]:
    """The unit that a word names, or those whose names it begins; raises GemmlabError with the nearest names."""
    known = units()
    if name in known or name.endswith(".toml"):
        return [unit(name)]
    begun = [each for each in known.values() if each.name.startswith(f"{name}.")]
    return begun or [unit(name)]


def line(chosen: Unit) -> str:
    """A Record of the unit alone, its fields under one more key."""
    section = NumericsSection(unit=chosen.name, width_bits=chosen.width_bits, fraction_bits=fraction(chosen))
    record = msgspec.to_builtins(Record(numerics=section))
    return msgspec.json.encode({**record, "fields": msgspec.to_builtins(chosen)}).decode() + "\n"


def fraction(chosen: Unit) -> int | None:
    """Fraction bits that are kept; integers have none."""
    return None if chosen.sum == "integer" else chosen.width
