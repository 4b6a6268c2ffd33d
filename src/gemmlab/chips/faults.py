"""What is wrong with a chip's file, and on which line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import msgspec

from gemmlab.chips.chip import Chip, Figure, Peak, decode_figure
from gemmlab.chips.listing import figures
from gemmlab.formats import bits_of
from gemmlab.record import GemmlabError

Path = tuple[str | int, ...]
Tree = dict[str, Any]
LARGEST_INTEGER = 1 << 63  # TOML's integers have 64 bits
MOST_SMS = 1 << 16
LEAST, MOST = 1e-18, 1e24  # of any figure in its SI unit; real ones lie between 1e-14 and 1e16
HINT = "`gemmlab chips h100-sxm` shows every field of a chip, and CONTRIBUTING.md tells how to describe one"
KEY = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""


def at(where: Path, message: str, text: str, path: str, hint: str = HINT) -> GemmlabError:
    """The error for one field of a file."""
    return GemmlabError(f"{path}, line {line_of(where, text)}, field `{dotted(where)}`: {message}", hint)


def explain_syntax(error: Exception, text: str, path: str) -> GemmlabError:
    """The error for text that is no TOML."""
    if not isinstance(error, tomllib.TOMLDecodeError):
        nested = isinstance(error, RecursionError)
        return GemmlabError(f"{path}: {'tables nested too deeply' if nested else 'a number of too many digits'}", HINT)
    found = re.search(r"\(at line (\d+)", str(error))
    line = int(found[1]) if found else max(1, len(text.splitlines()))
    field = field_at(text, line)
    what = re.sub(r"\s*\(at .*\)$", "", str(error))
    return GemmlabError(f"{path}, line {line}{f', field `{field}`' if field else ''}: {what}", HINT)


def explain_value(error: Exception, tree: Tree, own: Tree, text: str, path: str) -> GemmlabError:
    """The error for TOML that does not describe a chip: a field missing, unknown or of a wrong type.

    `tree` is the whole chip, `own` what the file itself says of it.
    """
    message, where = split_message(str(error))
    where = name_the_key(where, tree)
    if where[:1] == ("levels",) and len(where) > 1:
        level = tree["levels"][where[1]]
        where = own_level(own, level.get("name") if isinstance(level, dict) else None, where)
    named = re.search(r"(?:required|unknown) field `([^`]+)`", message)
    return at((*where, named[1]) if named else where, message, text, path)


def own_level(own: Tree, name: Any, where: Path) -> Path:
    """A place in the chip's levels as a place in the file's own, which may list fewer."""
    listed = own.get("levels")
    for place, level in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(level, dict) and level.get("name") == name:
            return ("levels", place, *where[2:])
    return where


def refuse_nonsense(chip: Chip, own: Tree, text: str, path: str) -> None:
    """Raise for a chip whose fields have the right types and yet mean nothing."""
    for name in chip.peaks:
        try:
            bits_of(name)
        except GemmlabError as error:
            raise at(("peaks", name), error.text, text, path, error.hint) from None
    names = [level.name for level in chip.levels]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise at(("levels", place, "name"), f"level `{name}` stands here twice", text, path)
    if "dram" not in names:
        raise at(("levels",), "no level is named `dram`, and every prediction needs one", text, path)
    from gemmlab.chips.selfcheck import positive

    for finding in positive(chip):
        where: Path = tuple(finding.path.split("."))
        if where[0] == "levels":
            where = own_level(own, where[1], where)
        raise at(where, finding.text, text, path)
    for where, message in implausible(chip):
        raise at(own_level(own, where[1], where) if where[0] == "levels" else where, message, text, path)


def implausible(chip: Chip) -> Iterator[tuple[Path, str]]:
    """Figures that no chip has: counts that are not whole, and numbers that no unit explains."""
    for entry in figures(chip):
        where: Path = tuple(entry.path.split("."))
        low = -MOST if where[0] == "calibration" else LEAST  # a fitted constant may have any sign
        if not low <= entry.value <= MOST:
            yield where, f"{entry.value:g} is no figure of a chip in SI units, {low:g} to {MOST:g}"
        if where[0] in ("sm_count", "limits") and entry.value != int(entry.value):
            yield where, f"{entry.value:g} is not a whole number"
    if chip.sm_count > MOST_SMS:
        yield ("sm_count",), f"{chip.sm_count:g} is past the largest number of SMs, {MOST_SMS}"
    if chip.limits is not None and not 1 <= chip.limits.warp_size <= chip.limits.threads_per_program:
        yield ("limits", "warp_size"), f"{chip.limits.warp_size} is no number of threads of a warp"


def refuse_long_integers(tree: Any, text: str, path: str, where: Path = ()) -> None:
    """Raise for an integer past 64 bits, which no figure is and no float may hold."""
    if isinstance(tree, int) and not -LARGEST_INTEGER <= tree < LARGEST_INTEGER:
        raise at(where, "a whole number past 64 bits", text, path)
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        refuse_long_integers(value, text, path, (*where, key))


def split_message(text: str) -> tuple[str, Path]:
    """A msgspec message as what it says and where: `$.levels[1].name` becomes ("levels", 1, "name")."""
    message, _, where = text.partition(" - at `$")
    parts: list[str | int] = []
    for key, index in re.findall(r"\.([^.\[\]`]+)|\[(\d+|\.\.\.)\]", where):
        parts.append(key or (index if index == "..." else int(index)))
    return message, tuple(parts)


def name_the_key(where: Path, tree: Tree) -> Path:
    """The same place with the `...` that stands for some key of a table replaced by the key that fails."""
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
    """The line on which each table and key of TOML text begins; what an inline table holds stands with the table."""
    lines: dict[Path, int] = {(): 1}
    here: Path = ()
    arrays: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if array := re.match(r"\s*\[\[([^\]]+)\]\]", line):
            name = keys_of(array[1])
            here = (*name, arrays.get(name, 0))
            arrays[name] = arrays.get(name, 0) + 1
            lines.setdefault(name, number)
            lines.setdefault(here, number)
        elif table := re.match(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$", line):
            here = keys_of(table[1])
            lines.setdefault(here, number)
        elif pair := re.match(rf"\s*({KEY}(?:\s*\.\s*{KEY})*)\s*=", line):
            keys = keys_of(pair[1])
            for size in range(1, len(keys) + 1):
                lines.setdefault((*here, *keys[:size]), number)
    return lines


def keys_of(text: str) -> tuple[str, ...]:
    """A dotted key's parts, without quotes."""
    return tuple(part.strip("\"'") for part in re.findall(KEY, text))


def line_of(where: Path, text: str) -> int:
    """The line of a field; of the nearest table around it where the field is missing or written inline."""
    lines = lines_of(text)
    while where not in lines:
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
