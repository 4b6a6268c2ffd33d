"""The formulas of the CPU's rungs equal their own loops, run as plain Python on arrays that count their accesses."""

import random

import numpy as np
import pytest

from gemmlab.chips.machine import Machine
from gemmlab.count.cpu import RUNGS, count_cpu
from gemmlab.kernels.ladder.cpu import amx, amx_packing, ikj, naive, packed, packing, tiling
from gemmlab.kernels.ladder.cpu.threads import rectangles
from gemmlab.kernels.ladder.cpu.tiling import AMX_SIDE, BLOCK_SIDE, UNROLL, Tiling, even
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

CASES = 300


class Counting:
    """An array that only counts: what is read is 0, what is written is forgotten."""

    def __init__(self, shape=(), dtype=np.float32):
        self.shape, self.dtype, self.loads, self.stores = shape, np.dtype(dtype), 0, 0

    def __getitem__(self, at):
        self.loads += 1
        return 0

    def __setitem__(self, at, value):
        self.stores += 1

    def view(self, kind):
        return self

    @property
    def counts(self):
        return self.loads, self.stores


def as_written(*arguments, **options):
    """Stands in for numba's compiler, which leaves the loops as they are."""
    return lambda function: function


def place(array, at):
    """Stands in for a pointer: whoever reads or writes there says how much."""
    return array


@pytest.fixture
def uncompiled(monkeypatch):
    """The rungs' loops as Python; the few instructions that are no loops say what they load and store, as emitted."""
    for module in (packed, packing, amx, amx_packing):
        monkeypatch.setattr(module, "njit", as_written)
    for module in (packed, packing, amx_packing):
        monkeypatch.setattr(module, "pointer", place)
    monkeypatch.setattr(packing, "function_of", panel_function)
    monkeypatch.setattr(packed, "micro_kernel", register_tile)
    monkeypatch.setattr(packed, "packer", packing.packer.__wrapped__)
    monkeypatch.setattr(amx_packing, "tile_function", tile_function)
    monkeypatch.setattr(amx_packing, "row_function", row_function)
    monkeypatch.setattr(amx, "unpacker", amx_packing.unpacker.__wrapped__)


def panel_function(emit, width, lanes, dtype):
    """`emit_copy`: a step of k of a panel; `emit_turn`: as many as a vector has lanes."""
    moved = width * (lanes if emit is packing.emit_turn else 1)

    def function(out, source, across):
        source.loads += moved
        out.stores += moved

    return function


def register_tile(mr, nr, lanes, dtype):
    """`emit`: a step reads a row of B as vectors and a column of A one by one; the tile is written, or added to."""

    def kernel(steps, a, b, c, row, fresh):
        for _ in range(0, steps, UNROLL):
            for _ in range(UNROLL):
                b.loads += nr // lanes * lanes
                a.loads += mr
        c.loads += 0 if fresh else mr * nr
        c.stores += mr * nr

    return kernel


def tile_function(rows_of, turn):
    def function(out, source, stride):
        for _ in range(16):
            source.loads += 32
            out.stores += 32

    return function


def row_function(wide):
    def function(out, sums):
        sums.loads += 16
        out.stores += 16

    return function


def amx_product(config, a, a_start, a_panel, b, b_start, b_panel, c, down, across, steps, fresh):
    """`amx_block.blocks`: two tiles of A and two of B a step, four tiles of sums a block."""
    for _ in range(across * down):
        c.loads += 0 if fresh else 4 * 256
        for _ in range(steps):
            a.loads += 2 * 512
            b.loads += 2 * 512
        c.stores += 4 * 256


def walk_loops(m, n, k, loops):
    arrays = {"A": Counting((m, k)), "B": Counting((k, n)), "C": Counting((m, n))}
    loops(arrays["A"], arrays["B"], arrays["C"])
    return arrays


