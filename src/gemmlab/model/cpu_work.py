"""What each rung of the CPU's ladder has a core do, phase by phase: clocks of its units, bytes of its caches."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import NamedTuple

from gemmlab.count.cpu import Cut
from gemmlab.formats import bits_of
from gemmlab.kernels.ladder.cpu.tiling import AMX_SIDE, BLOCK_SIDE
from gemmlab.model.cpu_core import LINE, PAIR, Core
from gemmlab.problem import Gemm
from gemmlab.units import ceil_div

STEP_OPERATIONS = 4  #: of a step of `naive`, as LLVM makes it: a load, a product with one, an addition, an address
CALL_S = 3e-6  #: of Python for a tile of `blocks`: three slices, a call of matmul, an addition. Unsure: by experience
TDP_CLOCKS = 16  #: between two products of tiles (Intel's optimisation manual, AMX)
TILE_ROWS = 16  #: loads of a line each that a tile takes
SHUFFLE_PORTS = 1  #: for the widest vectors: Intel's port 5; AMD has two, unsure


class Phase(NamedTuple):
    """A part of the work that ends before the next begins."""

    name: str
    clocks: float = 0.0  #: of arithmetic, of a dependent chain, or of shuffles
    limit: str = "compute"  #: what those clocks are
    loads: float = 0.0  #: that L1 serves, of a port's width
    stores: float = 0.0
    l2: float = 0.0  #: bytes from L2 to L1 and back
    l3: float = 0.0  #: from L3
    dram: float = 0.0
    seconds: float = 0.0  #: beside the core's work


Phases = tuple[Phase, ...]


class Sizes(NamedTuple):
    """A problem's sides and what an element takes."""

    m: int
    n: int
    k: int
    size: float  #: bytes of an element of A and B
    out: float  #: of C
    a_row: bool  #: rows of A without stride
    b_row: bool
    a_stride: int  #: bytes between two stored rows
    b_stride: int

    @property
    def cold(self) -> float:
        """Bytes that nobody has before: A and B read; C fetched and written back."""
        return (self.m * self.k + self.k * self.n) * self.size + 2 * self.m * self.n * self.out


def sizes_of(problem: Gemm) -> Sizes:
    """Of one matrix."""
    size = bits_of(problem.a_format) / 8
    return Sizes(
        problem.m, problem.n, problem.k, size, bits_of(problem.d_format) / 8,
        problem.layout[0] == "n", problem.layout[1] == "n",
        int(problem.lda * size), int(problem.ldb * size),
    )  # fmt: skip


def carried(core: Core, size: float, footprint: float) -> dict[str, float]:
    """Bytes of each level when `size` bytes come, in order, from whatever level holds `footprint` bytes."""
    lines = footprint / LINE
    l2 = size * core.leaves_l1(lines)
    l3 = l2 * core.leaves_l2(lines)
    return {"l2": l2, "l3": l3, "dram": l3 * core.leaves_l3(footprint)}


def all_of(*parts: dict[str, float]) -> dict[str, float]:
    """Their sum, level by level."""
    return {level: sum(part.get(level, 0.0) for part in parts) for level in ("l2", "l3", "dram")}


def everywhere(size: float) -> dict[str, float]:
    """Bytes that come from memory, through every level."""
    return dict.fromkeys(("l2", "l3", "dram"), size)


def naive(core: Core, s: Sizes, cut: Cut | None, threads: int) -> Phases:
    """A chain of additions for each element of C. Chains overlap as far as the core looks ahead.

    A walk down a column touches a line for each step, a stride apart; those that fall into few sets push each other
    out, and L2 fetches a neighbour in vain for each that it misses.
    """
    steps = s.m * s.n * s.k
    seen = core.design.reorder / STEP_OPERATIONS
    chain = core.design.add_clocks * max(0.0, 1 - seen / s.k)
    busy = 2 / core.fma_ports
    a_stride, b_stride = 0 if s.a_row else s.a_stride, s.b_stride if s.b_row else 0
    a_lines, b_lines = (s.k if stride >= LINE else s.k * max(s.size, stride) / LINE for stride in (a_stride, b_stride))
    moved = [everywhere(s.cold)]
    for lines, stride, beside, matrix in (
        (a_lines, a_stride, b_lines, s.k * s.size),
        (b_lines, b_stride, a_lines, s.k * s.n * s.size),
    ):
        again = s.m * s.n * lines * LINE
        l2 = again * core.leaves_l1(lines, stride, beside)
        l3 = l2 * core.leaves_l2(lines, stride, beside)
        dram = l3 * core.leaves_l3(lines * LINE)
        moved.append({"l2": l2, "l3": l3 * (PAIR if stride else 1), "dram": dram * (PAIR if stride else 1)})
        if not l3:  # what a walk shares with the next ones comes once for all of them
            moved.append(carried(core, s.m * s.n * s.k * s.size if matrix > s.k * s.size else 0.0, matrix))
    limit = "latency" if chain > busy else "compute"
    return (Phase("dot products", steps * max(chain, busy), limit, 2 * steps, s.m * s.n, **all_of(*moved)),)


