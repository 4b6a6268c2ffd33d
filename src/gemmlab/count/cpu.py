"""What the loops of the CPU's rungs ask loads and stores for, exactly, array by array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gemmlab.formats import storage_bytes
from gemmlab.kernels.ladder.cpu.threads import rectangles
from gemmlab.kernels.ladder.cpu.tiling import AMX_SIDE, BLOCK_SIDE, UNROLL, Tiling, amx_tiling, even, tiling
from gemmlab.problem import Gemm
from gemmlab.record import ArrayCount, Count, unknown_name
from gemmlab.units import ceil_div, round_up

ROW = 16  #: sums that AMX's unpacking writes at once


class Asked(NamedTuple):
    """Elements of one array."""

    loads: int = 0
    stores: int = 0


Arrays = dict[str, Asked]


class Cut(NamedTuple):
    """One thread's rectangle of C, cut into the blocks that its loops walk; whole sides, ragged edges filled up."""

    m: int
    n: int
    k: int
    sizes: Tiling  #: fitted to this rectangle
    step: int  #: of k: panels are filled up to a multiple of it

    @property
    def down(self) -> int:
        """Tiles of C along m."""
        return ceil_div(self.m, self.sizes.mr)

    @property
    def across(self) -> int:
        """Tiles of C along n."""
        return ceil_div(self.n, self.sizes.nr)

    @property
    def padded(self) -> int:
        """K as packed. Blocks of k, of m and of n are whole steps and tiles, so ragged edges occur once a side."""
        return round_up(self.k, self.step)

    @property
    def blocks(self) -> tuple[int, int, int]:
        """Blocks along m, n and k."""
        return ceil_div(self.m, self.sizes.mc), ceil_div(self.n, self.sizes.nc), ceil_div(self.k, self.sizes.kc)

    @property
    def padded_flop(self) -> int:
        """FLOP that whole tiles execute."""
        return 2 * self.down * self.sizes.mr * self.across * self.sizes.nr * self.padded


def cuts(problem: Gemm, rung: str, threads: int, sizes: Tiling | None = None) -> list[Cut]:
    """The rectangles of C, a thread each, of one matrix of a packed rung; `sizes` left out are the machine's own."""
    if rung == "amx":
        cut, step = sizes or amx_tiling(), AMX_SIDE
    else:
        cut, step = sizes or tiling(storage_bytes(problem.a_format, 1), threads), UNROLL
    parts = rectangles(problem.m, problem.n, problem.k, threads, cut.mr, cut.nr)
    sides = [(rows.stop - rows.start, columns.stop - columns.start) for rows, columns in parts]
    return [Cut(m, n, problem.k, fitted(cut, m, n, problem.k, step), step) for m, n in sides]


def fitted(sizes: Tiling, m: int, n: int, k: int, step: int) -> Tiling:
    """Blocks of a rectangle all about as large, whole tiles and whole steps of k, as the rungs make them."""
    if step == UNROLL:
        return sizes.fitted(m, n, k)
    mr, nr, mc, kc, nc = sizes.mr, sizes.nr, even(m, sizes.mc, step), even(k, sizes.kc, step), even(n, sizes.nc, step)
    return Tiling(mr, nr, mc, kc, nc, sizes.lanes)


def naive(problem: Gemm, cut: list[Cut]) -> Arrays:
    """A and B once a product, C once an element: the sum stays in a register."""
    m, n, k = problem.m, problem.n, problem.k
    return {"A": Asked(m * n * k), "B": Asked(m * n * k), "C": Asked(0, m * n)}


def ikj(problem: Gemm, cut: list[Cut]) -> Arrays:
    """A once an element, for it stays in a register along n; C is cleared, then read and written once a product."""
    m, n, k = problem.m, problem.n, problem.k
    return {"A": Asked(m * k), "B": Asked(m * n * k), "C": Asked(m * n * k, m * n + m * n * k)}


def blocks(problem: Gemm, cut: list[Cut]) -> Arrays:
    """Tiles of A and B as they are handed to NumPy, each once a product; what its library loads again is its own.

    Each product is written by itself, then read and added to its tile of C, which was cleared first.
    """
    m, n, k = problem.m, problem.n, problem.k
    down, across, along = (ceil_div(side, BLOCK_SIDE) for side in (m, n, k))
    return {
        "A": Asked(m * k * across),
        "B": Asked(k * n * down),
        "C": Asked(m * n * along, m * n * (1 + along)),
        "product": Asked(m * n * along, m * n * along),
    }


def packed(problem: Gemm, cut: list[Cut]) -> Arrays:
    """Five loops around a tile of C in registers: what is packed, and what the micro-kernel reads of it."""
    return added(packed_part(part) for part in cut)


