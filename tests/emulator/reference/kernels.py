"""Small kernels that the reference's tests run."""

from numba import cuda, float32

T = 4


@cuda.jit
def naive(a, b, c):
    x, y = cuda.grid(2)
    if x < c.shape[1] and y < c.shape[0]:
        s = float32(0)
        for k in range(a.shape[1]):
            s += a[y, k] * b[k, x]
        c[y, x] = s


@cuda.jit
def tiled(a, b, c):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    s = float32(0)
    for t in range((a.shape[1] + T - 1) // T):
        sa[ty, tx] = 0
        sb[ty, tx] = 0
        if y < a.shape[0] and t * T + tx < a.shape[1]:
            sa[ty, tx] = a[y, t * T + tx]
        if x < b.shape[1] and t * T + ty < b.shape[0]:
            sb[ty, tx] = b[t * T + ty, x]
        cuda.syncthreads()
        for k in range(T):
            s += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = s


@cuda.jit
def tiled_without_first(a, b, c):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    s = float32(0)
    for t in range(a.shape[1] // T):
        sa[ty, tx] = a[y, t * T + tx]
        sb[ty, tx] = b[t * T + ty, x]
        for k in range(T):
            s += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[y, x] = s


@cuda.jit
def tiled_without_second(a, b, c):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    s = float32(0)
    for t in range(a.shape[1] // T):
        sa[ty, tx] = a[y, t * T + tx]
        sb[ty, tx] = b[t * T + ty, x]
        cuda.syncthreads()
        for k in range(T):
            s += sa[ty, k] * sb[k, tx]
    c[y, x] = s
