"""Words of the command line that are numbers of some kind."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token

from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.columns import number, real
from gemmlab.record import GemmlabError

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}


def seconds(text: str) -> float:
    """A time in seconds from `208us`, `1.3 ms` or `2e-4s`; raises GemmlabError."""
    found = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-zµμ]*)\s*", text, re.IGNORECASE)
    unit = found[2].lower() if found else ""
    if found is None or unit not in SECONDS:
        raise GemmlabError(f"`{text}` is not a time with its unit", "for example 208us; units are s, ms, us, ns")
    value = real(found[1]) * SECONDS[unit]
    if not 0 < value < math.inf:
        raise GemmlabError(f"`{text}` is not a time that anything takes", "a time above 0, for example 208us")
    return value


def pair(text: str) -> tuple[int, int]:
    """Two sizes from `2x1`; raises GemmlabError."""
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
            raise GemmlabError(
                f"member {index} of the groups, `{member}`, is not M x N x K", "128x4096x7168,64x4096x7168"
            )
        m, n, k = (number(part) for part in parts)
        found.append((m, n, k))
    return found


def reader(read: Callable[[str], Any], shown: str) -> Parameter:
    """A flag whose word a function of ours reads, so that its errors name the value and the remedy."""

    def convert(kind: Any, tokens: Sequence[Token]) -> Any:
        return read(tokens[0].value)

    return Parameter(converter=convert, n_tokens=1, accepts_keys=False, metavar=shown, allow_leading_hyphen=True)


Whole = Annotated[int | None, reader(number, "N")]
Real = Annotated[float | None, reader(real, "X")]
Seconds = Annotated[float | None, reader(seconds, "TIME")]
Pair = Annotated[tuple[int, int] | None, reader(pair, "MxN")]
Members = Annotated[list[tuple[int, int, int]] | None, reader(members, "MxNxK,...")]
Scale = Annotated[BlockScale | None, reader(BlockScale.parse, "FORMAT/K")]
