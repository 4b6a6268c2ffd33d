"""The tile engine: every tile in turn, with what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, SystolicSection
from gemmlab.systolic.arithmetic import arithmetic
from gemmlab.systolic.array import DRAINS, Array
from gemmlab.systolic.dataflow import sides
from gemmlab.systolic.figures import Tally, check, section
from gemmlab.systolic.formula import formula
from gemmlab.systolic.plan import Plan, footprint, other_operand, plans, strip_bounds, traffic
from gemmlab.units import ceil_div

if TYPE_CHECKING:
    from gemmlab.systolic.clockwork import Work

INTERPRETED = 5000  #: tiles: up to here plain Python is done before the compiler would be loaded
MOST_TILES = 1 << 28  #: of one plan: a minute's work

#: loops from the outermost: 0 down, 1 across, 2 strips
ORDERS = {
    (True, "cols"): (1, 2, 0),
    (True, "inner"): (2, 1, 0),
    (False, "cols"): (1, 0, 2),
    (False, "inner"): (0, 1, 2),
}


class TileTimes(NamedTuple):
    """One tile's places and times, in elements and cycles. Of held sums it is one piece of a tile's stream."""

    first_row: int  #: of the side that runs down the array
    rows: int
    first_col: int  #: of the side that runs along it
    cols: int
    first: int  #: of the side that runs in time
    length: int
    fetch_start: float  #: DRAM begins with its operands; 0 where it fetches none
    held_ready: float  #: what is held has come
    fetch_end: float  #: the other one too
    shift_start: int  #: what is held begins to shift in; 0 in an array that holds the sums
    shift_end: int
    start: int  #: its first row of operands enters
    end: int  #: no more of them enter
    done: int  #: its last word has left the array
    write_end: float  #: DRAM has all results up to here


def tile_engine(problem: Gemm, array: Array) -> SystolicSection:
    """Cycles with all stalls, accesses and traffic, tile by tile.

    The operands of `tiles_ahead` tiles are fetched ahead, results are written behind, both through one DRAM channel. Of
    all ways to pass through SRAM the quickest is taken, so that time never rises with more SRAM or bandwidth. Without a
    bandwidth it is the closed form, counted. Groups and batch entries run one after another. Raises GemmlabError as
    `closed_form` does, and for more tiles than can be counted one by one.
    """
    check(problem)
    whole = reduce(Tally.plus, (counted(member, array) for member in problem.members))
    return section(problem, array, "tiles", whole.times(problem.batch))


def timeline(problem: Gemm, array: Array) -> Iterator[TileTimes]:
    """Times of every tile of the first batch entry or member, in order; raises GemmlabError as the engine does."""
    import numpy as np

    check(problem)
    member = problem.members[0]
    plan = quickest(member, array)[1]
    size = sides(member, array.flow)
    counts = tile_counts(member, array, plan)
    times = np.zeros((counts[0] * counts[1] * counts[2], 12))
    simulated(member, array, plan, times)
    for row, col, strip, fetch_start, held, fetched, *marks, write_end in times.tolist():
        top, left = int(row) * array.rows, int(col) * array.cols
        first, past = strip_bounds(size.stream, plan.strips, int(strip))
        rows, cols = min(array.rows, size.rows - top), min(array.cols, size.cols - left)
        shift_start, shift_end, start, end, done = (int(mark) for mark in marks)
        yield TileTimes(
            first_row=top,
            rows=rows,
            first_col=left,
            cols=cols,
            first=first,
            length=past - first,
            fetch_start=fetch_start,
            held_ready=held,
            fetch_end=fetched,
            shift_start=shift_start,
            shift_end=shift_end,
            start=start,
            end=end,
            done=done,
            write_end=write_end,
        )


def counted(problem: Gemm, array: Array) -> Tally:
    """One multiplication by its quickest plan."""
    return quickest(problem, array)[0]


def quickest(problem: Gemm, array: Array) -> tuple[Tally, Plan]:
    """The plan with the fewest cycles, then bytes, then strips; plans that cannot win are not walked."""
    best: tuple[Tally, Plan] | None = None
    per_bit = float(cycles_per_bit(array))
    told, size = arithmetic(problem, array), sides(problem, array.flow)
    for plan in plans(problem, array):
        bits = sum(traffic(problem, array, plan))
        if best is not None:
            least = formula(size, array, told, plan.strips if array.moves_sums else 1, plan.outer).cycles
            if (max(least, bits * per_bit), bits) >= (best[0].cycles, best[0].dram_bits):
                continue
        down, across, strips = tile_counts(problem, array, plan)
        if down * across * strips > MOST_TILES:
            if best is None:
                raise GemmlabError(
                    f"{down * across * strips} tiles are too many to walk one by one", "the closed form counts them"
                )
            continue
        found = simulated(problem, array, plan)
        if best is None or (found.cycles, found.dram_bits) < (best[0].cycles, best[0].dram_bits):
            best = found, plan
    assert best is not None
    return best


def tile_counts(problem: Gemm, array: Array, plan: Plan) -> tuple[int, int, int]:
    """Tiles down, tiles across, strips."""
    size = sides(problem, array.flow)
    return ceil_div(size.rows, array.rows), ceil_div(size.cols, array.cols), plan.strips


def cycles_per_bit(array: Array) -> Fraction:
    """Cycles in which DRAM carries one bit; 0 where it never makes the array wait."""
    if array.dram_bytes_per_s is None or array.clock_hz is None:
        return Fraction(0)
    return Fraction(array.clock_hz) / Fraction(array.dram_bytes_per_s) / 8


def simulated(problem: Gemm, array: Array, plan: Plan, times: Any = None) -> Tally:
    """What the tiles of one plan take together; rows of `times` get each tile's."""
    import numpy as np

    from gemmlab.systolic.clockwork import COUNTS

    setup = work(problem, array, plan)
    walk = runner(setup.down * setup.across * setup.strips > INTERPRETED)
    values = walk(setup, np.zeros((0, 12)) if times is None else times).tolist()
    counted = dict(zip(COUNTS, values, strict=True))
    names = (array.flow.right, other_operand(array), "c")
    moved = {name: counted.pop(f"{part}_bits") for name, part in zip(names, ("right", "other", "result"), strict=True)}
    fetched = {f"{name}_bits": moved[name] for name in names}
    return Tally(strips=plan.strips if array.moves_sums else 1, **counted, **fetched)


