// Three products by wgmma: a warp splits its 16 rows of A in registers, all warps share the splitting of B, whose parts lie in
// shared memory twice. While one step of 32 k is multiplied, the next one's parts are made; low times high, high times low,
// then high times high add up in the tensor core over a step, from zero, and leave it there.
#pragma once
#include "tf32x3_parts.cuh"

constexpr int PART_BYTES = 128 * BLOCK_N;  // of B's high or low parts of a step
constexpr int WARPS = THREADS / 32, UNITS = BLOCK_N / 8 * 2, TURNS = (UNITS + WARPS - 1) / WARPS;  // of parts: 8 rows, 16 k
typedef float Sums[BLOCK_N / 2];

WGMMA_TEXT

DEVICE void settled(float& x) { asm volatile("" : "+f"(x)::"memory"); }

// Rows of 128 bytes along k (swizzled by 128 bytes): groups of 8 rows are 1024 bytes apart.
DEVICE u64 rows_of_k(u32 address) { return (u64)((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62); }

// A unit of B's parts, in the order of k that A's rows are read in: of 16 k, what lanes 0 to 3 have first, then second.
DEVICE void b_parts(u32 to, u32 tile, int turn) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int unit = turn * WARPS + threadIdx.x / 32, row = unit / 2 * 8, k16 = unit % 2;
  if (UNITS % WARPS && unit >= UNITS) return;
  float x[1][4], high[1][4], low[1][4];
  piece<1, B_PITCH, B_SIDES>(x, tile, row, k16, lane);
  split(high, low, x);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const u32 place = to + (row + g) * 128 + ((4 * k16 + j) ^ g) * 16 + t * 4;
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(place), "f"(high[0][j]) : "memory");
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(place + PART_BYTES), "f"(low[0][j]) : "memory");
  }
}

// The products of a program's steps of k from `begin` to before `end`.
DEVICE void tile_products(Sums& sums, u32 ring, int begin, int end, Fetch& fetch) {
  const u32 parts = ring + STAGES * STAGE_BYTES;
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
  float x[2][2][4], high[2][2][4], low[2][2][4], fresh[BLOCK_N / 2];  // of A: 16 k, rows, neighbours along k
  // The next step's parts are made piece by piece between one instruction and the next, which waits for the one before it
  // to begin. Behind the last step they are made of what lies there, and not used.
  const auto piece_of_next = [&](int step, int at) {
    const u32 a = ring + (step + 1 - begin) % STAGES * STAGE_BYTES, to = parts + (step + 1 - begin) % 2 * 2 * PART_BYTES;
    if (at == 1) fetch.first_half();
    if (at == 2) fetch.second_half();
    if (at == 4) {
      asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
      __syncthreads();  // the stage has come, and all have been multiplied by the parts that are written over
    }
    if (at == 5) {
#pragma unroll
      for (int k16 = 0; k16 < 2; k16++) piece<2, A_PITCH, A_SIDES>(x[k16], a, row, k16, lane);
    }
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++)
      if (at == min(6 + turn, 11)) b_parts(to, a + A_BYTES, turn);
    if (at == 11) fence_for_engines();
  };
  if (begin == end) return;
  for (int stage = 0; stage < STAGES - 1; stage++) fetch.first_half(), fetch.second_half();
#pragma unroll
  for (int at = 0; at < 12; at++) piece_of_next(begin - 1, at);
  for (int step = begin; step < end; step++) {
#pragma unroll
    for (int k16 = 0; k16 < 2; k16++) split(high[k16], low[k16], x[k16]);
    __syncthreads();  // parts are there, and the stage that they came from is free
    const u64 b = rows_of_k(parts + (step - begin) % 2 * 2 * PART_BYTES), b_low = b + PART_BYTES / 16;
    // what registers hold must be there before the fence
#pragma unroll
    for (int at = 0; at < 16; at++) settled(high[at / 8][at / 4 % 2][at % 4]), settled(low[at / 8][at / 4 % 2][at % 4]);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int at = 0; at < 12; at++) {
      const int round = at / 4, k8 = at % 4;
      wgmma(fresh, round == 0 ? low[k8 / 2] : high[k8 / 2], k8 % 2, (round == 1 ? b_low : b) + 2 * k8, at > 0);
      if (at == 11) asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      piece_of_next(step, at);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int at = 0; at < BLOCK_N / 2; at++) {
      settled(fresh[at]);
      sums[at] += fresh[at];
    }
  }
}

// A warp's sums into D's tile in shared memory: the lane's rows are neighbours, as it read them.
DEVICE void sums_out(const Sums& sums, u32 to) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, row = threadIdx.x / 32 * 16 + 2 * g;
#pragma unroll
  for (int at = 0; at < BLOCK_N / 2; at++) {
    const int down = row + at / 2 % 2, right = at / 4 * 8 + 2 * t + at % 2;
    const u32 place = to + 4 * (SWAPPED ? right * D_PITCH + down : down * D_PITCH + right);
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(place), "f"(sums[at]) : "memory");
  }
}
