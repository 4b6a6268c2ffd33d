// float32 results to rows of D that lie anyhow. From registers a warp would write 8 rows at once, 4 bytes in every 8 of them;
// through shared memory it writes 128 bytes of one row at a time, which are four or five sectors wherever they begin.
#pragma once
#include "results.cuh"

constexpr int FLOATS_ACROSS = 32;                 // columns of a warp's 16 rows that are there at a time
constexpr int FLOATS_STEP = FLOATS_ACROSS + 8;    // floats between rows: of four rows no two pairs share banks
constexpr int WARP_FLOATS = 16 * FLOATS_STEP;
constexpr int FLOATS_BYTES = 4 * 4 * WARP_FLOATS;  // of a warpgroup

// A warpgroup's sums to D, scaled where it has scales; `block` is its room.
DEVICE void put_float_rows(const Problem& p, int row, int column, const float (&sums)[SUMS], u32 block, int warp, int lane) {
  const u32 mine = block + 4 * warp * WARP_FLOATS;
  const u32 to = mine + 4 * (lane / 4 * FLOATS_STEP + 2 * (lane % 4));
  row += 16 * warp;
  const int rows = min(16, p.m - row);
#pragma unroll
  for (int first = 0; first < BLOCK_N; first += FLOATS_ACROSS) {
#pragma unroll
    for (int at = first / 2; at < (first + FLOATS_ACROSS) / 2 && at < SUMS; at += 2)
      asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to + 4 * (at / 2 % 2 * 8 * FLOATS_STEP + 8 * (at / 4) - first)),
                   "f"(sums[at]), "f"(sums[at + 1])
                   : "memory");
    __syncwarp();
    const int along = column + first + lane;
    if (along < p.n && first + lane < BLOCK_N) {
      const float across = p.row_scale ? p.column_scale[along] : 1.0f;
      float* d = (float*)p.d + row * p.ldd + along;
#pragma unroll 4
      for (int of = 0; of < rows; of++) {
        float value;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(mine + 4 * (of * FLOATS_STEP + lane)));
        d[of * p.ldd] = p.row_scale ? scaled(value, p.row_scale[row + of], across) : value;
      }
    }
    __syncwarp();
  }
}
