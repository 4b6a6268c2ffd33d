// Few vectors times a matrix whose rows run along k: y[v][i] = sum_k x[v][k] w[i, k] in float32, by threads' multiply-adds. A
// block takes ROWS * 32 / LANES rows, its warps (and the blocks of a group) shares of k, each lane 16 aligned bytes
// at a time; the few elements before and behind those go one by one, and nothing else is read. Sums meet in the warp, in the
// block and in the group, in a fixed order. All loads of DEEP chunks are on their way before the first is used: with a second
// number in the launch bounds the assembler keeps registers for that, without it puts most of them off.
//
// What Python sets: KIND, X_KIND (formats); ROWS; WARPS; LANES (along k of a row); DEEP (loads of each row that a lane has in
// flight); VECTORS; PARTS (more than 1: blocks of a group have parts of k); CLASSES (of rows by where they lie in 16 bytes);
// ALIGNED (all rows at multiples of 16 bytes); EDGES (k is not whole chunks of 16 bytes from there); X (0 at multiples of 16
// bytes where W is, 1 anywhere, 2 elements apart); OUT_BYTES, OUT_KIND; EARLY, AHEAD (bytes of each row that are brought to L2
// before the kernel in front ends).
#include "vector.cuh"

constexpr int ABREAST = 32 / LANES, TALL = ROWS * ABREAST, STRIDE = LANES * WARPS;
constexpr int THREADS = 32 * WARPS, COUNT = TALL * VECTORS, SLICES = THREADS / COUNT > 1 ? THREADS / COUNT : 1;
#if EDGES
constexpr int PASSES = (2 * PER - 2 + LANES - 1) / LANES;
#endif

// PER elements of a vector from an element on, as they lie in memory; float32 of them.
DEVICE void chunk_of_x(const Vectors& given, const u8* x, long long first, bool there, float* out) {
#if X == 2
#pragma unroll
  for (int i = 0; i < PER; i++) out[i] = said<X_KIND>(bits<X_KIND>(x + (first + i) * given.x_step, there));
#elif X == 1
  const u8* at = x + first * X_BYTES;
  const int past = (int)((u64)at & 15);
  // what sticks out of the vector is nobody's: its last elements go one by one
  const bool sticks_out = past && (given.k - first) * X_BYTES < 32 - past;
  const uint4 low = common(at - past, there && !sticks_out), high = common(at - past + 16, there && past && !sticks_out);
  unpacked<X_KIND>(shifted(low, high, past), out);
  if (there && sticks_out) {
#pragma unroll
    for (int i = 0; i < PER; i++) out[i] = said<X_KIND>(bits<X_KIND>(at + i * X_BYTES, true));
  }
#else
  unpacked<X_KIND>(common(x + first * X_BYTES, there), out);
#endif
}

#if PARTS > 1
// Whether this block is the last of its group to have put its sums to global memory: it may read all of them.
DEVICE bool all_there(const Vectors& given, long long group) {
  __shared__ u32 before;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    before = atomicAdd(given.arrived + group, 1);
    __threadfence();
  }
  __syncthreads();
  if (before + 1 < PARTS) return false;
  if (threadIdx.x == 0) given.arrived[group] = 0;
  return true;
}

