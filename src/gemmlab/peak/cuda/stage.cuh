// What is fetched for one tile of k: the boxes of A and B, and where each lies in a stage of the ring.
#pragma once
#include "transport.cuh"

constexpr int BLOCK_M = 64 * CONSUMERS;
constexpr int A_BYTES = BLOCK_M * 128;
constexpr int B_BYTES = (B_SIDES ? (BLOCK_N + 63) / 64 * 64 : BLOCK_N) * 128;
constexpr int STAGE_BYTES = PIECES * (A_BYTES + B_BYTES);
constexpr int SIDES_BOX = 64 * 128;  // a box of 64 k by 64 elements along m or n

// A cluster's programs: SPREAD below one another, which have B in common and fetch a part of it each, for all of them; ACROSS
// beside one another, which so share A.
struct Place {
  int down, across;

  DEVICE Place(int number) : down(number % SPREAD), across(number / SPREAD) {}
  DEVICE int number() const { return across * SPREAD + down; }
  DEVICE int same_rows() const { return (1 | (ACROSS - 1) << SPREAD) << down; }  // a bit for each program
  DEVICE int same_columns() const { return ((1 << SPREAD) - 1) << (across * SPREAD); }
};
constexpr int PARTNERS = SPREAD + ACROSS - 1;  // programs that fetch for one, itself among them
static_assert(SPREAD <= 2 && ACROSS <= 2, "masks are of two");

// Partners of a program, itself the first.
DEVICE int partner(const Place& own, int at) {
  Place there = own;
  if (at == 1 && SPREAD > 1) there.down ^= 1;
  else if (at) there.across ^= 1;
  return there.number();
}

// All boxes of step `step` of k into a stage, whose barrier counts them; `piece_k` is how far apart pieces are along k,
// `of_a` and `of_b` which matrices of a batch are multiplied.
DEVICE void fetch_stage(u32 stage, u32 barrier, const TensorMap& a_map, const TensorMap& b_map, int row, int column, int step,
                        int piece_k, const Place& own, int of_a, int of_b) {
  const int k = step * TILE_K;
#pragma unroll
  for (int piece = 0; piece < PIECES; piece++) {
#if A_SIDES
#pragma unroll
    for (int box = 0; box < CONSUMERS; box++)
      if (box % ACROSS == own.across)
        fetch<ACROSS>(stage + box * SIDES_BOX, &a_map, row + 64 * box, k, of_a, barrier, own.same_rows());
#else
    fetch<ACROSS>(stage + piece * A_BYTES + own.across * (A_BYTES / ACROSS), &a_map, piece * piece_k + k,
                  row + own.across * (BLOCK_M / ACROSS), of_a, barrier, own.same_rows());
#endif
  }
#pragma unroll
  for (int piece = 0; piece < PIECES; piece++) {
    const u32 to = stage + PIECES * A_BYTES + piece * B_BYTES;
#if B_SIDES
#pragma unroll
    for (int box = 0; box < (BLOCK_N + 63) / 64; box++)
      if (box % SPREAD == own.down)
        fetch<SPREAD>(to + box * SIDES_BOX, &b_map, column + 64 * box, k, of_b, barrier, own.same_columns());
#else
    fetch<SPREAD>(to + own.down * (B_BYTES / SPREAD), &b_map, piece * piece_k + k, column + own.down * (BLOCK_N / SPREAD), of_b,
                  barrier, own.same_columns());
#endif
  }
}
