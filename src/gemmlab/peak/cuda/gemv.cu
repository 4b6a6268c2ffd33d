// Few vectors times a matrix whose rows run along k: y[v][i] = sum_k x[v][k] w[i, k] in float32, by threads' multiply-adds. A
// block takes ROWS * 32 / LANES rows at a time, its warps (and the blocks of its cluster) shares of k, each lane 16 aligned bytes
// at a time; the few elements before and behind those go one by one, and nothing else is read. Sums meet in the warp, in the
// block and in the cluster, in a fixed order. All loads of DEEP chunks are on their way before the first is used: with a second
// number in the launch bounds the assembler keeps registers for that, without it puts most of them off.
//
// What Python sets: KIND, X_KIND (formats); ROWS; WARPS; LANES (along k of a row); DEEP (loads of each row that a lane has in
// flight); VECTORS; PARTS (blocks of a cluster); CLASSES (of rows by where they lie in 16 bytes); ALIGNED (all rows at multiples
// of 16 bytes); WALKS (blocks take rows again and again); EDGES (k is not whole chunks of 16 bytes from there); X (0 at multiples of 16 bytes where W is, 1 anywhere, 2
// elements apart); OUT_BYTES, OUT_KIND; EARLY, AHEAD (bytes of each row that are brought to L2 before the kernel in front ends).
#include "vector.cuh"

constexpr int ABREAST = 32 / LANES, TALL = ROWS * ABREAST, STRIDE = LANES * WARPS * PARTS;
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
  const uint4 low = common(at - past, there), high = common(at - past + 16, there && past);
  unpacked<X_KIND>(shifted(low, high, past), out);
#else
  unpacked<X_KIND>(common(x + first * X_BYTES, there), out);
#endif
}

// The first of a block's rows, which lie CLASSES apart: their first bytes lie alike in their 16.
DEVICE long long first_row(long long block) { return block / CLASSES * (CLASSES * TALL) + block % CLASSES; }

// The first bytes of a block's rows, on their way to L2.
DEVICE void rows_ahead(const Vectors& given, long long first, int part) {
#if AHEAD
  const long long row = first + CLASSES * (int)threadIdx.x, left = given.k * BYTES - part * AHEAD;
  if (threadIdx.x < TALL && row < given.n && left > 0)
    ahead(given.w + row * given.w_step + part * AHEAD, (u32)min((long long)AHEAD, left));
#endif
}

extern "C" __global__ void CLUSTER __launch_bounds__(32 * WARPS, 1) gemv(const __grid_constant__ Vectors given) {
  __shared__ float shares[2][WARPS][TALL * VECTORS];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, along = lane % LANES;
  const int part = PARTS > 1 ? blockIdx.x % PARTS : 0;
  others_may_start();
  long long first = first_row(blockIdx.x / PARTS);
  if (first >= given.n) return;
#if PARTS > 1
  __shared__ float parts[PARTS][TALL * VECTORS];
  cluster_arrive();
#endif
  rows_ahead(given, first, part);
  others_have_ended();

  for (int turn = 0;; turn++) {
    const u8* top = given.w + first * given.w_step;
    const int head = ALIGNED ? 0 : (int)min((long long)((16 - ((u64)top & 15)) % 16 / BYTES), given.k);
    const int chunks = (int)((given.k - head) / PER);
#if WALKS
    const long long next = first_row(blockIdx.x + (turn + 1ll) * gridDim.x);
    if (next < given.n) rows_ahead(given, next, 0);
#endif
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

    for (int chunk = (part * WARPS + warp) * LANES + along; chunk < chunks; chunk += STRIDE * DEEP) {
      uint4 left[DEEP][ROWS];
#pragma unroll
      for (int deep = 0; deep < DEEP; deep++)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
          left[deep][r] =
              streamed(row[r] + head * BYTES + 16ll * (chunk + STRIDE * deep), chunk + STRIDE * deep < chunks);
#pragma unroll
      for (int deep = 0; deep < DEEP; deep++) {
        float right[VECTORS][PER];
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
          chunk_of_x(given, given.x + v * given.x_row, head + (long long)(chunk + STRIDE * deep) * PER,
                     chunk + STRIDE * deep < chunks, right[v]);
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

    float(&meeting)[WARPS][TALL * VECTORS] = shares[turn % 2];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int v = 0; v < VECTORS; v++) {
#pragma unroll
        for (int away = LANES / 2; away; away /= 2) sum[r][v] += __shfl_xor_sync(~0u, sum[r][v], away);
        if (along == 0) meeting[warp][v * TALL + r * ABREAST + lane / LANES] = sum[r][v];
      }
    if (WARPS > 1) __syncthreads(); else __syncwarp();
#if PARTS > 1
    cluster_wait();  // all blocks of the cluster have begun
#endif
    for (int at = thread; at < TALL * VECTORS; at += 32 * WARPS) {
      float total = 0.0f;
#pragma unroll
      for (int share = 0; share < WARPS; share++) total += meeting[share][at];
#if PARTS > 1
      to_first(&parts[part][at], total);
    }
    cluster_arrive();
    cluster_wait();
    for (int at = thread; at < TALL * VECTORS && part == 0; at += 32 * WARPS) {
      float total = 0.0f;
#pragma unroll
      for (int of = 0; of < PARTS; of++) total += parts[of][at];
#endif
      const long long i = first + CLASSES * (at % TALL);
      if (i < given.n) put(given, at / TALL, i, total);
    }
#if !WALKS
    return;
#else
    first = next;
    if (first >= given.n) return;
#endif
  }
}