def walk_blocks(m, n, k):
    """`blocks.kernel`, whose arrays are NumPy's own, element by element."""
    arrays = {name: Counting() for name in ("A", "B", "C", "product")}
    a, b, c, product = arrays.values()
    for i in range(0, m, BLOCK_SIDE):
        for j in range(0, n, BLOCK_SIDE):
            here = len(range(m)[i : i + BLOCK_SIDE]) * len(range(n)[j : j + BLOCK_SIDE])
            c.stores += here
            for p in range(0, k, BLOCK_SIDE):
                depth = len(range(k)[p : p + BLOCK_SIDE])
                a.loads += len(range(m)[i : i + BLOCK_SIDE]) * depth
                b.loads += len(range(n)[j : j + BLOCK_SIDE]) * depth
                product.stores += here
                product.loads += here
                c.loads += here
                c.stores += here
    return arrays


def walk_packed(m, n, k, threads, sizes, layout):
    arrays = {name: Counting() for name in ("A", "B", "packed A", "packed B", "C", "edge")}
    a, b, block, panel, c, edge = arrays.values()
    loops = packed.five_loops.__wrapped__(sizes.mr, sizes.nr, sizes.lanes, np.dtype(np.float32))
    for rows, columns in rectangles(m, n, k, threads, sizes.mr, sizes.nr):
        here = (rows.stop - rows.start, columns.stop - columns.start)
        cut = sizes.fitted(*here, k)
        strides = ((k, 1) if layout[0] == "n" else (1, m), (n, 1) if layout[1] == "n" else (1, k))
        loops(c, n, a, *strides[0], b, *strides[1], *here, k, cut.mc, cut.kc, cut.nc, block, panel, edge)
    return arrays


def walk_amx(m, n, k, threads, sizes, layout):
    arrays = {name: Counting() for name in ("A", "B", "packed A", "packed B", "sums", "C", "edge")}
    a, b, panels_a, panels_b, sums, c, edge = arrays.values()
    loops = amx.loops_with.__wrapped__(amx_product, True)
    pack_a, pack_b = (amx_packing.tile_packer.__wrapped__(pairs_first) for pairs_first in (False, True))
    for rows, columns in rectangles(m, n, k, threads, AMX_SIDE, AMX_SIDE):
        down, across = rows.stop - rows.start, columns.stop - columns.start
        mc, kc, nc = (
            even(side, most, AMX_SIDE)
            for side, most in zip((down, k, across), (sizes.mc, sizes.kc, sizes.nc), strict=True)
        )
        pack_a(panels_a, a, *((k, 1) if layout[0] == "n" else (1, m)), down, k)
        pack_b(panels_b, b, *((1, n) if layout[1] == "n" else (k, 1)), across, k)
        loops(c, n, panels_a, panels_b, down, across, k, mc, kc, nc, None, sums, edge)
    return arrays


def formula(problem, rung, threads=1, sizes=None):
    found = count_cpu(problem, rung, threads, sizes)
    return {each.name: (each.load_elements, each.store_elements) for each in found.arrays}


def seen(arrays):
    return {name: array.counts for name, array in arrays.items() if any(array.counts)}


@pytest.mark.parametrize(("rung", "loops"), [("naive", naive.loops), ("ikj", ikj.loops)])
def test_plain_loops_walked(rung, loops):
    rng = random.Random(1)
    for _ in range(CASES):
        m, n, k = (rng.randint(1, 9) for _ in range(3))
        assert formula(Gemm(m, n, k), rung) == seen(walk_loops(m, n, k, loops)), (m, n, k)


def test_blocks_walked():
    rng = random.Random(2)
    for _ in range(CASES):
        m, n, k = (rng.randint(1, 400) for _ in range(3))
        assert formula(Gemm(m, n, k), "blocks") == seen(walk_blocks(m, n, k)), (m, n, k)