def ikj(core: Core, s: Sizes, cut: Cut | None, threads: int) -> Phases:
    """Rows of B scaled and added to a row of C in L1: two loads and a store for each vector of products.

    All of B comes again for each row of C, from whichever cache holds it.
    """
    width = min(core.loop_bytes, core.port_bytes) if s.b_row else s.size
    vectors = s.m * s.n * s.k * s.size / width
    row = s.n * s.size
    b_all = s.k * row if s.b_row else s.k * s.b_stride
    rows = carried(core, 2 * s.m * s.k * row, 2 * row)  # C's row: in, and out again
    moved = all_of(everywhere(s.cold), carried(core, s.m * s.k * row, b_all + 2 * row), rows)
    return (Phase("rows", vectors / core.fma_ports, "compute", 2 * vectors + s.m * s.k, vectors, **moved),)


def blocks(core: Core, s: Sizes, cut: Cut | None, threads: int) -> Phases:
    """Products of tiles by NumPy's library, which packs each tile anew; then each is added to C by itself."""
    down, across, along = (ceil_div(side, BLOCK_SIDE) for side in (s.m, s.n, s.k))
    port = min(core.port_bytes, core.blas_bytes)
    handed = (s.m * s.k * across + s.k * s.n * down) * s.size
    made = s.m * s.n * along * s.size
    tiles = (min(s.m, BLOCK_SIDE) + min(s.n, BLOCK_SIDE)) * s.k * s.size
    # A's rows of tiles are used again for the next tile of C, all of B for the next row of tiles.
    a_again = carried(core, s.m * s.k * across * s.size, tiles)
    b_again = carried(core, s.k * s.n * down * s.size, s.k * s.n * s.size + tiles)
    packed_again = {"l2": 2 * handed}  # packed tiles, out and in again
    return (
        Phase(
            "packing by NumPy", 0.0, "compute", handed / port / threads, handed / port / threads,
            **all_of(everywhere(s.cold), a_again, b_again, packed_again),
        ),
        Phase(
            "tiles by NumPy", s.m * s.n * s.k * s.size / port / core.fma_ports / threads, "compute",
            handed / port / threads, made / port / threads, l2=made + handed,
        ),
        Phase("adding", made / port / core.fma_ports, "compute", 2 * made / port, (made + s.m * s.n * s.size) / port,
              l2=3 * made),
        Phase("calls", seconds=CALL_S * down * across * along, limit="calls of Python"),
    )  # fmt: skip


