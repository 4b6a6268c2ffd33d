"""Kernels with one fault each, and mended twins."""

from numba import cuda, float32, float64, int32


@cuda.jit
def neighbour(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    out[t] = s[(t + 1) % cuda.blockDim.x]


@cuda.jit
def neighbour_mended(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    cuda.syncthreads()
    out[t] = s[(t + 1) % cuda.blockDim.x]


@cuda.jit
def within_warps(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    cuda.syncwarp()
    out[t] = s[t ^ 1]


@cuda.jit
def across_warps(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    cuda.syncwarp()
    out[t] = s[t ^ 32]


@cuda.jit
def passed_on(out):
    """Lane 0 tells lane 1, which tells lane 2: ordered by two syncwarps, though 0 and 2 never meet in one."""
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 5
    if t < 2:
        cuda.syncwarp(3)
    if 1 <= t < 3:
        cuda.syncwarp(6)
    if t == 2:
        out[0] = s[0]


@cuda.jit
def stores(out, value, at):
    t = cuda.grid(1)
    out[at] = value if value >= 0 else t


@cuda.jit
def stores_and_reads(out):
    t = cuda.threadIdx.x
    out[0] = 1
    out[t + 1] = out[0]


@cuda.jit
def atomic_and_store(out):
    if cuda.threadIdx.x == 0:
        out[0] = 1
    else:
        cuda.atomic.add(out, 0, 1)


@cuda.jit
def atomics_only(out):
    cuda.atomic.add(out, 0, 1)
    cuda.atomic.max(out, 0, 3)


@cuda.jit
def guarded_barrier(out, n):
    t = cuda.threadIdx.x
    if t < n:
        cuda.syncthreads()
    out[t] = 1


@cuda.jit
def early_return(out, n):
    t = cuda.threadIdx.x
    if t >= n:
        return
    cuda.syncthreads()
    out[t] = 1


@cuda.jit
def two_barriers(out, n):
    t = cuda.threadIdx.x
    if t < n:
        cuda.syncthreads()
        out[t] = 1
    else:
        cuda.syncthreads()
        out[t] = 2


@cuda.jit
def skipping(out):
    t = cuda.threadIdx.x
    for i in range(3):
        if i == t:
            continue
        cuda.syncthreads()
    out[t] = 1


@cuda.jit
def absent_lane(out, n):
    t = cuda.threadIdx.x
    if t < n:
        out[t] = cuda.shfl_sync(0xFFFFFFFF, t, 0)


@cuda.jit
def outside(a, out):
    t = cuda.threadIdx.x
    out[t - 1, 0] = a[t + 1]
    out[0, -3] = a[-1 - t]


@cuda.jit
def unwritten(out):
    s = cuda.shared.array(8, float32)
    mine = cuda.local.array(2, float32)
    t = cuda.threadIdx.x
    if t > 0:
        s[t] = 1
    mine[0] = 1
    cuda.syncthreads()
    out[t] = s[t] + mine[0] + mine[t % 2]


@cuda.jit
def aliased(out, both):
    a = cuda.shared.array(0, float32)
    b = cuda.shared.array(0, float64)
    t = cuda.threadIdx.x
    a[t] = t
    cuda.syncthreads()
    if both:
        out[t] = b[t // 2]
    else:
        out[t] = a[t]
