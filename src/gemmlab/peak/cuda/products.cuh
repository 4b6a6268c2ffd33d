// Products of tiles in shared memory by wgmma: descriptors, fences, and one tile of k.
#pragma once
#include "transport.cuh"

// A tile whose rows of 128 bytes run along k (swizzled by 128 bytes): groups of 8 rows are 1024 bytes apart.
DEVICE u64 rows_of_k(u32 address) { return (u64)((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62); }

// A tile whose rows of 128 bytes run along m or n, 64 elements of 16 bits: groups of 8 k are 1024 bytes apart, the next
// 64 elements along m or n a whole block of 64 k further (8192 bytes).
DEVICE u64 rows_of_sides(u32 address) {
  return (u64)((address & 0x3FFFF) >> 4) | (512ull << 16) | (64ull << 32) | (1ull << 62);
}

#if A_SIDES
#define A_DESCRIPTOR rows_of_sides
#define A_STEP 128  // 16 rows of k, in units of 16 bytes
#else
#define A_DESCRIPTOR rows_of_k
#define A_STEP 2  // 32 bytes along k
#endif
#if B_SIDES
#define B_DESCRIPTOR rows_of_sides
#define B_STEP 128
#else
#define B_DESCRIPTOR rows_of_k
#define B_STEP 2
#endif

constexpr int SUMS = BLOCK_N / 2;  // of a thread: 64 x BLOCK_N over 128 threads
constexpr int HALF_SUMS = SUMS / HALVES, HALF_STEP = BLOCK_N / HALVES * 128 / 16;  // of one instruction; in units of 16 bytes

DEVICE void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT>
DEVICE void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

WGMMA_TEXT

// Adds A (64, 128 bytes of k) times B to the sums, or begins them anew; four instructions, or four of each half of B.
DEVICE void tile_products(float (&sums)[SUMS], u32 a, u32 b, bool fresh) {
  const u64 left = A_DESCRIPTOR(a), right = B_DESCRIPTOR(b);
#pragma unroll
  for (int step = 0; step < 4; step++)
#pragma unroll
    for (int half = 0; half < HALVES; half++)
      wgmma(*(float(*)[HALF_SUMS])(sums + half * HALF_SUMS), left + A_STEP * step, right + B_STEP * step + HALF_STEP * half,
            !(fresh && step == 0));
}
