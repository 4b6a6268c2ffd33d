"""Lists of shapes as data: blocks of sides whose every combination is a shape."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import chain, product
from typing import Any

from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.gemm import Gemm
from gemmlab.problem.shape import Shape

DATA = files("gemmlab.problem.suites") / "data"


@cache
def load(name: str) -> dict[str, Any]:
    """A data file's content."""
    return tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))


def list_names() -> tuple[str, ...]:
    """The lists: every data file that is made of shapes."""
    names = (entry.name.removesuffix(".toml") for entry in DATA.iterdir() if entry.name.endswith(".toml"))
    return tuple(sorted(name for name in names if "shapes" in load(name)))


def list_shapes(name: str, format: str = "") -> list[Shape]:
    """The shapes of a list in file order, in its own formats or all in the given one."""
    content = load(name)
    defaults = content.get("defaults", {})
    return [shape for block in content["shapes"] for shape in block_shapes({**defaults, **block}, format)]


def block_shapes(block: dict[str, Any], format: str) -> Iterator[Shape]:
    """The shapes of one block: keys made of the letters m n k give sides, the others are fields of each Gemm.

    `nk` lists (n, k) pairs; a number where a pair could stand is both. `members` makes each shape a grouped GEMM of
    that many equal members.
    """
    axes = [key for key in block if set(key) <= set("mnk")]
    fields: dict[str, Any] = {key: value for key, value in block.items() if key not in axes}
    name, members = fields.pop("name", ""), fields.pop("members", 0)
    if "scale" in fields:
        fields["scale"] = BlockScale.parse(fields["scale"])
    if format:
        fields = {key: value for key, value in fields.items() if key not in ("c_format", "scale")}
        fields["a_format"] = format
    letters = "".join(axes)
    for values in product(*(choices(block[axis], len(axis)) for axis in axes)):
        named = dict(zip(letters, chain.from_iterable(values), strict=True))
        sides = (named["m"], named["n"], named["k"])
        problem = Gemm.grouped([sides] * members, **fields) if members else Gemm(*sides, **fields)
        yield Shape(problem, name=name)


def choices(value: Any, letters: int) -> list[tuple[int, ...]]:
    """The values of an axis, each with one side a letter; a range is {first, last, step} or {first, last, times}."""
    if isinstance(value, dict):
        value = list(progression(**value))
    entries = value if isinstance(value, list) else [value]
    return [tuple(entry) if isinstance(entry, list) else (entry,) * letters for entry in entries]


def progression(first: int, last: int, step: int = 0, times: int = 1) -> Iterator[int]:
    """The numbers from first to last, both included, growing by a step or by a factor."""
    while first <= last:
        yield first
        first = first * times + step
