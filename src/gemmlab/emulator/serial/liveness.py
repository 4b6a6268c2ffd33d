"""Which private variables are dead where: what no path from a block of code reads before it is written again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from gemmlab.emulator.serial.emit import Form
from gemmlab.emulator.serial.expressions import plain

NAME = re.compile(r"\bv_(\w+)\[t\]")
GOES = re.compile(r"\bpc = (\d+)(?: if .* else (\d+))?$")


def dead(form: Form) -> Any:
    """A table: 1 where a thread that is about to run a block will not read a variable, in the order of `form.slots`."""
    blocks = [block.lines for block in form.blocks]
    reads, writes, goes = zip(*(summary(lines) for lines in blocks), strict=True)
    live: list[set[str]] = [set() for _ in blocks]
    grown = True
    while grown:
        grown = False
        for number in reversed(range(len(blocks))):
            after = set().union(*(live[follower] for follower in goes[number]))
            now = reads[number] | (after - writes[number])
            grown |= now != live[number]
            live[number] = now
    names = [plain(name) for name in form.slots]
    # rounds of loops are for lockstep only
    return np.array([[name not in here or name.startswith("0round") for name in names] for here in live], np.uint8)


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
