// Three products by mma.sync: a warp splits its share of both operands in registers. x = high + low: low times high, high times
// low, then high times high add up in the tensor core over 16 k, from zero, and leave it there.
//
// EXACT: also what is not read of a low part, low times low, and all but high times high in an accumulator of their own: the core
// cuts its sums, and what it cuts off a product that is most of a result would be more than float32's rounding of it.
#pragma once
#include "tf32x3_parts.cuh"

// D (16, 8) = A (16, 8) B (8, 8) + C: two rows of A and a column of B that the lane has, at two k each
DEVICE void multiply(float (&d)[4], const float (&top)[4], const float (&bottom)[4], const float (&b)[4], int half, bool fresh) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(__float_as_uint(top[2 * half])), "r"(__float_as_uint(bottom[2 * half])), "r"(__float_as_uint(top[2 * half + 1])),
        "r"(__float_as_uint(bottom[2 * half + 1])), "r"(__float_as_uint(b[2 * half])), "r"(__float_as_uint(b[2 * half + 1])),
        "f"(fresh ? 0.0f : d[0]), "f"(fresh ? 0.0f : d[1]), "f"(fresh ? 0.0f : d[2]), "f"(fresh ? 0.0f : d[3]));
}

// Where a warp's part begins in the program's tile, and its turn of 16 k.
struct Place {
  int row, column, turn;
};
DEVICE Place place() {
  const int warp = threadIdx.x / 32;
  return {warp / WARPS_K % WARPS_M * WARP_M, warp / (WARPS_K * WARPS_M) * WARP_N, warp % WARPS_K};
}

typedef float Sums[SETS][2][TILES_N][4];  // a warp's: tiles of 16 x 8

// The products of 16 k.
DEVICE void products(Sums& sums, u32 a, u32 b, int row, int column, int k16, int lane) {
  float b_high[TILES_N][4], b_low[TILES_N][4], b_rest[EXACT ? TILES_N : 1][4];
#pragma unroll
  for (int group = 0; group < COLUMN_GROUPS; group++) {
    float x[WIDTH][4], high[WIDTH][4], low[WIDTH][4];
    piece<WIDTH, B_PITCH, B_SIDES>(x, b, column + 8 * WIDTH * group, k16, lane);
    split(high, low, x);
#pragma unroll
    for (int i = 0; i < WIDTH * 4; i++) {
      b_high[group * WIDTH + i / 4][i % 4] = high[i / 4][i % 4];
      b_low[group * WIDTH + i / 4][i % 4] = low[i / 4][i % 4];
    }
  }
#if EXACT
  unread(b_rest, b_low);
#endif
#pragma unroll
  for (int set = 0; set < SETS; set++) {
    float x[4][4], high[4][4], low[4][4], rest[4][4];
    piece<4, A_PITCH, A_SIDES>(x, a, row + 32 * set, k16, lane);
    split(high, low, x);
#if EXACT
    unread(rest, low);
#endif
    float fresh[2][TILES_N][4], cross[2][TILES_N][4];
    // the smaller products first; the first of an accumulator begins it
#pragma unroll
    for (int round = EXACT ? 0 : 6; round < 12; round++)
#pragma unroll
      for (int tile = 0; tile < 2; tile++)
#pragma unroll
        for (int across = 0; across < TILES_N; across++) {
          float(&d)[4] = EXACT && round < 10 ? cross[tile][across] : fresh[tile][across];
          const int top = 2 * tile, bottom = top + 1, half = round % 2;
          if (round < 2) multiply(d, rest[top], rest[bottom], b_high[across], half, round == 0);
          else if (round < 4) multiply(d, high[top], high[bottom], b_rest[EXACT ? across : 0], half, false);
          else if (round < 6) multiply(d, low[top], low[bottom], b_low[across], half, false);
          else if (round < 8) multiply(d, low[top], low[bottom], b_high[across], half, !EXACT && round == 6);
          else if (round < 10) multiply(d, high[top], high[bottom], b_low[across], half, false);
          else multiply(d, high[top], high[bottom], b_high[across], half, EXACT && round == 10);
        }
#pragma unroll
    for (int tile = 0; tile < 2; tile++)
#pragma unroll
      for (int across = 0; across < TILES_N; across++)
#pragma unroll
        for (int at = 0; at < 4; at++)
          sums[set][tile][across][at] += EXACT ? fresh[tile][across][at] + cross[tile][across][at] : fresh[tile][across][at];
  }
}

// A warp's sums into D's tile in shared memory, of its turns of k. Of a tile of 16 x 8 the lane has rows 4 g + 2 tile + {0, 1} of the set, and
// columns WIDTH * (2 t + {0, 1}) + across of the group: neighbours, all together.
DEVICE void sums_out(const Sums& sums, u32 to) {
  const Place of = place();
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  to += 4 * of.turn * D_ROWS * D_PITCH;
#pragma unroll
  for (int set = 0; set < SETS; set++)
#pragma unroll
    for (int across = 0; across < TILES_N; across++)
#pragma unroll
      for (int at = 0; at < 8; at++) {
        const int down = of.row + 32 * set + 4 * g + at / 2;
        const int right = of.column + across / WIDTH * 8 * WIDTH + WIDTH * (2 * t + at % 2) + across % WIDTH;
        const u32 place = to + 4 * (SWAPPED ? right * D_PITCH + down : down * D_PITCH + right);
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(place), "f"(sums[set][at / 4][across][at % 4]) : "memory");
      }
}

// The products of a program's steps of k from `begin` to before `end`.
DEVICE void tile_products(Sums& sums, u32 ring, int begin, int end, Fetch& fetch) {
  const Place of = place();
  for (int stage = 0; stage < STAGES - 1; stage++) fetch.first_half(), fetch.second_half();
  for (int step = begin; step < end; step++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();  // this stage has come, and all have read the one before it
    fetch.first_half();
    fetch.second_half();
    const u32 a = ring + (step - begin) % STAGES * STAGE_BYTES;
#pragma unroll 1
    for (int k16 = 0; k16 < BLOCK_K / 16; k16 += WARPS_K)
      products(sums, a, a + A_BYTES, of.row, of.column, k16 + of.turn, threadIdx.x % 32);
  }
}
