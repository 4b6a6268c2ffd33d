"""Kernels that each show a part of the dialect."""

import math

import numpy as np
from numba import cuda, float32, int32, int64, uint8
from numba.core.types import float16

LIMIT = 3
SCALE = np.float32(0.1)


@cuda.jit(device=True)
def sign(x):
    if x < 0:
        return -1
    if x > 0:
        return 1
    return 0.0


@cuda.jit(device=True)
def divided(x, y=4):
    return x // y, x % y


@cuda.jit(device=True)
def total(a, n):
    found = 0
    for i in range(n):
        found += a[i]
    return found


@cuda.jit
def widened(x, out, taken):
    i = cuda.grid(1)
    s = 0
    for _ in range(3):
        s += x[i]
    out[i, 0] = s
    m = x[i]
    if taken < 0:  # never, yet numba types m behind it as float64
        m = 1.0
    out[i, 1] = m * SCALE
    n = int32(2147483647)
    n += 1  # int32 + int64 is int64
    out[i, 2] = n
    out[i, 3] = x[i] * i  # float32 * int64 is float64


@cuda.jit
def halves(h, out):
    i = cuda.grid(1)
    s = float16(0)
    for k in range(h.shape[0]):
        s += h[k] * h[i]
    out[i] = s


@cuda.jit
def wraps(out):
    out[0] = int64(9223372036854775807) + 1
    out[1] = uint8(250 + 10)
    out[2] = -7 // 2
    out[3] = -7 % 3
    out[4] = 7 // out[9]
    out[5] = ~cuda.threadIdx.x
    out[6] = 1 << 40
    out[7] = int32(1 << 33)
    out[8] = abs(-5) + min(3, 2, 9) + max(1, 4)
    out[9] = abs(out[10])


@cuda.jit
def steered(out):
    t = cuda.threadIdx.x
    n = 0
    while True:
        n += 1
        if n == 2:
            continue
        if n > t:
            break
    out[0, t] = n
    found = -1
    for i in range(10, 0, -3):
        if i < t:
            found = i
            break
    out[1, t] = found
    out[2, t] = 1 if 1 < t <= LIMIT else 0
    out[3, t] = (t > 1 and t) or 7
    x, y = divided(t)
    x, y = y, x
    out[4, t] = x * 10 + y
    out[5, t] = sign(t - 2)
    if t == 3:
        return
    out[6, t] = 1


@cuda.jit
def shaped(a, b, c, out):
    m, n = a.shape
    out[0] = m * 100 + n * 10 + len(b)
    out[1] = a[-1, -n]
    part = b[2:5]
    out[2] = part[0] + part[-1] + len(part)
    out[3] = total(b[1:], 3)
    row = a[1]
    out[4] = row[2]
    out[5] = c[1, 2, 3] + c.shape[2] + c.ndim + c.size


@cuda.jit
def functions(x, out):
    i = cuda.grid(1)
    out[0, i] = math.sqrt(x[i])
    out[1, i] = math.exp(x[i])
    out[2, i] = math.floor(x[i]) + math.ceil(x[i])
    out[3, i] = cuda.fma(x[i], x[i], float32(-1))
    out[4, i] = cuda.popc(i) + 10 * cuda.clz(int32(i)) + 1000 * cuda.ffs(i)
    out[5, i] = cuda.brev(i)
    out[6, i] = cuda.selp(i > 1, i, -i)
    out[7, i] = x[i] ** 2 + math.pow(x[i], 3.0)


@cuda.jit
def warps(out):
    t = cuda.threadIdx.x
    every = 0xFFFFFFFF
    out[0, t] = cuda.shfl_sync(every, t, 5)
    out[1, t] = cuda.shfl_up_sync(every, t, 3)
    out[2, t] = cuda.shfl_down_sync(every, t, 3)
    out[3, t] = cuda.shfl_xor_sync(every, t, 1)
    out[4, t] = cuda.ballot_sync(every, t % 2 == 0)
    out[5, t] = cuda.any_sync(every, t == 40) + 2 * cuda.all_sync(every, t >= 0) + 4 * cuda.eq_sync(every, t > 31)
    if t % 3 == 0:
        out[6, t] = cuda.activemask()
    out[7, t] = cuda.laneid


@cuda.jit
def barriers(out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.syncthreads_count(int32(t % 3 == 0))
    out[1, t] = cuda.syncthreads_and(t + 1) + 2 * cuda.syncthreads_or(t // 100)


@cuda.jit
def atomics(whole, real, old):
    t = cuda.threadIdx.x
    old[t] = cuda.atomic.add(whole, 0, 2)
    cuda.atomic.sub(whole, 1, t)
    cuda.atomic.max(whole, 2, t)
    cuda.atomic.min(whole, 3, -t)
    cuda.atomic.and_(whole, 4, ~(1 << t))
    cuda.atomic.or_(whole, 5, 1 << t)
    cuda.atomic.xor(whole, 6, 3)
    cuda.atomic.exch(whole, 7, t)
    cuda.atomic.cas(whole, 8, t, t + 1)
    cuda.atomic.add(real, (0, 1), 0.5)


@cuda.jit
def dynamic(out):
    buffer = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    buffer[t] = t
    cuda.syncthreads()
    out[t] = buffer[len(buffer) - 1 - t]


@cuda.jit
def private(out):
    mine = cuda.local.array((2, 2), int32)
    t = cuda.threadIdx.x
    for i in range(4):
        mine[i // 2, i % 2] = t * i
    out[t] = mine[1, 1] + mine[1, 0]


@cuda.jit
def spaced(out):
    x, y, z = cuda.grid(3)
    gx, gy, _ = cuda.gridsize(3)
    out[z, y, x] = x + gx * (y + gy * z) + 1000 * cuda.threadIdx.z + 10000 * cuda.blockIdx.y