def packed_part(cut: Cut) -> Arrays:
    """One rectangle. A is packed once for each block of columns, B once; C is read by all but the first block of k.

    A ragged tile of C is summed in `edge` and copied from there.
    """
    (mr, nr), (_, strips, passes) = (cut.sizes.mr, cut.sizes.nr), cut.blocks
    tiles, whole, elements = cut.down * cut.across, (cut.m // mr) * (cut.n // nr), cut.m * cut.n
    packed_a, packed_b = cut.down * mr * cut.padded, cut.across * nr * cut.padded
    return {
        "A": Asked(cut.m * cut.k * strips),
        "B": Asked(cut.k * cut.n),
        "packed A": Asked(tiles * mr * cut.padded, packed_a * strips),
        "packed B": Asked(tiles * nr * cut.padded, packed_b),
        "C": Asked(elements * (passes - 1), elements * passes),
        "edge": Asked((elements - whole * mr * nr) * passes, (tiles - whole) * mr * nr * passes),
    }


def amx(problem: Gemm, cut: list[Cut]) -> Arrays:
    """Tiles of AMX: packed once, two of A and two of B read for four products; sums stay in memory between blocks."""
    return added(amx_part(part) for part in cut)


def amx_part(cut: Cut) -> Arrays:
    """One rectangle. Sums are read by all but the first block of k, and once more to be written, 16 at a time, to C."""
    tiles, passes, side = cut.down * cut.across, cut.blocks[2], AMX_SIDE
    fed, ragged = tiles * side * cut.padded, cut.n % ROW
    return {
        "A": Asked(cut.m * cut.k),
        "B": Asked(cut.k * cut.n),
        "packed A": Asked(fed, cut.down * side * cut.padded),
        "packed B": Asked(fed, cut.across * side * cut.padded),
        "sums": Asked(tiles * side * side * (passes - 1) + cut.m * round_up(cut.n, ROW), tiles * side * side * passes),
        "C": Asked(0, cut.m * cut.n),
        "edge": Asked(cut.m * ragged, cut.m * ROW * (ragged > 0)),
    }


#: the rungs by name
RUNGS: dict[str, Callable[[Gemm, list[Cut]], Arrays]] = {
    "naive": naive,
    "ikj": ikj,
    "blocks": blocks,
    "packed": packed,
    "amx": amx,
}
PACKED = ("packed", "amx")  #: those that are cut to the caches and shared out to threads


def added(parts: Iterator[Arrays]) -> Arrays:
    """All parts together, array by array."""
    found: Arrays = {}
    for part in parts:
        for name, asked in part.items():
            before = found.get(name, Asked())
            found[name] = Asked(before.loads + asked.loads, before.stores + asked.stores)
    return found


def members(problem: Gemm) -> Iterator[tuple[Gemm, int]]:
    """Each matrix of a kind that is multiplied, and how often: entries of a batch, members of a group."""
    for member in problem.members:
        yield member.replace(batch=1), member.batch


def count_cpu(problem: Gemm, rung: str, threads: int = 1, sizes: Tiling | None = None) -> Count:
    """The Record's `count` of a rung of the CPU's ladder: what its loops ask loads and stores for, before any cache.

    `threads` is how many share C, which `packed` and `amx` cut for them; `sizes` left out are those of this machine.
    Prefetches and AMX's configuration are no loads. Raises GemmlabError for an unknown rung.
    """
    if rung not in RUNGS:
        raise unknown_name("rung of the CPU's ladder", rung, RUNGS)
    total: dict[str, list[int]] = {}
    programs = padded = 0
    for member, times in members(problem):
        cut = cuts(member, rung, threads, sizes) if rung in PACKED else []
        for name, asked in RUNGS[rung](member, cut).items():
            loads, stores = total.setdefault(name, [0, 0])
            total[name] = [loads + times * asked.loads, stores + times * asked.stores]
        programs += times * max(1, len(cut))
        padded += times * (sum(part.padded_flop for part in cut) or 2 * member.m * member.n * member.k)
    arrays = tuple(
        array_count(name, Asked(*asked), format_of(problem, name)) for name, asked in total.items() if any(asked)
    )
    load_bytes, store_bytes = (sum(getattr(each, f"{way}_bytes") for each in arrays) for way in ("load", "store"))
    return Count(
        flop=problem.flop,
        epilogue_flop=problem.epilogue_flop,
        global_load_elements=sum(each.load_elements for each in arrays),
        global_load_bytes=load_bytes,
        global_store_bytes=store_bytes,
        compulsory_bytes=problem.compulsory_bytes,
        raw_bytes=load_bytes,
        sectors_requested=0,
        store_sectors=0,
        shared_load_bytes=0,
        shared_store_bytes=0,
        register_load_elements=0,
        intensity_flop_per_byte=problem.flop / (load_bytes + store_bytes),
        padded_flop=padded,
        programs=programs,
        arrays=arrays,
    )


def array_count(name: str, asked: Asked, form: str) -> ArrayCount:
    """One array's elements and bytes."""
    return ArrayCount(
        name=name,
        load_elements=asked.loads,
        load_bytes=storage_bytes(form, asked.loads),
        store_elements=asked.stores,
        store_bytes=storage_bytes(form, asked.stores),
    )


def format_of(problem: Gemm, name: str) -> str:
    """The format of an array's elements."""
    if name in ("A", "packed A"):
        return problem.a_format
    if name in ("B", "packed B"):
        return problem.b_format
    return problem.accumulate if name == "sums" else problem.d_format
