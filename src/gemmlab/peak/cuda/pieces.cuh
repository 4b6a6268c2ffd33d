// float32 as two float16: a row is scaled by a power of two so that its largest lies in [2^14, 2^15), `high` is the float16
// nearest to a scaled x, `low` the float16 nearest to 2^11 (x - high).
#pragma once
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#define DEVICE __device__ __forceinline__

struct Operand {
  const float* x;
  u16* pieces;     // (rows, 2 * padded): high parts, then low ones
  float* inverse;  // (rows): what a product is multiplied by to undo the scale
  u8* refused;     // (rows): 1 for a row that two float16 cannot say
  long long ld;    // elements between rows in memory: those that run along k, or, of a turned operand, along its side
  int rows, blocks;
};

// Magnitudes of a row as bits, which order as numbers do: the largest, and the smallest but zero less one, so that zero
// wraps round and is no smallest.
struct Extremes {
  u32 most = 0, least = ~0u;

  DEVICE void meet(float x) {
    const u32 bits = __float_as_uint(x) & 0x7fffffffu;
    most = max(most, bits);
    least = min(least, bits - 1);
  }
  DEVICE void meet(const Extremes& other) {
    most = max(most, other.most);
    least = min(least, other.least);
  }
  DEVICE void over_warp() {
    most = __reduce_max_sync(~0u, most);
    least = __reduce_min_sync(~0u, least);
  }
  // an infinity, a NaN, or numbers more than 2^28 apart
  DEVICE bool refused() const {
    return most >= 0x7f800000u || (most && (int)(most >> 23) - (int)((least + 1) >> 23) > 28);
  }
  // the factor 2^(14 - e) of a largest element 2^e .. 2^(e+1), kept a normal number; 1 for a row of zeros
  DEVICE u32 biased() const { return most ? min(max(268 - (int)(most >> 23), 1), 253) : 127; }
  DEVICE float scale() const { return __uint_as_float(biased() << 23); }
  DEVICE float inverse() const { return __uint_as_float((254 - biased()) << 23); }
};

DEVICE u32 halves_of(float first, float second) {
  u32 both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}

DEVICE void split_pair(float first, float second, float scale, u32& high, u32& low) {
  const float a = __fmul_rn(first, scale), b = __fmul_rn(second, scale);
  high = halves_of(a, b);
  float upper_a, upper_b;
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}" : "=f"(upper_a), "=f"(upper_b) : "r"(high));
  low = halves_of((a - upper_a) * 2048.0f, (b - upper_b) * 2048.0f);
}

DEVICE void row_told(const Operand& of, long long row, const Extremes& found) {
  of.inverse[row] = found.inverse();
  of.refused[row] = found.refused();
}
