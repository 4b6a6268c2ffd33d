"""Chips from their TOML files: the built-in ones by name, a user's own by path."""

from __future__ import annotations

import os
import tomllib
from functools import lru_cache
from typing import Any

import msgspec

from gemmlab.chips.chip import Chip, decode_figure
from gemmlab.record import GemmlabError, unknown_name

LARGEST_FILE = 1 << 20  # characters: no chip takes a hundredth of it to describe
HERE = "here"  #: the name of this machine's own chip
DATA = os.path.join(os.path.dirname(__file__), "data")


def names() -> tuple[str, ...]:
    """Names of the built-in chips, sorted."""
    return tuple(sorted(file[:-5] for file in os.listdir(DATA) if file.endswith(".toml")))


def load(name_or_path: str | os.PathLike[str]) -> Chip:
    """A built-in chip by name, or a user's own file: whatever ends in .toml or holds a path separator.

    `here` is this machine's: its first GPU, else its processor, which is measured first.

    Raises GemmlabError for an unknown name, and for a broken file with its line and field.
    """
    text = os.fspath(name_or_path)
    if text.strip().lower() == HERE:
        from gemmlab.chips.local import here

        return here()[0]
    if text.lower().endswith(".toml") or "/" in text or os.sep in text:
        return from_file(text)
    return get(text)


def get(name: str) -> Chip:
    """A built-in chip by name; raises GemmlabError with the nearest names."""
    return built_in(name.strip().lower())


@lru_cache(maxsize=64)
def built_in(name: str) -> Chip:
    """The chip of data/NAME.toml; only that file is read."""
    return convert(tree_of(name))


def tree_of(name: str) -> dict[str, Any]:
    """The tree of a built-in file, sources spelled out."""
    path = os.path.join(DATA, f"{name}.toml")
    if os.path.basename(name) != name or not os.path.isfile(path):
        raise unknown_name("chip", name, names())
    with open(path, "rb") as file:
        return spell_out(tomllib.load(file))


def from_file(path: str) -> Chip:
    """The chip that a user's TOML file describes, alone or as changes to a built-in one (`base = "h100-sxm"`)."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise GemmlabError(f"cannot read chip file `{path}`: {reason}", "give the path of a TOML file") from None
    if len(text) > LARGEST_FILE:
        raise GemmlabError(f"chip file `{path}` is longer than {LARGEST_FILE} characters", "give a file of one chip")
    return parse(text, path)


def parse(text: str, path: str) -> Chip:
    """The chip that a user's TOML text describes; `path` names it, and is else for messages alone."""
    from gemmlab.chips import faults
    from gemmlab.chips.derive import derive

    try:
        tree = spell_out(tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # past TOML's own: numbers of thousands of digits, endless nesting
        raise faults.explain_syntax(error, text, path) from None
    faults.refuse_long_integers(tree, text, path)
    base, own = tree.pop("base", None), tree
    if base is not None:
        try:
            known = tree_of(base) if isinstance(base, str) else tree_of("")
        except GemmlabError as error:
            raise faults.at(("base",), f"unknown chip `{base}`", text, path, error.hint) from None
        tree = derive(known, tree, os.path.splitext(os.path.basename(path))[0])
    try:
        chip = convert(tree)
    except msgspec.ValidationError as error:
        raise faults.explain_value(error, tree, own, text, path) from None
    faults.refuse_nonsense(chip, own, text, path)
    return chip


def convert(tree: dict[str, Any]) -> Chip:
    """The chip that a tree describes; raises msgspec.ValidationError."""
    return msgspec.convert(tree, Chip, dec_hook=decode_figure)


def spell_out(tree: dict[str, Any]) -> dict[str, Any]:
    """The same tree without [sources], and each `source` that is a key of it replaced by its text."""
    sources = tree.pop("sources", {})
    if not isinstance(sources, dict):
        tree["sources"] = sources  # an unknown field, for the schema to refuse
        return tree

    def spell(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: sources.get(item, item) if key == "source" and isinstance(item, str) else spell(item)
                for key, item in value.items()
            }
        return [spell(item) for item in value] if isinstance(value, list) else value

    return {key: spell(item) for key, item in tree.items()}
