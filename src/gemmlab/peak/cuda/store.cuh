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

// D's rows off the copy engine's road: each row of a warpgroup's sums lies in shared memory as far past an aligned address
// as its target does, so that all but its ends can be copied 16 bytes at a time by the engine of plain bulk copies.
constexpr int ROW_ELEMENTS = SWAPPED ? 64 : BLOCK_N;             // of a row of D in a warpgroup's sums
constexpr int ROWS = SWAPPED ? BLOCK_N : 64;
constexpr int ROW_STEP = 2 * ROW_ELEMENTS + 16;                   // room for the shift; rows fall into other banks
constexpr int LOOSE_BYTES = ROWS * ROW_STEP;

DEVICE int past_aligned(const u16* to) { return (int)((u64)to & 15) / 2; }

DEVICE void put_element(u32 rows, int row, int column, int past, u16 value) {
  asm volatile("st.shared.b16 [%0], %1;" ::"r"(rows + row * ROW_STEP + 2 * (past + column)), "h"(value) : "memory");
}

// A warpgroup's sums, rounded, to their shifted places; `d` is where its first row and column go.
DEVICE void rows_of(const float (&sums)[SUMS], u32 rows, const u16* d, long long ldd, int warp, int lane) {
  const int top = 16 * warp + lane / 4, left = 2 * (lane % 4);
#if SWAPPED
#pragma unroll
  for (int at = 0; at < SUMS; at += 2) {  // a pair is two rows of D
    const int row = left + 8 * (at / 4), column = top + 8 * (at / 2 % 2);
    const u32 both = pair(sums[at], sums[at + 1]);
    put_element(rows, row, column, past_aligned(d + row * ldd), (u16)both);
    put_element(rows, row + 1, column, past_aligned(d + (row + 1) * ldd), (u16)(both >> 16));
  }
#else
  const int upper = past_aligned(d + top * ldd), lower = past_aligned(d + (top + 8) * ldd);
#pragma unroll
  for (int at = 0; at < SUMS; at += 2) {
    const int row = top + 8 * (at / 2 % 2), column = left + 8 * (at / 4), past = at / 2 % 2 ? lower : upper;
    const u32 both = pair(sums[at], sums[at + 1]);
    put_element(rows, row, column, past, (u16)both);
    put_element(rows, row, column + 1, past, (u16)(both >> 16));
  }
#endif
}

// One row of `columns` elements to D: its ends by elements, what lies between by the bulk engine.
DEVICE void row_out(u32 rows, int row, u16* to, int columns) {
  const int past = past_aligned(to), head = min(columns, past ? 8 - past : 0), body = (columns - head) / 8 * 8;
  const u32 from = rows + row * ROW_STEP + 2 * past;
  if (body)
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + head), "r"(from + 2 * head),
                 "r"(2 * body)
                 : "memory");
  for (int at = 0; at < columns - body; at++) {
    const int column = at < head ? at : at + body;
    u16 value;
    asm volatile("ld.shared.b16 %0, [%1];" : "=h"(value) : "r"(from + 2 * column));
    to[column] = value;
  }
}
