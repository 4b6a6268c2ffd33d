"""How often, how long: the counts of one multiplication in closed form, for whole numbers and for arrays of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gemmlab.systolic.arithmetic import Arithmetic
from gemmlab.systolic.array import Array
from gemmlab.systolic.dataflow import Sides


class Formula(NamedTuple):
    """Counts without DRAM; ints, or NumPy arrays of them."""

    tiles: Any  #: times that the array is set up
    cycles: Any
    active: Any  #: cycles in which a row of operands enters
    shift: Any  #: exposed cycles of shifting held operands in
    skew: Any  #: of the wave running in and out
    drain: Any  #: exposed cycles of shifting results out
    right_reads: Any  #: elements of the operand that moves right
    other_reads: Any  #: of the one that is held, or moves down
    partial: Any  #: sums that go to the accumulators, and as many that come back
    results: Any
    slots: Any  #: multiply-adds that all PEs could do in the active cycles


def pieces(length: Any, size: int) -> Any:
    """How many pieces of at most `size` cover it: `ceil_div`, of arrays too."""
    return -(-length // size)


def formula(
    sides: Sides,
    array: Array,
    told: Arithmetic,
    strips: Any,
    outer: str = "cols",
    largest: Callable[[Any, Any], Any] = max,
) -> Formula:
    """The counts of one multiplication whose moving side is cut into that many strips, as equal as they can be.

    Of held operands: a tile is shifted in (rows x parts cycles), its rows of operands enter, and the wave leaves after
    rows + cols - 2 more. With single weights these times add up tile by tile; with double ones the shift of the next
    tile hides behind the rows of this one. Of held sums: the wave of a tile takes stream + rows + cols - 2, a drain
    through the bottom edge rows more, which shadow registers hide behind the next tile. Exact edges take the PEs in
    use in place of `rows` and `cols`, but for what has to pass all rows of PEs. Where tiles overlap and the last column
    of tiles is narrow and short, the one before may leave last: `outer` says, as in a plan, which one that is.
    SCALE-Sim (Samajdar et al., ISPASS 2020) has the single-buffered forms; the double-buffered ones are those that the
    grid of registers shows.
    """
    make = moving_sums if array.moves_sums else held_sums
    return make(sides, array, told, strips, outer, largest)


def outlast(array: Array, across: Any, last_cols: Any, since: Any, largest: Callable[[Any, Any], Any]) -> Any:
    """Cycles by which the last wide tile, whose rows ended `since` cycles before, leaves after the narrow one."""
    return (across > 1) * largest(array.cols - last_cols - since, 0)


def moving_sums(
    sides: Sides, array: Array, told: Arithmetic, strips: Any, outer: str, largest: Callable[[Any, Any], Any]
) -> Formula:
    """Of a dataflow that holds an operand: the tiles of rows x cols are held, once a strip."""
    down, across = pieces(sides.rows, array.rows), pieces(sides.cols, array.cols)
    shift = array.rows * (told.b_parts if array.flow.held == "b" else told.a_parts)
    tiles = down * across * strips
    active = told.passes * sides.stream * down * across
    last_cols = sides.cols - (across - 1) * array.cols
    if array.weights == "single":
        shifts = tiles * shift
        charged = sides.cols if array.edges == "exact" else across * array.cols
        skew = tiles * (array.rows - 2) + down * strips * charged
    else:
        short, longer = sides.stream // strips, sides.stream % strips
        gaps = longer * largest(shift - told.passes * (short + 1), 0)
        gaps = gaps + (strips - longer) * largest(shift - told.passes * short, 0)
        shifts = shift + down * across * gaps - largest(shift - told.passes * short, 0)
        skew = array.rows - 2 + (last_cols if array.edges == "exact" else array.cols)
        if array.edges == "exact":
            takes = largest(told.passes * short, shift)
            since = strips * takes + longer * (largest(told.passes * (short + 1), shift) - takes)
            skew = skew + outlast(array, across, last_cols, down * (since if outer == "cols" else takes), largest)
    return Formula(
        tiles=tiles,
        cycles=active + shifts + skew,
        active=active,
        shift=shifts,
        skew=skew,
        drain=0 * tiles,
        right_reads=sides.stream * sides.rows * across,
        other_reads=sides.rows * sides.cols * strips,
        partial=sides.stream * sides.cols * (down - 1),
        results=sides.stream * sides.cols,
        slots=sides.stream * down * across * array.pes,
    )


def held_sums(
    sides: Sides, array: Array, told: Arithmetic, strips: Any, outer: str, largest: Callable[[Any, Any], Any]
) -> Formula:
    """Of the dataflow that holds the sums: a tile of rows x cols of them at a time, the whole stream for each."""
    down, across = pieces(sides.rows, array.rows), pieces(sides.cols, array.cols)
    tiles = down * across
    stream = told.passes * sides.stream
    last_rows = sides.rows - (down - 1) * array.rows
    last_cols = sides.cols - (across - 1) * array.cols
    if array.edges == "full":
        every_skew, last_skew = tiles * (array.rows + array.cols - 2), array.rows + array.cols - 2
        last_rows = array.rows + 0 * last_rows
    else:
        every_skew = across * sides.rows + down * sides.cols - 2 * tiles
        last_skew = last_rows + last_cols - 2
    if array.drain == "shadow":
        since = largest(stream, last_rows) + (down - 1) * (largest(stream, array.rows) if outer == "cols" else 0)
        exact = array.edges == "exact"
        skew = last_skew + (outlast(array, across, last_cols, since, largest) if exact else 0)
        whole, short = largest(array.rows - stream, 0), largest(last_rows - stream, 0)
        drain = array.rows + across * ((down - 1) * whole + short) - short
    else:
        skew = every_skew
        drain = tiles * array.rows if array.drain == "bottom" else 0 * tiles
    return Formula(
        tiles=tiles,
        cycles=tiles * stream + skew + drain,
        active=tiles * stream,
        shift=0 * tiles,
        skew=skew,
        drain=drain,
        right_reads=sides.rows * sides.stream * across,
        other_reads=sides.stream * sides.cols * down,
        partial=0 * tiles,
        results=sides.rows * sides.cols,
        slots=tiles * sides.stream * array.pes,
    )
