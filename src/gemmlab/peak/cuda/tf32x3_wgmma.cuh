// Three products by wgmma: a warp splits its 16 rows of A in registers, all warps share the splitting of B, whose parts lie in
// shared memory twice. While one step of 32 k is multiplied, the next one's parts are made; low times high, high times low,
// then high times high add up in the tensor core over a step, from zero, and leave it there.
#pragma once
#include "tf32x3_parts.cuh"

constexpr int PART_BYTES = 128 * BLOCK_N;  // of B's high or low parts of a step
constexpr int WARPS = THREADS / 32;
typedef float Sums[BLOCK_N / 2];

WGMMA_TEXT

// Rows of 128 bytes along k (swizzled by 128 bytes): groups of 8 rows are 1024 bytes apart.
DEVICE u64 rows_of_k(u32 address) { return (u64)((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62); }

// B's parts of a step, in the order of k that A's rows are read in: of 16 k, what lanes 0 to 3 have first, then second.
DEVICE void b_parts(u32 to, u32 tile) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int first = 0; first < BLOCK_N / 8 * 2; first += WARPS) {
    const int unit = first + threadIdx.x / 32, row = unit / 2 * 8, k16 = unit % 2;
    if (BLOCK_N / 8 * 2 % WARPS && unit >= BLOCK_N / 8 * 2) break;
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
  fence_for_engines();
}

// The products of a program's steps of k from `begin` to before `end`.
template <class Fetch>
DEVICE void tile_products(Sums& sums, u32 ring, int begin, int end, Fetch fetch_step) {
  const u32 parts = ring + STAGES * STAGE_BYTES;
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
  float x[2][2][4], high[2][2][4], low[2][2][4], fresh[BLOCK_N / 2];  // of A: 16 k, rows, neighbours along k
  const auto next_parts = [&](int step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
    __syncthreads();  // the stage has come, and all have been multiplied by the parts that are written over
    const u32 a = ring + (step - begin) % STAGES * STAGE_BYTES;
#pragma unroll
    for (int k16 = 0; k16 < 2; k16++) piece<2, A_PITCH, A_SIDES>(x[k16], a, row, k16, lane);
    b_parts(parts + (step - begin) % 2 * 2 * PART_BYTES, a + A_BYTES);
  };
  for (int stage = 0; stage < STAGES; stage++) fetch_step(begin + stage);
  if (begin < end) next_parts(begin);
  for (int step = begin; step < end; step++) {
#pragma unroll
    for (int k16 = 0; k16 < 2; k16++) split(high[k16], low[k16], x[k16]);
    __syncthreads();  // parts are there, and the stage that they came from is free
    const u64 b = rows_of_k(parts + (step - begin) % 2 * 2 * PART_BYTES), b_low = b + PART_BYTES / 16;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int round = 0; round < 3; round++)
#pragma unroll
      for (int k8 = 0; k8 < 4; k8++)
        wgmma(fresh, round == 0 ? low[k8 / 2] : high[k8 / 2], k8 % 2, (round == 1 ? b_low : b) + 2 * k8, round + k8 > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    fetch_step(step + STAGES);
    if (step + 1 < end) next_parts(step + 1);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int at = 0; at < BLOCK_N / 2; at++) sums[at] += fresh[at];
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
