"""Every unit that could be the one, enumerated from its structure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.fast.floats import MODES
from gemmlab.numerics.probing.sieving import COLUMNS, Grid, replaced
from gemmlab.numerics.probing.structure import Structure

ALIGN = range(1, 49)
CUTS = ("rz", "rne", "floor", "rna")
ROUNDINGS = ("rne", "rz", "floor", "rna")
JOINED_FURTHER = range(17)  # bits that a sum joined by floors may keep beyond those of its products
JOINED = 40  # and at most in all

Fields = dict[str, Any]


def aligned(base: Unit, structure: Structure) -> Iterator[Grid]:
    """The ways to add at once: every alignment and cut, and exactly; sums rounded as finely as they can be."""
    fields: Fields = {
        "terms": structure.terms, "instruction_k": structure.k, "order": structure.order, "c": structure.c,
    }  # fmt: skip
    if structure.sum == "pairs":
        yield Grid.over(replaced(base, sum="pairs", align_bits=0, **fields))
        return
    yield Grid.over(replaced(base, sum="exact", align_bits=0, **fields))
    yield Grid.over(replaced(base, align_bits=1, **fields), cut=CUTS, align_bits=ALIGN)
    if structure.c == "early" and structure.order == "ascending" and structure.terms > 1:
        joined: Fields = {"align_bits": 1, "join_bits": 8, "c": "floor"}
        halves = {"terms": structure.terms // 2, "order": "parity"}
        for own in [{}, halves] if structure.terms % 2 == 0 else [{}]:
            grid = Grid.over(
                replaced(base, **fields | joined | own), align_bits=range(8, JOINED + 1), cut=("rz", "floor")
            )
            grid.table[:, COLUMNS.index("join_bits")] = grid.column("align_bits") + 8
            yield grid


def rounded(grid: Grid, kept: int | None, c_seen: bool) -> Grid:
    """Each of them with every width and rounding, given that a sum was seen to keep `kept` fraction bits."""
    unit = grid.base
    whole = formats.get(unit.accumulate).mantissa_bits
    modes = [MODES[name] for name in ROUNDINGS]
    # `pairs` round sums of two and late ones by c_rounding, everything else by itself.
    late = unit.c == "late" or unit.sum == "pairs"
    choices = {"width": range(whole, 0, -1), "rounding": modes}
    choices |= {"c_rounding": modes} if late else {"join_bits": JOINED_FURTHER} if unit.c == "floor" else {}
    table = grid.table
    for name, values in choices.items():
        count = len(table)
        table = np.repeat(table, len(values), axis=0)
        table[:, COLUMNS.index(name)] = np.tile(list(values), count)
    made = Grid(unit, table)
    if unit.c == "floor":
        made.table[:, COLUMNS.index("join_bits")] += made.column("align_bits")
        made = made.kept(made.column("join_bits") <= JOINED)
    if kept is None:
        return made
    width = made.column("width")
    bits = np.minimum(made.column("align_bits"), width) if unit.sum == "aligned" else width
    # C late passes through an addition that knows no alignment; where C is hidden, either may have been seen.
    if c_seen:
        return made.kept((width if unit.c == "late" else bits) == kept)
    return made.kept((width == kept) | (bits == kept))
