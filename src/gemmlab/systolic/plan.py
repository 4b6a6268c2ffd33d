"""In which pieces and which order a multiplication passes through SRAM, and which operands stay there."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab import formats
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.systolic.array import Array
from gemmlab.systolic.dataflow import Sides, sides
from gemmlab.units import capacity_text, ceil_div

MANY_TILES = 1 << 20  #: a tenth of a second's walk


class Plan(NamedTuple):
    """One way: the moving side in strips, or the stream of held sums in as many pieces."""

    strips: int  #: of the moving side; of held sums pieces that the stream is fetched in
    outer: str  #: the side whose tiles are the outer loop: `cols`, or the one that is inside then
    keep_right: bool  #: the operand that moves right stays in SRAM until the outer loop needs no more of it
    keep_other: bool  #: the same of the held one, or the one that moves down


class Footprint(NamedTuple):
    """Sizes of one problem on one array, elements, and bits of each operand's words."""

    sides: Sides
    right_bits: int
    other_bits: int
    result_bits: int


def footprint(problem: Gemm, array: Array) -> Footprint:
    """The sides by their place, and how wide the words of each operand are."""
    flow = array.flow
    bits = {"a": formats.bits_of(problem.a_format), "b": formats.bits_of(problem.b_format)}
    other = flow.held if array.moves_sums else flow.down
    return Footprint(sides(problem, flow), bits[flow.right], bits[other], formats.bits_of(problem.d_format))


def other_operand(array: Array) -> str:
    """The operand, a or b, that does not move right."""
    return array.flow.held if array.moves_sums else array.flow.down


def fewest_strips(size: Sides, array: Array) -> int:
    """Strips of the moving side that the accumulators demand: none where sums never wait, k being one tile long."""
    if not array.moves_sums or array.accumulators is None or size.rows <= array.rows:
        return 1
    return ceil_div(size.stream, array.accumulators)


def plans(problem: Gemm, array: Array) -> list[Plan]:
    """Every way worth trying that SRAM holds, fewest strips first; never empty, and more of them with more SRAM.

    Of each number of strips, what is kept is as much as fits: keeping more only takes
    fetches away. Raises GemmlabError where SRAM holds none.
    """
    foot = footprint(problem, array)
    if array.sram_bytes is None:
        counts = [strips for strips, few in strip_counts(foot.sides, array) if few]
        return [Plan(strips, outer, True, True) for strips in counts for outer in ("cols", "inner")]
    found: list[Plan] = []
    least = None
    for strips, few in strip_counts(foot.sides, array):
        if found and not few:
            break
        for outer in ("cols", "inner"):
            fitting: list[Plan] = []
            for right, other in ((True, True), (True, False), (False, True), (False, False)):
                plan = Plan(strips, outer, right, other)
                need = sram_bits(foot, array, plan)
                least = need if least is None else min(least, need)
                fits = need <= 8 * array.sram_bytes
                if fits and not any(has.keep_right >= right and has.keep_other >= other for has in fitting):
                    fitting.append(plan)
            found += fitting
    if not found:
        raise GemmlabError(
            f"SRAM of {capacity_text(array.sram_bytes)} does not hold {array.tiles_ahead} pieces of each operand, "
            f"which take {capacity_text(ceil_div(least or 0, 8))}",
            "more SRAM, a smaller array, or narrower formats",
        )
    return found


def strip_counts(size: Sides, array: Array) -> list[tuple[int, bool]]:
    """Numbers of strips: the fewest, and twice as many until each strip is one row; and whether their tiles are few.

    More than `MANY_TILES` are worth trying only where SRAM holds nothing else, the fewest strips excepted.
    """
    strips = fewest_strips(size, array)
    tiles = ceil_div(size.rows, array.rows) * ceil_div(size.cols, array.cols)
    counts = [(strips, True)]
    while strips < size.stream:
        strips = min(2 * strips, size.stream)
        counts.append((strips, tiles * strips <= MANY_TILES))
    return counts


def sram_bits(foot: Footprint, array: Array, plan: Plan) -> int:
    """Bits of SRAM that a plan fills: of each operand what is kept, and pieces on their way in or out."""
    size = foot.sides
    strip = ceil_div(size.stream, plan.strips)
    rows, cols = min(array.rows, size.rows), min(array.cols, size.cols)
    tile = array.pes if array.edges == "full" else rows * cols
    if array.moves_sums:
        pieces = {"right": strip * rows, "other": tile, "result": strip * cols}
        kept = (
            {"right": size.stream * size.rows, "other": ceil_div(size.rows, rows) * tile}
            if plan.outer == "cols"
            else {"right": strip * size.rows, "other": stored(size, array)}
        )
    else:
        pieces = {"right": strip * rows, "other": strip * cols, "result": rows * cols}
        kept = (
            {"right": size.rows * size.stream, "other": cols * size.stream}
            if plan.outer == "cols"
            else {"right": rows * size.stream, "other": size.cols * size.stream}
        )
    whole = {"right": size.rows * size.stream, "other": stored(size, array), "result": size.stream * size.cols}
    if not array.moves_sums:
        whole |= {"other": size.cols * size.stream, "result": size.rows * size.cols}
    words = {"right": foot.right_bits, "other": foot.other_bits, "result": foot.result_bits}
    names = {"right": array.flow.right, "other": other_operand(array), "result": "c"}
    keeps = {"right": plan.keep_right, "other": plan.keep_other, "result": False}
    total = 0
    for part, bits in words.items():
        if names[part] not in array.resident:
            held = kept[part] if keeps[part] else 0
            ahead = 2 if part == "result" else array.tiles_ahead
            total += bits * min(whole[part], held + ahead * pieces[part])
    return total


def stored(size: Sides, array: Array) -> int:
    """Elements of a held operand as DRAM has them: with full edges in whole tiles, as TPU v1 keeps its weights."""
    if array.edges == "exact":
        return size.rows * size.cols
    return ceil_div(size.rows, array.rows) * ceil_div(size.cols, array.cols) * array.pes


def traffic(problem: Gemm, array: Array, plan: Plan) -> tuple[int, int, int]:
    """Bits between DRAM and SRAM of a, b and c, each byte as often as the plan makes it come."""
    foot = footprint(problem, array)
    size = foot.sides
    across = ceil_div(size.cols, array.cols)
    if array.moves_sums:
        again = plan.strips
        moved = {"right": size.stream * size.rows, "other": stored(size, array)}
    else:
        again = ceil_div(size.rows, array.rows)
        moved = {"right": size.rows * size.stream, "other": size.cols * size.stream}
    bits = {
        array.flow.right: foot.right_bits * moved["right"] * (1 if plan.keep_right else across),
        other_operand(array): foot.other_bits * moved["other"] * (1 if plan.keep_other else again),
        "c": foot.result_bits * problem.m * problem.n,
    }
    a, b, c = (0 if name in array.resident else bits[name] for name in ("a", "b", "c"))
    return a, b, c


def strip_bounds(length: int, strips: int, index: int) -> tuple[int, int]:
    """(first, past the last) of one strip: as equal as they can be, longer ones first."""
    short, longer = divmod(length, strips)
    first = index * short + min(index, longer)
    return first, first + short + (index < longer)
