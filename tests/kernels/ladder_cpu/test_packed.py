"""The packed kernel: its panels, its edges, its threads and the sizes that it is cut to."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from gemmlab.chips.machine import Machine
from gemmlab.kernels.ladder.cpu import packed, threads
from gemmlab.kernels.ladder.cpu.memory import LINE, Workspace, aligned, flat
from gemmlab.kernels.ladder.cpu.packing import packer
from gemmlab.kernels.ladder.cpu.tiling import UNROLL, Tiling, even, tiling, vector_bytes

# Of these vectors every x86-64 has the instructions, or LLVM takes two smaller ones.
SMALL = Tiling(mr=6, nr=16, mc=12, kc=20, nc=32, lanes=8)


def described(flags, l2=1 << 20, l3=32 << 20, cores=1):
    return Machine(
        model="described", vendor="", cores=cores, threads=cores, flags=frozenset(flags), l2_bytes=l2, l3_bytes=l3,
        memory_bytes=0, nominal_hz=0.0,
    )  # fmt: skip


def matrices(m, n, k, seed=0):
    drawn = np.random.default_rng(seed)
    return drawn.standard_normal((m, k), np.float32), drawn.standard_normal((k, n), np.float32)


def product_of(a, b, sizes=SMALL, workers=1):
    c = np.full((a.shape[0], b.shape[1]), np.nan, a.dtype)
    packed.prepared(a, b, c, workers, sizes, Workspace())()
    return c


def test_tile_edges_one_off_in_every_direction():
    for m, n, k in itertools.product((5, 6, 7, 13), (15, 16, 17, 33), (3, 4, 5, 20, 21, 41)):
        a, b = matrices(m, n, k)
        exact = a.astype(float) @ b
        assert np.abs(product_of(a, b) - exact).max() <= k * 2.0**-24 * (np.abs(a) @ np.abs(b)).max()


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [("float32", Tiling(14, 32, 28, 64, 64, 16)), ("float64", Tiling(6, 4, 12, 64, 64, 2))],
    ids=["AVX-512", "SSE"],
)
def test_vectors_that_other_processors_have(kind, sizes):
    for m, n, k in ((1, 1, 1), (13, 29, 31), (129, 65, 163)):
        a, b = (each.astype(kind) for each in matrices(m, n, k))
        exact, size = a.astype(float) @ b, np.abs(a) @ np.abs(b)
        for left, right in itertools.product((a, np.asfortranarray(a)), (b, np.asfortranarray(b))):
            assert np.abs(product_of(left, right, sizes) - exact).max() <= k * 2.0**-24 * size.max()


def test_small_integers_are_multiplied_exactly():
    drawn = np.random.default_rng(3)
    a, b = (drawn.integers(-9, 10, shape).astype(np.float32) for shape in ((41, 77), (77, 53)))
    assert (product_of(a, b) == a.astype(np.int64) @ b.astype(np.int64)).all()


def test_infinities_and_nan_stay_in_their_rows_and_columns():
    a, b = matrices(20, 40, 23)
    a[3, 5], b[2, 17] = np.inf, np.nan
    c = product_of(a, b)
    wrong = ~np.isfinite(c)
    expected = np.zeros_like(wrong)
    expected[3, :] = expected[:, 17] = True
    assert (wrong == expected).all()


def test_any_strides_give_the_same_bits():
    a, b = matrices(30, 40, 50)
    wide_a, wide_b = np.full((90, 200), np.nan, np.float32), np.full((100, 200), np.nan, np.float32)
    wide_a[::3, ::4], wide_b[::2, ::5] = a, b
    assert (product_of(wide_a[::3, ::4], wide_b[::2, ::5]) == product_of(a, b)).all()
    assert (product_of(np.asfortranarray(a), np.asfortranarray(b)) == product_of(a, b)).all()


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_threads_give_the_bits_of_one(workers, monkeypatch):
    monkeypatch.setattr(threads, "WORTH_WAKING", 1)
    for m, n, k in ((1, 1, 1), (7, 100, 30), (100, 7, 30), (61, 83, 45)):
        a, b = matrices(m, n, k, seed=workers)
        assert (product_of(a, b, workers=workers) == product_of(a, b)).all()


def test_rectangles_cover_c_once(monkeypatch):
    monkeypatch.setattr(threads, "WORTH_WAKING", 1)
    for m, n, workers in itertools.product((1, 6, 37, 512), (1, 16, 100), (1, 2, 3, 7, 16)):
        seen = np.zeros((m, n), int)
        parts = threads.rectangles(m, n, 64, workers, 6, 16)
        for part in parts:
            seen[part] += 1
        assert (seen == 1).all()
        assert len(parts) <= workers


def test_square_grids_pack_least():
    assert len(threads.rectangles(2048, 2048, 2048, 4, 8, 8)) == 4
    assert {rows.stop - rows.start for rows, _ in threads.rectangles(2048, 2048, 2048, 4, 8, 8)} == {1024}
    assert len(threads.rectangles(64, 64, 64, 4, 8, 8)) == 1, "too little to wake a thread for"


@pytest.mark.parametrize("across", [1, 7])
def test_panels_hold_lines_in_the_order_of_k_and_zeros(across):
    lines, steps, padded, width = 8, 5, 8, 3
    source = np.arange(200, dtype=np.float32)
    along = 11 if across == 1 else 1
    out = np.full(9 * padded, np.nan, np.float32)
    packer(width, 4, source.dtype)(out, source, 4, across, along, lines, steps, padded)
    panels = out.reshape(3, padded, width)
    for line, k in itertools.product(range(9), range(padded)):
        value = source[4 + line * across + k * along] if line < lines and k < steps else 0
        assert panels[line // width, k, line % width] == value


def test_flat_memory_and_alignment():
    matrix = np.arange(60, dtype=np.float32).reshape(6, 10)[1:5, 2:7]
    memory, row, column = flat(matrix)
    assert (row, column) == (10, 1)
    assert all(memory[i * row + j * column] == matrix[i, j] for i in range(4) for j in range(5))
    assert len(memory) == 3 * 10 + 4 + 1
    assert all(aligned(size, np.float64).ctypes.data % LINE == 0 for size in (1, 3, 100))


def test_tilings_of_described_processors():
    haswell = tiling(4, 1, described({"fma", "avx2"}, l2=256 << 10, l3=8 << 20), l1_bytes=32 << 10)
    assert (haswell.mr, haswell.nr, haswell.kc) == (6, 16, 320)
    server = tiling(4, 1, described({"fma", "avx2", "avx512f"}, l2=2 << 20), l1_bytes=48 << 10)
    assert (server.mr, server.nr, server.kc) == (14, 32, 256)
    assert tiling(8, 1, described({"fma", "avx2", "avx512f"}), l1_bytes=48 << 10).nr == 16
    assert vector_bytes(described({"sse2"})) == 16


@pytest.mark.parametrize("itemsize", [4, 8])
@pytest.mark.parametrize("flags", [{"avx512f"}, {"fma", "avx2"}, set()])
def test_every_tiling_fits_the_caches_that_it_is_cut_to(itemsize, flags):
    for l1, l2, l3, workers in itertools.product(
        (16 << 10, 48 << 10), (256 << 10, 2 << 20), (4 << 20, 480 << 20), (1, 8)
    ):
        cut = tiling(itemsize, workers, described(flags, l2, l3), l1_bytes=l1)
        assert cut.mc % cut.mr == cut.nc % cut.nr == cut.kc % UNROLL == 0
        assert cut.kc * (cut.mr + cut.nr) * itemsize <= l1 or cut.kc == 64
        assert cut.mc * cut.kc * itemsize <= l2 / 2 or cut.mc == cut.mr
        assert cut.nc * cut.kc * itemsize <= l3 / 2 / workers or cut.nc == cut.nr


def test_blocks_of_a_problem_are_about_as_large():
    assert even(1024, 1000, 8) == 512
    for size, limit in itertools.product((1, 7, 100, 513), (4, 64, 512)):
        part = even(size, limit, 4)
        assert part % 4 == 0
        assert part <= limit
        assert -(-size // part) == -(-size // limit)


def test_the_machine_at_hand_has_a_tiling():
    here = tiling(4)
    assert min(here.mr, here.nr, here.mc, here.kc, here.nc) > 0
    assert Path("/proc/cpuinfo").exists() is False or here.lanes in (4, 8, 16)


def test_a_workspace_is_shared_by_multiplications_of_one_size():
    a, b = matrices(20, 30, 40)
    space, results = Workspace(), [np.empty((20, 30), np.float32) for _ in range(2)]
    runs = [packed.prepared(a, b, c, 1, SMALL, space) for c in results]
    assert len(space.arrays) == 3
    for run in runs:
        run()
    assert (results[0] == results[1]).all()
    packed.prepared(a, b[:, :7], results[0][:, :7], 1, SMALL, space)()
    assert (results[0] == results[1]).all()
