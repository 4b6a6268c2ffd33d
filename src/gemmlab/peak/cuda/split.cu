// float32 as two float16: each row scaled by a power of two so that its largest lies in [2^14, 2^15), `high` the float16
// nearest to a scaled x, `low` the float16 nearest to 2^11 (x - high). One block a row; both operands in one launch.
//
// A row whose smallest element other than zero lies more than 2^28 below its largest, or that holds an infinity or a NaN,
// cannot be said so: `refused` counts such rows, and whoever launched takes another way.
typedef unsigned short u16;
typedef unsigned int u32;

struct Operand {
  const float* x;
  u16* pieces;      // (rows, 2 * padded): high parts, then low ones
  float* inverse;   // (rows): what a product is multiplied by to undo the scale
  long long rows, step, along;  // elements between rows, and between neighbours along k
};

__device__ __forceinline__ u16 half_of(float x) {
  u16 found;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(found) : "f"(x));
  return found;
}
__device__ __forceinline__ float float_of(u16 x) {
  float found;
  asm("cvt.f32.f16 %0, %1;" : "=f"(found) : "h"(x));
  return found;
}

extern "C" __global__ void __launch_bounds__(256) split(const __grid_constant__ Operand a, const __grid_constant__ Operand b,
                                                        int k, int padded, u32* refused) {
  __shared__ u32 highest[8], lowest[8];
  const bool left = blockIdx.x < a.rows;
  const Operand& of = left ? a : b;
  const long long row = left ? blockIdx.x : blockIdx.x - a.rows;
  const float* x = of.x + row * of.step;
  const int thread = threadIdx.x;
  u32 most = 0, least = 0x7f800000u;  // magnitudes as bits, which order as numbers do
  for (int i = thread; i < k; i += 256) {
    const u32 bits = __float_as_uint(x[i * of.along]) & 0x7fffffffu;
    most = max(most, bits);
    if (bits) least = min(least, bits);
  }
  most = __reduce_max_sync(~0u, most);
  least = __reduce_min_sync(~0u, least);
  if (thread % 32 == 0) highest[thread / 32] = most, lowest[thread / 32] = least;
  __syncthreads();
  for (int warp = 0; warp < 8; warp++) most = max(most, highest[warp]), least = min(least, lowest[warp]);
  // the factor 2^(14 - e) of a largest element 2^e .. 2^(e+1), kept a normal number; 1 for a row of zeros
  const int exponent = (int)(most >> 23), biased = most ? min(max(268 - exponent, 1), 253) : 127;
  const float scale = __uint_as_float((u32)biased << 23);
  if (thread == 0) {
    of.inverse[row] = __uint_as_float((u32)(254 - biased) << 23);
    const int smallest = (int)(least >> 23);
    if (most >= 0x7f800000u || (most && exponent - smallest > 28)) atomicAdd(refused, 1u);
  }
  u16* high = of.pieces + row * 2 * padded;
  for (int i = thread; i < padded; i += 256) {
    const float scaled = i < k ? x[i * of.along] * scale : 0.0f;
    const u16 upper = half_of(scaled);
    high[i] = upper;
    high[padded + i] = half_of((scaled - float_of(upper)) * 2048.0f);
  }
}
