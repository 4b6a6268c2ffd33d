// How a warpgroup's sums become part of D: through the copy engine, or by threads where D's rows are off its road.
#pragma once
#include "products.cuh"

DEVICE u32 pair(float low, float high) {
  u32 both;
  asm("cvt.rn." OUT_PAIR ".f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// A block of 64 x STORE_N results of 16 bits in shared memory. Rows of 128 bytes are swizzled as the copy engine's maps
// are; others are an odd number of 16 bytes, so that no two of 8 rows share banks.
constexpr int BLOCK_BYTES = 64 * STORE_N * 2;
DEVICE u32 chunk_address(u32 block, int row, int chunk) {
  return STORE_N == 64 ? block + row * 128 + ((chunk ^ (row & 7)) << 4) : block + row * (STORE_N * 2) + (chunk << 4);
}

// STORE_N columns of a warpgroup's sums from `first` on, rounded, into the block. SWAPPED: the block is D's transpose's,
// so that rows of the block are columns of the sums.
DEVICE void block_of(const float (&sums)[SUMS], int first, u32 block, int warp, int lane) {
#if SWAPPED
  // a column group of 8 sums becomes 8 rows of the block; a warp's 16 rows become two chunks of 8
#pragma unroll
  for (int group = 0; group < STORE_N / 8; group++) {
    if (first / 8 + group >= BLOCK_N / 8) break;
    const int at = 4 * (first / 8 + group), row = 8 * group + (lane & 7), chunk = 2 * warp + ((lane >> 3) & 1);
    const u32 top = pair(sums[at], sums[at + 1]), bottom = pair(sums[at + 2], sums[at + 3]);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(chunk_address(block, row, chunk)),
                 "r"(top), "r"(bottom)
                 : "memory");
  }
#else
#pragma unroll
  for (int group = 0; group < STORE_N / 8; group += 2) {
    if (first / 8 + group >= BLOCK_N / 8) break;
    const int at = 4 * (first / 8 + group), row = 16 * warp + (lane & 15), chunk = group + (lane >> 4);
    const u32 a = pair(sums[at], sums[at + 1]), b = pair(sums[at + 2], sums[at + 3]);
    if (group + 1 < STORE_N / 8 && first / 8 + group + 1 < BLOCK_N / 8) {
      const u32 c = pair(sums[at + 4], sums[at + 5]), d = pair(sums[at + 6], sums[at + 7]);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(chunk_address(block, row, chunk)),
                   "r"(a), "r"(b), "r"(c), "r"(d)
                   : "memory");
    } else {
      asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(chunk_address(block, row, chunk)),
                   "r"(a), "r"(b)
                   : "memory");
    }
  }
#endif
}

DEVICE u32 word_at(u32 block, int row, int column) {
  u32 found = 0;
  if (column >= 0 && column < 64)
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(found) : "r"(chunk_address(block, row, column / 8) + 2 * (column % 8)));
  return found;
}

DEVICE u16 element_at(u32 block, int row, int column) {
  u16 found;
  asm volatile("ld.shared.b16 %0, [%1];" : "=h"(found) : "r"(chunk_address(block, row, column / 8) + 2 * (column % 8)));
  return found;
}

// Rows of the block to D, whose rows may begin at any element: 8 lanes a row, each writes 16 aligned bytes, shifted out
// of five words of the block. The first lane writes what is left at both ends, 8 elements in all. A warp takes 4 rows,
// then those of the next of `STORERS` warps are others'.
constexpr int STORERS = 3;
DEVICE void rows_by_threads(u32 block, u16* d, long long ldd, int rows, int columns, int warp, int lane) {
  for (int row = 4 * warp + lane / 8; row < rows; row += 4 * STORERS) {
    u16* to = d + row * ldd;
    const int ahead = (int)(((u64)to & 15) / 2), part = lane % 8, first = 8 * part - ahead, odd = ahead & 1;
    if (first >= 0 && first + 8 <= columns) {
      u32 words[5];
#pragma unroll
      for (int at = 0; at < 5; at++) words[at] = word_at(block, row, first - odd + 2 * at);
      *(uint4*)(to + first) =
          make_uint4(__funnelshift_r(words[0], words[1], 16 * odd), __funnelshift_r(words[1], words[2], 16 * odd),
                     __funnelshift_r(words[2], words[3], 16 * odd), __funnelshift_r(words[3], words[4], 16 * odd));
    } else {
#pragma unroll
      for (int at = 0; at < 8; at++) {
        const int column = part == 0 ? (at < 8 - ahead ? at : 56 + at) : first + at;
        if (column < columns) to[column] = element_at(block, row, column);
      }
    }
  }
}
