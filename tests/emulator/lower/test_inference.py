"""Types of variables against numba's own inference, and what a name reused for another type becomes."""

import math

import numpy as np
import pytest
from numba import cuda, float32

from emulator.lower.numba_typing import types_by_numba, types_here
from gemmlab.emulator.lower import listing, program_of

F = np.zeros(4, np.float32)
D = np.zeros(4, np.float64)
H = np.zeros(4, np.float16)
I = np.zeros(4, np.int32)  # noqa: E741
U = np.zeros(4, np.uint32)
M = np.zeros((4, 4), np.float32)
HALF = np.float32(0.5)


@cuda.jit
def accumulators(a, b, c):
    row, column = cuda.grid(2)
    whole = 0
    double = 0.0
    single = float32(0)
    for k in range(a.shape[1]):
        whole += a[row, k] * b[k, column]
        double += a[row, k] * b[k, column]
        single += a[row, k] * b[k, column]
    c[row, column] = whole + double + single


@cuda.jit
def counters(a, n):
    i = cuda.threadIdx.x
    while i < n:
        i += cuda.blockDim.x
    short = 0
    for j in range(cuda.blockDim.x):
        short = j
    for k in range(n):
        short += k
    for wide in range(0, cuda.gridDim.x, 1):
        a[wide] = i + short


@cuda.jit
def branches(a, n):
    x = 1
    if n > 2:
        x = 2.5
    y = a[0]
    if n > 3:
        y = n
    z = cuda.laneid
    if n > 4:
        z = HALF
    w = n > 5
    if n > 6:
        w = cuda.threadIdx.y
    a[1] = x + y + z + w


@cuda.jit
def reused(a, n):
    t = n * 2
    a[t] = 1
    t = a[t] * HALF
    a[0] = t
    for i in range(3):
        t = i
        a[t] = t // 2
        t = t / 2
        a[1] = t


@cuda.jit
def loops(a, n):
    x = 0
    y = 0
    for i in range(n):
        if i == 3:
            x = 1.5
            continue
        if i == 4:
            y = a[0]
            break
        x = 2
    a[0] = x
    a[1] = y
    while True:
        z = x
        if n > 3:
            break
        x = n
    a[2] = z


@cuda.jit
def mixed(u, i, h):
    a = u[0] + u[1]
    b = u[0] + i[0]
    c = u[0] / i[0]
    d = i[0] // i[1]
    e = h[0] * h[1]
    f = h[0] * 2
    g = -u[0]
    k = ~i[0]
    m = u[0] << 2
    o = (i[0] > 2) & (i[1] > 2)
    p = (i[0] > 2) and i[1]
    q = i[0] or 2.5
    r = 1 if i[0] > 3 else h[0]
    s = i[0] ** 2
    t = h[0] ** 2
    v = abs(i[0])
    w = int(h[0])
    x = float(i[0])
    y = bool(i[0])
    z = +i[0]
    aa = u[0] % 3
    i[0] = a + b + c + d + e + f + g + k + m + o + p + q + r + s + t + v + w + x + y + z + aa


@cuda.jit
def functions(f, d, i):
    a = math.sqrt(f[0])
    b = math.sqrt(i[0])
    c = math.atan2(f[0], f[1])
    e = math.pow(f[0], 2)
    g = math.fmod(f[0], d[0])
    h = math.isnan(f[0])
    j = math.floor(f[0])
    k = cuda.popc(i[0])
    m = cuda.fma(f[0], f[1], 1)
    n = cuda.shfl_sync(-1, f[0], 0)
    o = cuda.shfl_down_sync(-1, i[0], 1)
    p = cuda.ballot_sync(-1, i[0] > 2)
    q = cuda.any_sync(-1, i[0] > 2)
    r = cuda.syncthreads_count(i[0])
    s = cuda.atomic.add(f, 0, 1)
    t = math.pi * f[0]
    u = cuda.warpsize
    v = cuda.laneid
    w = cuda.selp(i[0] > 2, f[0], f[1])
    x = cuda.activemask()
    y = np.float32(i[0])
    z = cuda.gridsize(1)
    aa = cuda.ffs(i[0])
    bb = np.uint16(i[0])
    cc = cuda.shfl_xor_sync(-1, d[0], 1)
    i[0] = a + b + c + e + g + h + j + k + m + n + o + p + q + r + s + t + u + v + w + x + y + z + aa + bb + cc