// The totals of a group in the order of its parts: threads that are left take slices of the parts, whose sums meet in `room`.
// Calls `take` with each result.
template <typename Take>
DEVICE void totals(const Vectors& given, long long group, float* room, Take take) {
  const float* from = given.sums + group * PARTS * COUNT;
  const int each = (PARTS + SLICES - 1) / SLICES;
  for (int at = threadIdx.x; at < SLICES * COUNT; at += THREADS) {
    const int first = at / COUNT * each, end = min(first + each, PARTS);
    float total = 0.0f;
#pragma unroll 16
    for (int part = first; part < end; part++) total += __ldcg(from + (long long)part * COUNT + at % COUNT);
    room[at] = total;
  }
  __syncthreads();
  for (int at = threadIdx.x; at < COUNT; at += THREADS) {
    float total = 0.0f;
#pragma unroll 8
    for (int slice = 0; slice < SLICES; slice++) total += room[slice * COUNT + at];
    take(at, total);
  }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemv(const __grid_constant__ Vectors given) {
  __shared__ float shares[WARPS][COUNT];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, along = lane % LANES;
#if PARTS > 1
  __shared__ float room[SLICES * COUNT];
  const int part = blockIdx.x % PARTS;
  const long long group = blockIdx.x / PARTS;
  const int each = (int)((given.k / PER + PARTS - 1) / PARTS);  // chunks of a part
#else
  const int part = 0, each = 0;
  const long long group = blockIdx.x;
#endif
  // rows of a block lie CLASSES apart: their first bytes lie alike in their 16
  const long long first = group / CLASSES * (CLASSES * TALL) + group % CLASSES;
  others_may_start();
  if (first >= given.n) return;
#if AHEAD
  const long long mine = first + CLASSES * thread, past = 16ll * part * each, left = given.k * BYTES - past;
  if (thread < TALL && mine < given.n && left > 0)
    ahead(given.w + mine * given.w_step + past, (u32)min((long long)AHEAD, left));
#endif
  others_have_ended();

  const u8* top = given.w + first * given.w_step;
  const int head = ALIGNED ? 0 : (int)min((long long)((16 - ((u64)top & 15)) % 16 / BYTES), given.k);
  const int chunks = (int)((given.k - head) / PER), end = PARTS > 1 ? min(chunks, (part + 1) * each) : chunks;
  const u8* row[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const long long at = first + CLASSES * (r * ABREAST + lane / LANES);
    row[r] = given.w + (at < given.n ? at : first) * given.w_step;
  }
  float sum[ROWS][VECTORS] = {};

#if EDGES
  const int edges = (int)(given.k - (long long)chunks * PER);
  u32 edge_w[PASSES][ROWS], edge_x[PASSES][VECTORS];
#pragma unroll
  for (int pass = 0; pass < PASSES; pass++) {
    const int edge = pass * LANES + along;
    const long long at = edge < head ? edge : edge + (long long)chunks * PER;
    const bool there = part == 0 && warp < ROWS && edge < edges;
#pragma unroll
    for (int r = 0; r < ROWS; r++) edge_w[pass][r] = bits<KIND>(row[r] + at * BYTES, there && r % WARPS == warp);
#pragma unroll
    for (int v = 0; v < VECTORS; v++)
      edge_x[pass][v] = bits<X_KIND>(given.x + v * given.x_row + at * given.x_step, there);
  }
#endif

  for (int chunk = part * each + warp * LANES + along; chunk < end; chunk += STRIDE * DEEP) {
    uint4 left[DEEP][ROWS];
#pragma unroll
    for (int deep = 0; deep < DEEP; deep++)
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        left[deep][r] =
            streamed(row[r] + head * BYTES + 16ll * (chunk + STRIDE * deep), chunk + STRIDE * deep < end);
#pragma unroll
    for (int deep = 0; deep < DEEP; deep++) {
      float right[VECTORS][PER];
#pragma unroll
      for (int v = 0; v < VECTORS; v++)
        chunk_of_x(given, given.x + v * given.x_row, head + (long long)(chunk + STRIDE * deep) * PER,
                   chunk + STRIDE * deep < end, right[v]);
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        float of[PER];
        unpacked<KIND>(left[deep][r], of);
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
#pragma unroll
          for (int i = 0; i < PER; i++) sum[r][v] = fmaf(of[i], right[v][i], sum[r][v]);
      }
    }
  }

#if EDGES
#pragma unroll
  for (int pass = 0; pass < PASSES; pass++)
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int v = 0; v < VECTORS; v++)
        if (r % WARPS == warp)
          sum[r][v] = fmaf(said<KIND>(edge_w[pass][r]), said<X_KIND>(edge_x[pass][v]), sum[r][v]);
#endif

#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
#pragma unroll
      for (int away = LANES / 2; away; away /= 2) sum[r][v] += __shfl_xor_sync(~0u, sum[r][v], away);
      if (along == 0) shares[warp][v * TALL + r * ABREAST + lane / LANES] = sum[r][v];
    }
  __syncthreads();
  const auto take = [&](int at, float total) {
    const long long i = first + CLASSES * (at % TALL);
    if (i < given.n) put(given, at / TALL, i, total);
  };
  for (int at = thread; at < COUNT; at += THREADS) {
    float total = 0.0f;
#pragma unroll
    for (int share = 0; share < WARPS; share++) total += shares[share][at];
#if PARTS > 1
    given.sums[(long long)blockIdx.x * COUNT + at] = total;
  }
  if (all_there(given, group)) totals(given, group, room, take);
#else
    take(at, total);
  }
#endif
}
