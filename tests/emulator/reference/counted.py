"""Kernels whose counts can be told by hand; each test names the line it means by its text."""

from numba import cuda, float32, float64, int8


@cuda.jit
def strided(a, out, step):
    t = cuda.grid(1)
    out[t] = a[t * step]


@cuda.jit
def banked(out, step):
    s = cuda.shared.array(2048, float32)
    w = cuda.shared.array(2048, float64)
    b = cuda.shared.array(2048, int8)
    t = cuda.threadIdx.x
    s[t * step] = t
    w[t * step] = t
    b[t * step] = t
    cuda.syncthreads()
    out[t] = s[0] + w[t // 16 * 16 * step] + b[t % 4 * step]


@cuda.jit
def divergent(a, out):
    t = cuda.threadIdx.x
    if t < 40:
        out[t] = 1
    for i in range(t % 2):
        out[t] += i
    n = t % 3
    while n > 0:
        n -= 1
    for i in range(5):
        if i == t:
            break
    if t < a.shape[0] and a[t] > 0:
        out[t] = 2


@cuda.jit
def arithmetic(x, y, out):
    t = cuda.threadIdx.x
    s = x[t] * y[t] + x[t]
    p = x[t] * y[t]
    s += p
    q = x[t] * y[t]
    if t < 2:
        s -= q
    r = x[t] * y[t]
    s += r + r
    d = 1.0 + x[t] * y[t]
    out[t] = -s / d + cuda.fma(s, s, s)
    out[t + int(x[t] * 0)] += abs(x[t])


@cuda.jit(device=True)
def product(x, y):
    return x * y


@cuda.jit
def called(x, out):
    t = cuda.threadIdx.x
    out[t] = x[t] + product(x[t], x[t])


@cuda.jit
def added(out):
    cuda.atomic.add(out, cuda.threadIdx.x // 8, 1)


@cuda.jit
def waits():
    cuda.syncthreads()
    cuda.syncwarp()
