"""One moment of an array and its use over time: what a picture shows, and an animation steps through."""

from __future__ import annotations

from typing import Any, NamedTuple

from gemmlab.experiment.systolic import Simulated
from gemmlab.experiment.systolic_activity import MOST_TILES, Moment, activity
from gemmlab.experiment.systolic_shares import slowest
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.systolic import Array, tile_engine, timeline


class InFlight(NamedTuple):
    """A tile whose wave is in the array or on its way: PE (i, j) is at word `age - i - j` of its stream."""

    number: int  #: of the tile, from 0
    age: int  #: cycles since its first word entered; below 0 before that
    length: int  #: words of its stream, each for one cycle
    rows: int  #: PEs that it fills down
    cols: int  #: PEs that it fills along
    first_row: int  #: of the side that runs down the array
    first_col: int  #: of the side that runs along it
    first: int  #: of the side that runs in time


class Still(NamedTuple):
    """An array in one cycle, and over all of them."""

    problem: Gemm  #: the share of the array that takes longest, its first batch entry
    array: Array
    passes: int  #: cycles that each word takes
    cycle: int  #: counted from 0
    cycles: int
    waves: tuple[InFlight, ...]
    moments: tuple[Moment, ...]  #: empty where there are too many tiles to draw


def still_of(asked: Simulated, cycle: int | None = None) -> Still:
    """The array in a cycle; without one in that in which the first wave is halfway through its rows and columns.

    Of a batch its first entry, which the others repeat. Raises GemmlabError for a cycle past the last, and more tiles
    than a picture can show.
    """
    whole, array = slowest(asked.problem, asked.array, asked.units, tile_engine), asked.array
    problem = whole.replace(batch=1)
    section = tile_engine(problem, array)
    if section.tiles > MOST_TILES:
        raise GemmlabError(
            f"{section.tiles:,} tiles are too many to draw", f"a multiplication of at most {MOST_TILES:,} tiles"
        )
    tiles = list(timeline(problem, array))
    if cycle is None:
        first = tiles[0]
        cycle = min(first.start + max(1, (first.rows + first.cols) * 2 // 3), first.end + first.rows // 2)
        cycle = min(cycle, section.cycles - 1)
    require(cycle, section.cycles)
    reach = array.rows + array.cols
    waves = tuple(
        InFlight(
            number, cycle - tile.start, tile.end - tile.start, tile.rows, tile.cols,
            tile.first_row, tile.first_col, tile.first,
        )
        for number, tile in enumerate(tiles)
        if tile.start - reach <= cycle < tile.end + reach
    )  # fmt: skip
    moments = activity(problem, array, section.cycles)
    return Still(problem, array, section.passes, cycle, section.cycles, waves, moments)


def require(cycle: int, cycles: int) -> None:
    """Raise GemmlabError where there is no such cycle."""
    if cycle >= cycles:
        raise GemmlabError(f"there is no cycle {cycle:,}: the array takes {cycles:,}", f"from 0 to {cycles - 1:,}")


def state_of(asked: Simulated, cycle: int) -> dict[str, Any]:
    """What every register of the grid holds in a cycle, on random operands, as JSON takes it.

    Raises GemmlabError for a cycle past the last.
    """
    from gemmlab.experiment.systolic_values import drawn
    from gemmlab.systolic import Grid

    if asked.units > 1:
        raise GemmlabError(f"the state is that of one array, not of {asked.units}", "--units 1")
    state: dict[str, Any] = Grid(asked.problem, asked.array, drawn(asked.problem, asked.seed)).state(cycle)
    return state
