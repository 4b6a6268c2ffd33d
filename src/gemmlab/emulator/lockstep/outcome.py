"""Counters of sites as rows of counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep.columns import PIECES, REQUESTS, SPLITS, THREADS
from gemmlab.emulator.tallies import Key, Place, Tally

#: kinds of statements that have rows; exits and inlined functions have none
ROWS = frozenset({"load", "store", "atomic", "if", "for", "while", "barrier", "warpop", "assign"})


def place_of(program: p.Program, site: int) -> Place:
    """The line of a site."""
    line = program.sites[site].line
    return Place(program.files[line.file], line.number)


def tallies_of(program: p.Program, counters: NDArray[np.int64]) -> dict[Key, Tally]:
    """The rows that sites add up to; a row that nobody executed is left out."""
    rows: dict[Key, Tally] = {}
    for number, site in enumerate(program.sites):
        threads = int(counters[number, THREADS])
        if threads == 0 or site.kind not in ROWS:
            continue
        steady = site.kind == "assign"
        tally = Tally(
            0 if steady else threads,
            0 if steady else int(counters[number, REQUESTS]),
            int(counters[number, PIECES]),
            int(counters[number, SPLITS]),
            site.flop * threads,
            site.fma * threads,
        )
        key = Key(place_of(program, number), site.kind, site.array)
        rows[key] = rows.get(key, Tally()) + tally
    return rows
