"""What is wrong with a chip's file, and on which line."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gemmlab.chips.chip import Figure, Peak, decode_figure
from gemmlab.record import GemmlabError

Path = tuple[str | int, ...]
HINT = "CONTRIBUTING.md tells how to describe a chip; `gemmlab chips h100-sxm` shows one"


def explain_syntax(error: Exception, text: str, path: str) -> GemmlabError:
    """The error for text that is no TOML."""
    found = re.search(r"\(at line (\d+)", str(error))
    line = int(found[1]) if found else max(1, len(text.splitlines()))
    field = field_at(text, line)
    what = re.sub(r"\s*\(at .*\)$", "", str(error))
    return GemmlabError(f"{path}, line {line}{f', field `{field}`' if field else ''}: {what}", HINT)


def explain_value(error: Exception, tree: dict[str, Any], text: str, path: str) -> GemmlabError:
    """The error for TOML that does not describe a chip: a field missing, unknown or of a wrong type."""
    message, where = split_message(str(error))
    where = name_the_key(where, tree)
    named = re.search(r"(?:required|unknown) field `([^`]+)`", message)
    full = (*where, named[1]) if named else where
    line = line_of(full, text)
    return GemmlabError(f"{path}, line {line}, field `{dotted(full)}`: {message}", HINT)


def split_message(text: str) -> tuple[str, Path]:
    """A msgspec message as what it says and where: `$.levels[1].name` becomes ("levels", 1, "name")."""
    message, _, where = text.partition(" - at `$")
    parts: list[str | int] = []
    for key, index in re.findall(r"\.([^.\[\]`]+)|\[(\d+|\.\.\.)\]", where):
        parts.append(key or (index if index == "..." else int(index)))
    return message, tuple(parts)


def name_the_key(where: Path, tree: dict[str, Any]) -> Path:
    """The same place with each `...`, which stands for some key of a table, replaced by the key that fails."""
    if "..." not in where:
        return where
    spot = where.index("...")
    table: Any = tree
    for part in where[:spot]:
        table = table[part]
    kind: type = Peak if where[0] == "peaks" else Figure
    for key, value in table.items():
        try:
            msgspec.convert(value, kind, dec_hook=decode_figure)
        except msgspec.ValidationError:
            return (*where[:spot], key, *where[spot + 1 :])
    return where


def lines_of(text: str) -> dict[Path, int]:
    """The line on which each table and key of TOML text begins."""
    lines: dict[Path, int] = {(): 1}
    here: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if array := re.match(r"\s*\[\[([^\]]+)\]\]", line):
            name = keys_of(array[1])
            count = sum(1 for known in lines if len(known) == len(name) + 1 and known[:-1] == name)
            here = (*name, count)
            lines.setdefault(name, number)
        elif table := re.match(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$", line):
            here = keys_of(table[1])
        elif pair := re.match(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""", line):
            lines.setdefault((*here, *keys_of(pair[1])), number)
            continue
        else:
            continue
        lines.setdefault(here, number)
    return lines


def keys_of(text: str) -> Path:
    """A dotted key's parts, without quotes."""
    return tuple(part.strip().strip("\"'") for part in re.findall(r"""[\w-]+|"[^"]*"|'[^']*'""", text))


def line_of(where: Path, text: str) -> int:
    """The line of a field; of the nearest table around it where the field is missing or written inline."""
    lines = lines_of(text)
    while where and where not in lines:
        where = where[:-1]
    return lines[where]


def field_at(text: str, line: int) -> str:
    """The last field that begins on or before a line, empty before the first."""
    before = [(number, where) for where, number in lines_of(text).items() if where and number <= line]
    return dotted(max(before, key=lambda entry: (entry[0], len(entry[1])))[1]) if before else ""


def dotted(where: Path) -> str:
    """A place as text: `levels[1].name`."""
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
