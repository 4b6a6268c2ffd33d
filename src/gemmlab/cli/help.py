"""What `--help` prints."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from gemmlab.cli.parse import Flag, Section
from gemmlab.report.canvas import Canvas

EXAMPLE = "gemmlab explain 4096 50257 768 --format bfloat16 --chip h100-sxm"
COLUMN = 26  # where the text begins
COMMON = Section("Always", (Flag("help", "Print this."),))


def overview(about: str, verbs: Iterable[tuple[str, str]]) -> str:
    """The verbs, one a line."""
    canvas = canvas_here()
    lines = ["gemmlab VERB ...", "", *canvas.wrap(about), ""]
    for name, text in [*verbs, ("--version", "Print the version.")]:
        lines += entry(name, text, canvas)
    lines += ["", *canvas.wrap("`gemmlab VERB --help` tells the flags of a verb.")]
    return "\n".join([*lines, *canvas.wrap(f"For example: {EXAMPLE}", hang=2)])


def inner_overview(usage: str, about: str, verbs: Iterable[tuple[str, str]], example: str) -> str:
    """The parts of a verb that has several, one a line."""
    canvas = canvas_here()
    lines = [f"{usage} PART ...", "", *canvas.wrap(about), ""]
    for name, text in verbs:
        lines += entry(name, text, canvas)
    lines += ["", *canvas.wrap(f"`{usage} PART --help` tells the flags of a part.")]
    return "\n".join([*lines, *canvas.wrap(f"For example: {example}", hang=2)])


def of_verb(usage: str, about: str, source: tuple[str, str], sections: Iterable[Section], example: str) -> str:
    """A verb's words and flags."""
    canvas = canvas_here()
    lines = [*canvas.wrap(usage, hang=2), "", *canvas.wrap(about), "", *entry(*source, canvas)]
    for section in [*sections, COMMON]:
        lines += ["", canvas.paint(section.title, "strong")]
        for flag in section.flags:
            lines += entry(f"{flag.typed} {flag.metavar}".rstrip(), flag.about, canvas)
    return "\n".join([*lines, "", *canvas.wrap(f"For example: {example}", hang=2)])


def entry(name: str, text: str, canvas: Canvas) -> list[str]:
    """A name and, beside or below it, its text."""
    body = canvas.wrap(text, COLUMN)
    if len(name) + 3 > COLUMN:
        return [f"  {name}", *body]
    return [f"  {name}{body[0][2 + len(name) :]}", *body[1:]]


def canvas_here() -> Canvas:
    """What standard output can show."""
    return Canvas.of(sys.stdout, None, None, None)
