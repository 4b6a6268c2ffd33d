// How a warpgroup's sums become part of D: through the copy engine, or by threads where D's rows are off its road.
#pragma once
#include "places.cuh"
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

// Which row of D, from the warpgroup's first on, lies in a row of the block.
DEVICE int place_of_row(int row) { return SWAPPED ? column_of(row) : row_of(row); }

#if !SWAPPED && B_CLASSES == 8 && BLOCK_N % 64 == 0
// Eight classes of B: the eight sums of a thread that lie BLOCK_N / 8 columns apart are neighbours in D, 16 bytes of it.
DEVICE uint4 eight_of(const float (&sums)[SUMS], int at) {
  constexpr int APART = BLOCK_N / 16;  // sums of a thread between classes
  return make_uint4(pair(sums[at], sums[at + APART]), pair(sums[at + 2 * APART], sums[at + 3 * APART]),
                    pair(sums[at + 4 * APART], sums[at + 5 * APART]), pair(sums[at + 6 * APART], sums[at + 7 * APART]));
}

// Eight elements that end `past` elements before the end of `low` and `high` together.
DEVICE uint4 eight_before(const uint4& low, const uint4& high, int past) {
  u32 w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if (past & 4) {
#pragma unroll
    for (int i = 7; i >= 2; i--) w[i] = w[i - 2];
  }
  if (past & 2) {
#pragma unroll
    for (int i = 7; i >= 3; i--) w[i] = w[i - 1];
  }
  const u32 taken = past & 1 ? 0x5432 : 0x7654;
  return make_uint4(__byte_perm(w[3], w[4], taken), __byte_perm(w[4], w[5], taken), __byte_perm(w[5], w[6], taken),
                    __byte_perm(w[6], w[7], taken));
}

DEVICE uint4 from_lane(const uint4& of, int lane) {
  return make_uint4(__shfl_sync(~0u, of.x, lane), __shfl_sync(~0u, of.y, lane), __shfl_sync(~0u, of.z, lane),
                    __shfl_sync(~0u, of.w, lane));
}

DEVICE void put_eight(u32 rows, int row, int chunk, const uint4& of) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(rows + row * ROW_STEP + 16 * chunk), "r"(of.x), "r"(of.y),
               "r"(of.z), "r"(of.w)
               : "memory");
}
#endif

// A warpgroup's sums, rounded, to their shifted places; `d` is where its first row and column go.
DEVICE void rows_of(const float (&sums)[SUMS], u32 rows, const u16* d, long long ldd, int warp, int lane) {
  const int top = 16 * warp + lane / 4, left = 2 * (lane % 4);
#if SWAPPED
#pragma unroll
  for (int at = 0; at < SUMS; at += 2) {  // a pair is two rows of D
    const int row = left + 8 * (at / 4), column = row_of(top + 8 * (at / 2 % 2));
    const u32 both = pair(sums[at], sums[at + 1]);
    put_element(rows, row, column, past_aligned(d + column_of(row) * ldd), (u16)both);
    put_element(rows, row + 1, column, past_aligned(d + column_of(row + 1) * ldd), (u16)(both >> 16));
  }
#elif B_CLASSES == 8 && BLOCK_N % 64 == 0
  const int quad = lane % 4, source = (lane & ~3) | ((lane + 3) & 3);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int row = top + 8 * half, past = past_aligned(d + row_of(row) * ldd);
    uint4 last = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int block = 0; block < BLOCK_N / 64; block++) {  // 64 columns of D, 16 of each thread of four
      const uint4 first = eight_of(sums, 4 * block + 2 * half), second = eight_of(sums, 4 * block + 2 * half + 1);
      const uint4 before = from_lane(quad == 3 ? last : second, source);
      put_eight(rows, row, 8 * block + 2 * quad, eight_before(before, first, past));
      put_eight(rows, row, 8 * block + 2 * quad + 1, eight_before(first, second, past));
      last = second;
    }
    if (quad == 3) put_eight(rows, row, BLOCK_N / 8, eight_before(last, make_uint4(0, 0, 0, 0), past));
  }
#else
  const int upper = past_aligned(d + row_of(top) * ldd), lower = past_aligned(d + row_of(top + 8) * ldd);
#pragma unroll
  for (int at = 0; at < SUMS; at += 2) {
    const int row = top + 8 * (at / 2 % 2), column = left + 8 * (at / 4), past = at / 2 % 2 ? lower : upper;
    const u32 both = pair(sums[at], sums[at + 1]);
    put_element(rows, row, column_of(column), past, (u16)both);
    put_element(rows, row, column_of(column + 1), past, (u16)(both >> 16));
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
