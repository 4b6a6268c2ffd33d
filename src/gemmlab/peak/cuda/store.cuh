// How a warpgroup's sums become part of D: through the copy engine, or by threads where D's rows are off its road.
#pragma once
#include "products.cuh"

DEVICE u32 pair(float low, float high) {
  u32 both;
  asm("cvt.rn." OUT_PAIR ".f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// Columns of the sums that are in shared memory at a time (SWAPPED: rows of D), and a block of them, 16 bits each. For the
// copy engine rows of 128 bytes are swizzled as its maps are; others are an odd number of 16 bytes, so that no two of 8 rows
// share banks. Where D's rows are off its road there is room before a row for the last chunk of the columns before.
constexpr int PASS = OUT == 1 && SWAPPED ? (BLOCK_N < 64 ? BLOCK_N : 64) : STORE_N;
constexpr int BLOCK_BYTES = 64 * STORE_N * 2;
constexpr int PASS_ROWS = SWAPPED ? PASS : 64, CHUNKS = (SWAPPED ? 64 : PASS) / 8;  // of D; of 16 bytes, in a row
constexpr int ROW_STEP = 16 * ((CHUNKS + 1) | 1);
constexpr int LOOSE_BYTES = PASS_ROWS * ROW_STEP;

DEVICE u32 chunk_address(u32 block, int row, int chunk) {
  if (OUT == 1) return block + row * ROW_STEP + 16 * (chunk + 1);
  return STORE_N == 64 ? block + row * 128 + ((chunk ^ (row & 7)) << 4) : block + row * (STORE_N * 2) + (chunk << 4);
}

// A column group of 8 of a warp's sums, rounded: 16 chunks, whose addresses lanes 0 to 15 give.
DEVICE void column_group(const float (&sums)[SUMS], int of, u32 address) {
  const u32 top = pair(sums[4 * of], sums[4 * of + 1]), bottom = pair(sums[4 * of + 2], sums[4 * of + 3]);
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(top), "r"(bottom) : "memory");
}

// PASS columns of a warpgroup's sums from `first` on, rounded, into the block. SWAPPED: the block is D's transpose's,
// so that rows of the block are columns of the sums.
DEVICE void block_of(const float (&sums)[SUMS], int first, u32 block, int warp, int lane) {
#if SWAPPED
  // a column group of 8 sums becomes 8 rows of the block; a warp's 16 rows become two chunks of 8
#pragma unroll
  for (int group = 0; group < PASS / 8; group++) {
    if (first / 8 + group >= BLOCK_N / 8) break;
    const int at = 4 * (first / 8 + group), row = 8 * group + (lane & 7), chunk = 2 * warp + ((lane >> 3) & 1);
    const u32 top = pair(sums[at], sums[at + 1]), bottom = pair(sums[at + 2], sums[at + 3]);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(chunk_address(block, row, chunk)),
                 "r"(top), "r"(bottom)
                 : "memory");
  }
#else
#pragma unroll
  for (int group = 0; group < PASS / 8; group += 2) {
    if (first / 8 + group >= BLOCK_N / 8) break;
    const int at = 4 * (first / 8 + group);
    const u32 address = chunk_address(block, 16 * warp + (lane & 15), group + (lane >> 4));
    if (group + 1 < PASS / 8 && first / 8 + group + 1 < BLOCK_N / 8) {
      const u32 a = pair(sums[at], sums[at + 1]), b = pair(sums[at + 2], sums[at + 3]);
      const u32 c = pair(sums[at + 4], sums[at + 5]), d = pair(sums[at + 6], sums[at + 7]);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b), "r"(c),
                   "r"(d)
                   : "memory");
    } else {
      column_group(sums, first / 8 + group, address);
    }
  }
#endif
}

DEVICE uint4 chunk_at(u32 from) {
  uint4 found;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(found.x), "=r"(found.y), "=r"(found.z), "=r"(found.w)
               : "r"(from)
               : "memory");
  return found;
}

// 16 bytes that begin `past` bytes, an even number below 16, ahead of a chunk: the last of the chunk before come first.
DEVICE uint4 slot_of(const uint4& before, const uint4& chunk, int past) {
  u32 w[8] = {before.x, before.y, before.z, before.w, chunk.x, chunk.y, chunk.z, chunk.w};
  if (past & 8) {
#pragma unroll
    for (int i = 7; i > 1; i--) w[i] = w[i - 2];
  }
  if (past & 4) {
#pragma unroll
    for (int i = 7; i > 2; i--) w[i] = w[i - 1];
  }
  const int bits = 8 * (past & 2);
  return make_uint4(__funnelshift_l(w[3], w[4], bits), __funnelshift_l(w[4], w[5], bits), __funnelshift_l(w[5], w[6], bits),
                    __funnelshift_l(w[6], w[7], bits));
}

DEVICE void put_chunk(u64 to, const uint4& chunk, bool wanted) {
  asm volatile(
      "{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %5, 0;\n"
      "@wanted st.global.v4.u32 [%0], {%1, %2, %3, %4};\n}" ::"l"(to),
      "r"(chunk.x), "r"(chunk.y), "r"(chunk.z), "r"(chunk.w), "r"((u32)wanted)
      : "memory");
}

constexpr int IN_FLIGHT = 2;  // slots of a thread; more cost registers that the sums need, and were seen to gain nothing

