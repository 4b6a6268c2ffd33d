import numpy as np
import pytest
from numba import cuda

from emulator.programs import programs
from emulator.proof.building import BX, DX, GX, TX, Kernel
from emulator.proof.fuzz import case
from emulator.proof.plain import block_counts
from emulator.proof.programs import covering, gather, grid_stride, matrices, naive, split_k, tiled
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.proof.blocks import Brute, Classes, classes, coordinates, verify
from gemmlab.emulator.proof.disjoint import disjoint_writes
from gemmlab.emulator.reference.running import run_reference
from gemmlab.emulator.tallies import Outcome


def disagreements(program, launch, found):
    """Blocks that count otherwise than the representative of their class."""
    counts = {int(r): block_counts(program, launch, int(r)) for r in found.representatives}
    of = found.representatives[found.labels]
    return [b for b in range(launch.blocks) if block_counts(program, launch, b) != counts[int(of[b])]]


def sparse(rows, columns):
    """A matrix of that shape whose rows all lie on one element: no memory is needed for shapes alone."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (rows, columns), (4 * columns, 4))


@pytest.mark.parametrize("program", [naive(), tiled(16), tiled(16, early=True)])
@pytest.mark.parametrize(("n", "sizes"), [(8192, [262_144]), (1000, [1, 62, 62, 3844])])
def test_a_matrix_multiplication_has_inner_and_edge_blocks(program, n, sizes):
    launch = launch_of(program, (-(-n // 16),) * 2, (16, 16), [sparse(n, n)] * 3)
    found = classes(program, launch)
    assert sorted(found.counts) == sizes
    assert found.counts.sum() == launch.blocks == found.labels.size


@pytest.mark.parametrize("program", [naive(), tiled(4), tiled(4, masked=False)])
@pytest.mark.parametrize("shape", [(9, 13, 5), (8, 8, 8), (7, 30, 3)])
@pytest.mark.parametrize("block", [(4, 4), (3, 5)])
def test_classes_of_multiplications_count_alike(program, shape, block):
    launch = covering(program, *shape, block)
    found = classes(program, launch)
    assert disagreements(program, launch, found) == []


def test_odd_rows_of_a_misaligned_matrix_lie_otherwise_in_their_sectors():
    program = naive()
    a, b, c = matrices(12, 12, 5)
    c = np.zeros((12, 13), np.float32)[:, 1:]
    launch = launch_of(program, (3, 4), (4, 3), (a, b, c))
    found = classes(program, launch)
    assert found.counts.size > 4
    assert disagreements(program, launch, found) == []


def test_random_programs_count_alike_within_classes():
    rng = np.random.default_rng(5)
    merged = 0
    for _ in range(30):
        program, launch = case(rng)
        found = classes(program, launch)
        assert isinstance(found, Classes)
        assert disagreements(program, launch, found) == []
        merged += launch.blocks - found.counts.size
    assert merged > 100


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(("blocks", "length"), [(10, 1000), (7, 9000), (5, 160), (6, 70)])
def test_loops_in_steps_of_the_grid_need_few_classes(counted, blocks, length):
    program = grid_stride(counted, DX * GX)
    launch = launch_of(program, blocks, 32, (np.zeros(length, np.float32),))
    found = classes(program, launch)
    assert found.counts.size <= 3
    assert disagreements(program, launch, found) == []
    assert disjoint_writes(program, launch, found.touches).shown


def test_steps_shorter_than_the_grid_make_blocks_meet():
    program = grid_stride(False, GX * 16)
    launch = launch_of(program, 7, 32, (np.zeros(9000, np.float32),))
    found = classes(program, launch)
    assert disagreements(program, launch, found) == []
    assert not disjoint_writes(program, launch, found.touches).shown


def test_split_k_has_a_class_for_each_place_where_chunks_differ():
    program = split_k()
    launch = covering(program, 8, 8, 10, (4, 4), depth=4, extra=(3,))
    found = classes(program, launch)
    assert isinstance(found, Classes)
    assert disagreements(program, launch, found) == []


def test_a_swizzled_order_is_taken_exactly():
    k = Kernel(y=("float32", 2))
    row, col = k.assign("row", BX % 3), k.assign("col", BX // 3)
    with k.when(row * DX + TX < k.extent("y", 0)):
        k.store("y", (row * DX + TX, col), 1.0)
    program = k.program()
    launch = launch_of(program, 12, 4, (np.zeros((10, 16), np.float32),))
    found = classes(program, launch)
    assert disagreements(program, launch, found) == []
    assert found.counts.size < 12


def test_blocks_times_threads_need_blocks_that_agree():
    k = Kernel(y=("float32", 1))
    k.store("y", ((BX % 4) * TX,), 1.0)
    program = k.program()
    launch = launch_of(program, 16, 8, (np.zeros(40, np.float32),))
    found = classes(program, launch)
    assert found.counts.tolist() == [4, 4, 4, 4]
    assert disagreements(program, launch, found) == []


def test_addresses_that_data_give_are_not_proven():
    program = gather()
    launch = launch_of(program, 2, 4, (np.zeros(8, np.float32), np.zeros(8, np.int64), np.zeros(8, np.float32)))
    found = classes(program, launch)
    assert isinstance(found, Brute)
    assert found.reason == "what `at` holds steers threads"
    assert found.line.number == 13


def test_verification_finds_a_class_that_is_none():
    program = naive()
    launch = covering(program, 10, 10, 4, (4, 4))
    found = classes(program, launch)

    def run(block):
        return Outcome(block_counts(program, launch, block))

    rng = np.random.default_rng(0)
    assert verify(found, run, 9, rng) == (3, None)
    wrong = Classes(np.array([0]), np.array([9]), np.zeros(9, np.int64), "", {})
    compared, why = verify(wrong, run, 9, rng)
    assert why is not None
    assert "of its class" in why
    assert compared <= 8


def tallied(program, number):
    """Counts and faults of one block by the plain interpreter."""
    made = launch_of(None, program.grid, program.block, program.make_args())
    outcome = run_reference(program.kernel, made.grid, made.block, *made.args, blocks=[coordinates(number, made)])
    faults = sorted(repr((f.kind, f.array, f.line, f.other_line, f.access, f.count)) for f in outcome.faults)
    return outcome.tallies, faults


def test_blocks_of_python_kernels_count_and_fail_alike_within_classes():
    merged = 0
    for program in programs(3, 2):
        args = program.make_args()
        typed = program_of(program.kernel, *args)
        found = classes(typed, launch_of(typed, program.grid, program.block, args))
        if isinstance(found, Brute) or found.counts.size == found.labels.size:
            continue
        each = [tallied(program, number) for number in range(found.labels.size)]
        assert all(each[number] == each[int(found.representatives[label])] for number, label in enumerate(found.labels))
        merged += found.labels.size - found.counts.size
    assert merged > 3


@cuda.jit
def of_a_view(x, y, step):
    view = x[cuda.blockIdx.x * step :]
    i = cuda.threadIdx.x
    if i < view.shape[0]:
        y[cuda.blockIdx.x * cuda.blockDim.x + i] = view[i]


@cuda.jit
def of_a_view_by_block(x, y, step):
    view = x[: cuda.blockIdx.x * step + 3]
    i = cuda.threadIdx.x
    y[cuda.blockIdx.x * cuda.blockDim.x + i] = view[i]


@pytest.mark.parametrize("kernel", [of_a_view, of_a_view_by_block])
@pytest.mark.parametrize("step", [1, 3, 8])
@pytest.mark.parametrize("wide", [1, 2])
def test_views_that_start_or_end_by_the_block(kernel, step, wide):
    args = np.zeros(30 * wide, np.float32)[wide - 1 :: wide], np.zeros(100, np.float32), step
    program = program_of(kernel, *args)
    launch = launch_of(program, 6, 8, args)
    found = classes(program, launch)
    each = [
        run_reference(kernel, launch.grid, launch.block, *launch.args, blocks=[coordinates(b, launch)])
        for b in range(launch.blocks)
    ]
    for block, label in enumerate(found.labels):
        first = each[int(found.representatives[label])]
        assert each[block].tallies == first.tallies
        assert [(f.kind, f.count) for f in each[block].faults] == [(f.kind, f.count) for f in first.faults]
