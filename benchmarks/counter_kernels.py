"""Small kernels whose access pattern is data: what a launch touches stands in an array of element numbers.

A compiler cannot merge, reorder or drop accesses whose places it does not know, so that hardware counts them as
written. An element number below zero leaves that thread out. The numba.cuda kernels run on a GPU and in gemmlab's
emulator alike; `CUDA` holds twins in CUDA C++, some of them of widths that numba.cuda has not.
"""

from numba import cuda
from numba.types import float16, float32, float64, int32, int64, uint8

SLOTS = 1088  # elements of the shared array: the widest pattern reaches 31 * 33


@cuda.jit(device=True)
def number():
    """Number of this thread in the launch, x fastest; blocks along x only."""
    block = cuda.blockDim.x * cuda.blockDim.y
    return cuda.blockIdx.x * block + cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x


@cuda.jit
def load(data, where, out):
    t = number()
    w = where[t]
    if w >= 0:
        out[t] = data[w]


@cuda.jit
def store(data, where, out):
    t = number()
    w = where[t]
    if w >= 0:
        out[w] = data[t]


def shared_load(kind):
    """Fill shared memory in order, then load from it at `where`."""

    @cuda.jit
    def kernel(data, where, out):
        t = cuda.threadIdx.x
        slots = cuda.shared.array(SLOTS, kind)
        for i in range(t, SLOTS, cuda.blockDim.x):
            slots[i] = data[i]
        cuda.syncthreads()
        w = where[t]
        if w >= 0:
            out[t] = slots[w]

    return kernel


def shared_store(kind):
    """Fill shared memory in order, store into it at `where`, and write it all out in order."""

    @cuda.jit
    def kernel(data, where, out):
        t = cuda.threadIdx.x
        slots = cuda.shared.array(SLOTS, kind)
        for i in range(t, SLOTS, cuda.blockDim.x):
            slots[i] = data[i]
        cuda.syncthreads()
        w = where[t]
        if w >= 0:
            slots[w] = data[t]
        cuda.syncthreads()
        for i in range(t, SLOTS, cuda.blockDim.x):
            out[i] = slots[i]

    return kernel


load_shared_uint8, store_shared_uint8 = shared_load(uint8), shared_store(uint8)
load_shared_float16, store_shared_float16 = shared_load(float16), shared_store(float16)
load_shared_float32, store_shared_float32 = shared_load(float32), shared_store(float32)
load_shared_float64, store_shared_float64 = shared_load(float64), shared_store(float64)


