"""`gemmlab chips`: what is known of each chip, from where, and whether it agrees with itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from gemmlab import chips as library
from gemmlab.chips import Chip, Finding
from gemmlab.cli.output import check_width, emit
from gemmlab.cli.quantities import Whole
from gemmlab.record import Record

HERE = "here"


def chips(*names: str, check: bool = False, json: bool = False, width: Whole = None) -> int:
    """List the chips, or show every figure of one with its source.

    Parameters
    ----------
    names
        Chips to show by name, one's own file, or `here` for the chips of this machine, whose clock is measured.
    check
        Recompute each peak from SMs, clock and work per clock; status 1 where a file is off by more than 1 %.
    json
        Print one Record a line, with the chip's figures, or findings, under one more key.
    width
        Columns of the text, 40 to 100; default the terminal's.
    """
    check_width(width)
    chosen = [chip for name in names or library.names() for chip in named(name)]
    if check:
        return report_check(chosen, json)
    if json:
        emit("".join(line(chip, "figures", library.figures(chip)) for chip in chosen), for_programs=True)
        return 0
    from gemmlab.report import chip_table, chip_text

    texts = [chip_text(chip, width=width) for chip in chosen] if names else [chip_table(chosen, width=width)]
    emit("\n\n".join(texts) + "\n")
    return 0


def named(name: str) -> list[Chip]:
    """The chips that a word means; raises GemmlabError with the nearest names for an unknown one."""
    return library.here() if name == HERE else [library.load(name)]


def report_check(chosen: Sequence[Chip], json: bool) -> int:
    """Print what checking the chips' files found; 1 where one of them is wrong."""
    found = {chip.name: library.check(chip) for chip in chosen}
    wrong = [finding for findings in found.values() for finding in findings if not finding.ok]
    if json:
        emit("".join(line(chip, "findings", found[chip.name]) for chip in chosen), for_programs=True)
    else:
        emit("".join(f"{text}\n" for findings in found.values() for text in summary(findings)))
        emit("\n`gemmlab chips NAME` says what is doubted, and why\n")
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
    record = msgspec.to_builtins(Record(chip=library.section(chip)))
    return msgspec.json.encode({**record, key: msgspec.to_builtins(list(entries))}).decode() + "\n"
