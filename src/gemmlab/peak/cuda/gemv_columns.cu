// Few vectors times a matrix whose rows run along i: y[v][i] = sum_k x[v][k] w[k][i] in float32, by threads' multiply-adds. A
// block takes a strip of columns, each lane 16 aligned bytes of a row; lanes, warps and the blocks of a cluster share k. Sums
// meet in shared memory and in the cluster, in a fixed order. Rows that do not lie alike in their 16 bytes are taken in
// classes that do: a lane's rows are of one, so that its columns stay the same, and strips lie over one another by 16 bytes.
//
// What Python sets: KIND, X_KIND (formats); WARPS; LANES (along a row); DEEP (rows that a lane has in flight); VECTORS; PARTS
// (blocks of a cluster); ALIGNED (all rows at multiples of 16 bytes); OUT_BYTES, OUT_KIND; EARLY, AHEAD (bytes that each share
// of k brings to L2 before the kernel in front ends).
#include "vector.cuh"

#if PARTS > 1
#define CLUSTER __cluster_dims__(PARTS, 1, 1)

DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// To the same place in the first block of the cluster.
DEVICE void to_first(float* at, float value) {
  u32 there;
  asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"((u32)__cvta_generic_to_shared(at)));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(value) : "memory");
}
#else
#define CLUSTER
#endif

constexpr int SHARES = WARPS * 32 / LANES, STRIDE = SHARES * PARTS;
constexpr int WIDE = PER * (ALIGNED ? LANES : LANES - 1);  // columns of a strip
constexpr int ACROSS = LANES + 32 / PER;                   // so that neighbouring columns are in different banks

extern "C" __global__ void CLUSTER __launch_bounds__(32 * WARPS, 1) gemv(const __grid_constant__ Vectors given) {
  __shared__ float shares[SHARES][PER][ACROSS];
  const int thread = threadIdx.x, across = thread % LANES, share = thread / LANES;
  const int part = PARTS > 1 ? blockIdx.x % PARTS : 0;
  const long long first = (long long)(blockIdx.x / PARTS) * WIDE;
  others_may_start();
#if PARTS > 1
  __shared__ float parts[PARTS][VECTORS][WIDE];
  cluster_arrive();
#endif
  const int begin = part * SHARES + share;
  const u8* strip = given.w + first * BYTES;
  const int past = ALIGNED ? 0 : (int)((u64)(strip + begin * given.w_step) & 15);
  const u8* from = strip + begin * given.w_step - past + 16 * across;
  const bool mine = first - past / BYTES + PER * across < given.n;
#if AHEAD
  // a lane's sectors of its first rows
  if (mine && across % 2 == 0)
    for (int row = 0; row < AHEAD; row++)
      if (begin + (long long)row * STRIDE < given.k)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from + row * STRIDE * given.w_step));
#endif
  others_have_ended();

  // what sticks out of a row is the next row's, and behind the last one nobody's: its elements go one by one
  const long long column = first - past / BYTES + PER * across;
  const bool sticks_out = column + PER > given.n;
  const long long whole = sticks_out ? given.k - 1 : given.k;
  float sum[VECTORS][PER] = {};
  if (mine) {
    for (long long k = begin; k < whole; k += STRIDE * DEEP) {
      uint4 left[DEEP];
      u32 right[DEEP][VECTORS];
#pragma unroll
      for (int deep = 0; deep < DEEP; deep++) {
        const bool there = k + STRIDE * deep < whole;
        left[deep] = streamed(from + (k - begin + STRIDE * deep) * given.w_step, there);
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
          right[deep][v] = bits<X_KIND>(given.x + v * given.x_row + (k + STRIDE * deep) * given.x_step, there);
      }
#pragma unroll
      for (int deep = 0; deep < DEEP; deep++) {
        float of[PER];
        unpacked<KIND>(left[deep], of);
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
          const float x = said<X_KIND>(right[deep][v]);
#pragma unroll
          for (int i = 0; i < PER; i++) sum[v][i] = fmaf(of[i], x, sum[v][i]);
        }
      }
    }
    if (sticks_out && begin < given.k && (whole - begin) % STRIDE == 0) {
#pragma unroll
      for (int i = 0; i < PER; i++) {
        const bool there = column + i >= first && column + i < given.n;
        const float of = said<KIND>(bits<KIND>(given.w + whole * given.w_step + (column + i) * BYTES, there));
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
          sum[v][i] = fmaf(of, said<X_KIND>(bits<X_KIND>(given.x + v * given.x_row + whole * given.x_step, there)), sum[v][i]);
      }
    }
  }

#if PARTS > 1
  cluster_wait();  // all blocks of the cluster have begun
#endif
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
    if (v) __syncthreads();
#pragma unroll
    for (int i = 0; i < PER; i++) shares[share][i][across] = sum[v][i];
    __syncthreads();
    for (int column = thread; column < WIDE; column += 32 * WARPS) {
      float total = 0.0f;
#pragma unroll 8
      for (int of = 0; of < SHARES; of++) {
        const u64 there = (u64)(strip + (part * SHARES + of) * given.w_step);
        const int at = column + (ALIGNED ? 0 : (int)(there & 15) / BYTES);
        total += shares[of][at % PER][at / PER];
      }
#if PARTS > 1
      to_first(&parts[part][v][column], total);
#else
      if (first + column < given.n) put(given, v, first + column, total);
#endif
    }
  }
#if PARTS > 1
  cluster_arrive();
  cluster_wait();
  if (part) return;
  for (int at = thread; at < VECTORS * WIDE; at += 32 * WARPS) {
    const int v = at / WIDE, column = at % WIDE;
    float total = 0.0f;
#pragma unroll
    for (int of = 0; of < PARTS; of++) total += parts[of][v][column];
    if (first + column < given.n) put(given, v, first + column, total);
  }
#endif
}
