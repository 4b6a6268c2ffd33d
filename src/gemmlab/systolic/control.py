"""When the grid shifts each tile in and lets its operands enter: a table that its edges follow."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from gemmlab.systolic.arithmetic import Arithmetic
from gemmlab.systolic.array import Array
from gemmlab.systolic.dataflow import Sides
from gemmlab.systolic.plan import Plan, strip_bounds
from gemmlab.units import ceil_div

#: columns of the table, one row a tile: cycles, then places and sizes in elements
SHIFT_AT, START, ROW, ROWS, COL, COLS, FIRST, LENGTH, TALL, WIDE, OPENS, CLOSES = range(12)
MOST_TILES = 1 << 22  #: of one grid, whose every cycle is walked


def control(size: Sides, array: Array, told: Arithmetic, plan: Plan) -> Any:
    """One row a tile, in the plan's order; tiles that add to one result follow one another.

    OPENS and CLOSES say whether the tile begins sums or ends them. A tile's rows begin to enter as soon as what is
    held has been shifted in, and nothing of the tile before is in the way: with single weights its last word has left;
    with double ones its last row has entered; held sums have left through side or bottom, or lie in shadow registers
    that the tile before has emptied.
    """
    import numpy as np

    make = moving_sums if array.moves_sums else held_sums
    return np.array(make(size, array, told, plan), np.int64)


def last_cycle(table: Any, array: Array, passes: int) -> int:
    """The cycle in which the last word leaves; it need not be one of the last tile's."""
    ends = table[:, START] + passes * table[:, LENGTH] + table[:, TALL] + table[:, WIDE] - 3
    drain = array.rows if not array.moves_sums and array.drain != "side" else 0
    return int(ends.max()) + drain


def moving_sums(size: Sides, array: Array, told: Arithmetic, plan: Plan) -> list[tuple[int, ...]]:
    """The rows of an array that holds an operand."""
    shift = array.rows * (told.b_parts if array.flow.held == "b" else told.a_parts)
    columns = range(0, size.cols, array.cols)
    places = [(col, strip) for col in columns for strip in range(plan.strips)]
    if plan.outer != "cols":
        places.sort(key=itemgetter(1))
    down = ceil_div(size.rows, array.rows)
    table: list[tuple[int, ...]] = []
    free = end = 0  # the registers that are shifted in are free; no more rows enter
    for col, strip in places:
        cols = min(array.cols, size.cols - col)
        wide = array.cols if array.edges == "full" else cols
        first, past = strip_bounds(size.stream, plan.strips, strip)
        for tile in range(down):
            row = tile * array.rows
            rows = min(array.rows, size.rows - row)
            start = max(free + shift, end)
            opens, closes = int(tile == 0), int(tile == down - 1)
            sizes = (row, rows, col, cols, first, past - first, array.rows, wide)
            table.append((free, start, *sizes, opens, closes))
            end = start + told.passes * (past - first)
            free = start if array.weights == "double" else end + array.rows + wide - 2
    return table


def held_sums(size: Sides, array: Array, told: Arithmetic, plan: Plan) -> list[tuple[int, ...]]:
    """The rows of an array that holds the sums."""
    full = array.edges == "full"
    length = told.passes * size.stream
    table: list[tuple[int, ...]] = []
    start = 0
    places = [(col, row) for col in range(0, size.cols, array.cols) for row in range(0, size.rows, array.rows)]
    if plan.outer != "cols":
        places.sort(key=itemgetter(1))
    for col, row in places:
        rows, cols = min(array.rows, size.rows - row), min(array.cols, size.cols - col)
        tall, wide = (array.rows, array.cols) if full else (rows, cols)
        table.append((0, start, row, rows, col, cols, 0, size.stream, tall, wide, 1, 1))
        if array.drain == "shadow":
            start += max(length, tall)
        else:
            start += length + tall + wide - 2 + (array.rows if array.drain == "bottom" else 0)
    return table
