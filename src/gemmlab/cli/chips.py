"""`gemmlab chips`: what is known of each chip, from where, and whether it agrees with itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from gemmlab import chips
from gemmlab.chips import Chip, Finding
from gemmlab.cli.options import WIDTH
from gemmlab.cli.output import emit
from gemmlab.cli.parse import Flag, Section, parse
from gemmlab.record import Record

HERE = "here"
HELP = "gemmlab chips --help"
NAMES = (
    "NAME ...",
    "Chips to show with every figure and its source: by name, one's own FILE.toml, or `here` for those of this "
    "machine, whose clock is measured. Without any, a table of all.",
)
FLAGS = Section(
    "Flags",
    (
        Flag("check", "Recompute each peak from SMs, clock and work per clock; status 1 where one is off by over 1 %."),
        Flag("json", "Print one Record a line, with the chip's figures, or findings, under one more key."),
        WIDTH,
    ),
)


def help_text(about: str) -> str:
    """What `gemmlab chips --help` prints."""
    from gemmlab.cli.help import of_verb

    return of_verb(
        "gemmlab chips [NAME | FILE.toml | here ...] [FLAGS]", about, NAMES, (FLAGS,), "gemmlab chips a100-pcie-80gb"
    )


def run(words: Sequence[str]) -> int:
    """List, show or check chips; raises GemmlabError."""
    wanted, given = parse(words, (FLAGS,), HELP)
    chosen = [chip for name in wanted or chips.names() for chip in named(name)]
    if "check" in given:
        return report_check(chosen, wanted, json="json" in given)
    if "json" in given:
        emit("".join(line(chip, "figures", chips.figures(chip)) for chip in chosen), for_programs=True)
        return 0
    from gemmlab.report import chip_table, chip_text

    width = given.get("width")
    texts = [chip_text(chip, width=width) for chip in chosen] if wanted else [chip_table(chosen, width=width)]
    emit("\n\n".join(texts) + "\n")
    return 0


def named(name: str) -> list[Chip]:
    """The chips that a word means; raises GemmlabError with the nearest names for an unknown one."""
    return chips.here() if name == HERE else [chips.load(name)]


def report_check(chosen: Sequence[Chip], wanted: Sequence[str], *, json: bool) -> int:
    """Print what checking the chips' files found; 1 where one of them is wrong. `wanted` is how they were named."""
    found = {chip.name: chips.self_check(chip) for chip in chosen}
    wrong = [finding for findings in found.values() for finding in findings if not finding.ok]
    if json:
        emit("".join(line(chip, "findings", found[chip.name]) for chip in chosen), for_programs=True)
    else:
        emit("".join(f"{text}\n" for findings in found.values() for text in summary(findings)))
        emit(f"\n`gemmlab chips {' '.join(wanted) or 'NAME'}` says what is doubted, and why\n")
    return 1 if wrong else 0


def summary(findings: Sequence[Finding]) -> list[str]:
    """A chip's findings in words: how many hold, each that does not, and how many figures are in doubt."""
    checked = [finding for finding in findings if finding.kind not in ("doubt", "note")]
    doubts = sum(finding.kind == "doubt" for finding in findings)
    wrong = [finding for finding in checked if not finding.ok]
    name = findings[0].chip if findings else "?"
    said = f"{name}: {len(checked) - len(wrong)} of {len(checked)} checks hold"
    doubted = f", {doubts} {'figure' if doubts == 1 else 'figures'} in doubt" if doubts else ""
    return [said + doubted, *(f"  wrong: {finding.path}: {finding.text}" for finding in wrong)]


def line(chip: Chip, key: str, entries: Iterable[Any]) -> str:
    """A Record that has a chip alone, with one more key."""
    record = msgspec.to_builtins(Record(chip=chips.section(chip)))
    return msgspec.json.encode({**record, key: msgspec.to_builtins(list(entries))}).decode() + "\n"
