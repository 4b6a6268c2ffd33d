// One row times a matrix of rows along k: y[n] = sum_k x[k] w[n, k] in float32, by threads' multiply-adds. A block takes ROWS
// rows, its warps shares of k, each lane 16 bytes at a time. Sums meet in the warp and then in the block, in a fixed order.
//
// What Python sets: ELEMENT (2 or 1 bytes), KIND (0 bfloat16, 1 float16, 2 float8_e4m3fn, 3 float8_e5m2), ROWS, WARPS, DEEP (loads
// of each row that a lane has in flight), OUT_BYTES and OUT_KIND, EARLY.
typedef unsigned int u32;
typedef unsigned short u16;

__device__ __forceinline__ void two(u32 word, float& low, float& high) {
#if KIND == 0
  low = __uint_as_float(word << 16);
  high = __uint_as_float(word & 0xffff0000u);
#else
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}" : "=f"(low), "=f"(high) : "r"(word));
#endif
}

#if ELEMENT == 1
#if KIND == 2
#define EIGHTS "e4m3x2"
#else
#define EIGHTS "e5m2x2"
#endif
__device__ __forceinline__ void four(u32 word, float* out) {
  u32 pair0, pair1;
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.rn.f16x2." EIGHTS " %0, a;\ncvt.rn.f16x2." EIGHTS " %1, b;\n}"
      : "=r"(pair0), "=r"(pair1)
      : "r"(word));
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}" : "=f"(out[0]), "=f"(out[1]) : "r"(pair0));
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}" : "=f"(out[2]), "=f"(out[3]) : "r"(pair1));
}
#endif

__device__ __forceinline__ uint4 streamed(const uint4* from) {
  uint4 found;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(found.x), "=r"(found.y), "=r"(found.z), "=r"(found.w)
               : "l"(from));
  return found;
}

__device__ __forceinline__ void add(float& sum, const uint4& w, const uint4& x) {
  const u32 left[4] = {w.x, w.y, w.z, w.w}, right[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int word = 0; word < 4; word++) {
#if ELEMENT == 2
    float a, b, c, d;
    two(left[word], a, b);
    two(right[word], c, d);
    sum = fmaf(a, c, sum);
    sum = fmaf(b, d, sum);
#else
    float a[4], b[4];
    four(left[word], a);
    four(right[word], b);
#pragma unroll
    for (int i = 0; i < 4; i++) sum = fmaf(a[i], b[i], sum);
#endif
  }
}

// k in chunks of 16 bytes; row_step in bytes; y holds elements of OUT_BYTES (2: OUT_PAIR's format, 4: float32)
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    gemv(const unsigned char* w, const uint4* x, void* y, long long n, int chunks, long long row_step, float scale) {
#if EARLY
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  __shared__ float shares[WARPS][ROWS];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const long long first = (long long)blockIdx.x * ROWS;
  const uint4* row[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) row[r] = (const uint4*)(w + min(first + r, n - 1) * row_step);
  float sum[ROWS] = {};
  constexpr int STRIDE = 32 * WARPS;
  for (int chunk = thread; chunk < chunks; chunk += STRIDE * DEEP) {
    uint4 left[DEEP][ROWS], right[DEEP];
#pragma unroll
    for (int deep = 0; deep < DEEP; deep++) {
      const bool there = chunk + STRIDE * deep < chunks;
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        left[deep][r] = there ? streamed(row[r] + chunk + STRIDE * deep) : make_uint4(0, 0, 0, 0);
      right[deep] = there ? __ldg(x + chunk + STRIDE * deep) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int deep = 0; deep < DEEP; deep++)
#pragma unroll
      for (int r = 0; r < ROWS; r++) add(sum[r], left[deep][r], right[deep]);
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
#pragma unroll
    for (int away = 16; away; away /= 2) sum[r] += __shfl_xor_sync(~0u, sum[r], away);
    if (lane == 0) shares[warp][r] = sum[r];
  }
  __syncthreads();
  if (thread < ROWS && first + thread < n) {
    float total = 0.0f;
#pragma unroll
    for (int share = 0; share < WARPS; share++) total += shares[share][thread];
#if OUT_BYTES == 4
    ((float*)y)[first + thread] = total * scale;
#else
    u16 out;
    asm("cvt.rn." OUT_KIND ".f32 %0, %1;" : "=h"(out) : "f"(total * scale));
    ((u16*)y)[first + thread] = out;
#endif
  }
}
