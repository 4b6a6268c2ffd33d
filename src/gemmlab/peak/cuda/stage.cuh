// What is fetched for one tile of k: the boxes of A and B, and where each lies in a stage of the ring.
#pragma once
#include "transport.cuh"

constexpr int BLOCK_M = 64 * CONSUMERS;
constexpr int A_BYTES = BLOCK_M * 128;
constexpr int B_BYTES = (B_SIDES ? (BLOCK_N + 63) / 64 * 64 : BLOCK_N) * 128;
constexpr int STAGE_BYTES = PIECES * (A_BYTES + B_BYTES);
constexpr int SIDES_BOX = 64 * 128;  // a box of 64 k by 64 elements along m or n

// All boxes of step `step` of k into a stage, whose barrier counts them; `piece_k` is how far apart pieces are along k, `beside`
// which of two programs this is.
DEVICE void fetch_stage(u32 stage, u32 barrier, const TensorMap& a_map, const TensorMap& b_map, int row, int column, int step,
                        int piece_k, int beside) {
  const int k = step * TILE_K;
#pragma unroll
  for (int piece = 0; piece < PIECES; piece++) {
#if A_SIDES
#pragma unroll
    for (int box = 0; box < CONSUMERS; box++) fetch(stage + box * SIDES_BOX, &a_map, row + 64 * box, k, barrier);
#else
    fetch(stage + piece * A_BYTES, &a_map, piece * piece_k + k, row, barrier);
#endif
  }
#pragma unroll
  for (int piece = 0; piece < PIECES; piece++) {
    const u32 to = stage + PIECES * A_BYTES + piece * B_BYTES;
#if B_SIDES
#pragma unroll
    for (int box = 0; box < (BLOCK_N + 63) / 64; box++)
      if (box % SPREAD == beside) fetch<SPREAD>(to + box * SIDES_BOX, &b_map, column + 64 * box, k, barrier);
#else
    fetch<SPREAD>(to + beside * (B_BYTES / SPREAD), &b_map, piece * piece_k + k, column + beside * (BLOCK_N / SPREAD), barrier);
#endif
  }
}
