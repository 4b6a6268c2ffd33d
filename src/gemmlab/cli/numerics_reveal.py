"""`gemmlab numerics reveal`: a unit's rules from its answers alone, confirmed on random vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gemmlab.cli.numerics_options import REVEAL
from gemmlab.cli.numerics_output import check_files, deliver
from gemmlab.cli.parse import parse
from gemmlab.record import GemmlabError

HELP = "gemmlab numerics reveal --help"
SOURCE = ("--unit | --backend", "What is asked: a unit that is emulated, or one of this machine.")


def help_text(about: str) -> str:
    """What `gemmlab numerics reveal --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab numerics reveal --unit NAME | --backend NAME --format NAME [FLAGS]"
    return of_verb(usage, about, SOURCE, REVEAL, "gemmlab numerics reveal --backend amx --format bfloat16")


def run(words: Sequence[str]) -> int:
    """Reveal; 1 where random vectors do not confirm what was found; raises GemmlabError."""
    plain, given = parse(words, REVEAL, HELP)
    target(plain, given, "reveal")
    if "save" in given and not given["save"].endswith(".toml"):
        raise GemmlabError(f"--save `{given['save']}`: --unit takes files that end in .toml", "--save mine.toml")
    check_files(given, ("plot", "html", "save"))
    from gemmlab.experiment.revealing import revealed

    record, unit = revealed(
        given.get("unit"),
        given.get("backend"),
        settings_of(given),
        k=given.get("k"),
        seed=given.get("seed", 0),
        confirm=given.get("confirm", 100_000),
    )
    found = record.numerics
    if "plot" in given and found and found.first_mismatch is None:
        raise GemmlabError("--plot draws the first vector that differs, and none does", "leave out --plot")
    files: dict[str, str | bytes] = {}
    if "save" in given:
        from gemmlab.numerics.written import as_toml

        files[given["save"]] = as_toml(unit)
    deliver(record, given, files)
    return 0 if found and found.confirmed else 1


def target(plain: Sequence[str], given: dict[str, Any], verb: str) -> None:
    """Raise GemmlabError unless exactly one of --unit and --backend is there, with the format that a backend needs."""
    if plain:
        raise GemmlabError(f"`{plain[0]}` is no flag", f"gemmlab numerics {verb} --unit {plain[0]}")
    if ("unit" in given) == ("backend" in given):
        both = "--unit and --backend are two targets" if "unit" in given else "there is no --unit and no --backend"
        raise GemmlabError(both, f"gemmlab numerics {verb} --unit NAME, or --backend NAME --format NAME")
    if "backend" in given and "format" not in given and "a_format" not in given:
        raise GemmlabError(f"--backend {given['backend']} needs a format", "--format float16")
    for flag in ("accumulate", "instruction"):
        if flag in given and "unit" in given:
            raise GemmlabError(f"--{flag.replace('_', '-')} is of a backend; a unit has its own", "leave it out")


def settings_of(given: dict[str, Any]) -> Any:
    """How the backend is asked; raises GemmlabError for unknown formats."""
    from gemmlab import formats
    from gemmlab.experiment.unit_backends import Settings

    a = given.get("a_format", given.get("format", ""))
    b = given.get("b_format", given.get("format", a))
    for name in filter(None, (a, b, given.get("accumulate"))):
        formats.get(name)
    return Settings(a, b, given.get("accumulate"), given.get("instruction"), given.get("block_k"))
