"""Which private variables are dead where: what no path from a block of code reads before it is written again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from gemmlab.emulator.serial.expressions import plain

NAME = re.compile(r"\bv_(\w+)\[t\]")
GOES = re.compile(r"\bpc = (\d+)(?: if .* else (\d+))?$")


def live(blocks: list[list[str]]) -> list[set[str]]:
    """Of each block: the variables that a thread about to run it may still read."""
    reads, writes, goes = zip(*(summary(lines) for lines in blocks), strict=True)
    found: list[set[str]] = [set() for _ in blocks]
    grown = True
    while grown:
        grown = False
        for number in reversed(range(len(blocks))):
            after = set().union(*(found[follower] for follower in goes[number]))
            now = reads[number] | (after - writes[number])
            grown |= now != found[number]
            found[number] = now
    return found


def dead(blocks: list[list[str]], names: Iterable[str]) -> Any:
    """A table: 1 where a thread that is about to run a block will not read the variable."""
    named = [plain(name) for name in names]
    # rounds of loops are for lockstep only
    return np.array([[n not in here or n.startswith("0round") for n in named] for here in live(blocks)], np.uint8)


def localised(blocks: list[list[str]]) -> set[str]:
    """Make plain locals of variables that no thread takes from one block to another; the names of the others."""
    carried = set().union(*live(blocks))
    for lines in blocks:
        lines[:] = [NAME.sub(lambda m: m[0] if m[1] in carried else f"w_{m[1]}", line) for line in lines]
    return carried


def summary(lines: Iterable[str]) -> tuple[set[str], set[str], set[int]]:
    """What a block reads first, what it surely writes, and where it goes on."""
    reads: set[str] = set()
    writes: set[str] = set()
    goes: set[int] = set()
    for line in lines:
        found = NAME.findall(line)
        target = re.match(r"\s*v_(\w+)\[t\] = ", line)
        if target:
            found = found[1:]
        reads |= set(found) - writes
        if target and not line.startswith(" "):
            writes.add(target[1])
        goes |= {int(number) for match in GOES.finditer(line) for number in match.groups() if number}
    return reads, writes, goes
