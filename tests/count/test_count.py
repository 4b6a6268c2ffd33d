"""Laws of the counts, at sizes that nobody could walk."""

import subprocess
import sys
import time

import pytest

from gemmlab.count import count
from gemmlab.kernels import default_for, get
from gemmlab.problem import BlockScale, Gemm
from gemmlab.record import GemmlabError

BIG = 1 << 20


def test_batch_multiplies_and_groups_add():
    kernel = get("tiled")
    single, batched = count(Gemm(64, 48, 32), kernel), count(Gemm(64, 48, 32, batch=5), kernel)
    for name in ("flop", "global_load_elements", "global_store_bytes", "sectors_requested", "shared_load_bytes"):
        assert getattr(batched, name) == 5 * getattr(single, name)
    members = [(64, 48, 32), (16, 80, 32)]
    parts = [count(Gemm(*sides), kernel) for sides in members]
    together = count(Gemm.grouped(members), kernel)
    for name in ("flop", "global_load_bytes", "programs", "padded_flop", "sectors_requested"):
        assert getattr(together, name) == sum(getattr(part, name) for part in parts)


def test_members_of_a_group_start_where_the_last_ended():
    """A first member of one float32 row of 9 moves the next member's A from a sector's boundary."""
    kernel = get("tiled")
    aligned = [(8, 16, 8), (16, 16, 16)]
    moved = [(1, 16, 9), (16, 16, 16)]
    extra = [count(Gemm.grouped(group), kernel).sectors_requested for group in (aligned, moved)]
    alone = [count(Gemm(*group[0]), kernel).sectors_requested for group in (aligned, moved)]
    second = [whole - first for whole, first in zip(extra, alone, strict=True)]
    assert second[0] == 2 * 32  # A and B, 16 rows of two sectors each
    # a warp's two rows of A, 128 bytes side by side, now straddle five sectors; B's earlier 9 x 16 end on a boundary
    assert second[1] == 8 * 5 + 32


def test_split_k_stores_partial_results_and_reads_them_back():
    problem = Gemm(256, 384, 4096, "float16")
    whole, split = (count(problem, get("tensor", problem=problem, split_k=s)) for s in (1, 4))
    partial = 4 * 256 * 384 * 4
    assert split.workspace_bytes == partial
    assert split.global_load_bytes == whole.global_load_bytes + partial
    assert split.global_store_bytes == whole.global_store_bytes + partial
    assert split.programs == 4 * whole.programs
    assert (whole.workspace_bytes, whole.flop, whole.padded_flop) == (0, split.flop, split.padded_flop)


def test_c_is_read_only_where_beta_is_not_zero():
    for name in ("naive", "tiled", "register"):
        without, with_beta = (count(Gemm(100, 60, 40, beta=beta), get(name)) for beta in (0, 1))
        assert with_beta.global_load_elements - without.global_load_elements == 100 * 60
        assert with_beta.global_load_bytes - without.global_load_bytes == 100 * 60 * 4
        assert with_beta.sectors_requested - without.sectors_requested == with_beta.store_sectors


def test_an_odd_row_stride_costs_sectors_but_no_elements():
    problem = Gemm(4096, 4096, 4096, "float16")
    kernel = default_for(problem)
    even, odd, padded = (count(p, kernel) for p in (problem, problem.replace(lda=4097), problem.replace(lda=4112)))
    assert even.global_load_elements == odd.global_load_elements
    assert odd.sectors_requested > 1.2 * even.sectors_requested
    assert padded.sectors_requested == even.sectors_requested


def test_an_aligned_column_layout_asks_for_as_much():
    kernel = get("tensor", problem=Gemm(512, 512, 512, "float16"))
    sectors = {
        layout: count(Gemm(512, 512, 512, "float16", layout=layout), kernel).sectors_requested
        for layout in ("nn", "nt", "tn", "tt")
    }
    assert len(set(sectors.values())) == 1


def test_padding_of_ragged_tiles():
    counted = count(Gemm(129, 128, 32, "float16"), get("tensor"))
    assert counted.padded_flop == 2 * 256 * 128 * 32
    assert counted.flop == 2 * 129 * 128 * 32
    assert counted.programs == 2


def test_two_of_four_halves_a_and_adds_two_bits_for_each_kept_element():
    dense, sparse = (Gemm(1024, 1024, 1024, "float16", structure=s) for s in ("general", "sparse_2_4"))
    kernel = get("tensor", problem=sparse)
    whole, half = count(dense, kernel), count(sparse, kernel)
    assert half.flop * 2 == whole.flop
    assert half.padded_flop * 2 == whole.padded_flop
    a_bytes = 1024 * 1024 * 2 * 8  # once for each of 8 columns of tiles
    assert whole.global_load_bytes - half.global_load_bytes == a_bytes // 2 - 1024 * 512 * 2 // 8 * 8


def test_block_scales_are_read_beside_their_tiles():
    plain = Gemm(1024, 1024, 1024, "float8_e4m3fn")
    scaled = plain.replace(scale=BlockScale.parse("float8_e8m0fnu/32"))
    kernel = default_for(plain)
    extra = count(scaled, kernel).global_load_bytes - count(plain, kernel).global_load_bytes
    assert extra == 2 * 1024 * 1024 // 32 * 8


@pytest.mark.parametrize(
    "problem",
    [Gemm(64, 64, 64, "float16", structure="sparse_2_4"), Gemm(64, 64, 64, scale=BlockScale())],
    ids=["sparse", "scaled"],
)
def test_the_naive_kernel_reads_no_such_operands(problem):
    with pytest.raises(GemmlabError, match="naive"):
        count(problem, get("naive"))


def test_scales_of_a_triangle_are_refused():
    with pytest.raises(GemmlabError, match="triangular"):
        count(Gemm(64, 64, 64, structure="triangular", scale=BlockScale()), get("tiled"))


@pytest.mark.parametrize("structure", ["general", "triangular", "symmetric", "banded"])
@pytest.mark.parametrize("name", ["naive", "tiled", "register", "tensor"])
def test_sides_of_a_million_take_no_time(name, structure):
    band = {"lower_band": 300, "upper_band": 17} if structure == "banded" else {}
    problem = Gemm(BIG - 1, BIG - 3, BIG - 1, "float16", structure=structure, layout="tn", beta=1, **band)
    kernel = get(name, problem=problem)
    count(problem, kernel)
    times = []
    for moved in range(1, 6):  # another problem each time, so that nothing is remembered from the last
        other = problem.replace(n=problem.n - 2 * moved)
        start = time.perf_counter()
        count(other, kernel)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.010


def test_counting_loads_no_numpy():
    code = (
        "import sys; from gemmlab.count import count; from gemmlab.kernels import get;"
        "from gemmlab.problem import Gemm;"
        "count(Gemm(64, 64, 64), get('tensor')); print(sorted({'numpy', 'ml_dtypes', 'torch'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
