"""Units by name: one TOML file an architecture, or a designer's own file."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from gemmlab.numerics.behaviour import Unit, from_toml
from gemmlab.record import GemmlabError, unknown_name

Fields = dict[str, Any]
#: what people call a format -> its name here
SHORT = {
    "fp8": "float8_e4m3fn",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "fp16": "float16",
    "f16": "float16",
    "bf16": "bfloat16",
    "tf32": "tfloat32",
    "fp32": "float32",
    "f32": "float32",
    "fp64": "float64",
}


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
    raise no_such(name)


def no_such(name: str) -> GemmlabError:
    """The error for a name that no unit has: what begins so, or sounds so, or how names are made."""
    spelled = ".".join(SHORT.get(part, part) for part in name.lower().split("."))
    if spelled in names():
        return GemmlabError(f"unknown unit `{name}`", f"the nearest: {spelled}")
    below = [known for known in names() if known.startswith(f"{spelled}.")]
    if len(below) > 1:
        return GemmlabError(f"`{name}` is {len(below)} units", f"`gemmlab numerics units {spelled}` lists them")
    if below or spelled != name.lower():
        near = unknown_name("unit", below[0] if below else spelled, names())
        return GemmlabError(f"unknown unit `{name}`", f"the nearest: {below[0]}" if below else near.hint)
    unknown = unknown_name("unit", name, names())
    if unknown.hint.startswith("known"):
        # Nothing is near, and all names would fill the screen.
        hint = "<architecture>.<instruction>.<format>, as hopper.wgmma.float8_e4m3fn; gemmlab numerics units lists all"
        return GemmlabError(unknown.text, hint)
    return unknown


def names() -> tuple[str, ...]:
    """All known units' names, by architecture."""
    return tuple(units())


@cache
def units() -> dict[str, Unit]:
    """All known units by name.

    A unit's fields come from accumulators.toml, then from its file's `[defaults.<accumulator>]`, then from its own
    table. `[x.y.z.float16]` is x.y.z with a float16 accumulator: it begins with what x.y.z has, but for where that
    comes from and what it was checked on.
    """
    folder = resources.files(__package__)
    shared = tomllib.loads((folder / "accumulators.toml").read_text(encoding="utf-8"))
    found: dict[str, Unit] = {}
    files = [file for file in folder.iterdir() if file.name.endswith(".toml") and file.name != "accumulators.toml"]
    for file in sorted(files, key=lambda each: each.name):
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        defaults = told.pop("defaults", {})
        complete: dict[str, Fields] = {}
        for name, own in flattened(told):
            parent, _, last = name.rpartition(".")
            above = complete.get(parent, {})
            kind = last if above else str(own.get("accumulate", "float32"))
            begun = {field: value for field, value in above.items() if field not in ("source", "silicon")}
            complete[name] = begun | shared[kind] | defaults.get(kind, {}) | own
            found[name] = msgspec.convert(complete[name] | {"name": name}, Unit)
    return found


def flattened(told: Fields, prefix: str = "") -> list[tuple[str, Fields]]:
    """(name, own fields) of every table that has a `source`: `[hopper.mma.float16]` is named hopper.mma.float16."""
    found = []
    for key, value in told.items():
        if not isinstance(value, dict):
            continue
        name = f"{prefix}{key}"
        fields = {field: each for field, each in value.items() if not isinstance(each, dict)}
        if "source" in fields:
            found.append((name, fields))
        found.extend(flattened(value, f"{name}."))
    return found
