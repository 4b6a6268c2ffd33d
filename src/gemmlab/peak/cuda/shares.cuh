// How programs that share k bring their sums together: in a cluster each owns some rows of the tile, and the others write
// theirs of those rows into its shared memory; clusters leave theirs in global memory, and the last one adds them, or, LATER,
// adds.cu. Always in the order of k.
#pragma once
#include "store.cuh"

DEVICE void add_to(float4& sum, const float4& more) {
  sum.x += more.x;
  sum.y += more.y;
  sum.z += more.z;
  sum.w += more.w;
}

#if LATER
// Where a thread's sums lie until they are added: four at a time, those of a warpgroup's threads beside one another, so that
// 32 lanes fill whole lines. `place` counts programs of a group, over all tiles.
constexpr int LEFT_STEP = 128, LEFT_FOURS = SUMS / 4 * LEFT_STEP;  // of a warpgroup
DEVICE float4* left_sums(float* shares, int place, int group, int consumer, int thread) {
  return (float4*)shares + (((long long)place * GROUPS + group) * CONSUMERS + consumer) * LEFT_FOURS + thread;
}
#elif SHARES > 1
constexpr int OWN_ROWS = 64 / PARTS;  // of each warpgroup's
constexpr int SUM_LD = BLOCK_N + 4;
constexpr int PART_BYTES = 4 * CONSUMERS * OWN_ROWS * SUM_LD;  // what one program brings to an owner

DEVICE void send(u32 to, float a, float b) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(a), "f"(b) : "memory");
}

DEVICE void send(u32 to, float a, float b, float c, float d) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
}

DEVICE void consumers_barrier() { asm volatile("bar.sync 8, %0;" ::"n"(128 * CONSUMERS) : "memory"); }

// A program's sums to their owners. `ring` is free on all sides, which the caller has seen to.
DEVICE void send_shares(const float (&sums)[SUMS], u32 ring, int part, int consumer, int warp, int lane) {
  const int top = 16 * warp + lane / 4, left = 2 * (lane % 4);
  const u32 mine = ring + part * PART_BYTES + 4 * consumer * OWN_ROWS * SUM_LD;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int row = top + 8 * half;
    const u32 here = mine + 4 * (row % OWN_ROWS * SUM_LD + left), to = PARTS > 1 ? at_peer(here, row / OWN_ROWS) : here;
    // of two groups of 8 columns a lane takes one and its neighbour the other: 16 bytes each
    const bool odd = lane & 1;
    const u32 there = to + (odd ? 24 : 0);
#pragma unroll
    for (int at = 2 * half; at + 4 < SUMS; at += 8) {
      const float a = odd ? sums[at + 4] : sums[at], b = odd ? sums[at + 5] : sums[at + 1];
      const float c = __shfl_xor_sync(~0u, odd ? sums[at] : sums[at + 4], 1);
      const float d = __shfl_xor_sync(~0u, odd ? sums[at + 1] : sums[at + 5], 1);
      send(there + 32 * (at / 4), odd ? c : a, odd ? d : b, odd ? a : c, odd ? b : d);
    }
    if (SUMS % 8) send(to + 32 * (SUMS / 4 - 1), sums[SUMS - 4 + 2 * half], sums[SUMS - 3 + 2 * half]);
  }
}

// Four neighbours of an owner's row, added over the cluster's programs.
DEVICE float4 added_shares(const unsigned char* shared, int consumer, int row, int column) {
  const float* from = (const float*)shared + (consumer * OWN_ROWS + row) * SUM_LD + column;
  float4 shares[PARTS];
#pragma unroll
  for (int peer = 0; peer < PARTS; peer++) shares[peer] = *(const float4*)(from + peer * (PART_BYTES / 4));
#pragma unroll
  for (int peer = 1; peer < PARTS; peer++) add_to(shares[0], shares[peer]);
  return shares[0];
}
#endif
