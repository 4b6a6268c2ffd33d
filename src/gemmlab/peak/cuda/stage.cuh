// What is fetched for one tile of k: the boxes of A and B, and where each lies in a stage of the ring.
#pragma once
#include "transport.cuh"

constexpr int BLOCK_M = 64 * CONSUMERS;
constexpr int A_BYTES = BLOCK_M * 128;
constexpr int B_BYTES = (B_SIDES ? (BLOCK_N + 63) / 64 * 64 : BLOCK_N) * 128;
constexpr int STAGE_BYTES = PIECES * (A_BYTES + B_BYTES);
constexpr int SIDES_BOX = 64 * 128;  // a box of 64 k by 64 elements along m or n

// Into a stage, whose barrier counts it.
struct Fetched {
  u32 stage, barrier;

  template <int PROGRAMS>
  DEVICE void box(u32 offset, const TensorMap* map, int inner, int outer) const {
    fetch<PROGRAMS>(stage + offset, map, inner, outer, barrier);
  }
};

// Into L2 alone, before what is there is known to be written: later fetches find either the line or what replaced it.
struct Ahead {
  template <int PROGRAMS>
  DEVICE void box(u32, const TensorMap* map, int inner, int outer) const {
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(inner), "r"(outer) : "memory");
  }
};

// All boxes of step `step` of k; `piece_k` is how far apart pieces are along k, `beside` which of two programs this is.
template <typename To>
DEVICE void take_stage(const To& to, const TensorMap& a_map, const TensorMap& b_map, int row, int column, int step, int piece_k,
                       int beside) {
  const int k = step * TILE_K;
#pragma unroll
  for (int piece = 0; piece < PIECES; piece++) {
#if A_SIDES
#pragma unroll
    for (int box = 0; box < CONSUMERS; box++) to.template box<1>(box * SIDES_BOX, &a_map, row + 64 * box, k);
#else
    to.template box<1>(piece * A_BYTES, &a_map, piece * piece_k + k, row);
#endif
  }
#pragma unroll
  for (int piece = 0; piece < PIECES; piece++) {
    const u32 from = PIECES * A_BYTES + piece * B_BYTES;
#if B_SIDES
#pragma unroll
    for (int box = 0; box < (BLOCK_N + 63) / 64; box++)
      if (box % SPREAD == beside) to.template box<SPREAD>(from + box * SIDES_BOX, &b_map, column + 64 * box, k);
#else
    to.template box<SPREAD>(from + beside * (B_BYTES / SPREAD), &b_map, piece * piece_k + k, column + beside * (BLOCK_N / SPREAD));
#endif
  }
}