def test_packed_walked(uncompiled, monkeypatch):
    rng = random.Random(3)
    monkeypatch.setattr("gemmlab.kernels.ladder.cpu.threads.WORTH_WAKING", 500)
    for case in range(CASES):
        lanes = rng.choice((2, 4))
        mr, nr = rng.randint(1, 5), lanes * rng.randint(1, 3)
        sizes = Tiling(mr, nr, mr * rng.randint(1, 4), rng.randint(1, 20), nr * rng.randint(1, 3), lanes)
        m, n, k = (rng.randint(1, 40) for _ in range(3))
        threads, layout = rng.randint(1, 4), rng.choice(("nn", "nt", "tn", "tt"))
        told = (case, m, n, k, threads, layout, sizes)
        problem = Gemm(m, n, k, "float32", layout=layout)
        assert formula(problem, "packed", threads, sizes) == seen(walk_packed(m, n, k, threads, sizes, layout)), told


def test_amx_walked(uncompiled, monkeypatch):
    rng = random.Random(4)
    monkeypatch.setattr("gemmlab.kernels.ladder.cpu.threads.WORTH_WAKING", 20_000)
    for case in range(CASES):
        sizes = Tiling(32, 32, *(32 * rng.randint(1, 3) for _ in range(3)), 16)
        m, n, k = (rng.choice((1, 15, 16, 31, 32, 33, 64, 65, 80, 97)) for _ in range(3))
        threads, layout = rng.randint(1, 3), rng.choice(("nn", "nt", "tn", "tt"))
        told = (case, m, n, k, threads, layout, sizes)
        problem = Gemm(m, n, k, "bfloat16", layout=layout)
        assert formula(problem, "amx", threads, sizes) == seen(walk_amx(m, n, k, threads, sizes, layout)), told


def test_bytes_follow_the_formats():
    found = {each.name: each for each in count_cpu(Gemm(64, 64, 64, "bfloat16", d_format="float32"), "amx").arrays}
    assert found["packed A"].load_bytes == 2 * found["packed A"].load_elements
    assert found["sums"].store_bytes == 4 * found["sums"].store_elements
    assert found["C"].store_bytes == 4 * 64 * 64


def test_a_batch_and_a_group_add_up():
    once = count_cpu(Gemm(33, 17, 65, "float32"), "packed")
    assert count_cpu(Gemm(33, 17, 65, "float32", batch=3), "packed").global_load_bytes == 3 * once.global_load_bytes
    group = count_cpu(Gemm.grouped([(33, 17, 65), (5, 6, 7)]), "packed")
    other = count_cpu(Gemm(5, 6, 7, "float32"), "packed")
    assert group.global_store_bytes == once.global_store_bytes + other.global_store_bytes
    assert group.padded_flop == once.padded_flop + other.padded_flop > group.flop


def test_a_register_tile_saves_what_it_should():
    """1024 cubed, tiles of 14 x 32: A and B are asked for once for 32 columns, and once for 14 rows."""
    sizes = Tiling(14, 32, 1022, 256, 4096, 16)
    loads = formula(Gemm(1024, 1024, 1024, "float32"), "packed", 1, sizes)
    assert loads["packed A"] == (74 * 32 * 14 * 1024, 74 * 14 * 1024)
    assert loads["packed B"] == (74 * 32 * 32 * 1024, 1024 * 1024)
    naive_loads = sum(asked[0] for asked in formula(Gemm(1024, 1024, 1024, "float32"), "naive").values())
    assert naive_loads == 2 * 1024**3


def test_an_unknown_rung_is_refused():
    with pytest.raises(GemmlabError, match="nave"):
        count_cpu(Gemm(4, 4, 4), "nave")
    assert set(RUNGS) == {"naive", "ikj", "blocks", "packed", "amx"}


def test_the_tiling_is_the_programs_own(monkeypatch):
    """What a program's environment says of its tiling is what is counted."""
    from gemmlab.run.backends.cpu import ladder

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert ladder.packed(Gemm(64, 64, 64, "float32")).environment["tiling"] == str(tiling.tiling(4, 1))


def test_amx_blocks_fit_any_machine():
    machine = Machine(
        model="", vendor="", cores=2, threads=2, flags=frozenset(), l2_bytes=4 << 20, l3_bytes=0, memory_bytes=0,
        nominal_hz=0.0,
    )  # fmt: skip
    assert tiling.amx_tiling(machine, 48 << 10) == Tiling(32, 32, 416, 512, 416, 16)