@cuda.jit
def copy_2d(data, out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = data[y, x]


@cuda.jit
def transpose_2d(data, out):
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        out[x, y] = data[y, x]


@cuda.jit
def row_sums(data, out):
    t = number()
    if t < data.shape[0]:
        total = out[t]
        for i in range(data.shape[1]):
            total += data[t, i]
        out[t] = total


@cuda.jit
def column_sums(data, out):
    t = number()
    if t < data.shape[1]:
        total = out[t]
        for i in range(data.shape[0]):
            total += data[i, t]
        out[t] = total


@cuda.jit
def three_point(data, out):
    t = number()
    if 0 < t < data.shape[0] - 1:
        out[t] = data[t - 1] + data[t] + data[t + 1]


@cuda.jit
def axpy(scale, x, y):
    t = number()
    if t < y.shape[0]:
        y[t] = scale[0] * x[t] + y[t]


@cuda.jit
def multiply(x, y):
    t = number()
    if t < y.shape[0]:
        y[t] = x[t] * y[t]


@cuda.jit
def atomic_add(values, where, out):
    t = number()
    w = where[t]
    if w >= 0:
        cuda.atomic.add(out, w, values[t])


@cuda.jit
def atomic_max(values, where, out):
    t = number()
    w = where[t]
    if w >= 0:
        cuda.atomic.max(out, w, values[t])


@cuda.jit
def atomic_add_old(values, where, out, old):
    t = number()
    w = where[t]
    if w >= 0:
        old[t] = cuda.atomic.add(out, w, values[t])


@cuda.jit
def atomic_exch(values, where, out, old):
    t = number()
    w = where[t]
    if w >= 0:
        old[t] = cuda.atomic.exch(out, w, values[t])


@cuda.jit
def atomic_cas(values, where, out, old):
    t = number()
    w = where[t]
    if w >= 0:
        old[t] = cuda.atomic.cas(out, w, 0, values[t])


def shared_add(kind):
    """Fill shared memory in order, then add to it at `where`."""

    @cuda.jit
    def kernel(values, where, out):
        t = cuda.threadIdx.x
        slots = cuda.shared.array(SLOTS, kind)
        for i in range(t, SLOTS, cuda.blockDim.x):
            slots[i] = values[i]
        cuda.syncthreads()
        w = where[t]
        if w >= 0:
            out[t] = cuda.atomic.add(slots, w, values[t])

    return kernel


def shared_max(kind):
    """The same with the larger of both."""

    @cuda.jit
    def kernel(values, where, out):
        t = cuda.threadIdx.x
        slots = cuda.shared.array(SLOTS, kind)
        for i in range(t, SLOTS, cuda.blockDim.x):
            slots[i] = values[i]
        cuda.syncthreads()
        w = where[t]
        if w >= 0:
            out[t] = cuda.atomic.max(slots, w, values[t])

    return kernel


def shared_exch(kind):
    """The same with an exchange."""

    @cuda.jit
    def kernel(values, where, out):
        t = cuda.threadIdx.x
        slots = cuda.shared.array(SLOTS, kind)
        for i in range(t, SLOTS, cuda.blockDim.x):
            slots[i] = values[i]
        cuda.syncthreads()
        w = where[t]
        if w >= 0:
            out[t] = cuda.atomic.exch(slots, w, values[t])

    return kernel


shared_atomic_add, shared_atomic_add_float = shared_add(int32), shared_add(float32)
shared_atomic_exch, shared_atomic_exch_wide = shared_exch(int32), shared_exch(int64)
shared_atomic_max = shared_max(int32)

# The same patterns at 4, 8 and 16 bytes, and the tiled kernels whose every shared access is volatile, so that it is
# made as it stands: without that the compiler merges a thread's loads of consecutive words into one of 16 bytes.
CUDA = r"""
template <typename T> __device__ void load(const T* data, const int* where, T* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, w = where[t];
  if (w >= 0) out[t] = data[w];
}
template <typename T> __device__ void store(const T* data, const int* where, T* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, w = where[t];
  if (w >= 0) out[w] = data[t];
}
template <typename T> __device__ void load_shared(const T* data, const int* where, T* out) {
  __shared__ T slots[SLOTS];
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = t; i < SLOTS; i += blockDim.x) slots[i] = data[i];
  __syncthreads();
  int w = where[t];
  if (w >= 0) out[t] = slots[w];
}
template <typename T> __device__ void store_shared(const T* data, const int* where, T* out) {
  __shared__ T slots[SLOTS];
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = t; i < SLOTS; i += blockDim.x) slots[i] = data[i];
  __syncthreads();
  int w = where[t];
  if (w >= 0) slots[w] = data[t];
  __syncthreads();
#pragma unroll 1
  for (int i = t; i < SLOTS; i += blockDim.x) out[i] = slots[i];
}
#define OF_WIDTH(T) \
  extern "C" __global__ void load_##T(const T* d, const int* w, T* o) { load<T>(d, w, o); } \
  extern "C" __global__ void store_##T(const T* d, const int* w, T* o) { store<T>(d, w, o); } \
  extern "C" __global__ void load_shared_##T(const T* d, const int* w, T* o) { load_shared<T>(d, w, o); } \
  extern "C" __global__ void store_shared_##T(const T* d, const int* w, T* o) { store_shared<T>(d, w, o); }
OF_WIDTH(float)
OF_WIDTH(double)
OF_WIDTH(float2)
OF_WIDTH(float4)

template <int TILE, int WIDTH, bool TRANSPOSED>
__device__ void tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  volatile __shared__ float a_tile[TILE][WIDTH], b_tile[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
  float total = 0;
  for (int start = 0; start < k; start += TILE) {
    float value = row < m && start + x < k ? a[row * k + start + x] : 0;
    if (TRANSPOSED) a_tile[x][y] = value; else a_tile[y][x] = value;
    b_tile[y][x] = start + y < k && col < n ? b[(start + y) * n + col] : 0;
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < TILE; i++) total += (TRANSPOSED ? a_tile[i][y] : a_tile[y][i]) * b_tile[i][x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = total;
}
#define TILED(NAME, TILE, WIDTH, TRANSPOSED) \
  extern "C" __global__ void NAME(const float* a, const float* b, float* c, int m, int n, int k) { \
    tiled<TILE, WIDTH, TRANSPOSED>(a, b, c, m, n, k); }
TILED(tiled_8, 8, 8, false)
TILED(tiled_16, 16, 16, false)
TILED(padded, 32, 33, true)
TILED(unpadded, 32, 32, true)
"""
CUDA = f"#define SLOTS {SLOTS}\n{CUDA}"
