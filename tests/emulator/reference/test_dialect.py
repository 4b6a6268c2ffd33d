import numpy as np
import pytest
from numba import cuda

from emulator.reference import dialect
from gemmlab.emulator.reference import run_reference
from gemmlab.record import GemmlabError

I64 = np.int64


def run(kernel, block, *args, grid=1, **options):
    outcome = run_reference(kernel, grid, block, *args, **options)
    assert outcome.faults == ()
    return args


def test_variables_have_the_type_that_all_ways_to_them_meet_in():
    x = np.array([0.1, 0.2, 0.3], np.float32)
    _, out, _ = run(dialect.widened, 3, x, np.zeros((3, 4)), 0)
    wide = x.astype(np.float64)
    assert np.array_equal(out[:, 0], wide + wide + wide)  # of float32, where s is an int at first
    assert np.array_equal(out[:, 1], wide * np.float64(np.float32(0.1)))
    assert np.all(out[:, 2] == 2**31)
    assert np.array_equal(out[:, 3], wide * np.arange(3))


def test_float16_is_rounded_at_every_operation():
    h = (np.arange(20) / 7).astype(np.float16)
    _, out = run(dialect.halves, 20, h, np.zeros(20, np.float16))
    for i in range(20):
        s = np.float16(0)
        for x in h:
            s = np.float16(np.float32(s) + np.float32(np.float16(np.float32(x) * np.float32(h[i]))))
        assert out[i] == s


def test_integers_wrap_and_divide_as_python_does_and_by_zero_gives_zero():
    (out,) = run(dialect.wraps, 1, np.array([0] * 10 + [-(2**62) - 1]))
    assert out.tolist() == [-(2**63), 4, -4, 2, 0, -1, 2**40, 0, 11, 2**62 + 1, -(2**62) - 1]


def test_control_flow():
    (out,) = run(dialect.steered, 5, np.zeros((7, 5), I64))
    assert out[0].tolist() == [1, 3, 3, 4, 5]
    assert out[1].tolist() == [-1, -1, 1, 1, 1]
    assert out[2].tolist() == [0, 0, 1, 1, 0]
    assert out[3].tolist() == [7, 7, 2, 3, 4]
    assert out[4].tolist() == [0, 10, 20, 30, 1]
    assert out[5].tolist() == [-1, -1, 0, 1, 1]
    assert out[6].tolist() == [1, 1, 1, 0, 1]


def test_arrays_their_shapes_parts_and_negative_indices():
    a, b, c = np.arange(6).reshape(2, 3), np.arange(7) * 10, np.arange(60).reshape(3, 4, 5)
    *_, out = run(dialect.shaped, 1, a, b, c, np.zeros(6, I64))
    assert out.tolist() == [237, 3, 20 + 40 + 3, 10 + 20 + 30, 5, 33 + 5 + 3 + 60]


def test_functions():
    x = np.array([0.5, 1.5, 2.25, 3.0], np.float32)
    _, out = run(dialect.functions, 4, x, np.zeros((8, 4)))
    assert np.array_equal(out[0], np.sqrt(x))
    assert np.allclose(out[1], np.exp(x.astype(float)), rtol=1e-7)
    assert np.array_equal(out[2], np.floor(x) + np.ceil(x))
    assert np.array_equal(out[3], (x.astype(float) ** 2 - 1).astype(np.float32))
    assert out[4].tolist() == [320, 1 + 310 + 1000, 1 + 300 + 2000, 2 + 300 + 1000]
    assert out[5].tolist() == [0, 2**31, 2**30, 2**31 + 2**30]
    assert out[6].tolist() == [0, -1, 2, 3]
    assert np.allclose(out[7], x**2 + x.astype(float) ** 3)