def packed(core: Core, s: Sizes, cut: Cut | None, threads: int) -> Phases:
    """Panels packed, then tiles of C in registers: as many FMAs as ports take, fed from L1 and A's block in L2."""
    assert cut is not None
    mr, nr, mc, kc, nc = cut.sizes.mr, cut.sizes.nr, cut.sizes.mc, cut.sizes.kc, cut.sizes.nc
    (strips_m, strips_n, passes), port = cut.blocks, min(core.port_bytes, core.vector_bytes)
    lanes, tiles = port / s.size, cut.down * cut.across
    a_turned, b_turned = s.a_row, not s.b_row
    a = packing(core, cut.m, cut.k, strips_n, mr, a_turned, s.size, everywhere(cut.m * cut.k * s.size))
    b = packing(core, cut.n, cut.k, 1, nr, b_turned, s.size, everywhere(cut.n * cut.k * s.size))
    steps = tiles * cut.padded
    ragged = (cut.m * cut.n - (cut.m // mr) * (cut.n // nr) * mr * nr) * passes
    c_moved = cut.m * cut.n * s.size * (2 * passes - 1)
    fed = all_of(
        carried(core, steps * mr * s.size, (mc + nr) * kc * s.size),
        carried(core, cut.across * nr * cut.padded * s.size * strips_m, (nc + mc) * kc * s.size),
        carried(core, c_moved, (cut.m * min(cut.n, nc)) * s.size) if passes > 1 else {},
        everywhere(2 * cut.m * cut.n * s.out),
    )
    kernel = Phase(
        "tiles in registers",
        steps * mr * nr / lanes / core.fma_ports,
        "compute",
        steps * (mr + nr / lanes) + cut.m * cut.n * (passes - 1) / lanes + 2 * ragged,
        cut.m * cut.n * passes / lanes + 2 * ragged,
        **fed,
    )
    return (a._replace(name="packing A"), b._replace(name="packing B"), kernel)


def packing(
    core: Core, lines: int, k: int, times: int, width: int, turned: bool, size: float, first: dict[str, float]
) -> Phase:
    """Lines of k copied into panels: whole vectors, turned by shuffles where lines lie along k; a ragged panel one by
    one. The first time they come from memory, later from whichever level holds them.
    """
    lanes = core.port_bytes / size
    whole = lines // width * width
    vectors = times * whole * k / min(lanes, width)
    singles = times * (-(-lines // width) - lines // width) * width * k
    shuffles = vectors * (log2(max(2.0, lanes)) + 1) / SHUFFLE_PORTS if turned else 0.0
    again = carried(core, (times - 1) * lines * k * size, lines * k * size)
    written = carried(core, 2 * times * lines * k * size, times * lines * k * size)
    moved = all_of(first, again, written)
    return Phase("packing", shuffles, "shuffles", vectors + singles, vectors * (1 + turned) + singles, **moved)


def amx(core: Core, s: Sizes, cut: Cut | None, threads: int) -> Phases:
    """All of A and B packed once; four products of tiles a step, two tiles of A and two of B loaded for them."""
    assert cut is not None
    (strips_m, strips_n, passes), sizes = cut.blocks, cut.sizes
    port, steps = core.port_bytes, cut.down * cut.across * cut.padded // AMX_SIDE
    both = (
        packing(core, cut.m, cut.k, 1, TILE_ROWS, not s.a_row, s.size, everywhere(cut.m * cut.k * s.size)),
        packing(core, cut.n, cut.k, 1, TILE_ROWS, not s.b_row, s.size, everywhere(cut.n * cut.k * s.size)),
    )
    panel_a, panel_b = (count * AMX_SIDE * cut.padded * s.size for count in (cut.down, cut.across))
    step_bytes = AMX_SIDE * AMX_SIDE * s.size
    sums = cut.down * cut.across * AMX_SIDE * AMX_SIDE * 4.0
    fed = all_of(
        carried(core, steps * step_bytes, (sizes.mc + AMX_SIDE) * sizes.kc * s.size),
        carried(core, cut.across * AMX_SIDE * cut.padded * s.size * strips_m, panel_b + sizes.mc * sizes.kc * s.size),
        {level: size for level, size in carried(core, panel_a * strips_n, panel_a + panel_b).items() if level != "l2"},
        carried(core, sums * (2 * passes - 1), sizes.mc * sizes.nc * 4.0),
    )
    products = Phase(
        "products of tiles",
        steps * 4 * TDP_CLOCKS,
        "compute",
        steps * 4 * TILE_ROWS + sums * (passes - 1) / LINE,
        sums * passes / LINE,
        **fed,
    )
    out = cut.m * cut.n * s.out
    written = Phase(
        "writing C", 0.0, "compute", sums / port, out / min(port, TILE_ROWS * s.out),
        **all_of(carried(core, sums, sizes.mc * sizes.nc * 4.0), everywhere(2 * out)),
    )  # fmt: skip
    return (both[0]._replace(name="packing A"), both[1]._replace(name="packing B"), products, written)


#: rungs by name
WORK: dict[str, Callable[[Core, Sizes, Cut | None, int], Phases]] = {
    "naive": naive,
    "ikj": ikj,
    "blocks": blocks,
    "packed": packed,
    "amx": amx,
}
