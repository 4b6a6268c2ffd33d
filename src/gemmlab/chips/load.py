"""Chips from their TOML files: the built-in ones by name, a user's own by path."""

from __future__ import annotations

import os
import tomllib
from functools import lru_cache
from typing import Any

import msgspec

from gemmlab.chips.chip import Chip, decode_figure
from gemmlab.record import GemmlabError, unknown_name

DATA = os.path.join(os.path.dirname(__file__), "data")


def names() -> tuple[str, ...]:
    """Names of the built-in chips, sorted."""
    return tuple(sorted(file[:-5] for file in os.listdir(DATA) if file.endswith(".toml")))


def load(name_or_path: str | os.PathLike[str]) -> Chip:
    """A built-in chip by name, or a user's own file: whatever ends in .toml or holds a path separator.

    Raises GemmlabError for an unknown name, and for a broken file with its line and field.
    """
    text = os.fspath(name_or_path)
    if text.lower().endswith(".toml") or "/" in text or os.sep in text:
        return from_file(text)
    return built_in(text.lower())


def get(name: str) -> Chip:
    """A built-in chip by name; raises GemmlabError with the nearest names."""
    return built_in(name.lower())


@lru_cache(maxsize=64)
def built_in(name: str) -> Chip:
    """The chip of data/NAME.toml; only that file is read."""
    path = os.path.join(DATA, f"{name}.toml")
    if not os.path.isfile(path):
        raise unknown_name("chip", name, names())
    return from_file(path)


def from_file(path: str) -> Chip:
    """The chip that a TOML file describes."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise GemmlabError(
            f"cannot read chip file `{path}`: {error.strerror}", "give the path of a TOML file"
        ) from None
    return parse(text, path)


def parse(text: str, path: str) -> Chip:
    """The chip that TOML text describes; `path` is for messages alone."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        from gemmlab.chips.faults import explain_syntax

        raise explain_syntax(error, text, path) from None
    sources = tree.pop("sources", {})
    try:
        return msgspec.convert(spell_out(tree, sources), Chip, dec_hook=decode_figure)
    except msgspec.ValidationError as error:
        from gemmlab.chips.faults import explain_value

        raise explain_value(error, tree, text, path) from None


def spell_out(tree: Any, sources: dict[str, str]) -> Any:
    """The same tree with each `source` that is a key of [sources] replaced by its text."""
    if isinstance(tree, dict):
        return {
            key: sources.get(value, value) if key == "source" and isinstance(value, str) else spell_out(value, sources)
            for key, value in tree.items()
        }
    return [spell_out(item, sources) for item in tree] if isinstance(tree, list) else tree