@pytest.mark.parametrize(
    ("kernel", "values"),
    [
        (accumulators, (M, M, M)),
        (counters, (F, np.int32(3))),
        (branches, (F, np.int32(3))),
        (branches, (F, 3)),
        (branches, (H, np.uint8(3))),
        (reused, (F, 3)),
        (loops, (F, 3)),
        (loops, (D, np.int16(3))),
        (mixed, (U, I, H)),
        (functions, (F, D, I)),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_variables_have_numbas_types(kernel, values):
    theirs, ours = types_by_numba(kernel, *values), types_here(program_of(kernel, *values))
    assert ours
    for name, kinds in ours.items():
        assert kinds <= theirs[name], name
    arrays = {name for name, kinds in theirs.items() if any("rray" in kind for kind in kinds)}
    parameters = set(kernel.py_func.__code__.co_varnames[: kernel.py_func.__code__.co_argcount])
    assert {name for name in theirs if name in kernel.py_func.__code__.co_varnames} - arrays - parameters <= set(ours)


def lines(kernel, *values):
    return listing(program_of(kernel, *values)).splitlines()


def test_a_sum_that_starts_as_an_integer_becomes_float64():
    program = program_of(accumulators, M, M, M)
    assert (program.variables["whole"], program.variables["double"], program.variables["single"]) == (
        "float64",
        "float64",
        "float32",
    )
    assert "whole = 0.0" in listing(program)


def test_a_name_of_two_types_is_two_variables():
    program = program_of(reused, F, 3)
    assert {name: program.variables[name] for name in ("t", "t.1", "t.2")} == {
        "t": "int64",
        "t.1": "float32",
        "t.2": "float64",
    }
    text = lines(reused, F, 3)
    assert "t.1 = ($1 * float32(0.5))" in text
    assert "    $2 = t" not in text
    assert "    t.2 = (float64(t) / 2.0)" in text


def test_a_variable_is_read_in_the_type_of_its_version():
    """The integer is still one where it is read before the paths meet, and a float behind."""

    text = lines(two_readings, F, 3)
    assert text[text.index("x = 7") :] == [
        "x = 7",
        "x.1 = float64(x)",
        "a[0] = float32((x // 2))",
        "if (n > 2):",
        "    x.1 = 2.5",
        "a[1] = float32((x.1 // 2.0))",
    ]


@cuda.jit
def two_readings(a, n):
    x = 7
    a[0] = x // 2
    if n > 2:
        x = 2.5
    a[1] = x // 2


def test_a_meeting_that_nobody_reads_constrains_nothing():
    program = program_of(unread_meeting, F, 3)
    assert program.variables["x"] == "int64"
    assert program.variables["x.1"] == "float32"
    assert len([name for name in program.variables if name.startswith("x")]) == 2


@cuda.jit
def unread_meeting(a, n):
    for i in range(n):
        x = i
        a[x] = 1
        x = a[i]
        a[0] = x


def test_bounds_are_int64_and_the_counter_keeps_numbas_type():
    text = lines(counters, F, np.int32(3))
    assert "for j in range(0, int64(blockDim.x), 1):" in text
    assert program_of(counters, F, np.int32(3)).variables["j"] == "int32"
    assert program_of(counters, F, np.int32(3)).variables["wide"] == "int64"


def test_a_counter_read_in_a_wider_type_is_cast_in_each_round():
    text = lines(counter_meets_float, F, np.int32(3))
    assert text[-3:] == ["for x.1 in range(0, int64(n), 1):", "    x = float64(x.1)", "a[0] = float32(x)"]


@cuda.jit
def counter_meets_float(a, n):
    x = 0.5
    for x in range(n):  # noqa: B007
        pass
    a[0] = x
