"""Programs mean what Python means: kernels run as programs and as plain Python functions give the same."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda, float32, int32

from emulator.lower.plain import run
from gemmlab.emulator.lower import program_of

N = 12
WEIGHTS = (2, 3, 5)
FLAG = True


@cuda.jit(device=True)
def clamped(x, low, high=7):
    if x < low:
        return low
    if x > high:
        return high
    return x


@cuda.jit(device=True)
def both(x, y):
    return x + y, x - y


@cuda.jit(device=True)
def first_above(values, limit):
    for i in range(values.shape[0]):
        if values[i] > limit:
            return i
    return -1


@cuda.jit(device=True)
def scaled(values, factor):
    for i in range(len(values)):
        values[i] *= factor


@cuda.jit(device=True)
def twice(x):
    x = x * 2
    return clamped(x, 1, high=clamped(x, 0) + 3)


def control(out, source, n):
    for i in range(n):
        if i == 2:
            continue
        if (source[i] < 0 and i > 1) or i == 5:
            out[i] = 1
        elif not source[i] > 3:
            out[i] = 2
        else:
            out[i] = 3
        if i > 8:
            break
    k = n
    while k > 0 and source[k - 1] != 4:
        k -= 1
        if k == 3:
            break
    out[N - 1] = k
    for j in range(n - 1, 0, -2):
        k += j
    out[N - 2] = k + j
    while True:
        k -= 7
        if k < 0:
            return
        out[0] += k


def choices(out, source, n):
    out[0] = source[0] if n > 3 else source[1]
    out[1] = n if n > 3 else 7
    out[2] = 1 if 0 < n < 20 > source[1] else 2
    out[3] = n and 5
    out[4] = (n - n) or 6
    out[5] = (source[2] or 9) + (source[4] and 2)
    out[6] = 1 if n > 3 and (n < 5 or source[3] > -100) else 0
    x, y = n, n + 1
    x, y = y, x
    out[7] = x * 10 + y
    x = y = x + 1
    out[8] = x + y
    t = (n, n * 2, source[5])
    out[9] = t[0] + t[-1]
    for _ in range(3):
        t = (t[1], t[0], t[0] + t[2])
    out[9] += t[0] * 100 + t[1] * 10 + t[2]
    v = w = source[6]
    out[9] += v * w
    a, (b, c) = 1, (n, 3)
    out[10] = a + b * c + WEIGHTS[1]
    if FLAG:
        out[11] = len(WEIGHTS) + out.ndim + out.size
    else:
        out[11] = 0


def arithmetic(out, source, n):
    out[0] = n // 5 + -n // 5 + n % 5 + -n % 5 + n % -5
    out[1] = n / 4 + 2**n + n**2
    out[2] = (n << 3) | 1 ^ n & 6
    out[3] = ~n + (+n) + -n + (not n)
    out[4] = min(n, 3, 5) + max(n, 3.5) + abs(-n)
    out[5] = int(2.9) + int(-2.9) + float(n) + bool(n) + (n > 2) + (n > 3)
    out[6] = math.sqrt(n) + math.floor(-2.5) + math.pi
    out[7] = math.hypot(3.0, n) + math.fmod(n, 3)
    out[8] = source[-1] + source[n - 13]
    out[9] = source[3] ** 2 + source[4] * source[4] - source[1] / source[3]
    out[10] = n >> 1
    out[11] -= n
    out[11] *= 2
    out[11] //= 3
    out[11] %= 5


def functions(out, source, n):
    out[0] = clamped(n, 1)
    out[1] = clamped(-n, 1) + clamped(n, 1, high=3) * clamped(high=9, x=n, low=2)
    s, d = both(n, 3)
    out[2] = s * 100 + d
    out[3] = both(d, s)[1]
    out[4] = first_above(source, 3)
    out[5] = first_above(source, 1000)
    scaled(out, 2)
    x = 5
    out[6] = twice(x) + x
    out[7] = twice(twice(n)) if n > 2 and clamped(n, 1) > 3 else 0
    if first_above(source, 3) > 2:
        out[8] = 1


def shadows(out, source, n):
    n = n + 1
    out[0] = n
    row = source
    out[1] = row[2] + row.shape[0]
    for n in range(3):
        out[2] += n
    out[3] = n
    total = 0
    for i in range(4):
        part = i
        for i in range(part):  # noqa: PLW2901
            total += i
        total += i
    out[4] = total
    step: int = 2
    for i in range(0, 7, step):
        step = 5
        out[5] += i


def rebound(out, source, n):
    x = n
    if n > 3:
        x = 2.5
    y = x
    if n > 100:
        y = 1
    for i in range(3):
        z = y
        y = i
        out[i] = z
    out[4] = y + x
    z = 7
    out[5] = z // 2
    if n < 100:
        z = 1.5
    out[6] = z // 2


@pytest.mark.parametrize("body", [control, choices, arithmetic, functions, shadows, rebound])
@pytest.mark.parametrize("n", [10, 4])
def test_as_python(body, n, monkeypatch):
    source = np.array([1, -2, 3, 5, 0, 2, -6, 4, 1, 9, -1, 2], np.float64)
    found, expected = np.zeros(N), np.zeros(N)
    run(program_of(cuda.jit(body), found, source, n), 1, 1, found, source, n)
    for function in (clamped, both, first_above, scaled, twice):
        monkeypatch.setitem(globals(), function.py_func.__name__, function.py_func)
    body(expected, source, n)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@cuda.jit
def sums_of_blocks(out, source):
    staged = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    staged[t] = source[cuda.grid(1)]
    cuda.syncthreads()
    width = cuda.blockDim.x // 2
    while width > 0:
        if t < width:
            staged[t] += staged[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        out[cuda.blockIdx.x] = staged[0]
        cuda.atomic.add(out, out.shape[0] - 1, staged[0])


def test_a_sum_in_shared_memory():
    source, out = np.arange(24, dtype=np.int32), np.zeros(4, np.int32)
    run(program_of(sums_of_blocks, out, source), 3, 8, out, source)
    assert out.tolist() == [28, 92, 156, 276]


@cuda.jit
def pieces(out, matrix):
    memory = cuda.shared.array(0, float32)
    low = memory[0:4]
    high = memory[4:8]
    rest = high[1:]
    own = cuda.local.array((2, 2), int32)
    t = cuda.threadIdx.x
    own[0][1] = t
    low[t] = own[0, 1]
    high[t] = 10 * t
    row = matrix[t]
    cuda.syncthreads()
    out[t] = low[3 - t] + high[t] + row[1] + matrix[t][0] + rest.shape[0]
    if t < 3:
        out[t] += rest[t]


def test_views_rows_and_dynamic_memory():
    matrix, out = np.arange(8, dtype=np.float32).reshape(4, 2), np.zeros(4, np.float32)
    run(program_of(pieces, out, matrix), 1, 4, out, matrix)
    expected = [3 - t + 10 * t + (2 * t + 1) + 2 * t + 3 + (10 * (t + 1) if t < 3 else 0) for t in range(4)]
    assert out.tolist() == expected


@cuda.jit
def moved_view(out, source, n):
    low = 1
    part = source[low : low + 3]
    low = 5
    k = n
    row = part
    k = 0
    out[0] = part[0] + row[2] + part.shape[0] + k
    out[1] = source[n:][0]
    tail = source[-2:]
    out[2] = tail[1] + len(tail)
    none = source[5:2]
    out[3] = none.shape[0]
    beyond = source[4:100]
    out[4] = beyond.size


def test_a_view_stays_where_it_was_made():
    source, out = np.arange(8, dtype=np.float64), np.zeros(5)
    run(program_of(moved_view, out, source, 3), 1, 1, out, source, 3)
    assert out.tolist() == [1 + 3 + 3, 3, 7 + 2, 0, 4]


@cuda.jit
def claims(out, keys):
    i = cuda.grid(1)
    old = cuda.atomic.cas(keys, i // 2, 0, i + 1)
    if old == 0:
        cuda.atomic.max(out, 0, i)
        cuda.atomic.exch(out, 1, i)
        cuda.atomic.sub(out, 2, 1)
    cuda.atomic.and_(out, 3, i)
    cuda.atomic.or_(out, 4, i)
    cuda.atomic.xor(out, 5, i)
    cuda.atomic.min(out, 6, -i)


def test_atomics():
    out, keys = np.array([0, 0, 9, 15, 0, 0, 5], np.int64), np.zeros(4, np.int64)
    run(program_of(claims, out, keys), 2, 4, out, keys)
    assert keys.tolist() == [1, 3, 5, 7]
    assert out.tolist() == [6, 6, 5, 0, 7, 0, -7]


def test_a_plain_function_and_the_simulators_kernel():
    def local(out, n):
        out[0] = n * WEIGHTS[2]

    for kernel in (local, SimpleNamespace(fn=local), SimpleNamespace(py_func=local)):
        out = np.zeros(1)
        run(program_of(kernel, out, 3), 1, 1, out, 3)
        assert out[0] == 15


def made(factor, table):
    @cuda.jit(device=True)
    def inner(x):
        return x * factor

    @cuda.jit
    def outer(out):
        out[0] = inner(table[1]) + factor

    return outer


def test_closures():
    out = np.zeros(1)
    run(program_of(made(3, (5, 7)), out), 1, 1, out)
    assert out[0] == 24