def work(problem: Gemm, array: Array, plan: Plan) -> Work:
    """Problem, array and plan as the walk takes them."""
    from gemmlab.systolic.clockwork import Work

    told = arithmetic(problem, array)
    foot = footprint(problem, array)
    down, across, strips = tile_counts(problem, array, plan)
    outer, middle, inner = ORDERS[array.moves_sums, plan.outer]
    names = (array.flow.right, other_operand(array), "c")
    widths = (foot.right_bits, foot.other_bits, foot.result_bits)
    bits = [0 if name in array.resident else width for name, width in zip(names, widths, strict=True)]
    parts = told.b_parts if array.flow.held == "b" else told.a_parts
    return Work(
        moves_sums=array.moves_sums,
        double=array.weights == "double",
        drain=DRAINS.index(array.drain),
        full=array.edges == "full",
        passes=told.passes,
        shift=array.rows * parts if array.moves_sums else 0,
        down=down,
        across=across,
        strips=strips,
        outer=outer,
        middle=middle,
        inner=inner,
        side_rows=foot.sides.rows,
        side_cols=foot.sides.cols,
        side_stream=foot.sides.stream,
        rows=array.rows,
        cols=array.cols,
        ahead=array.tiles_ahead,
        right_bits=bits[0],
        other_bits=bits[1],
        result_bits=bits[2],
        right_always=not plan.keep_right,
        other_always=not plan.keep_other,
        cycles_per_bit=float(cycles_per_bit(array)),
    )


@cache
def runner(fast: bool) -> Callable[[Work, Any], Any]:
    """The walk over the tiles: as it is written, or compiled by numba."""
    from gemmlab.systolic import clockwork

    if not fast:
        return clockwork.run_tiles
    from gemmlab.systolic.compiled import compiled

    return compiled(clockwork, clockwork.PARTS)["run_tiles"]