def test_lanes_of_a_warp_exchange():
    (out,) = run(dialect.warps, 64, np.zeros((8, 64), I64))
    t = np.arange(64)
    lane, base = t % 32, t // 32 * 32
    assert np.array_equal(out[0], base + 5)
    assert np.array_equal(out[1], np.where(lane < 3, t, t - 3))
    assert np.array_equal(out[2], np.where(lane > 28, t, t + 3))
    assert np.array_equal(out[3], t ^ 1)
    assert np.all(out[4] == 0x55555555)
    assert np.array_equal(out[5], 6 + (t > 31))
    for warp in (0, 1):
        mask = sum(1 << i for i in range(32) if (32 * warp + i) % 3 == 0)
        assert all(out[6, 32 * warp + i] == (mask if mask >> i & 1 else 0) for i in range(32))
    assert np.array_equal(out[7], lane)


def test_barriers_that_count():
    (out,) = run(dialect.barriers, 40, np.zeros((2, 40), I64))
    assert np.all(out[0] == 14)
    assert np.all(out[1] == 1)


def test_atomics_give_the_old_value_and_leave_the_new_one():
    whole, real, old = run(dialect.atomics, 8, np.zeros(9, I64) - 1, np.zeros((2, 2), np.float32), np.zeros(8, I64))
    assert whole.tolist() == [15, -1 - 28, 7, -7, ~255, -1, -1, 7, -1]
    assert real.tolist() == [[0, 4], [0, 0]]
    assert old.tolist() == [-1 + 2 * t for t in range(8)]


def test_dynamic_shared_memory_is_as_large_as_the_launch_says():
    (out,) = run(dialect.dynamic, 8, np.zeros(8, np.float32), dynamic_shared_bytes=33)
    assert out.tolist() == list(range(7, -1, -1))


def test_every_thread_has_its_own_local_array():
    (out,) = run(dialect.private, 5, np.zeros(5, I64))
    assert out.tolist() == [5 * t for t in range(5)]


def test_positions_in_three_axes():
    (out,) = run(dialect.spaced, (2, 3, 2), np.zeros((4, 6, 4), I64), grid=(2, 2, 2))
    z, y, x = np.indices(out.shape)
    assert np.array_equal(out, x + 4 * (y + 6 * z) + 1000 * (z % 2) + 10000 * (y // 3))


def forever(out):
    while True:
        out[0] += 1


def listed(out):
    for x in (1, 2):
        out[0] = x


def true_or_false(out):
    out[0] = cuda.syncthreads_or(out[0] > 0)


def unset(out):
    if out[0] > 0:
        x = 1
    out[0] = x


def stuck(out):
    for i in range(0, 3, int(out[0])):
        out[0] = i


def adds(out):
    cuda.atomic.add(out, 0, 1)


def frozen():
    fixed = np.zeros(1)
    fixed.flags.writeable = False
    return fixed


def too_large(out):
    out[0] = 2**40 * 2**40


def recurs(x):
    return recurs(x - 1)


def recursive(out):
    out[0] = recurs(3)


@pytest.mark.parametrize(
    ("kernel", "args", "said"),
    [
        (forever, (np.zeros(1),), "more than 1000 steps"),
        (listed, (np.zeros(1),), "test_dialect.py:"),
        (unset, (np.zeros(1),), "reads `x` before it has a value"),
        (stuck, (np.zeros(1),), "steps by 0"),
        (adds, (np.zeros(1, np.int8),), "no atomic add of int8"),
        (adds, (frozen(),), "out, which is read-only"),
        (true_or_false, (np.zeros(1),), "syncthreads_or"),
        (recursive, (np.zeros(1),), "calls itself"),
        (too_large, (np.zeros(1),), "does not fit into 64 bits"),
        (dialect.private, (), "takes 1 arguments, got 0"),
        (dialect.wraps, ("text",), "argument 1 is a str"),
    ],
)
def test_what_cannot_be_run_is_said(kernel, args, said):
    with pytest.raises(GemmlabError, match=said):
        run_reference(kernel, 1, 1, *args, step_limit=1000)
