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

// D's rows off the copy engine's road: each row of the sums lies in shared memory as far past an aligned address as its target
// does, so that all but its ends goes to D 16 bytes at a time. Some columns (SWAPPED: rows) at a time, so that little room is
// taken; a warp has rows of its own, and SWAPPED a warpgroup.
constexpr int PASS = SWAPPED ? (BLOCK_N < 64 ? BLOCK_N : 64) : STORE_N;
constexpr int PASS_ROWS = SWAPPED ? PASS : 64, PASS_COLUMNS = SWAPPED ? 64 : PASS;
constexpr int ROW_STEP = 16 * ((PASS_COLUMNS / 8 + 1) | 1);  // room for the shift; an odd number, so that rows fall into other banks
constexpr int LOOSE_BYTES = PASS_ROWS * ROW_STEP;
constexpr int LANES = PASS_COLUMNS > 64 ? 16 : 8;             // of a row

DEVICE int past_aligned(const u16* to) { return (int)((u64)to & 15) / 2; }

DEVICE void put_element(u32 rows, int row, int column, int past, u16 value) {
  asm volatile("st.shared.b16 [%0], %1;" ::"r"(rows + row * ROW_STEP + 2 * (past + column)), "h"(value) : "memory");
}

// How a row of D falls into elements before a multiple of 16 bytes, chunks of 16 bytes, and elements behind them.
struct Cut {
  int past, head, chunks;

  DEVICE Cut(const u16* to, int columns) : past(past_aligned(to)) {
    head = min(columns, past ? 8 - past : 0);
    chunks = (columns - head) / 8;
  }
};

// Rows from shared memory to D, `first` to `last` by steps of a warp's; `to` is where row 0 goes.
DEVICE void copy_rows(u32 rows, u16* to, long long ldd, int first, int last, int step, int columns, int lane) {
  constexpr int AT_ONCE = 32 / LANES;
  for (int top = first; top < last; top += step) {
    const int row = top + lane / LANES, chunk = lane % LANES;
    u16* there = to + row * ldd;
    const Cut cut(there, columns);
    if (row < last && chunk < cut.chunks) {
      u32 a, b, c, d;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                   : "r"(rows + row * ROW_STEP + 2 * (cut.past + cut.head) + 16 * chunk));
      *(uint4*)(there + cut.head + 8 * chunk) = make_uint4(a, b, c, d);
    }
    // 16 lanes for the ends of a row: eight elements at each
#pragma unroll
    for (int pair = 0; pair < AT_ONCE; pair += 2) {
      const int of = top + pair + lane / 16, end = lane % 16;
      u16* ends = to + of * ldd;
      const Cut other(ends, columns);
      const int column = end < 8 ? end : other.head + 8 * other.chunks + end - 8;
      if (of < last && column < (end < 8 ? other.head : columns)) {
        u16 value;
        asm volatile("ld.shared.b16 %0, [%1];" : "=h"(value) : "r"(rows + of * ROW_STEP + 2 * (other.past + column)));
        ends[column] = value;
      }
    }
  }
}

// A warpgroup's sums, rounded, to D; `d` is where its first row and column go, `rows` and `columns` are what D has from there.
DEVICE void loose_rows(const float (&sums)[SUMS], u32 block, u16* d, long long ldd, int rows, int columns, int group, int warp,
                       int lane) {
  const int top = 16 * warp + lane / 4, left = 2 * (lane % 4);
  constexpr int AT_ONCE = 32 / LANES;
#pragma unroll
  for (int first = 0; first < BLOCK_N; first += PASS) {
#if SWAPPED
    u16* const to = d + first * ldd;
#pragma unroll
    for (int at = first / 2; at < first / 2 + PASS / 2; at += 2) {  // a pair is two rows of D
      const int row = left + 8 * (at / 4) - first, column = top + 8 * (at / 2 % 2);
      const u32 both = pair(sums[at], sums[at + 1]);
      put_element(block, row, column, past_aligned(to + row * ldd), (u16)both);
      put_element(block, row + 1, column, past_aligned(to + (row + 1) * ldd), (u16)(both >> 16));
    }
    warpgroup_barrier(group);
    copy_rows(block, to, ldd, AT_ONCE * warp, min(PASS, rows - first), 4 * AT_ONCE, min(64, columns), lane);
    warpgroup_barrier(group);
#else
    u16* const to = d + first;
    const int upper = past_aligned(to + top * ldd), lower = past_aligned(to + (top + 8) * ldd);
#pragma unroll
    for (int at = first / 2; at < first / 2 + PASS / 2 && at < SUMS; at += 2) {
      const int row = top + 8 * (at / 2 % 2), column = left + 8 * (at / 4) - first, past = at / 2 % 2 ? lower : upper;
      const u32 both = pair(sums[at], sums[at + 1]);
      put_element(block, row, column, past, (u16)both);
      put_element(block, row, column + 1, past, (u16)(both >> 16));
    }
    __syncwarp();
    const int width = min(columns - first, min(PASS, BLOCK_N - first));
    if (width > 0) copy_rows(block, to, ldd, 16 * warp, min(16 * warp + 16, rows), AT_ONCE, width, lane);
    __syncwarp();
#endif
  }
}
