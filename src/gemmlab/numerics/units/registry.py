"""Units by name: one TOML file an architecture, `[defaults]` shared by its units, or a designer's own file."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from gemmlab.numerics.unit import Unit, from_toml
from gemmlab.record import GemmlabError, unknown_name


def unit(name: Unit | str) -> Unit:
    """The unit of that name, or of that TOML file; a Unit is given back as it is.

    Raises GemmlabError with the nearest names, or for a file that is no unit.
    """
    if isinstance(name, Unit):
        return name
    if name in units():
        return units()[name]
    if name.endswith(".toml"):
        try:
            return from_toml(Path(name).read_text(encoding="utf-8"), name)
        except (OSError, UnicodeDecodeError) as error:
            raise GemmlabError(f"cannot read {name}: {error}", "a TOML file with a unit's fields") from None
    raise unknown_name("unit", name, names())


def names() -> tuple[str, ...]:
    """All known units' names, by architecture."""
    return tuple(units())


@cache
def units() -> dict[str, Unit]:
    """All known units by name."""
    found: dict[str, Unit] = {}
    files = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".toml")]
    for file in sorted(files, key=lambda each: each.name):
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        defaults = told.pop("defaults", {})
        for family, fields in flattened(told):
            made = msgspec.convert(defaults | fields | {"name": family}, Unit)
            found[made.name] = made
    return found


def flattened(told: dict[str, object], prefix: str = "") -> list[tuple[str, dict[str, object]]]:
    """(name, fields) of every table that has `a_formats`: `[hopper.mma.float16]` is named hopper.mma.float16."""
    found = []
    for key, value in told.items():
        if not isinstance(value, dict):
            continue
        name = f"{prefix}{key}"
        fields = {field: each for field, each in value.items() if not isinstance(each, dict)}
        if "a_formats" in fields:
            found.append((name, fields))
        found.extend(flattened(value, f"{name}."))
    return found
