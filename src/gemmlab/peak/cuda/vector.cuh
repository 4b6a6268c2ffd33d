// What both kernels for few vectors share: formats to float32, 16 bytes at a time, and sums that meet in a fixed order.
#include "shift.cuh"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#define DEVICE __device__ __forceinline__

// y[v][i] = scale * sum_k x[v][k] w[i, k]; steps in bytes. W's rows run along k (w_step from i to i + 1) or along i (from k
// to k + 1).
struct Vectors {
  const u8 *w, *x;
  u8* y;
  long long n, k;
  long long w_step, x_step, x_row, y_step, y_row;
  float* sums;   // of blocks that share k, where rows run along k: group by group, part by part
  u32* arrived;  // how many of a group have brought theirs; zeros before and behind
  float scale;
};

// 0 bfloat16, 1 float16, 2 float8_e4m3fn, 3 float8_e5m2, 4 float32
__device__ constexpr int bytes_of(int kind) { return kind == 4 ? 4 : kind >= 2 ? 1 : 2; }
constexpr int BYTES = bytes_of(KIND), X_BYTES = bytes_of(X_KIND);
constexpr int PER = 16 / BYTES;

DEVICE void halves(u32 word, float* out) {
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}" : "=f"(out[0]), "=f"(out[1]) : "r"(word));
}

template <int OF>
DEVICE void unpacked(u32 word, float* out) {
  if constexpr (OF == 0) {
    out[0] = __uint_as_float(word << 16);
    out[1] = __uint_as_float(word & 0xffff0000u);
  } else if constexpr (OF == 1) {
    halves(word, out);
  } else if constexpr (OF == 2) {
    u32 low, high;
    asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.rn.f16x2.e4m3x2 %0, a;\ncvt.rn.f16x2.e4m3x2 %1, b;\n}"
        : "=r"(low), "=r"(high)
        : "r"(word));
    halves(low, out);
    halves(high, out + 2);
  } else if constexpr (OF == 3) {  // the upper byte of a float16
    halves(__byte_perm(word, 0, 0x1404), out);
    halves(__byte_perm(word, 0, 0x3424), out + 2);
  } else {
    out[0] = __uint_as_float(word);
  }
}

template <int OF>
DEVICE void unpacked(const uint4& of, float* out) {
  constexpr int IN_WORD = 4 / bytes_of(OF);
  unpacked<OF>(of.x, out);
  unpacked<OF>(of.y, out + IN_WORD);
  unpacked<OF>(of.z, out + 2 * IN_WORD);
  unpacked<OF>(of.w, out + 3 * IN_WORD);
}

// Loads stand in one assembler text with their condition: the compiler keeps them all on their way, without a branch.
#define WHERE "{\n.reg .pred there;\nsetp.ne.b32 there, %"

// The bits of one element, and what they say: apart, so that a kernel goes on while they are on their way.
template <int OF>
DEVICE u32 bits(const u8* at, bool there) {
  u32 found;
  if constexpr (bytes_of(OF) == 4) {
    asm volatile(WHERE "2, 0;\nmov.b32 %0, 0;\n@there ld.global.u32 %0, [%1];\n}" : "=r"(found) : "l"(at), "r"((int)there) : "memory");
  } else if constexpr (bytes_of(OF) == 2) {
    u16 half;
    asm volatile(WHERE "2, 0;\nmov.b16 %0, 0;\n@there ld.global.u16 %0, [%1];\n}" : "=h"(half) : "l"(at), "r"((int)there) : "memory");
    found = half;
  } else {
    asm volatile(WHERE "2, 0;\nmov.b32 %0, 0;\n@there ld.global.u8 %0, [%1];\n}" : "=r"(found) : "l"(at), "r"((int)there) : "memory");
  }
  return found;
}

template <int OF>
DEVICE float said(u32 bits) {
  float out[4];
  unpacked<OF>(bits, out);
  return out[0];
}

#define SIXTEEN(HOW)                                                                                                          \
  uint4 found;                                                                                                                \
  asm volatile(WHERE "5, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n@there ld.global" HOW            \
                     ".v4.u32 {%0, %1, %2, %3}, [%4];\n}"                                                                     \
               : "=r"(found.x), "=r"(found.y), "=r"(found.z), "=r"(found.w)                                                   \
               : "l"(from), "r"((int)there)                                                                                   \
               : "memory");                                                                                                   \
  return found;

// Of a matrix, which is read once; of vectors, which every warp reads. Zeros where nothing is there.
DEVICE uint4 streamed(const u8* from, bool there) { SIXTEEN(".L1::no_allocate") }
DEVICE uint4 common(const u8* from, bool there) { SIXTEEN("") }

// Bring bytes to L2 before the kernel in front has ended: whatever that still writes, L2 will hold.
DEVICE void ahead(const u8* from, u32 bytes) {
  const u32 past = (u32)((u64)from & 15);
  bytes = (bytes - min(bytes, past)) / 16 * 16;
  if (bytes) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from + (16 - past) % 16), "r"(bytes));
}

DEVICE void others_may_start() {
#if EARLY
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

DEVICE void others_have_ended() {
#if EARLY
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

DEVICE void put(const Vectors& given, int vector, long long at, float sum) {
  u8* to = given.y + vector * given.y_row + at * given.y_step;
#if OUT_BYTES == 4
  *(float*)to = sum * given.scale;
#else
  u16 out;
  asm("cvt.rn." OUT_KIND ".f32 %0, %1;" : "=h"(out) : "f"(sum * given.scale));
  *(u16*)to = out;
#endif
}