// D's rows off the copy engine's road: the sums lie in shared memory as they are, and what goes to D is slots of 16 aligned
// bytes, of which a row's first one holds its first element. A slot begins `past` bytes ahead of the chunk of its number: it is
// cut out of that and the chunk before. ROWS rows by THREADS threads, each of which has one slot of every AT_ONCE-th row. `to`
// is where row 0 goes, `rows` and `columns` are what D has from there, slots from `before` on are this pass's.
template <int ROWS, int THREADS>
DEVICE void copy_slots(u32 block, const u16* to, long long ldd, int rows, int columns, int before, int thread) {
  constexpr int AT_ONCE = THREADS / CHUNKS < ROWS ? THREADS / CHUNKS : ROWS;
  constexpr int TIMES = (ROWS + AT_ONCE - 1) / AT_ONCE, BATCH = TIMES < IN_FLIGHT ? TIMES : IN_FLIGHT;
  const int first = thread / CHUNKS, slot = before + thread % CHUNKS;
  const int times = first < AT_ONCE ? (min(rows, ROWS) - first + AT_ONCE - 1) / AT_ONCE : 0;
  // whole in D: nothing of it lies ahead of the row's first element, nor behind its last one
  const int least = 16 * slot + 16 - 2 * columns, most = slot > 0 ? 14 : 0;
  const u64 step = 2 * AT_ONCE * ldd;
  u64 there = (u64)(to + first * ldd + 8 * slot);
  u32 from = block + first * ROW_STEP + 16 * (thread % CHUNKS);
#pragma unroll 1
  for (int batch = 0; batch < times; batch += BATCH, from += BATCH * AT_ONCE * ROW_STEP) {
    uint4 low[BATCH], high[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++)
      if (batch + i < times) {
        low[i] = chunk_at(from + i * AT_ONCE * ROW_STEP);
        high[i] = chunk_at(from + i * AT_ONCE * ROW_STEP + 16);
      }
#pragma unroll
    for (int i = 0; i < BATCH; i++, there += step) {
      const int past = (u32)there & 14;
      put_chunk(there & ~15ull, slot_of(low[i], high[i], past), batch + i < times && past >= least && past <= most);
    }
  }
}

// What is left of each row, by eight threads, one for each element of a slot. A row's first slot and its last one go together:
// where the row is of whole chunks, the one has the elements that the other has not.
template <int ROWS, int THREADS>
DEVICE void copy_ends(u32 block, u16* to, long long ldd, int rows, int columns, int before, bool behind, int thread) {
  constexpr int AT_ONCE = THREADS / 8, TIMES = (ROWS + AT_ONCE - 1) / AT_ONCE;
  const int element = thread % 8, first = thread / 8;
#pragma unroll 1
  for (int side = 0; side < (columns % 8 ? 2 : 1); side++) {
    u16* there = to + first * ldd;
#pragma unroll
    for (int i = 0; i < TIMES; i++, there += AT_ONCE * ldd) {
      const int past = ((u32)(u64)there & 14) / 2, last = (past + columns) >> 3, left = (past + columns) & 7;
      const bool ahead = side == 0 && element >= past;
      const int column = element - past + (ahead ? 0 : 8 * last);
      const bool head = ahead && before == 0 && past && column < columns;
      const bool here = last >= before && (behind || last < before + CHUNKS);
      const bool tail = here && !ahead && (side == 0 || element >= past) && element < left && (last > 0 || past == 0);
      if ((head || tail) && first + i * AT_ONCE < min(rows, ROWS)) {
        u16 value;
        asm volatile("ld.shared.b16 %0, [%1];"
                     : "=h"(value)
                     : "r"(block + (first + i * AT_ONCE) * ROW_STEP + 2 * (column - 8 * before + 8))
                     : "memory");
        there[column] = value;
      }
    }
  }
}

// A warpgroup's sums, rounded, to D; `d` is where its first row and column go, `rows` and `columns` are what D has from there.
// A warp has rows of its own, and SWAPPED a warpgroup.
DEVICE void loose_rows(const float (&sums)[SUMS], u32 block, u16* d, long long ldd, int rows, int columns, int group, int warp,
                       int lane) {
#pragma unroll
  for (int first = 0; first < BLOCK_N; first += PASS) {
#if SWAPPED
    u16* const to = d + first * ldd;
    const int thread = 32 * warp + lane, wide = min(64, columns);
    warpgroup_barrier(group);
    block_of(sums, first, block, warp, lane);
    warpgroup_barrier(group);
    if (wide > 0) {
      copy_slots<PASS_ROWS, 128>(block, to, ldd, rows - first, wide, 0, thread);
      copy_ends<PASS_ROWS, 128>(block, to, ldd, rows - first, wide, 0, true, thread);
    }
#else
    u16* const to = d + 16 * warp * ldd;
    const u32 own = block + 16 * warp * ROW_STEP;
    const int wide = min(BLOCK_N, columns);
    __syncwarp();
    if (first) column_group(sums, first / 8 - 1, chunk_address(block, 16 * warp + (lane & 15), -1));
    block_of(sums, first, block, warp, lane);
    __syncwarp();
    copy_slots<16, 32>(own, to, ldd, rows - 16 * warp, wide, first / 8, lane);
    copy_ends<16, 32>(own, to, ldd, rows - 16 * warp, wide, first / 8, first + PASS >= BLOCK_N, lane);
#endif
  }
}
