"""Words of the command line that are quantities of some kind."""

from __future__ import annotations

import re

from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.columns import number, real
from gemmlab.record import GemmlabError

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
SHORTEST_S, LONGEST_S = 1e-12, 1e12  # as explain() takes them
NARROWEST, WIDEST = 40, 100
GROUPS = "for example 128x4096x7168,64x4096x7168"


def seconds(text: str) -> float:
    """A time in seconds from `208us`, `1.3 ms` or `2e-4s`; raises GemmlabError."""
    found = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-zµμ]*)\s*", text, re.IGNORECASE)
    unit = found[2].lower() if found else ""
    if found is None or unit not in SECONDS:
        raise GemmlabError(f"`{text}` is not a time with its unit", "for example 208us; units are s, ms, us, ns")
    value = real(found[1]) * SECONDS[unit]
    if not SHORTEST_S <= value <= LONGEST_S:
        raise GemmlabError(f"`{text}` is not a time that anything takes", "a time above 0, for example 208us")
    return value


def size(text: str) -> int:
    """A whole number of at least 1; raises GemmlabError."""
    found = number(text)
    if found < 1:
        raise GemmlabError(f"{found} is not a size", "at least 1, or leave it out")
    return found


def sides(text: str) -> tuple[int, ...]:
    """One to three sizes along x, y and z from `256`, `16x16` or `8x8x4`; raises GemmlabError."""
    parts = text.lower().split("x")
    if len(parts) > 3 or not all(part.isdecimal() for part in parts):
        raise GemmlabError(f"`{text}` is not one to three sizes", "X, X x Y or X x Y x Z, for example 16x16")
    return tuple(size(part) for part in parts)


def cluster(text: str) -> tuple[int, int]:
    """Programs of a cluster along m and n from `2x1`; raises GemmlabError."""
    parts = text.lower().split("x")
    if len(parts) != 2:
        raise GemmlabError(f"`{text}` is not two sizes", "M x N, for example 2x1")
    m, n = (number(part) for part in parts)
    return m, n


def members(text: str) -> list[tuple[int, int, int]]:
    """The members of a grouped multiplication from `128x4096x7168,64x4096x7168`; raises GemmlabError."""
    found = []
    for index, member in enumerate(text.replace(" ", "").strip(",").split(",")):
        parts = member.lower().split("x")
        if len(parts) != 3:
            raise GemmlabError(f"member {index}, `{member}`, is not M x N x K", GROUPS)
        m, n, k = (number(part) for part in parts)
        found.append((m, n, k))
    return found


def pair(text: str) -> tuple[str, str]:
    """A name and its value from `layers=2`; raises GemmlabError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise GemmlabError(f"`{text}` is not a name and its value", "NAME=VALUE, for example num_hidden_layers=2")
    return name.strip(), value


def is_pair(word: str) -> bool:
    """Whether a word is a name and its value; the name is one of Python's."""
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def is_input(word: str) -> bool:
    """Whether a word behind a model's input may be a further one, and is no SOURCE."""
    return is_pair(word) or word[:1].isdigit() or not re.search("[./:]", word)


def scale(text: str) -> BlockScale:
    """Block scales from `float8_e8m0fnu/32`; raises GemmlabError."""
    return BlockScale.parse(text)


def width(text: str) -> int:
    """Columns that a report may have; raises GemmlabError."""
    columns = number(text)
    if not NARROWEST <= columns <= WIDEST:
        raise GemmlabError(f"{columns} is no width of the text", f"{NARROWEST} to {WIDEST} columns")
    return columns
